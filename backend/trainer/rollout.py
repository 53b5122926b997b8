"""Between TRL's tool loop and the environments: who sits where, and the calls of a whole turn at once.

TRL plays a batch of completions and awaits each completion's tool calls before it starts the next one's. `Rounds` starts
the calls of all completions when the first is asked for, so a turn takes as long as its slowest call; the calls of one
completion still run in order.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from backend.environments import Description, Source, Task
from backend.environments.playthrough import MOST_CALLS, Playthrough, too_many
from backend.records import EnvironmentSpec, Fault, Turn


@dataclass
class Table:
    """An environment of the run with all that an episode of it needs."""

    environment: EnvironmentSpec
    description: Description
    source: Source
    """Another one when the environment went away and was reached anew."""

    @property
    def max_turns(self) -> int:
        return self.environment.max_turns or self.description.max_turns


class Seat:
    """A place in the batch. TRL keeps and reuses it, so an episode begins at `sit`, not at construction."""

    def __init__(self, table: Table, clean: Callable[[str], str] = str):
        """`clean` takes control tokens out of what the environment says."""
        self.table, self.clean = table, clean
        self.task: Task | None = None
        self.play: Playthrough = None  # type: ignore[assignment]
        """Of the episode under way; None before the first."""
        self.opening: str | None = None
        self.scores: dict[str, float | None] = {}

    async def sit(self, task: Task) -> None:
        """Open a fresh session for one episode of `task`; a failure is kept in the playthrough."""
        await self.leave()
        self.task, self.scores = task, {}
        self.play = Playthrough(self.table.source, self.table.environment, clean=self.clean)
        self.opening = await self.play.begin(task)

    async def leave(self) -> None:
        if self.play:
            await self.play.end()

    def reset(self, **row: Any) -> str | None:
        """TRL's reset: the session is open already; what it returns is appended to the prompt."""
        return f"\n\n{self.opening}" if self.opening else None

    async def act(self) -> str:
        """Stands for the tools, which differ by environment; `Rounds.tools` and the recorder's schemas replace it."""
        raise NotImplementedError


@dataclass
class Round:
    """The calls of one assistant message, under way or answered."""

    calls: list[tuple[str, Any]]
    answers: Any
    """concurrent.futures.Future of a list of (text for the model, turns it made), in the order of `calls`."""
    unasked: list[int]

    def place_of(self, name: str, arguments: Any) -> int:
        place = next((k for k in self.unasked if self.calls[k] == (name, arguments)), self.unasked[0])
        self.unasked.remove(place)
        return place

    @property
    def makes(self) -> int:
        """How many turns, once all are answered."""
        return min(len(self.calls), MOST_CALLS + 1)

    def turns(self) -> list[Turn]:
        return [turn for _, turns in self.answers.result() for turn in turns]


class Rounds:
    """All rounds of one batch. `completions` is TRL's own list, which it extends turn by turn."""

    def __init__(self, seats: list[Seat], completions: list[list[dict]], loop: asyncio.AbstractEventLoop):
        self.seats, self.completions, self.loop = seats, completions, loop
        self.played: list[dict[int, Round]] = [{} for _ in seats]
        """For each seat, the round of each assistant message by the message's identity."""

    def tools(self, sample: int) -> "SeatTools":
        return SeatTools(self, sample)

    def answer(self, sample: int, name: str, arguments: dict[str, Any]):
        """An awaitable of the text for the model."""
        self._start_all()
        this = self.played[sample][id(self.completions[sample][-1])]
        place = this.place_of(name, arguments)

        async def wait() -> str:
            return (await asyncio.wrap_future(this.answers))[place][0]

        return wait()

    def _start_all(self) -> None:
        for seat, messages, played in zip(self.seats, self.completions, self.played, strict=True):
            calls = messages[-1].get("tool_calls") if messages[-1]["role"] == "assistant" else None
            if not calls or id(messages[-1]) in played:
                continue
            asked = [(call["function"]["name"], call["function"]["arguments"]) for call in calls]
            answers = asyncio.run_coroutine_threadsafe(seat.play.calls(asked), self.loop)
            played[id(messages[-1])] = Round(asked, answers, list(range(len(asked))))


class SeatTools(dict):
    """Looks like TRL's table of async tools, but knows every name: an unknown tool is refused, and recorded, by the
    playthrough. An awaiting first message is the last message of its seat when TRL asks, so no name is needed before."""

    def __init__(self, rounds: Rounds, sample: int):
        super().__init__()
        self.rounds, self.sample = rounds, sample

    def __contains__(self, name: object) -> bool:
        return True

    def __getitem__(self, name: str):
        return lambda **arguments: self.rounds.answer(self.sample, name, arguments)


