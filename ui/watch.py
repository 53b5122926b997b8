"""Watch: is it learning, and if not, why?

The page is drawn once and then asks `look` every two seconds. A question says what the browser has (the store's
version, a mark of each part, the last point of each section's curves, the last episode, the boards in play, the place in
the log), and the
answer holds only what is newer; while nothing changed it is a few bytes. The server keeps nothing between two
questions, so a page survives a reload and a restart of the server.
"""

import hashlib
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from backend import signal
from backend.environments.catalog import CATALOG
from backend.errors import OrtamError
from backend.records import ENDED, EnvironmentSpec, RunSpec
from backend.store import sums
from backend.store.printed import printed
from backend.store.spent import unknown
from ui import charts, console, shell
from ui import watch_parts as parts
from ui.lines import Lines, View
from ui.replay import viewer_of
from ui.watch_lane import AskedLane, lane

HERE = Path(__file__).parent
CSS = [HERE / "watch.css"]
JS = [HERE / name for name in ("curves_figure.js", "sketch.js", "curves.js", "watch_view.js", "watch_lane.js", "watch.js")]

CARDS, RECENT = 9, 64
"""Newest episodes shown, and of how many."""
PAGE = 512
"""Episodes of a step shown at once, whole groups."""
LAST_LINES = 14
"""Of the log, under what went wrong."""


def plotly() -> Path:
    """Plotly's script, as it comes inside the Python package."""
    from importlib.util import find_spec

    found = find_spec("plotly")
    return Path(found.origin).parent / "package_data" / "plotly.min.js"  # type: ignore[union-attr, arg-type]


EARLY = [plotly()]


class Cursor(BaseModel):
    """How far the browser's curves of a section go."""

    model_config = ConfigDict(extra="ignore")
    bucket: int = Field(ge=1)
    step: int = Field(ge=-1)


class Asked(BaseModel):
    """What a browser has, and for which part of the page it asks."""

    model_config = ConfigDict(extra="ignore")
    run: str = Field("", max_length=200)
    version: str = ""
    parts: dict[str, str] = {}
    newest: int = 0
    charts: dict[str, Cursor | None] = {}
    """Section -> how far; None: nothing yet, or all of it again for another view."""
    view: View = View()
    lane: AskedLane | None = None
    log: int | None = None
    """Byte of the log from which on it is wanted; -1 for its end; None where the log isn't open."""


class AskedStep(BaseModel):
    model_config = ConfigDict(extra="ignore")
    run: str = Field(max_length=200)
    step: int
    first: int = 0
    """Place of the first group that is shown."""


def build(store, launcher) -> None:
    def look(asked: dict) -> dict:
        return looked(store, asked, may_stop=launcher is not None)

    def step(asked: dict) -> dict:
        try:
            question = AskedStep.model_validate(asked)
            return {"html": step_of(store.run(question.run), question.step, question.first)}
        except ValidationError as error:
            return {"html": shell.misread(error)}
        except OrtamError as error:
            return {"html": shell.problem(str(error))}

    def spec(asked: dict) -> dict:
        try:
            run = store.run(Asked.model_validate(asked).run)
            return {"html": parts.spec_panel(run.id, run.spec_text)}
        except OrtamError as error:
            return {"html": shell.problem(str(error))}

    def stop(asked: dict) -> dict:
        return act("stop", asked)

    def end(asked: dict) -> dict:
        return act("kill", asked)

    def act(verb: str, asked: dict) -> dict:
        if launcher is None:
            return {"problem": "This page is read only; it can't stop a run."}
        try:
            getattr(launcher, verb)(store.run(Asked.model_validate(asked).run).id)
        except OrtamError as problem:
            return {"problem": str(problem)}
        return {}

    shell.html(
        scripts=["ortamWatch"],
        html_template=(HERE / "watch.html").read_text("utf-8"),
        elem_id="o-watch",
        server_functions=[look, step, spec, stop, end],
    )


def looked(store, asked: dict, may_stop: bool) -> dict[str, Any]:
    try:
        question = Asked.model_validate(asked)
    except ValidationError as error:
        return {"version": "none", "gone": shell.misread(error)}
    return answer(store, question, may_stop)


def answer(store, asked: Asked, may_stop: bool = True) -> dict[str, Any]:
    """Only what is newer than what was asked; `version` is always there."""
    try:
        run = store.run(asked.run or "latest")
    except OrtamError:
        return {"version": "none", "gone": parts.unknown(asked.run)}
    try:
        return _newer(run, asked, may_stop)
    except OrtamError as error:  # its spec or its file is spoilt
        return {"version": "none", "gone": shell.problem(f"The run {run.id} can't be shown.", str(error))}


