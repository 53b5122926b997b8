"""Runs: what has been run, what is running now, and how it went.

The browser asks `look` now and then, with a mark of what it shows; an answer to an unchanged list is empty.
"""

import hashlib
import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from backend.errors import OrtamError
from backend.records import ENDED
from ui import shell, written
from ui.share import arrivals

HERE = Path(__file__).parent
CSS = [HERE / "runs.css"]
JS = [HERE / "runs.js"]

COMPARE = '<a class="o-button o-hidden" data-compare>Compare</a>'
AGAIN = 64
"""Steps before the last one that are read again."""
MOST = 100
"""Runs in the list; searching narrows it."""


def build(store, launcher) -> None:
    curves = Curves(store)

    def look(asked: dict[str, Any]) -> dict[str, str]:
        search = str(asked.get("search", ""))[:200]
        page = draw(store.runs(search), curves, search, read_only=launcher is None)
        mark = hashlib.sha256(page.encode()).hexdigest()[:16]
        return {} if mark == asked.get("mark") else {"html": page, "mark": mark}

    shell.html(frame(read_only=launcher is None), ["ortamRuns"], server_functions=[look])


def frame(read_only: bool) -> str:
    button = "" if read_only else f'{arrivals.BUTTON}<a class="o-button o-primary" href="/launch">New run</a>'
    return ('<div class="o-runs-top"><h1 class="o-title">Runs</h1><input type="search" class="o-runs-search" '
            'aria-label="Search runs" placeholder="Name, model, environment or status" autocomplete="off" '
            f'spellcheck="false">{COMPARE}{button}</div>'
            f"<div data-list>{shell.skeleton(8)}</div>{'' if read_only else arrivals.dialog()}")


class Curves:
    """The total reward of a run over its steps as a small drawing, drawn again only when there is more of it.

    Only the newest AGAIN steps are read again, since a run that is resumed plays some of them anew.
    """

    def __init__(self, store):
        self.store = store
        self.drawn: dict[str, tuple[tuple, str]] = {}
        self.means: dict[str, dict[int, float | None]] = {}
        """By step, in their order."""

    def __call__(self, run) -> str:
        known = (run.step, run.episodes, run.reward)
        if run.id not in self.drawn or self.drawn[run.id][0] != known:
            means = self.means.get(run.id, {})
            before = self.drawn[run.id][0] if means else (0,)
            after = -1 if run.step <= before[0] else before[0] - AGAIN
            try:
                new = self.store.run(run.id).term_curves(after, name="total")
            except OrtamError:  # one broken folder, or one that has just gone, must not hide the others
                return ""
            means = (means if after >= 0 else {}) | {point.step: point.mean for point in new}
            self.means[run.id], self.drawn[run.id] = means, (known, spark(list(means.values())))
        return self.drawn[run.id][1]


