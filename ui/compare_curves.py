"""What can be drawn of several runs, and the points of it: one line a run, a mean over the runs of one value of a setting,
or the difference of two runs.

A question about a chart says how far each run is drawn already (`Known`), and the answer holds only the lines whose runs
have something new, from the step on at which they changed.
"""

import hashlib
from bisect import bisect_left
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from backend.comparing import Line, difference, together
from backend.errors import OrtamError
from backend.store import Run, compared
from backend.store.spent import spent
from ui.charts import charts
from ui.lines import View
from ui.points import COUNTED, LIMIT, Point, columns, kept, memory, needed, smoothed, width

FEW, POINTS = 6, 500
"""Up to so many lines have LIMIT points each, more of them so many."""
THREADS = 4
MOST_KEPT = 400
"""Whole lines, of some 60 kB each."""
AS_MEASURED = View()
SECTIONS = {"learning": "Reward", "play": "How it plays", "lengths": "Lengths", "optimiser": "Optimiser", "time": "Time",
            "other": "Other"}
COLOURS = ("series-1", "series-3", "series-2", "accent", "series-6", "series-4", "series-7", "series-5")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
"""As many of them and of the colours have no common divisor, so 40 lines in a row all look different."""


class Measure(NamedTuple):
    """One curve that runs may have; `key` is that of a series of ui/charts.py."""

    key: str
    section: str
    title: str
    unit: str
    about: str
    share: bool


@dataclass(frozen=True)
class Drawn:
    """One line of every chart."""

    id: str
    """Of its run, or what its runs have in common: it stays when others come or go."""
    label: str
    members: tuple[int, ...]
    """Places of its runs among those chosen."""
    kind: str = "run"
    """Or `mean` of its runs, or `difference`: the second less the first."""


class Known(NamedTuple):
    """How far the browser's line of a run goes."""

    bucket: int
    step: int
    version: str


def measures(terms: Sequence[Sequence[str]], metrics: Sequence[Sequence[str]]) -> list[Measure]:
    """All that any of the runs may have, from the reward terms and metrics of each; the total first."""
    found = [Measure("curve:total", "learning", "Total reward", "an episode", "Mean of each step's scored episodes.", False)]
    for name in dict.fromkeys(name for names in terms for name in names):
        found.append(Measure(f"curve:{name}", "learning", name, "raw value", "Mean of a reward term before its weight; a "
                             "gap where it applied to no episode.", False))
    told = {measure.key for measure in found}
    have = sorted({f"metric:{name}" for names in metrics for name in names})
    for chart in charts([], [*COUNTED, "share:eval won", *have]):
        for series in chart.series:
            if series.key in told or series.key.partition(":")[0] not in ("metric", "share", "mean"):
                continue
            alone = len(chart.series) == 1 or series.key == "share:won"
            told.add(series.key)
            found.append(Measure(series.key, chart.section, chart.title if alone else f"{chart.title}: {series.label}",
                                 chart.unit, chart.about, chart.share))
    found.append(Measure("share:signal", "play", "Groups with signal", "of the groups", "A group teaches only where its "
                         "totals differ.", True))
    if "metric:step_time" in have and "metric:step_time" not in told:
        found.append(Measure("metric:step_time", "time", "Step time", "seconds", "Of one whole step.", False))
    return sorted(found, key=lambda measure: list(SECTIONS).index(measure.section))


def usual(terms: Sequence[Sequence[str]]) -> list[str]:
    """The first charts: total, win share, the reward terms that more than one run has, groups with signal."""
    names = list(dict.fromkeys(name for own in terms for name in own))
    shared = [name for name in names if sum(name in own for own in terms) > 1] or names
    return ["curve:total", "share:won", *(f"curve:{name}" for name in shared[:4]), "share:signal"]


# ----------------------------------------------------------------------------------------------------------- full lines


