"""The lines of a run's curves, from the store to what a browser is sent.

A key may end in `@` and the id of an environment: its line is that of this environment alone.
"""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from backend.errors import OrtamError
from backend.store import curves, sums
from backend.store.spent import Axis, Spent, spent
from ui.charts import PARTS_OF_STEP
from ui.points import MOST_SMOOTH, Point, columns, counted, kept, line, memory, needed, points_of


class View(BaseModel):
    """How the curves are looked at; the browser keeps it in the address."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    x: Axis = "step"
    smooth: float = Field(0.0, ge=0, le=MOST_SMOOTH)
    environment: str = Field("", max_length=60)
    """Of a mix: "" all together, an id, or * for a line each."""


class Lines:
    """The points of the steps from `start` on, thinned; what several sections need is read once."""

    def __init__(self, run: Path, start: int, bucket: int, view: View | None = None, started: float | None = None):
        self.run, self.start, self.bucket, self.started = run, start, bucket, started
        self.view = view = view or View()
        self.before = memory(view.smooth)
        self.wrong: list[str] = []
        """Why lines are missing whose cells in the file can't be understood, in sentences."""
        self._mine = "" if view.environment == "*" else view.environment
        self._rewards: dict[str, dict[str, list[Point]]] = {}

    def of(self, keys: Sequence[str]) -> dict[str, list[Point]]:
        drawn = self._measured([key for key in keys if key.startswith("metric:")]) | self._timed(
            [key for key in keys if key.startswith("time:")])
        by_environment: dict[str, list[str]] = {}
        for key in keys:
            name, _, environment = key.partition("@")
            if not name.startswith(("metric:", "time:")):
                by_environment.setdefault(environment, []).append(name)
        for environment, names in by_environment.items():
            suffix = f"@{environment}" if environment else ""
            drawn |= {f"{key}{suffix}": points for key, points in self._of(environment or self._mine, names).items()}
        return drawn

    def columns(self, keys: Sequence[str]) -> dict[str, dict[str, list]]:
        """Those of the keys that have points, as curves.js takes them."""
        at = None if self.spent is None else self.spent.at
        return {key: columns(points, at) for key, points in self.of(keys).items() if points}

    @cached_property
    def spent(self) -> Spent | None:
        if self.view.x == "step":
            return None
        return spent(self.run, self.view.x, max(-1, self.start - 1), self.started)

    def _measured(self, keys: Sequence[str]) -> dict[str, list[Point]]:
        if not keys:
            return {}
        told = curves.metrics(self.run, [key.removeprefix("metric:") for key in keys], self.start - 1,
                              self.before, self.wrong)
        return {f"metric:{name}": self._line(steps, values) for name, (steps, values) in told.items()}

    def _timed(self, keys: Sequence[str]) -> dict[str, list[Point]]:
        """The parts of each step's time, all at the steps that the whole keeps; a step that generated nothing, because it
        went over an earlier batch again, spent 0 s on that."""
        if not keys:
            return {}
        names = [key.removeprefix("time:") for key in keys if key != "time:optimiser"]
        told = curves.metrics(self.run, ["step_time", *(f"seconds/{name}" for name in PARTS_OF_STEP)], self.start - 1,
                              wrong=self.wrong)
        steps, whole = told.get("step_time", ((), ()))
        parts = {name: dict(zip(*told.get(f"seconds/{name}", ((), ())), strict=True)) for name in PARTS_OF_STEP}
        places = kept(steps, whole, self.bucket)
        drawn = {f"time:{name}": [Point(steps[place], parts[name].get(steps[place], 0.0)) for place in places]
                 for name in names}
        if "time:optimiser" in keys:
            drawn["time:optimiser"] = [Point(steps[place], _rest(whole[place], [part.get(steps[place]) for part in
                                                                              parts.values()])) for place in places]
        return drawn

    def _of(self, environment: str, keys: Sequence[str]) -> dict[str, list[Point]]:
        drawn: dict[str, list[Point]] = {}
        if any(key.startswith("curve:") for key in keys):
            drawn |= {key: points for key, points in self._rewarded(environment).items() if key in keys}
        try:
            if "share:eval won" in keys:
                evaluated = sums.steps(self.run, self.start - 1, "eval", needed(["share:won"]), environment or None)
                drawn["share:eval won"] = points_of(evaluated, ["share:won"])["share:won"]
            if told := [key for key in keys if counted(key)]:
                steps = sums.steps(self.run, self.start - 1, names=needed(told), environment=environment or None,
                                   before=self.before)
                drawn |= points_of(steps, told, self.bucket, self.view.smooth, self.start)
        except OrtamError as error:  # the lines of other tables are drawn all the same
            self.wrong.append(str(error))
        return drawn

    def _rewarded(self, environment: str) -> dict[str, list[Point]]:
        if environment not in self._rewards:
            told = curves.rewards(self.run, self.start - 1, environment, self.before, self.wrong)
            self._rewards[environment] = {f"curve:{name}": self._line(steps, means, low, high)
                                          for name, (steps, means, low, high) in told.items()}
        return self._rewards[environment]

    def _line(self, steps: Sequence[int], values: Sequence[Any], low: Sequence[Any] = (),
              high: Sequence[Any] = ()) -> list[Point]:
        return line(steps, values, self.bucket, low, high, self.view.smooth, self.start)


def _rest(whole: float | None, parts: Sequence[float | None]) -> float | None:
    return None if whole is None else max(0.0, whole - sum(part or 0.0 for part in parts))
