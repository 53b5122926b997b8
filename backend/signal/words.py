"""Numbers in sentences."""

from collections.abc import Sequence


def percent(part: float, whole: float) -> str:
    """`63 %`; never rounds something to nothing or a part to all."""
    share = 100 * part / whole
    if 0 < share < 1:
        return "under 1 %"
    if 99 < share < 100:
        return "over 99 %"
    return f"{share:.0f} %"


def count(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def listed(things: Sequence[str]) -> str:
    """`a, b and c`."""
    return things[0] if len(things) == 1 else f"{', '.join(things[:-1])} and {things[-1]}"


def last(steps: int) -> str:
    return "last step" if steps == 1 else f"last {steps} steps"


def capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
