"""What a run had spent when a step was recorded: the other x axes of its curves.

Episodes are all that were played, tokens those the model generated in scored episodes, time the seconds since the
trainer began, pauses included. What isn't known stays unknown from there on, since a sum without it would be too low.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from statistics import median
from typing import Any, Literal, NamedTuple

from backend.store import sums
from backend.store.reading import Reading

Axis = Literal["step", "episodes", "tokens", "time"]

RECORDED = f"SELECT step, at FROM steps WHERE at < {sums.EVER} ORDER BY step"
"""Steps and when each was recorded; a time that is text, which no trainer writes, is larger than any number."""
TIMED, PAUSE = 200, 20
"""Steps a run's pace is told from, and how many times as long as a usual step a pause is."""
_NAMES = ("episodes", "tokens", "judged", "with_tokens")


class Spent(NamedTuple):
    steps: Sequence[int]
    values: Sequence[float | None]
    """After each of the steps; the first entry stands for all that was before."""

    def at(self, step: int) -> float | None:
        """After this step, or after the last recorded one before it: an evaluation has no training step of its own."""
        place = bisect_right(self.steps, step) - 1
        return self.values[place] if place >= 0 else None


def spent(run: Path, axis: Axis, after_step: int, started: float | None) -> Spent:
    """From the last step that isn't later than `after_step` on. `started` is a Unix time; None where it isn't known."""
    if axis == "time":
        return _time(run, after_step, started)
    before = sums.added(run, _NAMES, until_step=after_step)
    told = sums.steps(run, after_step, names=_NAMES)
    steps = [after_step, *told["step"]]
    if axis == "episodes":
        return Spent(steps, list(accumulate([before["episodes"], *(n or 0 for n in told["episodes"])])))
    rows = [tuple(before[name] for name in _NAMES), *zip(*(told[name] for name in _NAMES), strict=True)]
    values: list[float | None] = []
    for _, tokens, judged, known in rows:
        so_far = values[-1] if values else 0
        values.append(so_far + (tokens or 0) if so_far is not None and (known or 0) == (judged or 0) else None)
    return Spent(steps, values)


def _time(run: Path, after_step: int, started: float | None) -> Spent:
    rows = Reading(run / "run.db").rows("SELECT step, at FROM steps WHERE step >= (SELECT coalesce(max(step), -1) FROM "
                                        "steps WHERE step <= ?) ORDER BY step", (after_step,))
    times = [(step, None if started is None else max(0.0, at - started)) for step, at in rows]
    if not times or times[0][0] > after_step:
        times.insert(0, (after_step, None if started is None else 0.0))
    return Spent([step for step, _ in times], [value for _, value in times])


def durations(recorded: Sequence[Any]) -> list[float]:
    """Seconds of a step, from each recorded one to its neighbour, whichever way they are sorted."""
    return [(one["at"] - other["at"]) / (one["step"] - other["step"] or 1) for one, other in pairwise(recorded)]


def timing(run: Path, started: float | None) -> tuple[float, float] | None:
    """Seconds before the first step began, and of a step on average, evaluations included and the pause before a run was
    resumed left out; None before two steps. Raises OrtamError."""
    rows = Reading(run / "run.db").rows(f"{RECORDED} LIMIT ?", (TIMED,))
    gaps = durations(rows)
    if not gaps:
        return None
    usual = [gap for gap in gaps if gap <= PAUSE * median(gaps)] or gaps
    step = max(0.0, sum(usual) / len(usual))
    return max(0.0, rows[0]["at"] - step - started) if started is not None else 0.0, step


def unknown(run: Path, last_step: int) -> dict[str, str]:
    """Axis -> why it can't be drawn, for those that can't."""
    told = sums.steps(run, last_step - 1, names=("judged", "with_tokens"))
    if sum(n or 0 for n in told["with_tokens"]) < sum(n or 0 for n in told["judged"]):
        return {"tokens": "the episodes of this run don't say how many tokens were generated"}
    return {}
