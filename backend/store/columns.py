"""All training episodes of a run as columns, for questions about every one of them at once.

Facts come as the values they were, with None where an episode doesn't have one; everything is read in one transaction.
"""

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from backend.store import codec
from backend.store.tables import GONE, by_column, reading

TURNS_AT_ONCE = 20_000
MOST_PATHS = 100
"""SQLite's functions take 127 arguments."""

_TRAIN = "FROM episodes WHERE phase = 'train'"


class EpisodeColumns(NamedTuple):
    """One entry an episode, in the order they were written."""

    seq: Sequence[int]
    attempt: Sequence[int]
    step: Sequence[int]
    group: Sequence[int]
    environment: Sequence[int]
    """Place in `environments`."""
    gone: Sequence[int]
    """1 where the status says nothing about the policy."""
    total: Sequence[float | None]
    advantage: Sequence[float | None]
    environments: tuple[str, ...]
    facts: dict[str, Sequence[Any]]
    scores: dict[str, Sequence[float | None]]


class TurnColumns(NamedTuple):
    """One entry a turn that has facts, episode by episode and in order."""

    episode: Sequence[int]
    """Its seq."""
    facts: dict[str, Sequence[Any]]


def episode_columns(run: Path, facts: Sequence[str], scores: Sequence[str]) -> EpisodeColumns:
    """Nothing recorded yet gives empty columns."""
    file = run / "run.db"
    empty = EpisodeColumns((), (), (), (), (), (), (), (), (), dict.fromkeys(facts, ()), dict.fromkeys(scores, ()))
    if not file.exists():
        return empty
    with reading(file) as connection:
        connection.execute("BEGIN")
        try:
            environments = [name for (name,) in connection.execute(f"SELECT DISTINCT environment {_TRAIN} ORDER BY 1")]
            if not environments:
                return empty
            which = " ".join(f"WHEN ? THEN {place}" for place in range(len(environments)))
            connection.row_factory = None
            seq, attempt, step, group, environment, gone, total, advantage = by_column(connection.execute(
                f"SELECT seq, attempt, step, group_, CASE environment {which} END, status IN ({GONE}), total, "
                f"advantage {_TRAIN} ORDER BY seq", environments))
            told = _values(connection, "facts", facts, f"{_TRAIN} ORDER BY seq", len(seq))
            given = _values(connection, "scores", scores, f"{_TRAIN} ORDER BY seq", len(seq))
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):
                return empty
            raise
        return EpisodeColumns(seq, attempt, step, group, environment, gone, total, advantage,
                              tuple(map(codec.unescape, environments)), told, given)


def turn_columns(run: Path, facts: Sequence[str]) -> TurnColumns:
    """Of the training episodes."""
    file = run / "run.db"
    if not file.exists():
        return TurnColumns((), {name: () for name in facts})
    with reading(file) as connection:
        connection.row_factory = None
        connection.execute("BEGIN")
        kept = connection.execute("SELECT 1 FROM pragma_table_info('turns') WHERE name = 'partly'").fetchone()
        partly = "partly" if kept else "0"
        rows = connection.execute(
            f"SELECT episode, facts, {partly} FROM turns WHERE (facts <> '{{}}' OR {partly}) AND episode IN "
            "(SELECT seq FROM episodes WHERE phase = 'train') ORDER BY episode, index_")
        episodes: list[int] = []
        told: dict[str, list[Any]] = {name: [] for name in facts}
        now: dict[str, Any] = {}
        while some := rows.fetchmany(TURNS_AT_ONCE):
            episodes += [episode for episode, _, _ in some]
            wholes = []
            for changed, (_, _, only_changes) in zip(json.loads(f"[{','.join(cell for _, cell, _ in some)}]"), some,
                                                     strict=True):
                now = {**now, **changed} if only_changes else changed
                wholes.append(now)
            for name, values in told.items():
                values += [whole.get(name) for whole in wholes]
        return TurnColumns(episodes, dict(told))


def _values(connection: sqlite3.Connection, column: str, names: Sequence[str], rest: str,
            rows: int) -> dict[str, Sequence[Any]]:
    """Looked up inside SQLite, which is several times faster than reading whole objects here."""
    found: dict[str, Sequence[Any]] = {}
    for start in range(0, len(names), MOST_PATHS):
        some = names[start:start + MOST_PATHS]
        # With two paths or more the answer is a JSON list, which keeps true apart from 1.
        paths = [f'$."{name}"' for name in some] * (2 if len(some) == 1 else 1)
        marks = ", ".join("?" * len(paths))
        cells = [cell for (cell,) in connection.execute(f"SELECT json_extract({column}, {marks}) {rest}", paths)]
        columns = list(zip(*json.loads(f"[{','.join(cells)}]"), strict=True)) or [()] * len(paths)
        found |= zip(some, columns[-len(some):], strict=True)
    return found
