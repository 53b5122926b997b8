"""Where the episodes of a group part: the first turn at which they didn't all do the same, and who did what there.

Everything is worked out from the calls as they were sent. Episodes that aren't scored because something broke are the
caller's to leave out: that a server went away is nothing that an episode did.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from backend.records import Episode, Turn

LONGEST = 60
"""Characters of a move in words."""


class Move(NamedTuple):
    """What was done in a turn; two are the same move only if they were sent the same."""

    tool: str | None
    """None where no tool was called."""
    sent: str
    """The arguments as JSON, or what was said."""
    words: str
    """For people; never compared."""

    @property
    def same_as(self) -> tuple[str | None, str]:
        return self.tool, self.sent


class Branch(NamedTuple):
    move: Move | None
    """None: those that had ended."""
    members: tuple[int, ...]
    """Places in the list that was asked about."""
    parts: int | None
    """The turn at which these part again; None where they never do, or it is only one."""


@dataclass(frozen=True)
class Parting:
    together: tuple[Move, ...]
    """What all did first, turn by turn."""
    turn: int | None
    """From 1; None where all did the same to the end."""
    branches: tuple[Branch, ...] = ()
    """The largest first."""
    answered_differently: int | None = None
    """The first turn among those done together to which the environment gave different answers."""


def move(turn: Turn) -> Move:
    if turn.tool is None:
        said = " ".join((turn.said or turn.thought).split())
        return Move(None, said, f"says “{_short(said)}”" if said else "says nothing")
    return Move(turn.tool, _json(turn.arguments), in_words(turn.tool, turn.arguments))


def in_words(tool: str, arguments: Any) -> str:
    """`guess [crane]`, `place row=1, column=2, value=3`, `stay`."""
    if not isinstance(arguments, dict):
        return _short(f"{tool} {arguments}" if arguments not in (None, "") else tool)
    if len(arguments) == 1:
        return _short(f"{tool} {_plain(next(iter(arguments.values())))}")
    return _short(f"{tool} " + ", ".join(f"{name}={_plain(value)}" for name, value in arguments.items()))


def parting(episodes: Sequence[Episode]) -> Parting:
    """Of at least one episode."""
    played = [[move(turn) for turn in episode.turns] for episode in episodes]
    everyone = range(len(episodes))
    turn = _parts(played, everyone, 0)
    shared = min(map(len, played), default=0) if turn is None else turn - 1
    together = tuple(played[0][:shared]) if played else ()
    if turn is None:
        return Parting(together, None, (), _differing(episodes, shared))
    by_move: dict[Any, list[int]] = {}
    for place in everyone:
        here = played[place][turn - 1].same_as if len(played[place]) >= turn else None
        by_move.setdefault(here, []).append(place)
    branches = [Branch(None if here is None else played[members[0]][turn - 1], tuple(members),
                       _parts(played, members, turn) if here is not None else None)
                for here, members in by_move.items()]
    branches.sort(key=lambda branch: (branch.move is None, -len(branch.members)))
    return Parting(together, turn, tuple(branches), _differing(episodes, shared))


def first_difference(one: Episode, other: Episode) -> tuple[int, str] | None:
    """The first turn at which two episodes differ, and whether in what was `done` or in how it was `answered`."""
    for k, (mine, theirs) in enumerate(zip(one.turns, other.turns, strict=False), 1):
        if move(mine).same_as != move(theirs).same_as:
            return k, "done"
        if _answer(mine) != _answer(theirs):
            return k, "answered"
    if len(one.turns) != len(other.turns):
        return min(len(one.turns), len(other.turns)) + 1, "done"
    return None


def told_apart(episodes: Sequence[Episode], chosen: Sequence[bool]) -> tuple[int, Move] | None:
    """The first turn and the move that all chosen episodes made there and none of the others did; None without one."""
    inside = [[move(turn) for turn in episode.turns] for episode, is_in in zip(episodes, chosen, strict=True) if is_in]
    outside = [[move(turn) for turn in episode.turns] for episode, is_in in zip(episodes, chosen, strict=True) if not is_in]
    if not inside or not outside:
        return None
    for k in range(min(map(len, inside))):
        made = inside[0][k]
        if all(moves[k].same_as == made.same_as for moves in inside) and not any(
                len(moves) > k and moves[k].same_as == made.same_as for moves in outside):
            return k + 1, made
    return None


def _parts(played: Sequence[Sequence[Move]], members: Sequence[int], after: int) -> int | None:
    """The first turn beyond `after` at which these differ; None where they never do."""
    longest = max((len(played[place]) for place in members), default=0)
    for k in range(after, longest):
        here = {played[place][k].same_as if len(played[place]) > k else None for place in members}
        if len(here) > 1:
            return k + 1
    return None


def _differing(episodes: Sequence[Episode], shared: int) -> int | None:
    for k in range(shared):
        if len({_answer(episode.turns[k]) for episode in episodes}) > 1:
            return k + 1
    return None


def _answer(turn: Turn) -> tuple[str | None, str | None]:
    return turn.result, turn.fault.kind if turn.fault else None


def _json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else _json(value)


def _short(words: str) -> str:
    words = " ".join(words.split())
    return words if len(words) <= LONGEST else f"{words[:LONGEST]}…"
