"""Starter policies: toys that make the whole machine visible on two CPU cores. They are not language models.

Each is a Qwen3-shaped network of about half a million weights, with a tokenizer made for one game, that has imitated a
player who is wrong most of the time. It knows how to take a turn and has begun to read the game, so GRPO has something
to sharpen within minutes. A spec names one as `starter:NAME`.

    python -m backend.trainer.starters list | about NAME | make NAME [--to FOLDER] [--games N] [--epochs N] [--seed N]

To add one: name it in `STARTERS` and make it.
"""

from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from backend.errors import ModelError
from backend.records import EnvironmentSpec

WEIGHTS = Path(__file__).parent / "weights"


@dataclass(frozen=True)
class Lesson:
    """Games to imitate, one lesson after another."""

    games: int
    wrong: float
    """Share of the player's calls that a random player makes instead."""
    epochs: int
    learning_rate: float


@dataclass(frozen=True)
class Starter:
    name: str
    environment: str
    """Its catalog name."""
    prompt: str
    """What it was mostly taught with: short, since every token is paid for in time. The environment's own works too."""
    lessons: tuple[Lesson, ...]
    layers: int
    width: int
    context: int
    """Tokens it can look back over."""
    spelled: bool = False
    """Whether it writes its arguments letter by letter."""

    @property
    def folder(self) -> Path:
        return WEIGHTS / self.name

    @property
    def asked(self) -> EnvironmentSpec:
        return EnvironmentSpec(id=self.environment, use=self.environment, prompt=self.prompt)


STARTERS = {starter.name: starter for starter in (
    Starter("catch", "catch", "Catch the ball with the paddle.", layers=2, width=128, context=512,
            lessons=(Lesson(8000, 0.5, 1, 3e-3), Lesson(3000, 0.85, 1, 1e-3))),
    Starter("wordle", "wordle", "Find the secret word.", layers=3, width=128, context=1024, spelled=True,
            lessons=(Lesson(8000, 0.2, 2, 3e-3),)),
)}


def starter(name: str) -> Starter:
    """Raises ModelError, naming the nearest, when there is none of that name."""
    if name in STARTERS:
        return STARTERS[name]
    near = get_close_matches(name, STARTERS, n=1, cutoff=0.5)
    raise ModelError(f"there is no starter {name!r:.60}; " + (f"did you mean starter:{near[0]}?" if near else
                     f"use {' or '.join(f'starter:{known}' for known in STARTERS)}"))