def full(run: Run, key: str, after: int = -1, before: int = 0) -> Line:
    """Every point behind the step `after`, and so many `before` them. Raises OrtamError where the file can't be read."""
    kind, _, name = key.partition(":")
    if kind == "curve":
        return compared.curve(run.path, name, after, before)
    if kind == "metric":
        return compared.metric(run.path, name, after, before)
    counted = "share:won" if key == "share:eval won" else key
    if counted not in COUNTED:
        return (), ()
    told = compared.counted(run.path, needed([counted]), after, "train" if counted == key else "eval", before)
    return told["step"], COUNTED[counted](told)


# --------------------------------------------------------------------------------------------------------------- points


class Lines:
    """Whole lines that were asked for lately: a page that is opened again, or drawn another way and back, reads nothing."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, dict[str, Any]] = {}

    def get(self, what: Hashable, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        if what not in self._kept:
            self._kept[what] = make()
            for oldest in list(self._kept)[:-MOST_KEPT]:
                self._kept.pop(oldest, None)
        return self._kept[what]


def points(runs: Sequence[Run], drawn: Sequence[Drawn], key: str, known: Sequence[Known | None],
           view: View = AS_MEASURED, lately: Lines | None = None) -> dict[str, Any]:
    """`lines`: {id of the line: its points, which replace those from step `from` on}, only those with something new;
    `known`: what the browser has then, for each run; `wrong`: why lines are empty whose file can't be read."""
    lately = lately or Lines()
    versions = [hashlib.sha1(run.version().encode()).hexdigest()[:8] for run in runs]
    last = [compared.last_step(run.path) for run in runs]
    limit = LIMIT if len(drawn) <= FEW else POINTS
    now = [list(one) if one else None for one in known]
    asked: dict[str, Callable[[], dict[str, Any]]] = {}
    for line in drawn:
        bucket = width(max(last[run] for run in line.members), limit)
        for run in line.members:
            now[run] = [bucket, last[run], versions[run]]
        had = [known[run] for run in line.members]
        whole = any(one is None or one.bucket != bucket for one in had)
        changed = [one.step for run, one in zip(line.members, had, strict=True) if one and one.version != versions[run]]
        if whole or changed:
            start = 0 if whole else min(changed) // bucket * bucket
            members = [runs[run] for run in line.members]
            make = partial(_points, key, view, members, line.kind, start, bucket)
            same = (key, view, line.kind, bucket, *((runs[run].path, versions[run]) for run in line.members))
            asked[line.id] = partial(lately.get, same, make) if whole else make
    wrong: list[str] = []

    def made(make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        try:
            return make()
        except OrtamError as error:  # one broken file must not hide the other runs
            wrong.append(str(error))
            return {"from": 0, "x": [], "y": []}

    with ThreadPoolExecutor(THREADS) as pool:  # most of the time SQLite looks for rows, and others can do so meanwhile
        told = list(pool.map(made, asked.values()))
    return {"lines": dict(zip(asked, told, strict=True)), "known": now, **({"wrong": sorted(set(wrong))} if wrong else {})}


def _points(key: str, view: View, members: Sequence[Run], kind: str, start: int, bucket: int) -> dict[str, Any]:
    lines = [full(run, key, start - 1, memory(view.smooth)) for run in members]
    low: Sequence[float | None] = ()
    high: Sequence[float | None] = ()
    n: Sequence[int] = ()
    if kind == "mean":
        steps, values, low, high, n = together(lines)
    else:
        steps, values = difference(*lines) if kind == "difference" else lines[0]
    smooth: Sequence[float | None] = smoothed(values, view.smooth) if view.smooth else ()
    first = bisect_left(steps, start)
    steps, values, low, high, n, smooth = (steps[first:], values[first:], low[first:], high[first:], n[first:],
                                           smooth[first:])
    places = kept(steps, values, bucket)
    at = spent(members[0].path, view.x, max(-1, start - 1), members[0].started()).at if (
        kind == "run" and view.x != "step") else None
    told = columns([Point(steps[k], values[k], low[k] if low else None, high[k] if high else None,
                          smooth[k] if smooth else None) for k in places], at)
    return {"from": start, **told} | ({"n": [n[k] for k in places]} if n else {})
