"""Where environments come from.

To add one that ships here: write an OpenEnv server in `servers/`, an adapter that turns its observations into text and
facts, and name both in `catalog.py`. To add a kind of source: write a module in `kinds/` and name its `use:` prefix in
`sources.py`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from backend.records import EnvironmentSpec, FactValue, Fault, TaskSelection, Turn


@dataclass(frozen=True)
class Tool:
    """A tool as the model sees it; `parameters` is the environment's exact JSON Schema of an object."""

    name: str
    description: str
    parameters: dict[str, Any]

    def schema(self) -> dict[str, Any]:
        """In the form chat templates take: {"type": "function", "function": {...}}."""
        return {"type": "function", "function": {"name": self.name, "description": self.description,
                                                 "parameters": self.parameters}}


@dataclass(frozen=True)
class Task:
    """What one group plays. `key` is shown and stored; `seed` and `options` go to reset."""

    key: str
    seed: int | None = None
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Description:
    title: str
    about: str
    """One or two sentences: what it teaches."""
    tools: tuple[Tool, ...]
    facts: dict[str, str]
    """Name -> meaning; what reward terms may speak of, besides the facts every episode has (`EPISODE_FACTS`)."""
    prompt: str
    """What the model is told first, where the spec gives no prompt of its own."""
    max_turns: int
    viewer: str = "transcript"
    """Names a module of ui/viewers."""
    capacity: int | None = None
    """Sessions it can hold at once; None when unknown or as many as asked for."""
    rewards: tuple[tuple[str, str], ...] = (("env_reward", "env_reward"),)
    """(name, expression) of the terms proposed for it."""
    options: dict[str, Any] = field(default_factory=dict)
    """What its reset takes besides the seed, as JSON Schema by name, where it tells."""
    notice: str = ""
    """What a person should know before relying on it; a sentence, or nothing."""


@dataclass(frozen=True)
class Observation:
    text: str
    """For the model."""
    reward: float | None = None
    done: bool = False
    facts: dict[str, FactValue] = field(default_factory=dict)
    raw: str | None = None
    """The environment's whole answer where `text` is only a part of it."""
    fingerprint: str | None = None
    """Set by reset: names the task that is really played. One that starts with ~ was made of what the player is shown
    first: two that differ are two tasks, two that agree prove nothing."""
    images: tuple[str, ...] = ()
    """What it showed besides text, as data: URLs."""
    fault: Fault | None = None
    """What went wrong in the call, where the episode goes on; `text` says it to the player."""


@runtime_checkable
class Session(Protocol):
    """One connection, one episode. Raises EnvironmentFailed and SessionLost, and no other error of its own making.

    Where tasks differ in their tools it also has `tools`: those of the task, once it is reset. Where the environment says
    only at the end what an episode was worth it has an async `verdict() -> float | None`, asked once before `close`. Where
    words without a call are an answer that ends the episode it has an async `answer(words) -> Observation`, else None.
    """

    async def reset(self, task: Task) -> Observation: ...

    async def call(self, tool: str, arguments: dict[str, Any]) -> Observation:
        """A wrong move is an Observation that says so. ValueError: the tool or its arguments don't exist."""
        ...

    async def close(self) -> None: ...


class Source(Protocol):
    """Turns a `use:` string into sessions."""

    def describe(self) -> Description: ...

    def tasks(self, selection: TaskSelection, options: dict[str, Any]) -> list[Task]: ...

    def held_out(self, selection: TaskSelection, options: dict[str, Any], count: int) -> list[Task]:
        """Tasks that `tasks` doesn't give for this selection; fewer than `count` where there are no more."""
        ...

    async def open(self) -> Session:
        """A fresh connection, not yet reset."""
        ...


def first_messages(asked: EnvironmentSpec, described: Description, opening: str | None) -> list[dict[str, str]]:
    """What an episode starts with: the system message where the spec has one, then the user's, which is the prompt, a
    blank line and the opening observation."""
    prompt = asked.prompt or described.prompt
    system = [{"role": "system", "content": asked.system}] if asked.system and asked.system.strip() else []
    return [*system, {"role": "user", "content": f"{prompt}\n\n{opening}" if opening else prompt}]


def messages_of(turns: Iterable[Turn]) -> list[dict[str, Any]]:
    """What follows the first messages: of each turn the call and what the player was shown, one call a message."""
    messages: list[dict[str, Any]] = []
    for turn in turns:
        if turn.tool is None:
            continue
        arguments = turn.arguments if isinstance(turn.arguments, dict) else {}
        call = {"type": "function", "function": {"name": turn.tool, "arguments": arguments}}
        messages.append({"role": "assistant", "content": turn.said, "tool_calls": [call]})
        told = turn.shown if turn.shown is not None else turn.result
        messages.append({"role": "tool", "name": turn.tool, "content": told or ""})
    return messages


EPISODE_FACTS = {
    "turns": "tool calls that reached the environment",
    "tool_failures": "tool calls that failed: unknown tool, wrong arguments, error at the environment",
    "env_reward": "the environment's last own reward; None if it never gave one",
    "env_reward_total": "sum of the environment's own rewards; None if it never gave one",
    "done": "whether the environment said the episode is over",
    "truncated": "whether the token budget cut the episode",
    "completion_tokens": "tokens the model generated",
}
"""Facts every episode has, whatever its environment."""
