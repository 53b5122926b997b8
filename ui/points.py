"""The points of curves as a browser is sent them: about a thousand a line, the same each time, gaps kept.

A line's smallest and largest point of each bucket of steps are chosen, never made up. What is smoothed is smoothed over
every step before points are chosen, so that a smoothed line says the same however long the run is; a gap ends it, and it
begins anew behind the gap.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from backend.signal import CAUSE_COLUMNS, win_share

LIMIT = 1000
"""Points a line, about."""

NEGLIGIBLE = 2**-53
"""Weight of what came so long ago that a float holds no more of it, so that smoothing needs not look at it."""

MOST_SMOOTH = 0.99


class Point(NamedTuple):
    step: int
    value: float | None
    """None is a gap: nothing was scored or measured."""
    low: float | None = None
    high: float | None = None
    smooth: float | None = None


# ------------------------------------------------------------------------------------------ counted by the store


Columns = Mapping[str, Sequence[Any]]
"""Of steps, as the store counted them: one entry a step."""


def _ratio(part: str, *whole: str) -> Callable[[Columns], list[float | None]]:
    """None where the part isn't known, or there is nothing to divide by."""

    def of(steps: Columns) -> list[float | None]:
        parts = zip(*(steps[name] for name in whole), strict=True)
        below = [sum(number or 0 for number in numbers) for numbers in parts]
        return [None if a is None or not b else a / b for a, b in zip(steps[part], below, strict=True)]

    return of


def _wins(steps: Columns) -> list[float | None]:
    told = zip(*(steps[name] for name in ("judged", "won", "lost", "out_of_turns")), strict=True)
    return [win_share(*numbers) for numbers in told]


COUNTED: dict[str, Callable[[Columns], list[float | None]]] = {
    "share:won": _wins,
    "share:scored": _ratio("scored", "episodes"),
    "share:signal": _ratio("groups_signal", "groups"),
    "share:clipped": _ratio("clipped", "judged"),
    "share:failed": _ratio("failures", "tool_calls"),
    "share:late": _ratio("late_calls", "tool_calls"),
    "share:unparsed": _ratio("unparsed_calls", "tool_calls", "unparsed_calls"),
    "share:repeated": _ratio("repeated_calls", "tool_calls"),
    "mean:turns": _ratio("turns", "judged"),
    "mean:calls": _ratio("tool_calls", "judged"),
    "mean:seconds": _ratio("seconds", "with_seconds"),
}
"""Key -> its values, from what the store counted of each step."""


def counted(key: str) -> bool:
    return key in COUNTED or key.startswith(("status:", "cause:"))


STACKED = (("status:", "episodes", str), ("cause:", "groups", CAUSE_COLUMNS.__getitem__))
"""Start of a key, the column of the whole, and the column of what follows in the key."""


class _Noted(dict):
    """Notes which columns are looked at."""

    def __missing__(self, name: str) -> tuple:
        self[name] = ()
        return ()


def needed(keys: Sequence[str]) -> tuple[str, ...]:
    """The columns that these keys are worked out from."""
    noted = _Noted()
    for key in keys:
        if key in COUNTED:
            COUNTED[key](noted)
        for prefix, whole, column in STACKED:
            if key.startswith(prefix):
                noted |= {whole: (), column(key.removeprefix(prefix)): ()}
    return tuple(noted)


def points_of(steps: Columns, keys: Sequence[str], bucket: int = 1, weight: float = 0.0,
              start: int = -1) -> dict[str, list[Point]]:
    """Key -> its points, thinned. Parts that are stacked keep the same steps: those of the first, which says most."""
    at = steps["step"]
    points = {key: line(at, COUNTED[key](steps), bucket, weight=weight, start=start) for key in keys if key in COUNTED}
    first_place = bisect_left(at, start)
    at = at[first_place:]
    for prefix, whole, column in STACKED:
        names = {key: column(key.removeprefix(prefix)) for key in keys if key.startswith(prefix)}
        stacked = {key: steps[name][first_place:] for key, name in names.items()}
        if stacked:
            all_ = steps[whole][first_place:]
            first = next(iter(stacked.values()))
            places = kept(at, [part / (n or 1) for part, n in zip(first, all_, strict=True)], bucket)
            for key, part in stacked.items():
                points[key] = [Point(at[place], part[place] / (all_[place] or 1)) for place in places]
    return points