def spark(means: list[float | None], width: int = 88, height: int = 24, most: int = 44) -> str:
    """A line with gaps where nothing was scored; more than `most` steps are averaged in equal stretches."""
    stretch = max(1, -(-len(means) // most))
    values = []
    for start in range(0, len(means), stretch):
        part = [v for v in means[start:start + stretch] if v is not None]
        values.append(sum(part) / len(part) if part else None)
    known = [v for v in values if v is not None]
    if len(known) < 2 or not math.isfinite(max(known) - min(known)):
        return ""
    low, span = min(known), (max(known) - min(known)) or 1.0
    across = width - 6
    path, pen, x, y = [], "M", 0.0, 0.0
    for n, value in enumerate(values):
        if value is None:
            pen = "M"
            continue
        x, y = 2 + across * n / (len(values) - 1), height - 4 - (height - 8) * (value - low) / span
        path.append(f"{pen}{x:.1f} {y:.1f}")
        pen = "L"
    return (f'<svg class="o-spark" width="{width}" height="{height}" viewBox="0 0 {width} {height}" aria-hidden="true">'
            f'<path d="{" ".join(path)}"/><circle cx="{x:.1f}" cy="{y:.1f}" r="2.2"/></svg>')


def draw(runs, curves, search: str = "", read_only: bool = False) -> str:
    if not runs and search.strip():
        return shell.empty("No run matches", f"Nothing here is called “{search.strip()}”. Search looks at names, "
                           "models, environments and status.")
    if not runs:
        if read_only:
            return shell.empty("No runs yet", "This site only shows runs, and its folder holds none.")
        return shell.empty("No runs yet", "Start one: the quickstart learns to play Catch on two CPU cores in about "
                           "five minutes, and you can watch every episode.", ("Launch a run", "/launch"))
    rows = "".join(row(run, curves(run)) for run in runs[:MOST])
    more = (f'<p class="o-muted o-small o-runs-more">The newest {MOST} of {len(runs):,} runs. Search to see others.</p>'
            if len(runs) > MOST else "")
    heads = "".join(f"<th{css}>{title}</th>" for title, css in (
        ("Run", ""), ("Status", ""), ("Progress", ""), ("Reward", ' class="o-right"'), ("", ""),
        ("Episodes", ' class="o-right"'), ("Started", ' class="o-right"'), ("Took", ' class="o-right"')))
    return (f'{summary(runs)}<div class="o-card o-flush"><table class="o-table o-runs"><thead><tr>{heads}</tr></thead>'
            f"<tbody>{rows}</tbody></table></div>{more}")


def summary(runs) -> str:
    counts: dict[str, int] = {}
    for run in runs:
        counts[run.status] = counts.get(run.status, 0) + 1
    live = [f"{counts[status]} {status}" for status in ("running", "preparing", "stopping", "stalled", "queued")
            if counts.get(status)]
    words = " · ".join([written.counted(len(runs), "run"), *live])
    return f'<p class="o-muted o-small o-runs-count" aria-live="polite">{words}</p>'


def _named(n: int, what: str) -> str:
    return what if n == 1 else f"{what}s"


def progress(run) -> str:
    if run.status == "finished" and not run.step:
        return '<span class="o-faint" title="Played by hand or imported: nothing was trained">–</span>'
    share = min(1.0, run.step / run.steps) if run.steps else 0.0
    return (f'<span><b>{run.step:,}</b> / {run.steps:,} <em>{_named(run.steps, "game" if run.match else "step")}</em></span>'
            f'<div class="o-bar" role="progressbar" aria-label="Steps" aria-valuemin="0" aria-valuemax="{run.steps}" '
            f'aria-valuenow="{run.step}"><i style="width:{share:.1%}"></i></div>')


def row(run, curve: str) -> str:
    demo = '<span class="o-tag" title="A recorded run that ships with the project">demo</span>' if run.demo else ""
    environments = "".join(f'<span class="o-tag">{written.text(id)}</span>' for id in run.environments)
    reward = ('<span class="o-faint" title="Nothing scored yet">–</span>' if run.reward is None
              else f'<b title="Mean total reward of the last step">{written.number(run.reward)}</b>')
    return (f'<tr class="o-{run.status}"><td class="o-runs-name"><input type="checkbox" class="o-runs-pick" '
            f'data-pick="{written.named(run.id)}" aria-label="Choose {written.attribute(run.name)} to compare" '
            f'title="Choose two or more to compare"><a href="{address(run)}" '
            f'title="{written.attribute(run.id)}">{written.text(run.name)}</a>{demo}'
            f'<div class="o-runs-sub"><span class="o-runs-model">{written.text(run.model)}</span>{environments}</div>'
            "</td>"
            f'<td class="o-runs-status">{shell.chip(run.status, run=True)}</td>'
            f'<td class="o-runs-progress">{progress(run)}</td>'
            f'<td class="o-right o-runs-reward">{reward}</td><td class="o-runs-curve">{curve}</td>'
            f'<td class="o-right o-runs-episodes">{run.episodes:,}<em> {_named(run.episodes, "episode")}</em></td>'
            f'<td class="o-right o-runs-started">{when(run.started)}</td>'
            f'<td class="o-right o-runs-took">{took(run)}</td></tr>')


def address(run) -> str:
    """Where it is watched; a match has a page of its own."""
    return f"/{'arena' if run.match else 'run'}?id={written.attribute(run.id)}"


def when(started: float | None) -> str:
    """Its script says how long ago; the exact time is on hover."""
    if started is None:
        return '<span class="o-faint">not yet</span>'
    try:
        moment = datetime.fromtimestamp(started, UTC)
    except (ValueError, OverflowError, OSError):  # of a file from elsewhere, beyond any calendar
        return '<span class="o-faint">unknown</span>'
    return f'<time data-ago="{started:.0f}" datetime="{moment:%Y-%m-%dT%H:%M:%SZ}">{moment:%d %b %H:%M} UTC</time>'


def took(run) -> str:
    if run.started is None:
        return '<span class="o-faint">–</span>'
    if run.status not in ENDED:
        return f'<span data-since="{run.started:.0f}"></span>'
    return shell.duration(run.seconds)
