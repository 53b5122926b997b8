"""An episode as far as its worth goes: what a Python term is called with, and what a judge reads."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from backend.records import Episode, Turn

ONLY_AT_THE_END = frozenset({"truncated", "completion_tokens"})
"""Facts that no single turn has."""

LONGEST_READING = 60_000
"""Characters of an episode that a judge is given."""


@dataclass(frozen=True)
class Played:
    facts: Mapping[str, Any]
    """At the end or, for a term of every turn, after its last turn."""
    environment: str | None = None
    """Its id in the spec."""
    prompt: Sequence[Mapping[str, Any]] = ()
    """The messages the model was given first, the opening observation included."""
    turns: Sequence[Turn] = ()

    @classmethod
    def of(cls, episode: Episode) -> "Played":
        return cls(episode.facts, episode.environment, episode.prompt, episode.turns)

    def moments(self) -> Iterator["Played"]:
        """The episode as it stood after each turn that reached the environment."""
        reached: float = 0
        for place, turn in enumerate(self.turns):
            turns = turn.facts.get("turns")
            if isinstance(turns, int | float) and turns > reached:
                reached = turns
                yield replace(self, facts=turn.facts, turns=self.turns[:place + 1])

    def transcript(self) -> str:
        """What was said, called and answered, without the model's own reasoning; the middle of a long one left out."""
        parts = [f"[{message.get('role', 'user')}]\n{_words(message.get('content'))}" for message in self.prompt]
        for turn in self.turns:
            if turn.said:
                parts.append(f"[said]\n{turn.said}")
            if turn.tool is not None:
                parts.append(f"[call]\n{turn.tool} {json.dumps(turn.arguments, ensure_ascii=False, default=str)}")
            if (seen := turn.shown if turn.shown is not None else turn.result) is not None:
                parts.append(f"[answer]\n{seen}")
        whole = "\n\n".join(parts)
        if len(whole) <= LONGEST_READING:
            return whole
        half = LONGEST_READING // 2
        return f"{whole[:half]}\n\n[{len(whole) - 2 * half:,} characters left out]\n\n{whole[-half:]}"


def _words(content: Any) -> str:
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, Mapping)]
        return "\n".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""
