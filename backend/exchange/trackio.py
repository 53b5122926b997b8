"""trackio: the run's curves as a CSV that `trackio.import_csv(FILE, project=..., name=...)` reads.

A row a step: `step`, `timestamp` (the first episode's, where one was kept), `reward/total`, `reward/<term>` with mean, 10 %
and 90 % quantile, and every metric. An empty cell is a gap; nothing is written as 0 that wasn't measured.
"""

import csv
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from backend.exchange.choosing import Choice
from backend.store import Run

SUFFIX = ".trackio.csv"
FOR = "curves and metrics, a row a step, for trackio.import_csv"


def write(choice: Choice, path: Path, told: Callable[[int], None]) -> int:
    """How many steps; which episodes are chosen makes no difference to a run's curves."""
    rows = _rows(choice.run)
    names = list(dict.fromkeys(name for values in rows.values() for name in values))
    times = _times(choice.run)
    with open(path, "w", encoding="utf-8", errors="replace", newline="") as file:
        table = csv.writer(file)
        table.writerow(["step", "timestamp", *names])
        for n, (step, values) in enumerate(sorted(rows.items()), 1):
            table.writerow([step, times.get(step, ""), *(_cell(values.get(name)) for name in names)])
            told(n)
    return len(rows)


def _rows(run: Run) -> dict[int, dict[str, float | None]]:
    rows: dict[int, dict[str, float | None]] = {}
    for point in run.term_curves():
        row = rows.setdefault(point.step, {})
        row |= {f"reward/{point.name}": point.mean, f"reward/{point.name}_low": point.low,
                f"reward/{point.name}_high": point.high}
    for metric in run.metrics():
        rows.setdefault(metric.step, {})[metric.name] = metric.value
    return rows


def _times(run: Run) -> dict[int, str]:
    """Step -> when its first episode began."""
    began: dict[int, float] = {}
    after = 0
    while rows := run.episodes(sort="seq", limit=1000, after=after, phase="train"):
        for row in rows:
            if row.started:
                began[row.step] = min(began.get(row.step, row.started), row.started)
        after = rows[-1].seq
    return {step: datetime.fromtimestamp(at, UTC).isoformat() for step, at in began.items()}


def _cell(value: float | None) -> str:
    return "" if value is None else repr(value)
