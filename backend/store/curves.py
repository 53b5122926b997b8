"""The points of reward curves, worked out when a step is written, so that no page has to read episodes for them; and
those of metrics, as whole lines."""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from backend.errors import OrtamError
from backend.store import codec
from backend.store.counting import Counted
from backend.store.reading import Reading
from backend.store.tables import RUN, making_sense, only_numbers


def keep(connection: sqlite3.Connection, step: int, episodes: Iterable[Counted]) -> None:
    """A point for `total` and for each reward term; for each environment, and for all of them as ""."""
    values: dict[tuple[str, str], list[float | None]] = {}
    for episode in episodes:
        for name, value in {**json.loads(episode.scores), "total": episode.total}.items():
            values.setdefault((name, episode.environment), []).append(value)
            values.setdefault((name, ""), []).append(value)
    rows = []
    for (name, environment), all_values in values.items():
        if codec.escape(name) != name:  # imported; no page could be sent a name that isn't text
            continue
        scored = sorted(value for value in all_values if value is not None)
        mean = sum(scored) / len(scored) if scored else None
        rows.append((step, name, environment, mean, quantile(scored, 0.1), quantile(scored, 0.9), len(scored),
                     len(all_values)))
    connection.execute("DELETE FROM curves WHERE step = ?", (step,))
    columns = RUN["curves"]
    connection.executemany(f"INSERT INTO curves ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})", rows)


_OF_THESE = "SELECT value FROM json_each(:names)"
_OF_ALL = """SELECT min(name) FROM curves UNION ALL
    SELECT (SELECT min(name) FROM curves WHERE name > asked.name) FROM asked WHERE asked.name IS NOT NULL"""
"""From one name to the next in the index; DISTINCT would read every point."""


def rewards(run: Path, after_step: int = -1, environment: str = "", before: int = 0,
            wrong: list[str] | None = None) -> dict[str, list[list[Any]]]:
    """Name -> steps, means, 10 % and 90 % quantiles; None where nothing was scored. All environments together, or one
    of a mix. The points behind `after_step`, and of each line so many `before` them. Raises OrtamError where cells hold what
    isn't a number; with `wrong` such a line is left out, and the sentence put there."""
    return _lines(run, "curves", "mean, low, high", _OF_ALL, "AND environment = :environment",
                  {"environment": codec.escape(environment), "after": after_step, "before": before}, wrong)


def metrics(run: Path, names: Sequence[str], after_step: int = -1, before: int = 0,
            wrong: list[str] | None = None) -> dict[str, list[list[Any]]]:
    """Name -> steps, values; None where there was nothing to measure. The rest as for `rewards`."""
    return _lines(run, "metrics", "value", _OF_THESE, "",
                  {"names": json.dumps([*map(codec.escape, names)]), "after": after_step, "before": before}, wrong)


def _lines(run: Path, table: str, columns: str, names: str, narrowed: str, asked: dict[str, Any],
           wrong: list[str] | None) -> dict[str, list[list[Any]]]:
    query = f"""WITH RECURSIVE asked (name) AS ({names}),
        since (name, step) AS MATERIALIZED (SELECT name, coalesce((SELECT step FROM {table} WHERE {table}.name = asked.name
            {narrowed} AND step <= :after ORDER BY step DESC LIMIT 1 OFFSET :before), -1) FROM asked)
        SELECT name, {table}.step, {columns} FROM since JOIN {table} USING (name)
        WHERE {table}.step > since.step {narrowed} ORDER BY 1, 2"""
    named, *told = Reading(run / "run.db").columns(query, asked) or ((),)
    found, start = {}, 0
    for name, same in groupby(named):
        end = start + sum(1 for _ in same)
        line = [column[start:end] for column in told]
        start = end
        try:
            with making_sense(run / "run.db"):
                only_numbers(table, *line)
                found[codec.unescape(name)] = line
        except OrtamError as error:
            if wrong is None:
                raise
            wrong.append(str(error))
    return found


def quantile(ordered: list[float], share: float) -> float | None:
    """Linear between the two nearest values, as numpy's default."""
    if not ordered:
        return None
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
