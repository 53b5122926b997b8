"""Re-price: what a run's episodes would have been worth by other terms. Nothing is written to the run.

The page keeps the terms and asks `price` at every change; one answer holds all that is shown below them.
"""

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from backend import launcher as launching
from backend.errors import OrtamError
from backend.store import curves
from ui import charts, shell, terms, watch
from ui import reprice_parts as parts

HERE = Path(__file__).parent
EARLY = [watch.plotly()]
CSS = [HERE / "reprice.css"]
JS = [HERE / "reprice.js"]

COLOURS = 7
"""Of lines, in watch.css."""


def build(store, launcher) -> None:
    def begin(asked: dict[str, Any]) -> dict[str, Any]:
        return begun(store, str(asked.get("run", "")), str(asked.get("rewards", "")), launcher is not None)

    def price(asked: dict[str, Any]) -> dict[str, Any]:
        return priced(store, asked)

    page = (HERE / "reprice.html").read_text("utf-8").replace("EDITOR", terms.editor())
    shell.html(page, ["ortamReprice"], server_functions=[begin, price, *terms.functions(store, launcher is not None)])


def begun(store, ref: str, rewards: str = "", may_launch: bool = True) -> dict[str, Any]:
    """The run's own terms and, where the address holds others as JSON, those to begin with; or `gone`, HTML."""
    try:
        run = store.run(ref or "latest")
        spec = run.spec
        own = spec.rewards or launching.default_terms(spec.environments)
        played = run.count_episodes(phase="train")
    except OrtamError as error:
        return {"gone": shell.empty("There is no such run", terms.sentence(error), shell.RUNS)}
    if not played:
        return {"gone": parts.head(run.id, spec, False) + shell.empty(
            "Nothing to re-price yet", "This run has no training episodes. Come back once it has played a step.",
            ("Watch the run", f"/run?{urlencode({'id': run.id})}"))}
    told = {"run": run.id, "name": spec.name, "head": parts.head(run.id, spec, may_launch), "own": terms.plain(own),
            "environments": [{"id": one.id, "use": one.use, "options": one.options} for one in spec.environments]}
    try:
        asked = json.loads(rewards) if rewards else None
    except ValueError:
        asked = None
    return {**told, "rewards": asked if isinstance(asked, list) and all(isinstance(one, dict) for one in asked) else
            told["own"]}


def priced(store, asked: dict[str, Any]) -> dict[str, Any]:
    """`problems`, or what is drawn: `summary`, `table`, `moved`, `charts` and the `lines` in them."""
    from backend.repricing import reprice

    given = [one for one in asked.get("rewards") or () if isinstance(one, dict)]
    try:
        run = store.run(str(asked.get("run", "")))
        spec = run.spec
        told = reprice(run, terms.terms_of({**asked, "rewards": given}))
        shown, lines = drawn(run.path, told)
    except OrtamError as error:
        return {"problems": [terms.place(error, given)]}
    same = given == terms.plain(spec.rewards)
    return {"summary": parts.summary(run.id, told, same), "table": parts.table(told),
            "moved": parts.moved(run.id, told, same, len(spec.environments) > 1), "charts": shown, "lines": lines}


def drawn(run: Path, told) -> tuple[list[dict[str, Any]], dict[str, dict[str, list]]]:
    """The charts, and the points of their lines: as it was, and as it would be."""
    before = curves.rewards(run)
    bucket = charts.width(max((point.step for point in told.curves), default=0))
    shown, lines = [], {}
    for place, name in enumerate(["total", *(term.name for term in told.terms)]):
        points = [point for point in told.curves if point.name == name and point.environment is None]
        lines[f"now:{name}"] = charts.columns(charts.line(
            [p.step for p in points], [p.mean for p in points], bucket, [p.low for p in points],
            [p.high for p in points]))
        if name in before:
            steps, means, _, _ = before[name]
            lines[f"was:{name}"] = charts.columns(charts.line(steps, means, bucket))
        shown.append(chart(name, "accent" if name == "total" else f"series-{(place - 1) % COLOURS + 1}"))
    return shown, lines


def chart(name: str, colour: str) -> dict[str, Any]:
    title = "Reward" if name == "total" else name
    about = "As the trainer used it, and by the terms above." if name == "total" else "Raw value, before its weight."
    return {"id": f"reprice-{name}", "section": "learning" if name == "total" else "terms", "title": title,
            "unit": "sum of the terms by weight" if name == "total" else "raw value", "about": about, "kind": "lines",
            "share": False, "series": [
                {"key": f"was:{name}", "label": "was", "colour": "lost-2", "band": "", "dots": False, "width": 1.2},
                {"key": f"now:{name}", "label": "now", "colour": colour, "band": charts.BAND, "dots": False,
                 "width": 2.4}]}
