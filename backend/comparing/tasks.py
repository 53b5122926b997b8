"""The tasks that two runs played in the same environment, and which of the two won more of them."""

from collections import defaultdict
from typing import Any, NamedTuple

from backend.records import EnvironmentSpec, RunSpec
from backend.signal.chance import sign_test
from backend.store import Run, compared
from backend.store.codec import to_json


class SharedEnvironment(NamedTuple):
    """The same environment as each of two runs calls it."""

    first: EnvironmentSpec
    second: EnvironmentSpec

    @property
    def differs(self) -> list[str]:
        """What makes its tasks other ones or harder, where the runs set it differently."""
        return [field for field in ("options", "max_turns", "prompt", "system")
                if getattr(self.first, field) != getattr(self.second, field)]


class Task(NamedTuple):
    seed: int | None
    task: Any
    fingerprint: str | None
    """Only where the environment itself says what identifies the task."""
    played: tuple[int, int]
    """Scored episodes in the first run and in the second."""
    won: tuple[int, int]

    @property
    def shares(self) -> tuple[float, float]:
        return self.won[0] / self.played[0], self.won[1] / self.played[1]

    @property
    def difference(self) -> float:
        """Second minus first."""
        return self.shares[1] - self.shares[0]


class Sign(NamedTuple):
    """An exact two-sided sign test: how often so uneven a count comes by chance alone, each task as likely either way."""

    first: int
    """Tasks of which the first run won the larger share."""
    second: int
    even: int
    """As often in both; they say nothing here."""
    p: float | None
    """None where every task is even."""


class Duel(NamedTuple):
    tasks: list[Task]
    """That both played, the largest difference first."""
    only_first: int
    only_second: int
    """Tasks that just one of them played."""
    torn: int
    """Left out: the seed or task is the same, but the environment showed different things."""
    decided: bool
    """Whether episodes were won or lost at all; an environment without winning has nothing to compare here."""
    sign: Sign


def shared_environments(first: RunSpec, second: RunSpec) -> list[SharedEnvironment]:
    """Those of the same `use`, in the order of the first run."""
    return [SharedEnvironment(one, other) for one in first.environments for other in second.environments
            if one.use == other.use]


def duel(first: Run, second: Run, shared: SharedEnvironment, phase: str = "train", late: bool = False) -> Duel:
    """`late`: only the second half of each run's recorded steps. Raises OrtamError where a file can't be read."""
    one, other = (_tasks(run, spec.id, phase, late) for run, spec in ((first, shared.first), (second, shared.second)))
    both, torn, decided = [], 0, any(told.decided for told in (*one.values(), *other.values()))
    for key in one.keys() & other.keys():
        if one[key].shown != other[key].shown or len(one[key].shown) > 1:
            torn += 1
            continue
        a, b = one[key], other[key]
        both.append(Task(a.seed, a.task, a.fingerprint, (a.played, b.played), (a.won, b.won)))
    both.sort(key=lambda task: (-abs(task.difference), task.seed is None, task.seed or 0, to_json(task.task) or "",
                                task.fingerprint or ""))
    return Duel(both, len(one.keys() - other.keys()), len(other.keys() - one.keys()), torn, decided, signs_of(both))


class _Told:
    """What one run did with one task."""

    def __init__(self, row: compared.TaskTally):
        self.seed, self.task, self.fingerprint = row.seed, row.task, row.fingerprint if _proven(row) else None
        self.played = self.won = self.decided = 0
        self.shown: set[str] = set()
        """Fingerprints that were made of what the player is shown first: two that differ are two tasks."""

    def add(self, row: compared.TaskTally) -> None:
        self.played, self.won, self.decided = self.played + row.played, self.won + row.won, self.decided + row.decided
        if row.fingerprint and not _proven(row):
            self.shown.add(row.fingerprint)


def _tasks(run: Run, environment: str, phase: str, late: bool) -> dict[Any, _Told]:
    after = compared.last_step(run.path) // 2 if late else -1
    told: dict[Any, _Told] = {}
    for row in compared.tasks(run.path, environment, phase, after):
        key = row.fingerprint if _proven(row) else (row.seed, to_json(row.task))
        if key == (None, None):
            continue
        told.setdefault(key, _Told(row)).add(row)
    return told


def _proven(row: compared.TaskTally) -> bool:
    return row.fingerprint is not None and not row.fingerprint.startswith("~")


def signs_of(tasks: list[Task]) -> Sign:
    signs: dict[bool, int] = defaultdict(int)
    for task in tasks:
        if task.won[0] * task.played[1] != task.won[1] * task.played[0]:
            signs[task.difference > 0] += 1
    first, second = signs[False], signs[True]
    return Sign(first, second, len(tasks) - first - second, sign_test(first, second))
