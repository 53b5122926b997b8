"""One episode being played by hand or by a script, with what it is worth so far."""

import asyncio
import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from backend.environments import Source, Task, Tool, first_messages
from backend.environments.players import Player, players
from backend.environments.playthrough import Playthrough
from backend.environments.repeating import repeat
from backend.errors import SpecError
from backend.records import UNSCORED, EnvironmentSpec, Episode, EpisodeStatus, FactValue, Policy, RewardTerm, Turn
from backend.rewards import Played, Terms, Verdict

if TYPE_CHECKING:
    from backend.play.forking import Fork

HUMAN = Policy(kind="human", name="")
OF_A_PLAYER: dict[str, FactValue] = {"truncated": False, "completion_tokens": None}
"""Facts of an episode that no model played."""


class Moment(NamedTuple):
    """A playthrough as it stood after one of its turns: what a scripted player looks at."""

    source: Source
    opening: str | None
    tools: tuple[Tool, ...]
    turns: list[Turn]
    facts: dict[str, FactValue]


class Sitting:
    def __init__(self, asked: EnvironmentSpec, source: Source, terms: Sequence[RewardTerm], task: Task,
                 player: str | None = None, pauses: tuple[float, ...] | None = None, fork: "Fork | None" = None):
        """`player` names a scripted player; None is a person. A fork begins with its parent's turns.

        Raises SpecError for a player that isn't known.
        """
        self.asked, self.source, self.task, self.fork = asked, source, task, fork
        self.description = source.describe()
        self.terms = Terms(terms)
        self.policy = HUMAN if player is None else Policy(kind="script", name=player)
        self.play = Playthrough(source, asked) if pauses is None else Playthrough(source, asked, pauses=pauses)
        self.worth: list[dict[str, float | None]] = []
        """Each term's raw value at the start and after every turn."""
        self.ended = False
        self.stop = ""
        """Why it ended, in a few words; "" while it goes on."""
        self._player: Player | None = None if player is None else _player(asked.use, player, task)
        self._left = False
        self._verdict: Verdict | None = None
        self._one_at_a_time = asyncio.Lock()

    async def begin(self) -> None:
        """Raises CannotRepeat for a fork whose turns come out differently than recorded."""
        self.terms.load()
        if self.fork is None:
            await self.play.begin(self.task)
            self._weigh()
        else:
            await repeat(self.play, self.fork.episode, self.fork.parent.turn)
            for moment in self._moments():
                self.worth.append(self.terms.score({**moment.facts, **OF_A_PLAYER}, self.asked.id, moment.turns))
                if self._player is not None and len(moment.turns) < len(self.play.turns):
                    with contextlib.suppress(Exception):  # it only looks; what it would have done there is of no matter
                        self._player(cast(Playthrough, moment))
        if self.over:
            await self.end()

    async def call(self, tool: str, arguments: Any) -> None:
        """A refused call is a turn like any other; one after the end is nothing."""
        async with self._one_at_a_time:
            if self.ended:
                return
            await self.play.call(tool, arguments)
            self._weigh()
            if self.over:
                await self._end()

    async def advance(self) -> None:
        """The scripted player's next call, or its end where it stops."""
        if self._player is None or self.ended:
            return
        try:
            move = self._player(self.play)
        except (LookupError, ValueError) as error:  # a script may meet a game it would never have come to
            return await self.end(f"the {self.policy.name} player knows no move here ({type(error).__name__})")
        if move is None:
            await self.end("the player made no further call")
        else:
            await self.call(*move)

    async def end(self, why: str = "", left: bool = False) -> None:
        """Closes it, as often as you like. `left`: nobody plays it any more, so it says nothing about its player."""
        async with self._one_at_a_time:
            await self._end(why, left)

    async def _end(self, why: str = "", left: bool = False) -> None:
        if self.ended:
            return
        self.ended, self._left = True, left
        self.stop = why or self._why()
        await self.play.end()
        if self.status not in UNSCORED:
            told = Played(self.facts, self.asked.id, self.prompt, self.play.turns)
            self._verdict = (await self.terms.score_all([told]))[0]
            self.worth[-1] = self._verdict.scores

    @property
    def over(self) -> bool:
        """Whether nothing more can be played."""
        return bool(self.play.done or self.play.fault or self.turns_left == 0)

    @property
    def turns_left(self) -> int:
        return max(0, self.play.max_turns - len(self.play.turns))

    @property
    def tools(self) -> tuple[Tool, ...]:
        return self.play.tools

    @property
    def status(self) -> EpisodeStatus:
        """As if it ended now."""
        return "cancelled" if self._left and not self.over else self.play.status()

    @property
    def facts(self) -> dict[str, FactValue]:
        return {**self.play.facts, **OF_A_PLAYER}

    def episode(self, **place: Any) -> Episode:
        """As it stands; `place` is its id, group and sample in a run."""
        unscored = self.status in UNSCORED or not self.worth
        scores = {term.name: None if unscored else self.worth[-1][term.name] for term in self.terms.terms}
        faults = self._verdict.faults if self._verdict else ()
        return Episode(
            **{"id": "now", "phase": "play", "step": 0, "group": 0, "sample": 0, **place},
            environment=self.asked.id, task=self.task.key, seed=self.task.seed, fingerprint=self.play.fingerprint,
            policy=self.policy, parent=self.fork.parent if self.fork else None, status=self.status, stop=self.stop,
            prompt=self.prompt,
            opening=self.play.opening or "", images=self.play.images, start_facts=self.play.start_facts,
            facts=self.facts, scores=scores, total=self.terms.total(scores), started=self.play.started,
            seconds=self.play.seconds,
            fault=self.play.fault or (faults[0] if faults else None),
            judged=self._verdict.judged if self._verdict else {}, turns=tuple(self.play.turns))

    @property
    def prompt(self) -> tuple[dict[str, Any], ...]:
        return tuple(first_messages(self.asked, self.description, self.play.opening))

    def _moments(self) -> Iterator["Moment"]:
        """At the start and after each turn so far."""
        before = {**self.play.start_facts, "turns": 0, "tool_failures": 0, "env_reward": None, "env_reward_total": None,
                  "done": False}
        for k in range(len(self.play.turns) + 1):
            turns = self.play.turns[:k]
            yield Moment(self.source, self.play.opening, self.tools, turns, turns[-1].facts if turns else before)

    def _weigh(self) -> None:
        """Python functions and judges are asked at the end; until then their terms give None."""
        if self.play.fault:
            self.worth.append({term.name: None for term in self.terms.terms})
        else:
            self.worth.append(self.terms.score(self.facts, self.asked.id, self.play.turns))

    def _why(self) -> str:
        return self.play.why("out_of_turns" if self.turns_left == 0 else "finished", "stopped by hand")


def _player(use: str, name: str, task: Task) -> Player:
    known: dict[str, Callable[[random.Random], Player]] = players(use)
    if name not in known:
        raise SpecError("player", f"there is no player {name!r:.60} for {use}; use {' or '.join(known)}")
    return known[name](random.Random(f"{name}/{task.key}"))
