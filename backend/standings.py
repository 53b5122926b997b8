"""What a match comes to: a line a player, and two players held against each other task by task.

Only games of the same task count against each other: where fingerprints differ, two tasks were played.
"""

import json
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from backend.errors import OrtamError
from backend.records import UNSCORED, EnvironmentSpec, RewardTerm
from backend.signal.chance import sign_test
from backend.store import Game, Run, Store

SAME = 1e-9
"""Totals nearer than this are the same."""

Games = Mapping[int, Game]
"""A player's, by the task's place."""


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


def standing(games: Iterable[Game], terms: Sequence[str]) -> Standing:
    listed = list(games)
    scored = [game for game in listed if game.status not in UNSCORED]
    known = [game for game in scored if isinstance(game.facts.get("won"), bool)]
    facts = [game.facts for game in scored]
    return Standing(
        len(listed), len(scored), sum(game.status == "won" for game in known) if known else None,
        _mean(game.total for game in scored), {name: _mean(game.scores.get(name) for game in scored) for name in terms},
        _mean(game.turns for game in scored), _mean(fact.get("tool_failures") for fact in facts),
        _mean(fact.get("invalid_moves") for fact in facts), _mean(game.tokens for game in scored),
        _mean(game.seconds for game in scored))


def against(first: Games, second: Games) -> Against:
    tasks: dict[int, str] = {}
    pairs: dict[int, tuple[Game, Game]] = {}
    for place in sorted(first.keys() | second.keys()):
        one, other = first.get(place), second.get(place)
        if one is None or other is None:
            tasks[place] = "unplayed"
        elif different([one.fingerprint, other.fingerprint]):
            tasks[place] = "other"
        elif one.status in UNSCORED or other.status in UNSCORED:
            tasks[place] = "unscored"
        else:
            pairs[place] = (one, other)
    by_total = not any(isinstance(game.facts.get("won"), bool) for game in (*first.values(), *second.values()))
    for place, (one, other) in pairs.items():
        tasks[place] = _by_total(one.total, other.total) if by_total else _by_outcome(one, other)
    counts = Counter(tasks.values())
    return Against(by_total, counts["fixed"], counts["broken"], counts["both_won"], counts["both_lost"], counts["unscored"],
                   counts["other"], counts["unplayed"], tasks)


def different(fingerprints: Iterable[str | None]) -> bool:
    """Whether more than one task was played; a fingerprint that isn't known proves nothing."""
    return len({fingerprint for fingerprint in fingerprints if fingerprint is not None}) > 1


def by_hand(store: Store, asked: EnvironmentSpec, rewards: Sequence[RewardTerm],
            games: Iterable[Game]) -> dict[int, tuple[Run, Game]]:
    """What people played of these tasks, by the task's place: of each their first game that came to an end.

    Games scored by other terms keep their outcome and lose their scores.
    """
    wanted: dict[tuple, int] = {}
    for game in games:
        wanted.setdefault(_task(game), game.group)
    found: dict[int, tuple[Run, Game]] = {}
    for run in sorted(store.named("played"), key=lambda run: run.id):
        try:
            spec = run.spec
            there = spec.environments[0]
            if (there.use, there.options) != (asked.use, asked.options):
                continue
            played = run.games("human")
        except OrtamError:  # one broken folder must not hide the others
            continue
        alike = _anywhere(spec.rewards) == _anywhere(rewards)
        for game in played:
            place = wanted.get(_task(game))
            if place is None or game.forked or game.status == "cancelled":
                continue
            if place in found and found[place][1].started <= game.started:
                continue
            found[place] = (run, game if alike else game._replace(total=None, scores={}))
    return found


def _task(game: Game) -> tuple[int | None, str]:
    """A task may be any JSON where it came from elsewhere."""
    return game.seed, json.dumps(game.task, sort_keys=True, default=str)


def _anywhere(terms: Sequence[RewardTerm]) -> list[RewardTerm]:
    return [term.model_copy(update={"environments": None}) for term in terms]


def _by_outcome(one: Game, other: Game) -> str:
    before, after = one.status == "won", other.status == "won"
    if before == after:
        return "both_won" if before else "both_lost"
    return "fixed" if after else "broken"


def _by_total(one: float | None, other: float | None) -> str:
    if one is None or other is None:
        return "unscored"
    return "both_won" if abs(one - other) < SAME else "fixed" if other > one else "broken"


def _mean(values: Iterable) -> float | None:
    known = [float(value) for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    return statistics.fmean(known) if known else None
