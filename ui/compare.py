"""Compare: which of these runs is better, in what, and what was set differently?

The address holds the runs, how their lines are drawn and which curves. The page asks `look` every two seconds with a mark
of all it shows; while nothing changed the answer is that mark. After news it asks for each chart's points, which come
only from the step on that changed, and now and then for the tables.
"""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from backend.comparing import duel, outcome, settings, shared_environments
from backend.errors import OrtamError
from ui import compare_curves as curves
from ui import compare_parts as parts
from ui import compare_tasks, shell
from ui.compare_chosen import MOST, chosen, found
from ui.lines import View
from ui.watch import plotly

HERE = Path(__file__).parent
CSS = [HERE / "compare.css"]
JS = [HERE / "compare.js"]
EARLY = [plotly()]
FOUND = 12
"""Runs offered at once; searching narrows them."""


class Asked(BaseModel):
    """What the address says, and a mark of what the browser shows."""

    model_config = ConfigDict(extra="ignore")
    runs: str = Field("", max_length=8000)
    """Ids, or unique prefixes of ids, between commas."""
    by: str = Field("", max_length=200)
    """`` one line a run, * one mean, -seed one for each setting but the seed, `difference`, or a setting's path."""
    pair: str = Field("", max_length=500)
    mark: str = ""
    shape: str = ""


class AskedPoints(Asked):
    key: str = Field(max_length=200)
    known: list[curves.Known | None] = Field([], max_length=MOST)
    view: View = View()


class AskedTables(Asked):
    all: bool = False
    """Every setting, not only those that differ."""
    parts: dict[str, str] = {}


class AskedTasks(Asked):
    environment: int = Field(0, ge=0, le=1000)
    which: str = Field("all", pattern="^(all|late|eval)$")


class AskedChoices(Asked):
    search: str = Field("", max_length=200)


def build(store, launcher) -> None:
    outcomes, lately = Outcomes(), curves.Lines()

    def look(asked: dict) -> dict:
        return answer(store, Asked.model_validate(asked))

    def points(asked: dict) -> dict:
        return points_of(store, AskedPoints.model_validate(asked), lately)

    def tables(asked: dict) -> dict:
        return tables_of(store, AskedTables.model_validate(asked), outcomes)

    def tasks(asked: dict) -> dict:
        return {"html": tasks_of(store, AskedTasks.model_validate(asked))}

    def choices(asked: dict) -> dict:
        question = AskedChoices.model_validate(asked)
        taken = {run.id for run in chosen(store, question.runs).runs}
        return {"html": parts.choices([run for run in store.runs(question.search) if run.id not in taken][:FOUND],
                                      question.search)}

    shell.html(scripts=["ortamCompare"], html_template=(HERE / "compare.html").read_text("utf-8"),
               elem_id="o-compare",
               server_functions=[_refusing(each) for each in (look, points, tables, tasks, choices)])


def _refusing(work: Callable[[dict], dict]) -> Callable[[dict], dict]:
    """A question that can't be read, from an address somebody changed, is one sentence."""

    def asked(question: dict) -> dict:
        try:
            return work(question)
        except ValidationError as error:
            return {"problem": shell.misread(error)}

    asked.__name__ = work.__name__
    return asked


def answer(store, asked: Asked) -> dict[str, Any]:
    """`mark` is always there; what is drawn comes again when its shape changed, the list of runs with any change."""
    runs, missing = found(store, asked.runs)
    mark = _mark([asked.by, asked.pair, *missing.values(), *(f"{run.id} {run.version()}" for run in runs)])
    if mark == asked.mark:
        return {"mark": mark}
    group = chosen(store, asked.runs)
    told: dict[str, Any] = {"mark": mark, "live": group.live()}
    drawn, problem = group.drawn(asked.by, asked.pair)
    shape = {
        "runs": [{"id": run.id, "label": label} for run, label in zip(group.runs, group.labels, strict=True)],
        "missing": [ref for ref in group.missing if ref],
        "lines": [{"id": line.id, "label": parts.short(group, line), "kind": line.kind, "n": len(line.members),
                   **parts.look_of(place)} for place, line in enumerate(drawn)],
        "measures": [measure._asdict() for measure in curves.measures(group.terms, group.metrics)],
        "sections": curves.SECTIONS, "usual": curves.usual(group.terms),
        "by": asked.by if not problem else "",
        "html": {"problems": parts.problems(list(group.missing.values()), shell.RUNS) + parts.problems(problem),
                 "by": parts.groupings(group, asked.by),
                 "pair": parts.pair(group, asked.pair), "lines": parts.legend(drawn)},
    }
    told["shape"] = _mark([json.dumps(shape)])
    if told["shape"] != asked.shape:
        told |= shape
    return told | {"chosen": parts.chosen_runs(group, drawn)}


def points_of(store, asked: AskedPoints, lately: curves.Lines | None = None) -> dict[str, Any]:
    group = chosen(store, asked.runs)
    drawn, _ = group.drawn(asked.by, asked.pair)
    known = asked.known if len(asked.known) == len(group.runs) else [None] * len(group.runs)
    view = asked.view if not drawn or drawn[0].kind == "run" else asked.view.model_copy(update={"x": "step"})
    told = curves.points(group.runs, drawn, asked.key, known, view, lately)
    wrong = told.pop("wrong", [])
    return told | ({"problem": parts.problems(wrong)} if wrong else {})


class Outcomes:
    """What came of each run, reckoned again only when there is more of it."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[str, Any]] = {}

    def __call__(self, run):
        version = run.version()
        if run.id not in self._kept or self._kept[run.id][0] != version:
            if len(self._kept) > 500:
                self._kept.clear()
            self._kept[run.id] = (version, outcome(run))
        return self._kept[run.id][1]


def tables_of(store, asked: AskedTables, outcomes: Callable) -> dict[str, Any]:
    """The tables whose mark isn't that of what the browser has."""
    group = chosen(store, asked.runs)
    if not group.runs:
        return {"parts": {}}
    told, problems = [], []
    for run in group.runs:
        try:
            told.append(outcomes(run))
        except OrtamError as error:
            told.append(None)
            problems.append(str(error))
    found = settings(group.specs)
    drawn = {"outcome": parts.problems(problems) + parts.outcomes(group, told),
             "settings": parts.settings_table(group, found, asked.all)}
    marks = {name: _mark([html]) for name, html in drawn.items()}
    return {"parts": {name: [marks[name], html] for name, html in drawn.items() if asked.parts.get(name) != marks[name]}}


def tasks_of(store, asked: AskedTasks) -> str:
    group = chosen(store, asked.runs)
    pair = group.pair(asked.pair)
    if pair is None:
        return compare_tasks.alone()
    first, second = pair
    shared = shared_environments(group.specs[first], group.specs[second])
    if not shared:
        return compare_tasks.nothing_shared(group.labels[first], group.labels[second])
    place = min(asked.environment, len(shared) - 1)
    try:
        found = duel(group.runs[first], group.runs[second], shared[place],
                     "eval" if asked.which == "eval" else "train", asked.which == "late")
    except OrtamError as error:
        return shell.problem(str(error))
    return compare_tasks.table(group, pair, shared, place, asked.which, found)


def _mark(parts_: list[str]) -> str:
    return hashlib.sha1("\n".join(parts_).encode("utf-8", "replace")).hexdigest()[:10]

