"""What turns an OpenEnv server's actions and observations into tools, text and facts.

An adapter of an environment that ships here is named in `catalog.py`; one for servers found elsewhere in
`recognised.py`. What an episode has to remember between two answers is an attribute of the adapter, set in `fresh`.
"""

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from backend.environments import Description, Observation, Tool


class Adapter(Protocol):
    @property
    def description(self) -> Description: ...

    @property
    def asks_state(self) -> bool:
        """Whether the server's state is asked for, after a reset for `identify` and at the end for `ended`."""
        ...

    def fresh(self) -> "Adapter":
        """For one episode."""
        ...

    def action(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The server's action. ValueError, in words for the model: no such tool, or arguments its schema refuses."""
        ...

    def read(self, data: dict[str, Any]) -> Observation:
        """`data` is what OpenEnv sends: {"observation": {...}, "reward": ..., "done": ...}."""
        ...

    def identify(self, state: dict[str, Any]) -> str | None:
        """The fingerprint of the task, where the server's state tells it."""
        ...

    def ended(self, state: dict[str, Any], last: Observation) -> Observation:
        """The last observation with what the server's state adds to it."""
        ...


class WithoutState:
    """The part of an adapter for a server whose state has nothing to add."""

    asks_state = False

    def identify(self, state: dict[str, Any]) -> str | None:
        return None

    def ended(self, state: dict[str, Any], last: Observation) -> Observation:
        return last


@dataclass(frozen=True)
class Shipped(WithoutState):
    """For an observation that holds the text and each fact by name."""

    description: Description
    translate: Callable[[str, dict[str, Any]], dict[str, Any]]
    """Tool and arguments, already checked, to the server's action."""

    def fresh(self) -> "Shipped":
        return self

    def action(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self._checked(tool, arguments)
        return self.translate(tool, arguments)

    def read(self, data: dict[str, Any]) -> Observation:
        observation = data["observation"]
        return Observation(
            text=observation["text"],
            reward=data.get("reward"),
            done=bool(data.get("done")),
            facts={name: observation[name] for name in self.description.facts},
            fingerprint=(observation.get("metadata") or {}).get("fingerprint"),
        )

    @cached_property
    def _checked(self) -> "Checked":
        return Checked(self.description.tools)


class Checked:
    """Refuses calls that don't fit the tools' schemas."""

    def __init__(self, tools: tuple[Tool, ...]):
        from jsonschema import Draft202012Validator
        from referencing import Registry

        nothing_is_fetched: Registry = Registry()
        self._validators = {tool.name: Draft202012Validator(tool.parameters, registry=nothing_is_fetched)
                            for tool in tools}

    def __call__(self, tool: str, arguments: dict[str, Any]) -> None:
        """Raises ValueError, in words for the model."""
        if tool not in self._validators:
            raise ValueError(f"there is no tool {tool!r:.60}; use {' or '.join(self._validators)}")
        complaint = next(self._validators[tool].iter_errors(arguments), None)
        if complaint is not None:
            where = ".".join(map(str, complaint.absolute_path))
            raise ValueError(f"wrong arguments for {tool}: {where + ': ' if where else ''}{complaint.message:.200}")


def tool(name: str, description: str, **arguments: dict[str, Any]) -> Tool:
    """A tool all of whose arguments are required; each is given as its JSON Schema."""
    return Tool(name, description, {"type": "object", "properties": arguments, "required": list(arguments),
                                    "additionalProperties": False})


def number(value: Any) -> float | None:
    """A reward as a number: True is 1, and what isn't a finite number is None."""
    if not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def likeness(*shown: str) -> str | None:
    """A fingerprint of what a player is shown first: it can tell tasks apart, but not prove two to be one."""
    whole = "\0".join(shown)
    return "~" + hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()[:12] if whole else None
