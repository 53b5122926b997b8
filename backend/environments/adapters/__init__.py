"""What turns an OpenEnv server's actions and observations into tools, text and facts.

To add one: write a module with an `ADAPTER` and name it in `catalog.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from backend.environments import Description, Observation, Tool


@dataclass(frozen=True)
class Adapter:
    description: Description
    translate: Callable[[str, dict[str, Any]], dict[str, Any]]
    """Tool and arguments, already checked, to the server's action."""

    def action(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """ValueError, in words for the model: there is no such tool, or the arguments don't fit its schema."""
        if tool not in self._validators:
            raise ValueError(f"there is no tool {tool!r:.60}; use {' or '.join(self._validators)}")
        complaint = next(self._validators[tool].iter_errors(arguments), None)
        if complaint is not None:
            where = ".".join(map(str, complaint.absolute_path))
            raise ValueError(f"wrong arguments for {tool}: {where + ': ' if where else ''}{complaint.message:.200}")
        return self.translate(tool, arguments)

    def read(self, data: dict[str, Any]) -> Observation:
        """`data` is what OpenEnv sends: {"observation": {...}, "reward": ..., "done": ...}."""
        observation = data["observation"]
        return Observation(
            text=observation["text"],
            reward=data.get("reward"),
            done=bool(data.get("done")),
            facts={name: observation[name] for name in self.description.facts},
            fingerprint=(observation.get("metadata") or {}).get("fingerprint"),
        )

    @cached_property
    def _validators(self) -> dict[str, Any]:
        from jsonschema import Draft202012Validator

        return {tool.name: Draft202012Validator(tool.parameters) for tool in self.description.tools}


def tool(name: str, description: str, **arguments: dict[str, Any]) -> Tool:
    """A tool all of whose arguments are required; each is given as its JSON Schema."""
    return Tool(name, description, {"type": "object", "properties": arguments, "required": list(arguments),
                                    "additionalProperties": False})
