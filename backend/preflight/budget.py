"""Whether an episode fits the token budget, which counts all after the first prompt: words, calls and answers."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from backend.environments.playthrough import Playthrough
from backend.preflight.findings import Finding, Line
from backend.preflight.trial import Trial
from backend.preflight.words import counted
from backend.records import EnvironmentSpec, RunSpec

CHARACTERS_A_TOKEN = 4
"""Of English text in most vocabularies; said to be an estimate where it is used."""

CALL_CHARACTERS = 64
"""What a template puts around a call and its answer."""

ROOM = 1.25
"""A budget that much larger than what was needed is proposed."""

THOUGHT = 128
"""Tokens a turn below which a model that thinks is cut short."""

SHARE = 0.1
"""Of the budget, left over for words where it doesn't think."""


def guessed(play: Playthrough) -> int:
    """Tokens of the calls and answers, from their length alone."""
    characters = sum(len(str(turn.tool)) + len(str(turn.arguments)) + CALL_CHARACTERS
                     + len((turn.shown if turn.shown is not None else turn.result) or "") for turn in play.turns)
    return math.ceil(characters / CHARACTERS_A_TOKEN)


@dataclass(frozen=True)
class Measured:
    """What the token budget has to hold."""

    used: list[int]
    """Tokens after the first prompt, of each episode."""
    turns: list[int]
    """Calls of each."""
    allowed: int
    """Calls an episode may have."""
    exact: bool
    """Whether the model's own tokenizer counted."""
    prompt: int | None = None
    """Tokens of the first prompt, where they are known."""
    context: int | None = None
    """Tokens the model can hold, where it says."""

    @property
    def enough(self) -> int:
        """A budget with room, even for episodes twice as long as those played."""
        a_turn = sum(self.used) / sum(self.turns)
        return _round(ROOM * max(max(self.used), a_turn * min(self.allowed, 2 * max(self.turns))))


def budget(asked: EnvironmentSpec, spec: RunSpec, trials: Sequence[Trial], found: Measured) -> Finding:
    limit, longest, middle = spec.train.max_completion_tokens, max(found.used), statistics.median(found.used)
    left = (limit - longest) / max(found.turns)
    line = Line("Token budget", asked.id, median=middle, longest=longest, budget=limit, estimated=not found.exact,
                turns_allowed=found.allowed, left_a_turn=left)
    how = "" if found.exact else f", estimated at {CHARACTERS_A_TOKEN} characters a token"
    seen = (f"{_turns(trials)} turns of {found.allowed} allowed; calls and answers took {middle:,.0f} tokens, at most "
            f"{longest:,}, of {limit:,}{how}")
    more = f"Set train.max_completion_tokens to {found.enough} or more, or allow fewer turns."
    if found.context and found.prompt and found.prompt + limit > found.context:
        return line.red(f"{seen}; with the prompt of {found.prompt:,} that is beyond the model's {found.context:,}",
                        f"Set train.max_completion_tokens to at most {found.context - found.prompt}.")
    if middle > limit:
        return line.red(f"{seen}: most episodes would be cut before their end", more)
    if longest > limit:
        return line.amber(f"{seen}: the longest would be cut before its end", more)
    if spec.generation.thinking and left < THOUGHT:
        wanted = _round(longest + 2 * THOUGHT * max(found.turns))
        return line.amber(f"{seen}: that leaves about {left:.0f} tokens a turn to think",
                          f"Set train.max_completion_tokens to {wanted} or more, or switch thinking off.")
    if limit - longest < SHARE * limit:
        return line.amber(f"{seen}: that leaves {counted(limit - longest, 'token')} for words of its own", more)
    return line.green(f"{seen}; about {left:.0f} tokens a turn are left for words of its own")


def _turns(trials: Sequence[Trial]) -> str:
    """`9.0`, or `3.6 (solver) and 6.0 (random)`."""
    means = {trial.player: f"{statistics.fmean(len(play.turns) for play in trial.plays):.1f}" for trial in trials}
    if len(set(means.values())) == 1:
        return next(iter(means.values()))
    return " and ".join(f"{mean} ({player})" for player, mean in means.items())


def _round(tokens: float) -> int:
    """Up to a multiple of 64."""
    return math.ceil(tokens / 64) * 64
