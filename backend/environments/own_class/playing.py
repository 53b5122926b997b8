"""Playing a class of the user's own on the server that holds it."""

from typing import Any

from backend.environments import Description, Observation
from backend.environments.adapters import Shipped, number
from backend.environments.openenv import OpenEnvSession, OpenEnvSource
from backend.errors import EnvironmentFailed
from backend.records import Fault


def adapter(description: Description) -> "Own":
    return Own(description, lambda tool, arguments: {"tool": tool, "arguments": arguments})


class Own(Shipped):
    def read(self, data: dict[str, Any]) -> Observation:
        told = data["observation"]
        fault = Fault(where="environment", **told["fault"]) if told["fault"] else None
        if fault and told["fatal"]:
            raise _failed(fault)
        return Observation(told["text"], done=bool(data.get("done")), images=tuple(told["images"]), fault=fault,
                           facts={name: told["facts"].get(name) for name in self.description.facts})


class OwnSession(OpenEnvSession):
    async def verdict(self) -> float | None:
        """What the class says the episode was worth. Raises EnvironmentFailed."""
        told = await self._ask("step", {"tool": "get_reward", "arguments": {}})
        if fault := told["observation"]["fault"]:
            raise _failed(Fault(where="environment", **fault))
        return number(told.get("reward"))


class OwnSource(OpenEnvSource):
    def _session(self, socket) -> OwnSession:
        return OwnSession(socket, self.base_url, self._adapter)


def _failed(fault: Fault) -> EnvironmentFailed:
    error = EnvironmentFailed(fault.message)
    if fault.traceback:
        error.add_note(fault.traceback)
    return error
