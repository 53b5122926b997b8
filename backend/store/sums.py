"""What whole steps add up to: groups and outcomes, counted in the database instead of episode by episode."""

import sqlite3
from pathlib import Path
from typing import Any

from backend.records import UNSCORED
from backend.store import codec
from backend.store.tables import reading

_GONE = ", ".join(f"'{status}'" for status in sorted(UNSCORED))

_GROUPS = """
    SELECT step, group_ AS "group", min(environment) AS environment, count(*) AS episodes, count(total) AS scored,
           min(total) AS low, max(total) AS high, sum(status = 'won') AS won,
           sum(status IN ('lost', 'out_of_turns', 'truncated', 'invalid')) AS lost,
           count(DISTINCT fingerprint) AS tasks, count(fingerprint) AS known
    FROM episodes WHERE step > ? AND phase = 'train' GROUP BY step, group_ ORDER BY step, group_"""
_OUTCOMES = """
    SELECT step, status, count(*) AS episodes, sum(total) AS total, count(total) AS scored
    FROM episodes WHERE step > ? AND phase = ? GROUP BY step, status ORDER BY step, status"""
_MEANS = f"""
    SELECT step, avg(turns) AS turns, avg(seconds) AS seconds
    FROM episodes WHERE step > ? AND phase = 'train' AND status NOT IN ({_GONE}) GROUP BY step ORDER BY step"""
_UNSCORED = f"""
    SELECT status, coalesce(fault, stop) AS reason, count(*) AS episodes
    FROM episodes WHERE step > ? AND phase = 'train' AND status IN ({_GONE}) GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 20"""


def groups(run: Path, after_step: int = -1) -> list[dict[str, Any]]:
    """One row a training group: step, group, environment, episodes, scored, low, high, won, lost, tasks, known."""
    return _rows(run, _GROUPS, after_step)


def outcomes(run: Path, after_step: int = -1, phase: str = "train") -> list[dict[str, Any]]:
    """One row for each step and status: step, status, episodes, total (sum; None when nothing was scored), scored."""
    return _rows(run, _OUTCOMES, after_step, phase)


def means(run: Path, after_step: int = -1) -> list[dict[str, Any]]:
    """One row a step: turns and seconds of the mean episode, those without a verdict left out."""
    return _rows(run, _MEANS, after_step)


def unscored(run: Path, after_step: int = -1) -> list[dict[str, Any]]:
    """Why episodes say nothing about the policy, the most frequent reason first: status, reason, episodes."""
    return _rows(run, _UNSCORED, after_step)


def _rows(run: Path, query: str, *values: Any) -> list[dict[str, Any]]:
    """Nothing recorded yet gives no rows."""
    file = run / "run.db"
    if not file.exists():
        return []
    try:
        with reading(file) as connection:
            found = connection.execute(query, values).fetchall()
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):
            return []
        raise
    return [
        {key: codec.unescape(value) if isinstance(value, str) else value for key, value in dict(row).items()}
        for row in found
    ]
