"""trackio: the run's curves as a project of trackio: a database to put into its folder, ~/.cache/huggingface/trackio.

A row a step, with `reward/total` and `reward/<term>` (mean, and _low and _high for the 10 % and 90 % quantile) and every
metric by its name; what wasn't measured is left out, and so is never 0. The spec is the run's config. Its CSV import is no
way in: it cuts names to ten letters. Tables as trackio documents them under "Storage schema"; it adds those that are missing.
"""

import contextlib
import json
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from backend.exchange.choosing import Choice
from backend.exchange.trl import strict
from backend.store import Run

SUFFIX = ".db"
FOR = "curves, metrics and settings as a project of trackio"
TABLES = """
CREATE TABLE metrics (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, timestamp TEXT NOT NULL,
    run_name TEXT NOT NULL, step INTEGER NOT NULL, metrics TEXT NOT NULL, log_id TEXT, space_id TEXT);
CREATE INDEX idx_metrics_run_step ON metrics(run_id, step);
CREATE INDEX idx_metrics_run_timestamp ON metrics(run_id, timestamp);
CREATE TABLE configs (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, run_name TEXT NOT NULL,
    config TEXT NOT NULL, created_at TEXT NOT NULL, UNIQUE(run_id));
"""


def write(choice: Choice, path: Path, told: Callable[[int], None]) -> int:
    """How many steps; which episodes are chosen makes no difference to a run's curves."""
    run, rows, began = choice.run, _rows(choice.run), _began(choice.run)
    key, name = uuid5(NAMESPACE_URL, f"ortam:{run.id}").hex, run.id
    at = run.started() or 0.0
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.executescript(TABLES)
        database.execute("BEGIN")
        database.execute("INSERT INTO configs (run_id, run_name, config, created_at) VALUES (?, ?, ?, ?)",
                         (key, name, _json(run.spec.model_dump()), _time(at)))
        for n, (step, values) in enumerate(sorted(rows.items()), 1):
            at = began.get(step, at)
            database.execute("INSERT INTO metrics (run_id, timestamp, run_name, step, metrics) VALUES (?, ?, ?, ?, ?)",
                             (key, _time(at), name, step, _json(values)))
            told(n)
        database.execute("COMMIT")
    return len(rows)


def _rows(run: Run) -> dict[int, dict[str, float]]:
    rows: dict[int, dict[str, float]] = {}
    for point in run.term_curves():
        told = {"": point.mean, "_low": point.low, "_high": point.high}
        rows.setdefault(point.step, {}).update(
            {f"reward/{point.name}{part}": value for part, value in told.items() if value is not None})
    for metric in run.metrics():
        if metric.value is not None:
            rows.setdefault(metric.step, {})[metric.name] = metric.value
    return {step: values for step, values in rows.items() if values}


def _began(run: Run) -> dict[int, float]:
    """Step -> when its first episode began."""
    began: dict[int, float] = {}
    after = 0
    while rows := run.episodes(sort="seq", limit=1000, after=after, phase="train"):
        for row in rows:
            if row.started:
                began[row.step] = min(began.get(row.step, row.started), row.started)
        after = rows[-1].seq
    return began


def _time(at: float) -> str:
    try:
        return datetime.fromtimestamp(at, UTC).isoformat()
    except (ValueError, OverflowError, OSError):  # a moment of a file from elsewhere, beyond any calendar
        return datetime.fromtimestamp(0, UTC).isoformat()


def _json(value: object) -> str:
    return json.dumps(strict(value), default=str)
