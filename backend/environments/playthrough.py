"""One episode being played, by whoever plays it: the trainer, a scripted player, a person.

The player is only ever told words. What it does wrong comes back as a short refusal, what the environment does wrong
ends the episode, and either is kept as a fault on the turn it happened in.
"""

import asyncio
import time
import traceback
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from backend.environments import Observation, Session, Source, Task, Tool
from backend.errors import EnvironmentError_, EnvironmentFailed, SessionLost
from backend.records import NEVER_PLAYED, EnvironmentSpec, EpisodeStatus, FactValue, Fault, Turn

PAUSES = (0.1, 0.5, 2.0)
"""Seconds before each further try to begin: a full server frees its sessions a moment after they are closed."""

PATIENCE = 120.0
"""Seconds until a reset or a call that isn't answered is given up."""

GOODBYE = 10.0
"""Seconds that closing a session may take."""

SHOWN = 20_000
"""Characters of a text that a player is shown; the turn keeps it whole."""

MOST_CALLS = 32
"""Of one message that are played, or told as refused each; the rest of them is one refused call."""

SEEN_AS_FAILURE = ("unknown_tool", "wrong_arguments", "too_many_calls")

Answer = TypeVar("Answer")


class Playthrough:
    def __init__(self, source: Source, environment: EnvironmentSpec, pauses: tuple[float, ...] = PAUSES,
                 patience: float = PATIENCE, clean: Callable[[str], str] = str):
        """`clean` is applied to all that the player is shown: a model's control tokens must not come from elsewhere."""
        self.source, self.environment = source, environment
        self.max_turns = environment.max_turns or source.describe().max_turns
        self.turns: list[Turn] = []
        """Every call in order, refused ones included."""
        self.opening: str | None = None
        self.images: tuple[str, ...] = ()
        """What it showed first besides text, as data: URLs."""
        self.start_facts: dict[str, FactValue] = {}
        self.fingerprint: str | None = None
        self.fault: Fault | None = None
        """Of the environment: set once, and nothing is played after it."""
        self.done = False
        self.opened = False
        """Whether the environment has shown how it begins."""
        self.started = 0.0
        self._pauses, self._patience, self._clean = pauses, patience, clean
        self._session: Session | None = None
        self._tools: tuple[Tool, ...] = ()
        """Of the task, as its session told them last: they are known once it is closed, too."""
        self._clock: float | None = None
        self._seconds: float | None = None
        self._facts: dict[str, FactValue] = {}
        self._rewards: list[float] = []
        self._reached = self._failures = 0
        self._one_at_a_time = asyncio.Lock()

    async def begin(self, task: Task) -> str | None:
        """Opens a fresh session and resets it. Returns the opening observation; on failure the fault is set."""
        self.started, self._clock = time.time(), time.perf_counter()
        for pause in (*self._pauses, None):
            try:
                first = await self._in_time(self._opened(task), "A reset")
            except _Hung as error:
                await self._leave()
                return self._failed(error)
            except EnvironmentError_ as error:
                await self._leave()
                if pause is None:
                    return self._failed(error)
                await asyncio.sleep(pause)
            except Exception as error:
                await self._leave()
                return self._failed(error)
            else:
                break
        self.opening, self.fingerprint, self.done = first.text or None, first.fingerprint, first.done
        self.start_facts, self._facts, self.images = first.facts, first.facts, first.images
        self._tools = getattr(self._session, "tools", None) or ()
        self.opened = True
        return self._shown(first.text) or None

    async def _opened(self, task: Task) -> Observation:
        self._session = await self.source.open()
        return await self._session.reset(task)

    async def call(self, tool: str, arguments: Any) -> str:
        """The text for the player. Never raises for what a player or an environment did."""
        async with self._one_at_a_time:
            began = time.perf_counter()
            told = await self._call(tool, arguments)
            self.turns[-1] = self.turns[-1].model_copy(update={"seconds": time.perf_counter() - began})
            return told

    async def calls(self, asked: Sequence[tuple[str, Any]]) -> list[tuple[str, list[Turn]]]:
        """Those of one message, in their order: for each the text for the player and the turns it made."""
        answers = []
        for tool, arguments in asked[:MOST_CALLS]:
            before = len(self.turns)
            told = await self.call(tool, arguments)
            answers.append((told, self.turns[before:]))
        if rest := asked[MOST_CALLS:]:
            told = await self.leave_out(*rest[0], too_many(len(rest)))
            answers += [(told, self.turns[-1:]), *((told, []) for _ in rest[1:])]
        return answers

    async def leave_out(self, tool: str, arguments: Any, fault: Fault) -> str:
        """Keeps a call that isn't played with why; the text for the player."""
        async with self._one_at_a_time:
            over = self._over()
            return self._refuse(tool, arguments, over[0] if over else fault.kind, fault.message)

    async def say(self, words: str) -> Turn | None:
        """The player wrote words and no call. Where the environment takes those as the answer they are judged, which is a
        turn; None where they are nothing to it, or where the episode is over."""
        async with self._one_at_a_time:
            answer = getattr(self._session, "answer", None)
            if answer is None or self.done or self.fault:
                return None
            began = time.perf_counter()
            try:
                seen = await self._in_time(answer(words), "An answer in words")
            except ValueError as error:
                self._refuse(None, None, "wrong_arguments", f"The answer was refused: {error}.")
            except Exception as error:
                told = self._failed(error)
                self._keep(None, None, fault=self.fault, shown=told)
                await self._leave()
            else:
                self._take(None, None, seen)
            self.turns[-1] = self.turns[-1].model_copy(update={"said": words, "seconds": time.perf_counter() - began})
            return self.turns[-1]

    async def _in_time(self, answer: Awaitable[Answer], what: str) -> Answer:
        try:
            async with asyncio.timeout(self._patience) as limit:
                return await answer
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise _Hung(f"{what} got no answer within {self._patience:g} s and was given up.") from error

    async def end(self) -> None:
        """Hears the environment's verdict, if it has one, and closes the session; as often as you like."""
        if not self._one_at_a_time.locked():  # else a call that hangs is being left
            await self._hear_verdict()
        if self._seconds is None and self._clock is not None:
            self._seconds = time.perf_counter() - self._clock
        await self._leave()

    @property
    def seconds(self) -> float | None:
        """From begin to end, or to now; None before it began."""
        if self._seconds is None and self._clock is not None:
            return time.perf_counter() - self._clock
        return self._seconds

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Those of the task, where tasks differ in them."""
        self._tools = getattr(self._session, "tools", None) or self._tools
        return self._tools or self.source.describe().tools

    @property
    def facts(self) -> dict[str, FactValue]:
        """The environment's, and those of every episode (`EPISODE_FACTS`) but `truncated` and `completion_tokens`."""
        return {
            **self._facts,
            "turns": self._reached,
            "tool_failures": self._failures,
            "env_reward": self._rewards[-1] if self._rewards else None,
            "env_reward_total": sum(self._rewards) if self._rewards else None,
            "done": self.done,
        }

    def status(self, truncated: bool = False) -> EpisodeStatus:
        """As if it ended now. `truncated`: the token budget cut the player short."""
        if self.fault:
            return "env_lost" if self.fault.kind == SessionLost.__name__ else "env_error"
        if self._clock is None:
            return "cancelled"
        if self.done:
            return "invalid" if self._facts.get("invalid") is True else self._verdict()
        if truncated:
            return "truncated"
        if len(self.turns) >= self.max_turns:
            return "out_of_turns"
        return "lost" if self._facts.get("won") is False else "finished"

    def why(self, status: EpisodeStatus, otherwise: str = "the model made no further call") -> str:
        """Why it ended so, in a few words."""
        if self.fault:
            return f"{self.fault.where}: {self.fault.message}"
        if self.done:
            return "the environment ended it"
        return {"truncated": "the token budget ran out", "out_of_turns": "no turns left",
                "invalid": "the last call could not be parsed"}.get(status, otherwise)

    def _verdict(self) -> EpisodeStatus:
        won = self._facts.get("won")
        return "finished" if won is None else "won" if won else "lost"

    async def _call(self, tool: str, arguments: Any) -> str:
        if over := self._over():
            return self._refuse(tool, arguments, *over)
        assert self._session is not None
        if tool not in (names := [each.name for each in self.tools]):
            return self._refuse(tool, arguments, "unknown_tool", f"There is no tool {tool!r:.60}; use "
                                                                 f"{' or '.join(names)}.")
        if not isinstance(arguments, dict):
            return self._refuse(tool, arguments, "wrong_arguments", f"The arguments of {tool} must be a JSON object.")
        try:
            seen = await self._in_time(self._session.call(tool, arguments), f"The call of {tool}")
        except ValueError as error:
            words = str(error) or "wrong arguments"
            return self._refuse(tool, arguments, "wrong_arguments", f"{words[0].upper()}{words[1:]}.")
        except Exception as error:
            self._reached += 1
            self._failures += 1
            told = self._failed(error)
            self._keep(tool, arguments, fault=self.fault, shown=told)
            await self._leave()
            return told
        return self._take(tool, arguments, seen)

    def _over(self) -> tuple[str, str] | None:
        """Why no call can be played any more: the fault's kind, and in words."""
        if self.fault:
            return "no_environment", "The environment is gone; no more can be played."
        if self.done or self._session is None:
            return "after_the_end", "The game is over. Make no more calls."
        if len(self.turns) >= self.max_turns:
            return "no_turns_left", f"No turns left: all {self.max_turns} are used."
        return None

    def _take(self, tool: str | None, arguments: Any, seen: Observation) -> str:
        """Keeps what the environment answered; the text for the player."""
        self._reached += 1
        self._failures += seen.fault is not None and seen.fault.kind not in NEVER_PLAYED
        self._facts, self.done = seen.facts, seen.done
        if seen.reward is not None:
            self._rewards.append(seen.reward)
        whole, shown = seen.text if seen.raw is None else seen.raw, self._shown(seen.text)
        self._keep(tool, arguments, result=whole, shown=None if whole == shown else shown, reward=seen.reward,
                   fault=seen.fault, images=seen.images)
        return shown

    def _shown(self, text: str) -> str:
        """As the player is to see it: not too long, and without tokens that steer a model."""
        if len(text) > SHOWN:
            head, tail = text[:SHOWN * 3 // 4], text[-SHOWN // 4:]
            text = f"{head}\n[{len(text) - len(head) - len(tail):,} characters left out]\n{tail}"
        return self._clean(text)

    def _refuse(self, tool: str | None, arguments: Any, kind: str, told: str) -> str:
        told = self._clean(told)
        if kind in SEEN_AS_FAILURE:
            self._failures += 1
        fault = Fault(where="environment" if kind == "no_environment" else "model", kind=kind, message=told)
        self._keep(tool, arguments, fault=fault, shown=told)
        return told

    def _failed(self, error: Exception) -> str:
        """Keeps the fault; the player is told no more than that, since an error's text may hold anything."""
        kind = EnvironmentFailed.__name__ if isinstance(error, EnvironmentFailed) else type(error).__name__
        self.fault = Fault(where="environment", kind=kind, message=str(error) or kind,
                           traceback="".join(traceback.format_exception(error)))
        if isinstance(error, SessionLost):
            return "The connection to the environment was lost; the episode is over."
        return "The environment failed; the episode is over."

    def _keep(self, tool: str | None, arguments: Any, **what: Any) -> None:
        self.turns.append(Turn(index=len(self.turns), tool=tool, arguments=arguments, done=self.done,
                               facts=self.facts, **what))

    async def _hear_verdict(self) -> None:
        verdict = getattr(self._session, "verdict", None)
        if verdict is None:
            return
        try:
            reward = await self._in_time(verdict(), "The environment's reward")
        except Exception as error:
            self._failed(error)
        else:
            self._rewards += [] if reward is None else [reward]

    async def _leave(self) -> None:
        """Whatever happens on the way out, the episode is over."""
        session, self._session = self._session, None
        if session is None:
            return
        try:
            async with asyncio.timeout(GOODBYE):
                await session.close()
        except Exception:
            pass


def too_many(rest: int) -> Fault:
    """What stands for all calls of a message beyond those that are taken."""
    return Fault(where="model", kind="too_many_calls", message=f"Of one message {MOST_CALLS} calls are taken; this one made "
                 f"{MOST_CALLS + rest:,}, and the last {rest:,} were not played.")


class _Hung(EnvironmentFailed):
    """No answer in time; trying again would take as long again."""
