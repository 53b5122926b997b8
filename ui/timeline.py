"""The line of an episode's turns: buttons, speeds, and a mark a turn that says by colour and by sign what it came to.

A turn's mark is a dot, with a bar above it for what the turn earned and below it for what it cost: the environment's own
reward, or else what the reward terms of every turn gave.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from backend.errors import RewardError
from backend.records import Episode, RewardTerm, Turn
from backend.rewards import Played, Terms, applies
from ui.written import attribute, number

SPEEDS = (0.5, 1, 2, 4, 8)
MANY = 40
"""Turns above which the line shows ticks instead of dots, and what is still ahead under a veil: a browser looks at all
following dots when one before them changes."""
BUTTONS = (
    ("first", "Start", "Home", '<path d="M3 3h2v10H3zM13 3v10L6 8z"/>'),
    ("back", "Previous turn", "left", '<path d="M11 3v10L4 8z"/>'),
    ("play", "Play", "space", '<path class="o-when-still" d="M4 2.5v11L13.5 8z"/>'
                              '<path class="o-when-playing" d="M4 3h3v10H4zM9 3h3v10H9z"/>'),
    ("on", "Next turn", "right", '<path d="M5 3v10l7-5z"/>'),
    ("last", "Last turn", "End", '<path d="M11 3h2v10h-2zM3 3v10l7-5z"/>'),
)
SIGNS = {"o-refused": "!", "o-theirs": "E", "o-error": "E", "o-cut": "✂"}
"""What a dot of this colour also says by a sign."""


@dataclass(frozen=True)
class Mark:
    """Of one turn, or of the start."""

    kind: str = ""
    """A class of replay.css; "" for a turn like any other."""
    hint: str = ""
    reward: float | None = None
    """None where the turn gave none: no bar, and not one of no height."""


def marks(episode: Episode, terms: Sequence[RewardTerm] = ()) -> list[Mark]:
    """One for the start and one for each turn."""
    earned, whence = per_turn(episode, terms)
    told = [Mark("o-zero", "Start"), *(_mark(k, turn, value, whence)
                                       for k, (turn, value) in enumerate(zip(episode.turns, earned, strict=True), 1))]
    if episode.parent and 0 < (fork := episode.parent.turn) < len(told):
        told[fork] = replace(told[fork], kind=told[fork].kind or "o-part-here", hint=f"{told[fork].hint}; the last that repeats")
    return told


def per_turn(episode: Episode, terms: Sequence[RewardTerm]) -> tuple[list[float | None], str]:
    """What each turn was worth and by what; None where nothing says."""
    own = [turn.reward for turn in episode.turns]
    if any(own):
        return own, "reward"
    every = [term for term in terms if term.scope == "turn" and term.kind == "expression"
             and applies(term, episode.environment)]
    if not every:
        return own, "reward"
    try:
        told = Terms([term.model_copy(update={"scope": "end"}) for term in every])
    except RewardError:
        return own, "reward"
    values: list[float | None] = [None] * len(episode.turns)
    for moment in Played.of(episode).moments():
        values[len(moment.turns) - 1] = told.total(told.score(moment.facts, episode.environment))
    return values, " and ".join(term.name for term in every)


def _mark(k: int, turn: Turn, reward: float | None, whence: str) -> Mark:
    kind, what = _kind(turn)
    said = [f"Turn {k}", turn.tool or ("words only" if turn.said or turn.thought else ""), what]
    said += [f"{whence} {number(reward, signed=True)}"] if reward is not None else []
    return Mark(kind, ": ".join([said[0], ", ".join(filter(None, said[1:]))]) if any(said[1:]) else said[0], reward)


def _kind(turn: Turn) -> tuple[str, str]:
    if turn.fault and turn.fault.where == "model":
        return "o-refused", f"refused ({turn.fault.kind.replace('_', ' ')})"
    if turn.fault:
        return ("o-theirs" if turn.fault.where == "environment" else "o-error"), f"the {turn.fault.where} failed"
    return ("o-cut", "cut from the transcript by the token budget") if turn.cut else ("", "")


def transport(told: Sequence[Mark], now: int, more: str = "") -> str:
    """Buttons, the line and the speed; `more` stands before the speed."""
    last = len(told) - 1
    buttons = "".join(
        f'<button type="button" class="o-icon" data-do="{does}" aria-label="{label}" title="{label} ({key})">'
        f'<svg viewBox="0 0 16 16" aria-hidden="true">{path}</svg></button>' for does, label, key, path in BUTTONS)
    largest = max((abs(mark.reward) for mark in told if mark.reward is not None and abs(mark.reward) < float("inf")),
                  default=0) or 1
    many = last > MANY
    dots = "".join(_dot(mark, k == now and not many, largest) for k, mark in enumerate(told))
    ahead = f'<span class="o-ahead" style="transform:translateX({(now + .5) / (last + 1):.2%})"></span>' * many
    rewarded = " o-rewarded" * any(mark.reward for mark in told)
    speeds = "".join(f'<option value="{speed}"{" selected" * (speed == 1)}>{speed:g}×</option>' for speed in SPEEDS)
    return (
        f'<div class="o-transport" role="group" aria-label="Turns"><div class="o-buttons">{buttons}</div>'
        f'<div class="o-scrub{" o-many" * many}{rewarded}" role="slider" tabindex="0" aria-label="Turn" '
        f'aria-valuemin="0" aria-valuemax="{last}" aria-valuenow="{now}" aria-valuetext="Turn {now} of {last}">'
        f"{dots}{ahead}</div>"
        f'<output class="o-where o-num" title="Turns played so far, of those in the episode">{now} / {last}</output>'
        f'{more}<select class="o-speed" aria-label="Speed" title="Speed">{speeds}</select></div>')


def _dot(mark: Mark, now: bool, largest: float) -> str:
    css = " ".join(filter(None, [mark.kind, "o-now" * now]))
    bar = ""
    if mark.reward:
        high = round(100 * min(abs(mark.reward) / largest, 1))
        bar = f'<b class="{"o-plus" if mark.reward > 0 else "o-minus"}" style="--high:{high}"></b>'
    sign = SIGNS.get(mark.kind, "")
    return (f'<i{f" class={chr(34)}{css}{chr(34)}" if css else ""}{f" data-sign={chr(34)}{sign}{chr(34)}" if sign else ""}'
            f' title="{attribute(mark.hint)}">{bar}</i>')
