"""The environments of a run: started on the main process, known to all, and started again when one went away."""

import contextlib
from collections.abc import Callable
from typing import TypeVar

from accelerate import PartialState
from accelerate.utils import broadcast_object_list

from backend.environments import Source
from backend.environments.sources import reach, sessions_for, source
from backend.errors import EnvironmentError_
from backend.records import EnvironmentSpec, RunSpec
from backend.trainer.rollout import Table

Anything = TypeVar("Anything")


class Served:
    """Used alike in every process, and at the same time: what one is told of, all are."""

    def __init__(self, spec: RunSpec, state: PartialState):
        self.state = state
        self.sessions = sessions_for(spec.train.episodes_per_step)
        self._open = {asked.id: contextlib.ExitStack() for asked in spec.environments}
        self.tables: dict[str, Table] = {}
        try:
            for asked in spec.environments:
                there = self._source(asked)
                self.tables[asked.id] = Table(asked, there.describe(), there)
        except BaseException:
            self.close()
            raise

    def again(self, name: str) -> str:
        """Reaches the environment anew: one that was started here is started again. Why that failed, or nothing."""
        table = self.tables[name]
        try:
            table.source = self._source(table.environment)
        except EnvironmentError_ as error:
            return str(error)
        return ""

    def close(self) -> None:
        for stack in self._open.values():
            stack.close()

    def _source(self, asked: EnvironmentSpec) -> Source:
        return source(asked, self._from_the_first(lambda: self._place(asked)))

    def _place(self, asked: EnvironmentSpec) -> str:
        self._open[asked.id].close()
        return self._open[asked.id].enter_context(reach(asked, self.sessions))

    def _from_the_first(self, work: Callable[[], Anything]) -> Anything:
        """Done by the main process. The others wait for what came of it, so they are told of a failure too."""
        told: list = [None, None]
        if self.state.is_main_process:
            try:
                told[0] = work()
            except Exception as error:
                told[1] = error
        if self.state.num_processes > 1:
            told = broadcast_object_list(told)
        if told[1]:
            raise told[1]
        return told[0]
