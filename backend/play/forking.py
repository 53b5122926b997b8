"""Forks: a stored episode, played again up to a turn in its own environment, then on by someone else.

A fork is worth what its parent's run would have given for it, and is kept in the run `played` as an episode that names its
parent.
"""

from dataclasses import dataclass
from typing import NamedTuple

from backend.environments.repeating import selection_of, unrepeatable
from backend.environments.sources import check
from backend.errors import CannotRepeat, OrtamError, SpecError
from backend.play.choosing import Chosen
from backend.play.keeping import NAME
from backend.records import Episode, Parent
from backend.rewards import applying
from backend.store import EpisodeRow, Run, Store

OF_A_MODEL, MOST = "fork", 40
"""Name of the runs in which a model plays on, and how many of them, the newest first, are looked at."""


@dataclass(frozen=True)
class Fork:
    parent: Parent
    episode: Episode
    """Whose turns are repeated."""
    asked: Chosen
    name: str
    """Of the parent's run, for people."""


class Known(NamedTuple):
    """A fork that is kept."""

    run: str
    row: EpisodeRow
    turn: int


def fork_of(store: Store, run: str, episode: str, turn: int) -> Fork:
    """Raises CannotRepeat where the record alone rules it out, SpecError, RunNotFound, EpisodeNotFound."""
    found = store.run(run)
    return _forked(found, found.episode(episode), turn)


def unforkable(run: Run, episode: Episode) -> str:
    """Why an episode can't be forked at any turn, as far as its record, its run's spec and this machine tell; "" where it may
    be. Nothing is started and no server is asked."""
    try:
        _forked(run, episode, 0)
    except OrtamError as error:
        return error.said
    return ""


def _forked(found: Run, whole: Episode, turn: int) -> Fork:
    spec = found.spec
    if why := unrepeatable(whole, turn):
        raise CannotRepeat(why)
    asked = next((each for each in spec.environments if each.id == whole.environment), None)
    if asked is None:
        raise SpecError("", f"the run {found.id} names no environment {whole.environment!r:.60}, so its episode "
                        "can't be forked")
    asked = asked.model_copy(update={"tasks": selection_of(whole) or asked.tasks, "weight": 1.0})
    check(asked)
    rewards = applying(spec.rewards, asked.id) if spec.rewards else None
    return Fork(Parent(run=found.id, episode=whole.id, turn=turn), whole, Chosen(asked, rewards), spec.name)


def forks_of(store: Store, run: str, episode: str) -> list[Known]:
    """Those that were kept, where people and scripts play and in matches that go on from it; oldest first."""
    there = [*store.named(NAME), *store.named(OF_A_MODEL)[:MOST]]
    found = [Known(kept.id, row, turn) for kept in there for row, turn in kept.forks(run, episode)]
    return sorted(found, key=lambda known: known.row.started)