def said_in(rounds: Rounds, sample: int, turns: list[Turn]) -> list[Turn]:
    """An episode's turns so far with what the model said before its calls; waits for no answer."""
    told, place = list(turns), 0
    for message in list(rounds.completions[sample]):
        this = rounds.played[sample].get(id(message))
        if this and place < len(told):
            told[place] = told[place].model_copy(update={"said": words_in(message.get("content")), "thought": words_in(
                message.get("reasoning_content") or message.get("thinking"))})
            place += this.makes
    return told


@dataclass(frozen=True)
class Spoken:
    """One assistant message as the model generated it."""

    tokens: int
    text: str
    """With its control tokens."""


def story(messages: list[dict], played: dict[int, Round], spoken: list[Spoken], seconds: list[float]) -> tuple[Turn, ...]:
    """The turns of one episode, from the transcript TRL kept and the rounds that were really played.

    `messages` is TRL's completion; `spoken` and `seconds` are per assistant message. A round whose results TRL took out
    of the transcript again, because they would not fit the token budget, is marked `cut`. A message whose calls were
    never played (no turns left) gives turns without a result.
    """
    told: list[Turn] = []
    heard = iter(zip(spoken, seconds, strict=False))
    for place, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        this_said, took = next(heard, (None, None))
        said = words_in(message.get("content"))
        thought = words_in(message.get("reasoning_content") or message.get("thinking"))
        this = played.get(id(message))
        if this:
            answered = place + 1 < len(messages) and messages[place + 1]["role"] == "tool"
            made = [turn.model_copy(update={"cut": not answered}) for turn in this.turns()]
        elif message.get("tool_calls"):
            refused = AFTER_THE_END if told and told[-1].done else NO_TURNS_LEFT
            asked = [(call["function"]["name"], call["function"]["arguments"]) for call in message["tool_calls"]]
            made = [Turn(index=0, tool=name, arguments=arguments, fault=refused)
                    for name, arguments in asked[:MOST_CALLS + 1]]
            if rest := asked[MOST_CALLS:]:
                left_out = refused.model_copy(update={"message": too_many(len(rest)).message})
                made[-1] = made[-1].model_copy(update={"fault": left_out})
        elif looks_like_a_call(written := this_said.text if this_said else said):
            said, unparsed = written, Fault(where="model", kind="unparsed_call", message="This looks like a tool call, but "
                                            "it could not be parsed, so it was not played.")
            made = [Turn(index=0, fault=unparsed)]
        elif said or thought:
            made = [Turn(index=0)]
        else:
            made = []
        for n, turn in enumerate(made):
            first = {"said": said, "thought": thought, "tokens": this_said and this_said.tokens, "model_seconds": took}
            told.append(turn.model_copy(update={"index": len(told), **(first if n == 0 else {})}))
    return tuple(told)


def last_words(messages: list[dict], spoken: list[Spoken]) -> str | None:
    """What the model said at the end without a call; None where it called, or tried to."""
    last = messages[-1]
    if last["role"] != "assistant" or last.get("tool_calls"):
        return None
    said = words_in(last.get("content"))
    return None if looks_like_a_call(spoken[-1].text if spoken else said) else said


def with_answer(turns: tuple[Turn, ...], answer: Turn) -> tuple[Turn, ...]:
    """With what the environment said of the model's last words."""
    words_only = bool(turns) and turns[-1].tool is None and not turns[-1].fault
    said = turns[-1] if words_only else Turn(index=len(turns))
    heard = {name: getattr(answer, name) for name in ("result", "shown", "reward", "done", "facts", "seconds", "fault", "images")}
    return (*(turns[:-1] if words_only else turns), said.model_copy(update=heard))


NO_TURNS_LEFT = Fault(where="model", kind="no_turns_left", message="The call came after the last allowed turn and was not "
                      "played.")
AFTER_THE_END = Fault(where="model", kind="after_the_end", message="The episode was over, so the call was not played.")

CALL_SIGNS = ("<tool_call", "<|tool_call", "<|call|>", "<function=", "[TOOL_CALLS]", '"arguments"')
"""How tool calls begin in the common chat formats, and in the starters'."""


def looks_like_a_call(said: str) -> bool:
    return any(sign in said for sign in CALL_SIGNS)


def words_in(content: Any) -> str:
    """Of a message's content, which is a text, blocks of text, or None."""
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content if isinstance(part, dict))
    return content or ""