# ------------------------------------------------------------------------------------------------------- choosing


def line(steps: Sequence[int], values: Sequence[float | None], bucket: int, low: Sequence[float | None] = (),
         high: Sequence[float | None] = (), weight: float = 0.0, start: int = -1) -> list[Point]:
    """The points from step `start` on that `kept` keeps. With a `weight` of smoothing, `steps` begin `memory(weight)`
    points before `start`, however far apart those lie."""
    smooth: Sequence[float | None] = smoothed(values, weight) if weight else ()
    first = bisect_left(steps, start)
    steps, values = steps[first:], values[first:]
    low, high, smooth = low[first:], high[first:], smooth[first:]
    return [Point(steps[place], values[place], low[place] if low else None, high[place] if high else None,
                  smooth[place] if smooth else None) for place in kept(steps, values, bucket)]


def width(last_step: int, limit: int = LIMIT) -> int:
    """Steps in a bucket: 1 while a line has at most `limit` steps, then the smallest power of two that brings it there,
    with a smallest and a largest point for each bucket."""
    if last_step <= limit:
        return 1
    return 2 ** math.ceil(math.log2(2 * last_step / limit))


def kept(steps: Sequence[int], values: Sequence[float | None], bucket: int) -> Sequence[int]:
    """The same places each time: of each bucket of steps the first smallest, the first largest and the first gap, and
    of the last bucket also the last, so that a line ends where the run is."""
    if bucket <= 1:
        return range(len(steps))
    places: list[int] = []
    start = 0
    while start < len(steps):
        end = bisect_left(steps, (steps[start] // bucket + 1) * bucket, start)
        inside = values[start:end]
        measured = [value for value in inside if value is not None]
        chosen = {start + inside.index(None)} if len(measured) < len(inside) else set()
        if measured:
            chosen |= {start + inside.index(min(measured)), start + inside.index(max(measured))}
        if end == len(steps):
            chosen.add(end - 1)
        places += sorted(chosen)
        start = end
    return places


# ------------------------------------------------------------------------------------------------------ smoothing


def smoothed(values: Sequence[float | None], weight: float) -> list[float | None]:
    """The exponential mean of each value and those before it back to the last gap; `weight` 0 to 0.99 is how much of a
    value is left one point later. Divided by the weights that were used, so that it doesn't start from 0."""
    made: list[float | None] = []
    above = below = 0.0
    for value in values:
        if value is None or not math.isfinite(value):
            above = below = 0.0
            made.append(None)
            continue
        above, below = above * weight + value, below * weight + 1
        made.append(above / below)
    return made


def memory(weight: float) -> int:
    """How many points back a smoothed value looks; what is smoothed from there on is the same as from the line's start."""
    return math.ceil(math.log(NEGLIGIBLE) / math.log(weight)) if weight > 0 else 0


# -------------------------------------------------------------------------------------------------- as it is sent


def columns(points: Sequence[Point], at: Callable[[int], float | None] | None = None) -> dict[str, list]:
    """x, y and, where there are any, low and high, smooth, and `at`: x on another axis than the step. Rounded to 6
    digits, places on an axis to 9; None for gaps and for what isn't finite."""
    told: dict[str, list] = {"x": [point.step for point in points], "y": [_number(point.value) for point in points]}
    if any(point.low is not None for point in points):
        told |= {"low": [_number(point.low) for point in points], "high": [_number(point.high) for point in points]}
    if any(point.smooth is not None for point in points):
        told["smooth"] = [_number(point.smooth) for point in points]
    if at is not None:
        told["at"] = [_number(at(point.step), 9) for point in points]
    return told


def _number(value: float | None, digits: int = 6) -> float | None:
    return None if value is None or not math.isfinite(value) else float(f"{value:.{digits}g}")
