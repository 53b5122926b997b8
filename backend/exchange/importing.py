"""Episodes of elsewhere as a run of their own: replayed like any other, and said to be imported.

To add a format: a module with `read` (see `Reader`), named in `READERS`. A reader goes line by line and says which lines it
left out and why; nothing in a file is trusted, neither ids nor names nor paths, and what isn't told stays unknown: an
episode without a known outcome is `finished`, one without a reward isn't scored.
"""

import contextlib
import hashlib
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from pydantic import BaseModel, ValidationError

from backend.errors import OrtamError
from backend.exchange import completions, evaluated, kept, openai
from backend.exchange.conversation import Conversation, Skip, Whole
from backend.exchange.weighing import IMPORTED_TERM, Weighing
from backend.records import NAME, EnvironmentSpec, Episode, Event, Result, RewardTerm, RunSpec, TrainSettings
from backend.store import Run, RunWriter, Store
from backend.store.arriving import arriving, say_what_was_asked, settle


class Reader(Protocol):
    def read(self, path: Path, skip: Callable[[int, str], None]) -> Iterator[Conversation | Whole]:
        """What the file tells, in its order. A line that tells nothing is handed to `skip` with its number and why."""
        ...


READERS: dict[str, Reader] = {"openai": openai, "verifiers": evaluated, "trl": completions, "jsonl": kept,
                              "parquet": kept}

ID = "imported"
"""Of the environment, where the file names none."""
BATCH = 200
MOST_HELD = 16_000_000
"""Characters of the episodes that are recorded together, about."""
MOST_SKIPPED = 1000
"""Skipped lines that are named; more are counted."""
MOST_STEPS, MOST_IN_A_GROUP, MOST_EPISODES = 1_000_000, 1024, 65_536
"""What a spec takes; a file may tell of more."""


class Brought(NamedTuple):
    run: Run
    episodes: int
    skipped: list[Skip]
    more_skipped: int


def bring(store: Store, path: Path, format: str, name: str | None = None,
          told: Callable[[int], None] = lambda n: None, called: str | None = None) -> Brought:
    """A new run with the file's episodes. `called` is what the person calls the file, where that isn't its name; `told` hears
    how many rows were read or skipped, and ends the import by raising.

    Raises OrtamError where the file can't be read or holds no episode.
    """
    if not (path.is_file() or path.is_dir()):
        raise OrtamError(f"there is no file {path}")
    called = called or path.name
    run_name = name_allowed(name) if name else _name_of(called)
    skipped: list[Skip] = []
    more = 0

    def skip(line: int, why: str) -> None:
        nonlocal more
        told(line)
        if len(skipped) < MOST_SKIPPED:
            skipped.append(Skip(line, why))
        else:
            more += 1

    with arriving(store.folder) as draft:
        making = _Making()
        with contextlib.closing(RunWriter(draft)) as writer:
            batch: list[Episode] = []
            held = 0
            try:
                for n, found in enumerate(READERS[format].read(path, skip), 1):
                    batch.append(making.episode(found))
                    held += _length(batch[-1])
                    told(n)
                    if len(batch) == BATCH or held > MOST_HELD:
                        _record(writer, batch)
                        batch.clear()
                        held = 0
            except OSError as error:
                raise OrtamError(f"{called} can't be read ({error.strerror or error})") from None
            _record(writer, batch)
            stored = Run(draft).count_episodes()
            more += making.episodes - stored
            if not stored:
                why = f"; line {skipped[0].line}: {skipped[0].reason}" if skipped else ""
                raise OrtamError(f"{called} holds no episode that can be read as {format}{why}")
            counted = f"{stored:,} episode{'s' * (stored != 1)} imported from {_shown(called)} ({format})"
            for event in (Event(at=time.time(), kind="start", text=counted), *making.remarks(), *_skips(skipped, more)):
                writer.event(event)
            say_what_was_asked(draft, making.spec(run_name, format))
            writer.finish(Result(status="finished", reason=counted, step=making.last_step, ended=time.time()))
        run = settle(draft, store.folder, f"{time.strftime('%Y%m%d-%H%M%S')}-{run_name}")
    return Brought(run, stored, skipped, more)


def _record(writer: RunWriter, batch: list[Episode]) -> None:
    """Raises OrtamError: what a trainer would keep and try again later is an end here."""
    writer.record(batch)
    if writer.behind:
        raise OrtamError(f"{writer.folder.parents[1]} can't be written to; free space there and import again")


def _length(episode: Episode) -> int:
    """Characters of all its texts, about."""
    length, left = 0, list[Any]([episode])
    while left:
        value = left.pop()
        if isinstance(value, str):
            length += len(value)
        elif isinstance(value, Mapping):
            left += [*value, *value.values()]
        elif isinstance(value, list | tuple):
            left += value
        elif isinstance(value, BaseModel):
            left.append(value.__dict__)
        else:
            length += 8
    return length


