"""One line of a preflight, and the sentence they come to."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Level = Literal["green", "amber", "red"]


@dataclass(frozen=True)
class Finding:
    check: str
    """What was looked at, in two or three words."""
    level: Level
    """Red would fail, amber may waste the run, green is well."""
    seen: str
    environment: str = ""
    """The id of the environment it is about; "" where it is about the run."""
    remedy: str = ""
    """What to do; "" where it is green."""
    detail: dict[str, Any] = field(default_factory=dict)
    """Numbers and texts behind it, as JSON carries them."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class Line:
    """One check of one environment, about to be found green, amber or red."""

    def __init__(self, check: str, environment: str = "", **detail: Any):
        self.check, self.environment, self.detail = check, environment, detail

    def green(self, seen: str) -> Finding:
        return Finding(self.check, "green", seen, self.environment, detail=self.detail)

    def amber(self, seen: str, remedy: str) -> Finding:
        return Finding(self.check, "amber", seen, self.environment, remedy, self.detail)

    def red(self, seen: str, remedy: str) -> Finding:
        return Finding(self.check, "red", seen, self.environment, remedy, self.detail)


def verdict(findings: Sequence[Finding]) -> str:
    """What all of them together say."""
    red, amber = (sum(finding.level == level for finding in findings) for level in ("red", "amber"))
    if red:
        return f"{_counted(red, 'thing')} would fail. Put {'it' if red == 1 else 'them'} right before launching."
    if amber:
        return f"Nothing would fail; {_counted(amber, 'thing')} to look at."
    return "Everything is well. It can be launched."


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
