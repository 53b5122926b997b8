"""Several runs' curves as one: their mean at each step, or the difference of two. A gap is None, never 0."""

from collections.abc import Sequence
from typing import NamedTuple

Line = tuple[Sequence[int], Sequence[float | None]]
"""Steps in order, and the value at each; None where nothing was scored or measured."""


class Together(NamedTuple):
    """One entry a step at which any run has a point."""

    steps: Sequence[int]
    mean: Sequence[float | None]
    """Of the runs with a value at that step; None where none has one."""
    low: Sequence[float | None]
    high: Sequence[float | None]
    """Smallest and largest of those values."""
    runs: Sequence[int]
    """How many have a value."""


def together(lines: Sequence[Line]) -> Together:
    told: list[tuple[float | None, float | None, float | None, int]] = []
    steps, columns = _aligned(lines)
    for values in zip(*columns, strict=True):
        known = [value for value in values if value is not None]
        n = len(known)
        told.append((sum(known) / n, min(known), max(known), n) if n else (None, None, None, 0))
    return Together(steps, *zip(*told, strict=True)) if told else Together((), (), (), (), ())


def difference(first: Line, second: Line) -> Line:
    """Second minus first at every step of either; None where one of them has no value."""
    steps, (one, other) = _aligned([first, second])
    return steps, [None if a is None or b is None else b - a for a, b in zip(one, other, strict=True)]


def _aligned(lines: Sequence[Line]) -> tuple[Sequence[int], list[Sequence[float | None]]]:
    """Every line at the steps of all of them."""
    if not lines:
        return (), []
    first = lines[0][0]
    if all(list(steps) == list(first) for steps, _ in lines[1:]):
        return first, [values for _, values in lines]
    steps = sorted({step for line, _ in lines for step in line})
    return steps, [[at.get(step) for step in steps] for at in (dict(zip(*line, strict=True)) for line in lines)]