def _newer(run, asked: Asked, may_stop: bool) -> dict[str, Any]:
    told: dict[str, Any] = {"version": f"{run.id}|{run.version()}"}
    if asked.log is not None:
        told |= _log(run.path, asked.log)
    if asked.lane is not None:
        told |= lane(run, asked.lane)
    if told["version"] == asked.version and all(asked.charts.values()):
        return told
    spec, progress, status, episodes = run.spec, run.progress(), run.status(), run.count_episodes()
    if spec.match:
        return {"version": "none", "gone": shell.empty("This is a match", "It is watched in the arena, board by board.",
                                                       ("See the match", f"/arena?id={run.id}"))}
    untrained = status == "finished" and not progress.step
    drawn_curves, wrong = _charts(run, spec, progress.step, asked)
    health = ""
    try:
        health = parts.health(run.id, _health(run.path, spec))
    except OrtamError as error:
        wrong = list(dict.fromkeys([*wrong, str(error)]))
    drawn = {
        "head": parts.head(run.id, spec, status, may_stop, bool(episodes)),
        "progress": "" if untrained else parts.progress(status, progress),
        "alert": _alert(run, status, progress) + "".join(map(shell.problem, wrong)),
        "health": health,
        "waiting": "" if episodes else parts.waiting(status, spec, progress.phase.lower()),
    }
    marks = {name: hashlib.sha1(html.encode("utf-8", "replace")).hexdigest()[:8] for name, html in drawn.items()}
    told["parts"] = {name: [marks[name], html] for name, html in drawn.items() if asked.parts.get(name) != marks[name]}
    told |= {
        "run": run.id,
        "name": spec.name,
        "status": status,
        "step": progress.step,
        "steps": progress.steps,
        "live": status not in ENDED,
        "untrained": untrained,
        "episodes": episodes,
    }
    told |= _episodes(run, spec, asked.newest)
    told |= drawn_curves
    return {key: value for key, value in told.items() if value not in ({}, [])}


def _log(run: Path, since: int) -> dict[str, Any]:
    text, after = printed(run, None if since < 0 else since)
    return {"log": {"lines": console.lines(text), "next": after}} if text or since < 0 else {}


def _alert(run, status: str, progress) -> str:
    if status not in ("failed", "lost", "stalled"):
        return ""
    lines = [line for line in console.lines(printed(run.path)[0]) if line][-LAST_LINES:]
    return parts.alert(status, progress, run.result(), lines)


def _health(run: Path, spec: RunSpec) -> signal.Health:
    allowed = {environment.id: turns for environment in spec.environments if (turns := _turns_allowed(environment))}
    return signal.health(signal.Evidence.of(spec, allowed, **sums.recent(run, signal.WINDOW, spec.train.message_cap)))


def _turns_allowed(environment: EnvironmentSpec) -> int | None:
    if environment.max_turns or environment.use not in CATALOG:
        return environment.max_turns
    return CATALOG[environment.use].description.max_turns


def _episodes(run, spec: RunSpec, newest: int) -> dict[str, Any]:
    rows = run.episodes(sort="-seq", limit=RECENT, after=newest)
    if not rows:
        return {}
    n = min(CARDS, len(rows))
    chosen = [rows[place * len(rows) // n] for place in range(n)]  # of a step that arrives at once, some of every group
    cards = [parts.card(run.id, run.episode(row.id), viewer_of(spec, row.environment)) for row in chosen]
    return {"cards": cards, "newest": rows[0].seq}


def step_of(run, step: int, first: int = 0) -> str:
    """The episodes of a step from its group at place `first` on, a page of them; what it counts, it counts over all."""
    told = [signal.Group(**row) for row in sums.groups(run.path, step)]
    page = max(1, PAGE // max((group.episodes for group in told), default=1))
    first = first // page * page if 0 <= first < len(told) else 0
    shown = told[first:first + page]
    rows = run.episodes(step=step, phase="train", group=[group.group for group in shown] or None, sort="step", limit=None)
    return parts.step_panel(run.id, step, shown, rows, sums.beside(run.path, step),
                            run.count_episodes(step=step, phase="train"), (first, page, len(told)))


# -------------------------------------------------------------------------------------------------------------- curves


def _charts(run, spec: RunSpec, step: int, asked: Asked) -> tuple[dict[str, Any], list[str]]:
    """The charts of the sections asked for, with the points that the browser lacks; and why lines are missing whose cells
    can't be understood."""
    terms = [term.name for term in spec.rewards]
    names, wrong = run.metric_names(), []
    try:
        terms += sorted({point.name for point in run.term_curves(step - 2)} - {"total", *terms})
    except OrtamError as error:
        wrong.append(str(error))
    always = [series.key for chart in charts.CHARTS for series in chart.series
              if not series.key.startswith(("metric:", "time:"))]
    environments = [environment.id for environment in spec.environments]
    view = asked.view if asked.view.environment in ("", "*", *environments) else View(x=asked.view.x,
                                                                                     smooth=asked.view.smooth)
    shown = charts.charts(terms, [*always, *(f"metric:{name}" for name in names)], environments, view.environment)
    described = charts.described(shown)
    mark = hashlib.sha1(repr(described).encode()).hexdigest()[:8]
    known = asked.parts.get("charts") == mark
    told: dict[str, Any] = {"view": asked.view.model_dump()}
    if not known:
        told |= {"charts": {"mark": mark, "shown": described}, "unknown": {}, "environments": environments}
        try:
            told["unknown"] = unknown(run.path, step)
        except OrtamError as error:
            wrong.append(str(error))
    bucket = charts.width(step)
    points = {}
    asked_once = {}
    for section, cursor in asked.charts.items():
        if not known or (cursor is not None and cursor.bucket != bucket):
            cursor = None  # a new chart wants old points, and another bucket width other ones
        start = 0 if cursor is None else max(0, cursor.step // bucket * bucket)
        if start not in asked_once:
            asked_once[start] = Lines(run.path, start, bucket, view, run.started())
        lines = asked_once[start].columns([series.key for chart in shown if chart.section == section
                                           for series in chart.series])
        points[section] = {
            "bucket": bucket,
            "from": start,
            "whole": cursor is None,
            "step": max([line["x"][-1] for line in lines.values()], default=-1 if cursor is None else cursor.step),
            "lines": lines,
        }
    wrong += (sentence for lines in asked_once.values() for sentence in lines.wrong)
    return told | {"points": points}, list(dict.fromkeys(wrong))
