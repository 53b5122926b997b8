"""What an alarm is, and how it leads to the episodes it speaks of."""

from dataclasses import dataclass, field
from typing import Literal

from backend.signal.evidence import Evidence

Level = Literal["good", "plain", "warn", "bad"]


@dataclass(frozen=True)
class Alarm:
    """A sentence, what to do about it, and which episodes show it."""

    kind: str
    """Names it for machines; once in an environment."""
    level: Level
    text: str
    remedy: str = ""
    look: dict[str, str] = field(default_factory=dict)
    """Filters and sort of the episode list, as its address takes them."""
    environment: str = ""
    """In a mix, the environment it speaks of."""


def seen(told: Evidence, condition: str = "", **filters: str) -> dict[str, str]:
    """The training episodes of the last steps for which a condition holds."""
    parts = [f"step >= {told.first_step}", *([condition] if condition else [])]
    return {"where": " and ".join(parts), "phase": "train", **filters}
