"""What scripted players earn over a number of tasks: something to hold one's own play, and a model's, against."""

import asyncio
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from backend.environments import Source, Task
from backend.environments.players import players
from backend.play.sitting import Sitting
from backend.records import UNSCORED, EnvironmentSpec, RewardTerm

AT_ONCE = 4


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
        episodes = [sitting.episode() for sitting in self.sittings if sitting.policy.name == player]
        scored = [episode for episode in episodes if episode.status not in UNSCORED]
        won = [episode.status == "won" for episode in scored if episode.facts.get("won") is not None]
        return Row(player, len(scored), _mean(won), _mean([len(episode.turns) for episode in scored]),
                   {term.name: _mean([episode.scores.get(term.name) for episode in scored]) for term in self.terms},
                   _mean([episode.total for episode in scored]))


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None
