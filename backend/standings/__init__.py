"""What a match comes to: a line a player, and two players held against each other task by task.

Only games of the same task count against each other: where fingerprints differ, two tasks were played.
"""

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from backend.records import UNSCORED
from backend.signal.chance import sign_test
from backend.store import Game

SAME = 1e-9
"""Totals nearer than this are the same."""


class Standing(NamedTuple):
    """Means are over scored games that tell; None where none does."""

    games: int
    scored: int
    won: int | None
    """None where the environment doesn't say who won."""
    total: float | None
    terms: dict[str, float | None]
    turns: float | None
    failures: float | None
    """Tool calls that failed, a game."""
    invalid: float | None
    """Invalid moves a game, where the environment counts them."""
    tokens: float | None
    seconds: float | None


@dataclass(frozen=True)
class Against:
    """What became of the tasks from one player to another."""

    by_total: bool
    """Whether totals are compared, since nothing is won or lost here; better counts as won, worse as lost."""
    fixed: int
    """The first lost it, the second won it."""
    broken: int
    """The first won it, the second lost it."""
    both_won: int
    """Or the same total."""
    both_lost: int
    unscored: int
    """Played by both, and not scored for one of them."""
    other: int
    """The two played different tasks."""
    unplayed: int
    """Played by one of them only, so far."""
    tasks: dict[int, str]
    """Place of each task -> which of the words above it counts as."""

    @property
    def chance(self) -> float | None:
        """How often two equally good players would part at least as unevenly: the exact two-sided sign test over the
        tasks in which they differ. None where they differ in none."""
        return sign_test(self.fixed, self.broken)


class Tally:
    """Games of one player, added one by one."""

    def __init__(self, terms: Sequence[str]):
        self.terms = terms
        self.games = self.scored = self.known = self.won = 0
        self._values: dict[tuple[str, str], list[float]] = defaultdict(list)

    def add(self, game: Game) -> None:
        self.games += 1
        if game.status in UNSCORED:
            return
        self.scored += 1
        if says_who_won(game):
            self.known += 1
            self.won += game.status == "won"
        for name, value in (("total", game.total), ("turns", game.turns), ("tokens", game.tokens), ("seconds", game.seconds)):
            self._tell("game", name, value)
        for name in ("tool_failures", "invalid_moves"):
            self._tell("fact", name, game.facts.get(name))
        for name in self.terms:
            self._tell("term", name, game.scores.get(name))

    def _tell(self, kind: str, name: str, value: object) -> None:
        if isinstance(value, int | float) and not isinstance(value, bool):
            self._values[kind, name].append(float(value))

    def standing(self) -> Standing:
        return Standing(
            self.games, self.scored, self.won if self.known else None, self._mean("game", "total"),
            {name: self._mean("term", name) for name in self.terms}, self._mean("game", "turns"),
            self._mean("fact", "tool_failures"), self._mean("fact", "invalid_moves"), self._mean("game", "tokens"),
            self._mean("game", "seconds"))

    def _mean(self, kind: str, name: str) -> float | None:
        known = self._values.get((kind, name))
        return statistics.fmean(known) if known else None


def counted(by_total: bool, tasks: dict[int, str]) -> Against:
    counts = Counter(tasks.values())
    return Against(by_total, counts["fixed"], counts["broken"], counts["both_won"], counts["both_lost"], counts["unscored"],
                   counts["other"], counts["unplayed"], tasks)


def verdict(one: Game | None, other: Game | None, by_total: bool) -> str:
    """What a task counts as, in the words of `Against`."""
    if one is None or other is None:
        return "unplayed"
    if different([one.fingerprint, other.fingerprint]):
        return "other"
    if one.status in UNSCORED or other.status in UNSCORED:
        return "unscored"
    return _by_total(one.total, other.total) if by_total else _by_outcome(one, other)


def says_who_won(game: Game) -> bool:
    return isinstance(game.facts.get("won"), bool)


def different(fingerprints: Iterable[str | None]) -> bool:
    """Whether more than one task was played; a fingerprint that isn't known proves nothing."""
    return len({fingerprint for fingerprint in fingerprints if fingerprint is not None}) > 1


def _by_outcome(one: Game, other: Game) -> str:
    before, after = one.status == "won", other.status == "won"
    if before == after:
        return "both_won" if before else "both_lost"
    return "fixed" if after else "broken"


def _by_total(one: float | None, other: float | None) -> str:
    if one is None or other is None:
        return "unscored"
    return "both_won" if abs(one - other) < SAME else "fixed" if other > one else "broken"
