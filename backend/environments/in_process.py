"""Playing a catalog game in this process, without a server: same tools, texts and facts, much faster.

For warm-up games and for tests; a run plays over sockets, as it would anywhere.
"""

from collections.abc import Callable
from typing import Any

from backend.environments import Description, Observation, Task
from backend.environments.adapters import Shipped
from backend.environments.tasks import seeded, seeded_after
from backend.records import TaskSelection


class InProcess:
    def __init__(self, game: Callable, adapter: Shipped):
        self._game, self._adapter = game, adapter

    def describe(self) -> Description:
        return self._adapter.description

    def tasks(self, selection: TaskSelection, options: dict[str, Any]) -> list[Task]:
        return seeded(selection, options)

    def held_out(self, selection: TaskSelection, options: dict[str, Any], count: int) -> list[Task]:
        return seeded_after(selection, options, count)

    async def open(self) -> "InProcessSession":
        return InProcessSession(self._game(), self._adapter)


class InProcessSession:
    def __init__(self, game: Any, adapter: Shipped):
        self._game, self._adapter = game, adapter

    async def reset(self, task: Task) -> Observation:
        return self._read(self._game.reset(task.seed, **task.options))

    async def call(self, tool: str, arguments: dict[str, Any]) -> Observation:
        return self._read(self._game.step(**self._adapter.action(tool, arguments)))

    async def close(self) -> None:
        pass

    def _read(self, observation: dict[str, Any]) -> Observation:
        return self._adapter.read({"observation": observation, "reward": observation["reward"],
                                   "done": observation["done"]})
