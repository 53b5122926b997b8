"""What is asked of a run's file to hold it against another: one curve, its pace, and how often each task was won."""

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from backend.store import codec, sums
from backend.store.reading import Reading
from backend.store.spent import RECORDED, durations
from backend.store.tables import GONE, making_sense, only_numbers

PACED = 200
"""Newest steps whose durations are looked at."""


class TaskTally(NamedTuple):
    """Scored episodes of one environment that say the same of their task."""

    seed: int | None
    task: Any
    fingerprint: str | None
    played: int
    won: int
    decided: int
    """Won or lost; the others only ended."""


def tasks(run: Path, environment: str, phase: str = "train", after_step: int = -1) -> list[TaskTally]:
    """One row for each seed, task and fingerprint; one grouped question, however many episodes there are. A step that a
    resumed run played again counts as it was played last."""
    rows = Reading(run / "run.db").rows(
        f"""SELECT seed, task, fingerprint, count(*), sum(status = 'won'),
        sum(status IN ('won', 'lost', 'out_of_turns', 'truncated', 'invalid')) FROM episodes WHERE {sums.PLAYED_LAST}
        AND environment = :environment AND status NOT IN ({GONE}) GROUP BY fingerprint, seed, task""",
        {"phase": phase, "after": after_step, "until": sums.EVER, "environment": codec.escape(environment)})
    return [TaskTally(None if seed is None else int(seed), codec.from_json(task),
                   None if fingerprint is None else codec.unescape(fingerprint), *counts)
            for seed, task, fingerprint, *counts in rows]


def curve(run: Path, name: str, after_step: int = -1, before: int = 0) -> tuple[Sequence[int], Sequence[float | None]]:
    """Steps and means of `total` or a reward term, all environments together; None where nothing was scored. The points
    behind `after_step`, and so many `before` them."""
    return _columns(run, "mean FROM curves WHERE environment = '' AND name = :name", name, after_step, before)


def metric(run: Path, name: str, after_step: int = -1, before: int = 0) -> tuple[Sequence[int], Sequence[float | None]]:
    return _columns(run, "value FROM metrics WHERE name = :name", name, after_step, before)


def curve_names(run: Path) -> list[str]:
    """Of the last step that has curves: `total` and the reward terms."""
    rows = Reading(run / "run.db").rows("SELECT DISTINCT name FROM curves WHERE environment = '' AND step = "
                                        "(SELECT max(step) FROM curves)")
    return [codec.unescape(name) for (name,) in rows]


def counted(run: Path, names: Sequence[str], after_step: int = -1, phase: str = "train",
            before: int = 0) -> dict[str, list[Any]]:
    """Columns of what was counted of each step. Raises OrtamError where the file can't be read."""
    return sums.steps(run, after_step, phase, tuple(names), before=before)


def last_step(run: Path) -> int:
    """0 before there is one."""
    rows = Reading(run / "run.db").rows("SELECT max(step) FROM steps")
    return rows[0][0] or 0 if rows else 0


def pace(run: Path) -> float | None:
    """Median seconds from one step to the next, of the newest ones; None before two were recorded."""
    gaps = durations(Reading(run / "run.db").rows(f"{RECORDED} DESC LIMIT ?", (PACED + 1,)))
    return median(gaps) if gaps else None


def _columns(run: Path, what: str, name: str, after: int, before: int) -> tuple[Sequence[Any], Sequence[Any]]:
    since = f"SELECT step, {what} AND step <= :after ORDER BY step DESC LIMIT 1 OFFSET :before"
    query = f"SELECT step, {what} AND step > coalesce((SELECT step FROM ({since})), -1) ORDER BY step"
    steps, told = Reading(run / "run.db").columns(query, {"name": codec.escape(name), "after": after, "before": before}) or (
        (), ())
    with making_sense(run / "run.db"):
        only_numbers("curves and metrics", steps, told)
    return steps, told