def name_allowed(name: str) -> str:
    """Raises OrtamError."""
    if not re.fullmatch(NAME, name):
        raise OrtamError(f"--name {name!r:.60} can't be a run's name; use letters, digits, dash and underscore, a letter first")
    return name


def _name_of(called: str) -> str:
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", called.split(".")[0]).strip("-_")[:40] or "imported"
    return stem if stem[0].isalpha() else f"imported-{stem}"[:48]


def _shown(called: str) -> str:
    return re.sub(r"[^\w .,()+-]+", "?", called)[:120]


def _skips(skipped: list[Skip], more: int) -> list[Event]:
    told = [Event(at=time.time(), kind="skipped", level="warning", text=f"Line {skip.line} was skipped: {skip.reason}")
            for skip in skipped]
    if more:
        told.append(Event(at=time.time(), kind="skipped", level="warning", text=f"{more:,} more lines were skipped."))
    return told


class _Making:
    """Episodes out of conversations, and what the spec has to say about them."""

    def __init__(self) -> None:
        self.episodes = 0
        self.last_step = 0
        self.sizes: Counter[tuple[str, int, int]] = Counter()
        self.groups: dict[tuple[int, str], int] = {}
        self.in_step: Counter[int] = Counter()
        self.environments: Counter[str] = Counter()
        self.models: Counter[str] = Counter()
        self.terms: dict[str, None] = {}
        self.weights: dict[str, float] = {}
        """Those that the file tells."""
        self.weighing = Weighing()
        self.unweighted = False

    def episode(self, found: Conversation | Whole) -> Episode:
        episode = found.episode if isinstance(found, Whole) else self._of(found)
        self.weights |= {name: weight for name, weight in found.weights.items() if name in episode.scores}
        if not (isinstance(found, Conversation) and found.unweighted):
            self.weighing.add(episode)
        self.episodes += 1
        self.last_step = max(self.last_step, episode.step)
        self.environments[episode.environment] += 1
        self.models[episode.policy.name] += bool(episode.policy.name)
        self.sizes[episode.phase, episode.step, episode.group] += 1
        self.terms |= dict.fromkeys(episode.scores)
        return episode

    def _of(self, found: Conversation) -> Episode:
        key = found.step, _digest(found.alike if found.alike is not None else found.prompt)
        if key not in self.groups:
            self.groups[key] = self.in_step[found.step]
            self.in_step[found.step] += 1
        group = self.groups[key]
        sample = self.sizes[found.phase, found.step, group]
        self.unweighted |= found.unweighted
        prefix = {"train": "", "eval": "eval-", "play": "play-"}[found.phase]
        environment = found.environment if re.fullmatch(NAME, found.environment) else ID
        return found.episode(id=f"{prefix}{found.step}-{group}-{sample}", group=group, sample=sample,
                             environment=environment)

    def remarks(self) -> list[Event]:
        if not self.unweighted:
            return []
        return [Event(at=time.time(), kind="warning", level="warning", text="The file has reward terms without their "
                      "weights; each total adds them up, every term once.")]

    def spec(self, name: str, format: str) -> RunSpec:
        """What can be said truthfully: who played what, in how large groups, worth what."""
        usual = self.sizes.most_common(1)[0][1] if self.sizes else 1
        group = min(max(usual, 2), MOST_IN_A_GROUP)
        groups = max(Counter((phase, step) for phase, step, _ in self.sizes).values(), default=1)
        model = self.models.most_common(1)[0][0].strip()[:200] if self.models else ""
        terms = []
        weights = self.weights | self.weighing.weights(self.weights, self.terms)
        for term in self.terms:
            with contextlib.suppress(ValidationError):  # a name no term may have; its scores are kept all the same
                terms.append(RewardTerm(name=term, value=IMPORTED_TERM, weight=weights.get(term, 1.0)))
        return RunSpec(
            name=name, model=model or "imported",
            environments=tuple(EnvironmentSpec(id=id if re.fullmatch(NAME, id) else ID, use=f"import:{format}")
                               for id in self._ids()),
            rewards=tuple(terms),
            train=TrainSettings(steps=min(max(self.last_step, 1), MOST_STEPS), group_size=group,
                                episodes_per_step=group * min(max(groups, 1), MOST_EPISODES // group)))

    def _ids(self) -> list[str]:
        return list(dict.fromkeys(id if re.fullmatch(NAME, id) else ID for id in self.environments)) or [ID]


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, ensure_ascii=True, sort_keys=True, default=str).encode()).hexdigest()[:24]
