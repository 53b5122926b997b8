"""Numbers and values as a line of a preflight says them."""

from collections.abc import Iterable
from typing import Any

from backend.records import FactValue

SHOWN = 60


def seconds(value: float) -> str:
    """`3 ms`, `0.42 s`, `12 s`, `3 min`."""
    if value < 0.1:
        return f"{value * 1000:.1f} ms" if value < 0.01 else f"{value * 1000:.0f} ms"
    if value < 60:
        return f"{value:.2g} s" if value < 10 else f"{value:.0f} s"
    return f"{value / 60:.0f} min"


def number(value: float | None) -> str:
    return "not scored" if value is None else f"{value + 0.0:.3g}"  # -0 is 0


def fact(value: FactValue) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    told = f"{value:.3g}" if isinstance(value, float) else str(value)
    return told if len(told) <= SHOWN else f"{told[:SHOWN]}…"


def counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def listed(names: Iterable[Any], most: int = 6) -> str:
    known = [str(name) for name in names]
    more = f" and {len(known) - most} more" if len(known) > most else ""
    return ", ".join(known[:most]) + more
