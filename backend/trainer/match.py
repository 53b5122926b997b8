"""A match: the same tasks played by one player after another, each game an episode that says who played.

Torch is loaded only where a model plays, so a match of scripted players and endpoints starts at once.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

from backend.environments import EPISODE_FACTS, Source, Task
from backend.environments.repeating import task_of
from backend.environments.sources import reach, sessions_for, source
from backend.errors import EnvironmentFailed, ModelError, SpecError
from backend.records import CheckpointPlayer, EndpointPlayer, Episode, Event, PlayerSpec, Result, RunSpec, ScriptPlayer
from backend.rewards import Terms
from backend.rewards.trouble import Trouble
from backend.store import Run, RunWriter, Store
from backend.trainer.endpoint import Endpoint
from backend.trainer.game import Game
from backend.trainer.speakers import Speaker

AT_ONCE = 16
"""Games of a scripted player at one time."""

MOST_AT_ONCE = 64
"""Of any player."""

GIVEN_UP_AFTER = 3
"""Games in a row in which a player gave no answer: the rest would come to the same."""

AWAY_AFTER = 8
"""Games in a row that the environment failed."""


class GivenUp(Exception):
    """The rest of this player's games aren't played; the message says why."""


def play_match(run: Run, writer: RunWriter, stop: Callable[[], bool]) -> Result:
    """Raises SpecError, RewardError, EnvironmentFailed, CannotRepeat."""
    spec = run.spec
    asked = spec.environments[0]
    writer.phase("starting the environment")
    with reach(asked, sessions_for(MOST_AT_ONCE)) as address:
        there = source(asked, address)
        described = there.describe()
        terms = Terms(spec.rewards, described.facts.keys() | EPISODE_FACTS.keys())
        terms.load(run.judged())
        return asyncio.run(MatchPlay(run, writer, stop, there, terms).all())


class MatchPlay:
    def __init__(self, run: Run, writer: RunWriter, stop: Callable[[], bool], there: Source, terms: Terms):
        self.run, self.writer, self.stop, self.there, self.terms = run, writer, stop, there, terms
        self.spec: RunSpec = run.spec
        assert self.spec.match is not None
        self.match = self.spec.match
        self.parent = self._parent()
        self.tasks = self._tasks()
        self.done = 0
        self.given_up: dict[str, str] = {}
        """Label -> why."""
        self._trouble = Trouble()
        self._failed = self._away = 0

    @property
    def games(self) -> int:
        return len(self.tasks) * len(self.match.players)

    async def all(self) -> Result:
        self.writer.metrics(0, {"games": float(self.games)})
        self.writer.event(Event(at=time.time(), kind="start", text=f"{self.spec.plays} on {self.spec.environments[0].id}"))
        for place, (player, label) in enumerate(zip(self.match.players, self.match.labels(), strict=True)):
            if self.stop():
                break
            try:
                await self._all_of(place, player, label)
            except (GivenUp, ModelError) as why:
                self.given_up[label] = str(why)
                self.writer.event(Event(at=time.time(), kind="fault", level="error",
                                        text=f"{label} was given up: {why}"))
        return self._result()

    async def _all_of(self, place: int, player: PlayerSpec, label: str) -> None:
        self._failed = 0
        speaker = self._speaker(player, label)
        try:
            together = speaker.at_once if speaker else AT_ONCE
            self._say(label)
            for first in range(0, len(self.tasks), together):
                if self.stop():
                    return
                games = [Game(self.spec, self.there, task, first + nth, place, label, self.parent)
                         for nth, task in enumerate(self.tasks[first:first + together])]
                await _all([game.begin(speaker) for game in games])
                await _all([self._one(game) for game in games])
        finally:
            if speaker:
                await speaker.close()

    async def _one(self, game: Game) -> None:
        await game.play()
        self._keep(await game.episode(self.terms), game.label)

    def _keep(self, episode: Episode, label: str) -> None:
        self.done += 1
        self.writer.record([episode])
        for event in self._trouble.of([episode]):
            self.writer.event(event)
        self._say(label)
        print(f"game {self.done}/{self.games}  {label}  task {episode.task}  {episode.status}", flush=True)
        self._failed = self._failed + 1 if episode.fault and episode.fault.where == "engine" else 0
        self._away = self._away + 1 if episode.status in ("env_error", "env_lost") else 0
        said = episode.fault.message if episode.fault else ""
        if self._away >= min(AWAY_AFTER, self.games):
            raise EnvironmentFailed(f"the environment failed {self._away} games in a row: {said}")
        if self._failed >= GIVEN_UP_AFTER:
            raise GivenUp(f"{self._failed} games in a row came to no answer; {said}")

    def _say(self, label: str) -> None:
        self.writer.phase(f"{self.done} of {self.games} games · {label}")

    def _result(self) -> Result:
        played = f"{self.done} of {self.games} games played"
        gone = "; ".join(f"{label} was given up: {why}" for label, why in self.given_up.items())
        if self.given_up and len(self.given_up) == len(self.match.players):
            return Result(status="failed", reason=gone, step=self.done)
        if self.stop() and self.done < self.games and not gone:
            return Result(status="stopped", reason=f"asked to stop; {played}", step=self.done)
        whole = f"all {self.games} games played" if self.done == self.games else played
        return Result(status="finished", reason=f"{whole}; {gone}" if gone else whole, step=self.done)

    # ------------------------------------------------------------------------------------------------ who and what

    def _speaker(self, player: PlayerSpec, label: str) -> Speaker | None:
        """None for a scripted player. Raises ModelError."""
        if isinstance(player, ScriptPlayer):
            return None
        if isinstance(player, EndpointPlayer):
            return Endpoint(player, self.spec.train.max_completion_tokens)
        self.writer.phase(f"loading {label}")
        from backend.trainer.generating import Generator

        folder = _folder(self.run.path.parent, player) if isinstance(player, CheckpointPlayer) else player.model
        return Generator(folder, self.spec, player.temperature)

    def _parent(self) -> Episode | None:
        fork = self.match.fork
        return Store(self.run.path.parent).run(fork.run).episode(fork.episode) if fork else None

    def _tasks(self) -> list[Task]:
        asked = self.spec.environments[0]
        if self.parent:
            return [task_of(self.there, asked, self.parent)]
        if self.match.held_out:
            tasks = self.there.held_out(asked.tasks, asked.options, self.match.held_out)[:self.match.held_out]
        else:
            tasks = self.there.tasks(asked.tasks, asked.options)
        if not tasks and self.match.held_out:
            raise SpecError("match.held_out", f"{asked.id} has no task left that training doesn't draw; play from a seed")
        if not tasks:
            raise SpecError("environments.0.tasks", f"{asked.id} has no such task; choose others")
        return tasks


async def _all(work: Sequence[Coroutine[Any, Any, None]]) -> None:
    """To the end of each; then raises what one of them raised."""
    for came in await asyncio.gather(*work, return_exceptions=True):
        if came is not None:
            raise came


def _folder(runs: Path, player: CheckpointPlayer) -> str:
    folder = runs / player.run / "checkpoints" / player.checkpoint
    if not folder.is_dir():
        raise ModelError(f"the run {player.run} has no checkpoint {player.checkpoint} in its folder")
    return str(folder)
