"""Where played episodes are kept: a run named `played` for each environment and set of terms.

Several processes may play at once, a page and a terminal say. Each opens the run only to add what it has, and waits its
turn: a run's file has one writer at a time.
"""

import threading
import time
import zlib
from collections.abc import Sequence
from typing import NamedTuple

from backend.play.sitting import Sitting
from backend.records import EnvironmentSpec, Event, Result, RewardTerm, RunSpec, TaskSelection, TrainSettings
from backend.store import Run, Store

NAME, BY = "played", "by-hand"

_turn = threading.Lock()


class Kept(NamedTuple):
    run: str
    id: str


def keep(store: Store, sittings: Sequence[Sitting]) -> list[Kept]:
    """Adds the episodes of one environment and set of terms. Those of one task are one group, whoever played them.

    Raises OrtamError where the folder can't be written.
    """
    if not sittings:
        return []
    with _turn:
        run = _run(store, sittings[0].asked, sittings[0].terms.terms)
        with run.writing() as writer:
            places, episodes = {}, []
            for sitting in sittings:
                group = group_of(sitting)
                if group not in places:
                    places[group] = run.count_episodes(phase="play", group=group)
                sample, places[group] = places[group], places[group] + 1
                episodes.append(sitting.episode(id=f"play-{group}-{sample}", group=group, sample=sample))
            if not run.events():
                writer.event(Event(at=time.time(), kind="start", text="played by hand and by scripts"))
            writer.record(episodes)
            writer.finish(Result(status="finished", reason="played by hand and by scripts", ended=time.time()))
    return [Kept(run.id, episode.id) for episode in episodes]


def group_of(sitting: Sitting) -> int:
    """A task's seed, or a number made of its name."""
    seed = sitting.task.seed
    return seed if seed is not None else zlib.crc32(sitting.task.key.encode("utf-8", "replace")) % 1_000_000


def _run(store: Store, asked: EnvironmentSpec, terms: Sequence[RewardTerm]) -> Run:
    wanted = RunSpec(name=NAME, model=BY, environments=(asked.model_copy(update={"tasks": TaskSelection()}),),
                     rewards=tuple(terms), train=TrainSettings(steps=1, group_size=2, episodes_per_step=2))
    for summary in store.runs(NAME):
        if summary.name == NAME and (run := store.run(summary.id)).spec == wanted:
            return run
    return store.create(wanted)
