"""What scripted players earn over a number of tasks: something to hold one's own play, and a model's, against."""

import asyncio
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from backend.environments import Source, Task
from backend.environments.players import players
from backend.play.sitting import Sitting
from backend.records import UNSCORED, EnvironmentSpec, Episode, RewardTerm
from backend.store import Run

AT_ONCE = 4
MOST_KEPT = 10_000
"""Episodes of people that are looked at."""


@dataclass(frozen=True)
class Row:
    player: str
    games: int
    """That were scored."""
    won: float | None
    """Share, of those of which it is known."""
    turns: float | None
    terms: dict[str, float | None]
    """Mean of each, before its weight."""
    total: float | None


class Baseline:
    """Fills as games end. `sittings` are those that have."""

    def __init__(self, asked: EnvironmentSpec, source: Source, terms: Sequence[RewardTerm], tasks: Sequence[Task]):
        self.asked, self.source, self.terms, self.tasks = asked, source, tuple(terms), tuple(tasks)
        self.players = list(players(asked.use))
        self.sittings: list[Sitting] = []

    @property
    def games(self) -> int:
        return len(self.players) * len(self.tasks)

    async def play(self) -> None:
        room = asyncio.Semaphore(AT_ONCE)

        async def one(player: str, task: Task) -> None:
            async with room:
                sitting = Sitting(self.asked, self.source, self.terms, task, player)
                await sitting.begin()
                while not sitting.ended:
                    await sitting.advance()
                self.sittings.append(sitting)

        await asyncio.gather(*(one(player, task) for task in self.tasks for player in self.players))

    def rows(self) -> list[Row]:
        """One of each player, the best first."""
        return [self._row(player) for player in self.players]

    def _row(self, player: str) -> Row:
        return row(player, [Game.of(sitting.episode()) for sitting in self.sittings if sitting.policy.name == player],
                   [term.name for term in self.terms])


class Game(NamedTuple):
    status: str
    won: Any
    turns: int
    scores: Mapping[str, float | None]
    total: float | None

    @classmethod
    def of(cls, episode: Episode) -> "Game":
        return cls(episode.status, episode.facts.get("won"), len(episode.turns), episode.scores, episode.total)


def row(player: str, games: Sequence[Game], terms: Sequence[str]) -> Row:
    """What they come to; unscored games don't count."""
    scored = [game for game in games if game.status not in UNSCORED]
    return Row(player, len(scored), _mean([game.status == "won" for game in scored if game.won is not None]),
               _mean([game.turns for game in scored]),
               {name: _mean([game.scores.get(name) for game in scored]) for name in terms},
               _mean([game.total for game in scored]))


def by_hand(run: Run) -> Row:
    """What people earned in a run that keeps what was played."""
    games = [Game(kept.status, kept.facts.get("won"), kept.turns, kept.scores, kept.total)
             for kept in run.episodes(phase="play", policy="human", limit=MOST_KEPT)]
    return row("by hand", games, [term.name for term in run.spec.rewards])


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None
