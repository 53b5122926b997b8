"""Who speaks for a player that answers in words: a model in this process, or an endpoint elsewhere.

To add a kind: a class with the methods of `Speaker`, whose `talk` is one game's conversation. A talk is told what came of
the calls it made, and says what it does next; the game itself is played in `game.py`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from backend.environments import Tool


@dataclass(frozen=True)
class Call:
    tool: str
    arguments: Any
    """A dict, or the text that didn't parse."""


@dataclass(frozen=True)
class Said:
    """One assistant message."""

    text: str = ""
    """What it wrote, tool calls and reasoning taken out."""
    thought: str = ""
    calls: tuple[Call, ...] = ()
    tokens: int | None = None
    seconds: float | None = None
    raw: str = ""
    """As it was generated, where that is known: a call that can't be read is seen only there."""
    cut: bool = False
    """Whether the token budget ended it."""


class SpeakerFailed(Exception):
    """It gave no answer: that says nothing about how it plays."""


class Talk(Protocol):
    async def next(self, answers: Sequence[str] = ()) -> Said | None:
        """`answers` are the tools' to the calls it made last, in their order. None: they leave no room for another word.

        Raises SpeakerFailed.
        """
        ...

    def end(self) -> None:
        """Nothing more is asked of it; as often as you like."""
        ...


class Speaker(Protocol):
    at_once: int
    """Games it plays at one time."""
    clean: Callable[[str], str]
    """What an environment says must not steer it: applied to all that it is shown."""

    def talk(self, messages: Sequence[dict[str, Any]], tools: Sequence[Tool], luck: str) -> Talk:
        """A conversation that begins with these messages, the tools' exact schemas offered. Where the speaker draws its own
        samples, the same `luck` draws the same. Raises SpeakerFailed."""
        ...

    async def close(self) -> None: ...
