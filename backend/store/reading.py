"""What a run's file answers: episodes, one episode, metrics, curves, events. Each question is one short transaction."""

import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from backend.errors import EpisodeNotFound, OrtamError, SpecError
from backend.records import Episode, EpisodeStatus, Event, Judged, MetricPoint
from backend.store import codec
from backend.store.sorting import order, past, sort_keys
from backend.store.tables import reading
from backend.store.where import COLUMNS, to_sql

_ROW = ("seq, id, phase, step, attempt, group_, sample, environment, task, seed, policy, status, stop, total, "
        "advantage, turns, tokens, started, seconds, fault, facts, scores")
_WHOLE = ("SELECT episodes.*, details.*, details.fault AS whole_fault, "
          "details.policy AS whole_policy FROM episodes JOIN details ON episode = seq WHERE id = ?")


class EpisodeRow(NamedTuple):
    seq: int
    """Grows with every write: `after=seq` asks for what is new."""
    id: str
    phase: str
    step: int
    attempt: int
    group: int
    sample: int
    environment: str
    task: Any
    seed: int | None
    policy: str
    status: EpisodeStatus
    stop: str
    total: float | None
    advantage: float | None
    turns: int
    """How many."""
    tokens: int | None
    started: float
    seconds: float | None
    fault: str | None
    """Kind and message in one line."""
    facts: dict[str, Any]
    scores: dict[str, float | None]


class CurvePoint(NamedTuple):
    step: int
    name: str
    """`total` or a reward term."""
    mean: float | None
    """None where nothing was scored: a gap, not 0."""
    low: float | None
    """10 % quantile."""
    high: float | None
    """90 % quantile."""
    scored: int
    all: int
    environment: str | None
    """None: all environments together."""


class Reading:
    """Questions to one run.db; a file that doesn't exist yet answers "nothing"."""

    def __init__(self, path: Path):
        self.path = path

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[sqlite3.Row]:
        """Raises OrtamError where the file can't be read."""
        if not self.path.exists():
            return []
        try:
            with reading(self.path) as connection:
                return connection.execute(sql, parameters).fetchall()
        except sqlite3.DatabaseError as error:
            if "no such table" in str(error):
                return []
            if (missing := re.search(r"no such column: \W?(\w+)", str(error))) and missing[1] in COLUMNS:
                raise SpecError("where", f"{missing[1]} wasn't kept yet when this run was recorded") from None
            if "parser stack" in str(error) or "Expression tree" in str(error):
                raise SpecError("where", "the filter is nested too deeply; make it simpler") from None
            raise OrtamError(f"{self.path} can't be read ({error}); put back a whole copy of it") from None

    # ------------------------------------------------------------------------------------------------------ episodes

    def episodes(self, terms: Sequence[str], where: str | None, sort: str, limit: int | None, offset: int,
                 after: int | None, filters: dict[str, Any]) -> list[EpisodeRow]:
        condition, parameters = self._condition(terms, where, after, filters)
        sql = (f"SELECT {_ROW} FROM episodes WHERE {condition} ORDER BY {order(sort_keys(sort, terms))} "
               "LIMIT ? OFFSET ?")
        return [_episode_row(row) for row in self.rows(sql, [*parameters, -1 if limit is None else limit, offset])]

    def count(self, terms: Sequence[str], where: str | None, after: int | None, filters: dict[str, Any]) -> int:
        condition, parameters = self._condition(terms, where, after, filters)
        rows = self.rows(f"SELECT count(*) FROM episodes WHERE {condition}", parameters)
        return rows[0][0] if rows else 0

    def neighbours(self, id: str, terms: Sequence[str], where: str | None, sort: str,
                   filters: dict[str, Any]) -> tuple[str | None, str | None]:
        condition, parameters = self._condition(terms, where, None, filters)
        keys = sort_keys(sort, terms)
        names = ", ".join(key.sql for key in keys)
        here = self.rows(f"SELECT {names} FROM episodes WHERE id = ? AND {condition}", [codec.escape(id), *parameters])
        if not here:
            return None, None
        found = []
        for forward in (False, True):
            beyond, values = past(keys, here[0], forward)
            rows = self.rows(f"SELECT id FROM episodes WHERE {condition} AND {beyond} ORDER BY {order(keys, forward)} "
                             "LIMIT 1", [*parameters, *values])
            found.append(codec.unescape(rows[0][0]) if rows else None)
        return found[0], found[1]

    def _condition(self, terms: Sequence[str], where: str | None, after: int | None,
                   filters: dict[str, Any]) -> tuple[str, list[Any]]:
        parts, parameters = ["1"], []
        for name, wanted in filters.items():
            if wanted is None:
                continue
            if name not in COLUMNS:
                raise SpecError(name, f"episodes can't be filtered by it; use one of {', '.join(COLUMNS)}")
            many = list(wanted) if isinstance(wanted, (list, tuple, set, frozenset)) else [wanted]
            parts.append(f"{COLUMNS[name]} IN ({', '.join('?' * len(many))})")
            parameters += [codec.escape(one) if isinstance(one, str) else one for one in many]
        if after is not None:
            parts.append("seq > ?")
            parameters.append(after)
        if where and where.strip():
            sql, more = to_sql(where, self.known_facts(), terms)
            parts.append(sql)
            parameters += more
        return " AND ".join(parts), parameters

    def episode(self, run: str, id: str) -> Episode:
        if not self.count([], None, None, {"id": id}):
            raise EpisodeNotFound(f"{run} has no episode {id!r}; list them with: python -m backend episodes {run}")
        with reading(self.path) as connection:
            row = connection.execute(_WHOLE, (codec.escape(id),)).fetchone()
            turns = connection.execute("SELECT * FROM turns WHERE episode = ? ORDER BY index_",
                                       (row["seq"],)).fetchall()
            return _episode(connection, row, turns)

    def known_facts(self) -> list[str]:
        return [codec.unescape(name) for (name,) in self.rows("SELECT name FROM known_facts ORDER BY name")]

    def judged(self) -> dict[str, Judged]:
        try:
            rows = self.rows("SELECT judged FROM details WHERE judged IS NOT NULL")
        except OrtamError:  # a run recorded before there were judges
            return {}
        found = [Judged.model_validate(one) for (cell,) in rows for one in codec.from_json(cell).values()]
        return {judged.digest: judged for judged in found if judged.score is not None}

    # --------------------------------------------------------------------------------------- curves, metrics, events

    def metrics(self, names: Sequence[str] | None, after_step: int) -> list[MetricPoint]:
        wanted = ""
        parameters: list[Any] = [after_step]
        if names is not None:
            wanted = f" AND name IN ({', '.join('?' * len(names))})"
            parameters += [codec.escape(name) for name in names]
        rows = self.rows(f"SELECT step, name, value FROM metrics WHERE step > ?{wanted} ORDER BY step", parameters)
        return [MetricPoint.model_construct(step=step, name=codec.unescape(name), value=value)
                for step, name, value in rows]

    def metric_names(self) -> list[str]:
        """From one name to the next in the index; DISTINCT would read every point."""
        rows = self.rows("""WITH RECURSIVE names (name) AS (SELECT min(name) FROM metrics UNION ALL SELECT
            (SELECT min(name) FROM metrics WHERE name > names.name) FROM names WHERE names.name IS NOT NULL)
            SELECT name FROM names WHERE name IS NOT NULL""")
        return [codec.unescape(name) for (name,) in rows]

    def curves(self, after_step: int, environment: str | None, name: str | None) -> list[CurvePoint]:
        rows = self.rows("SELECT step, name, mean, low, high, scored, all_, nullif(environment, '') FROM curves "
                         "WHERE step > ? AND environment = ? AND name = coalesce(?, name) ORDER BY step",
                         (after_step, environment or "", name))
        return [CurvePoint(*row) for row in rows]

    def events(self, after: int) -> list[tuple[int, Event]]:
        rows = self.rows("SELECT * FROM events WHERE seq > ? ORDER BY seq", (after,))
        return [(row["seq"], Event(at=row["at"], kind=row["kind"], text=codec.unescape(row["text"]), level=row["level"],
                                   step=row["step"], fault=codec.from_json(row["fault"]))) for row in rows]


def _episode_row(row: sqlite3.Row) -> EpisodeRow:
    unescape, from_json = codec.unescape, codec.from_json
    return EpisodeRow(
        row["seq"], unescape(row["id"]), row["phase"], row["step"], row["attempt"], row["group_"], row["sample"],
        unescape(row["environment"]), from_json(row["task"]), None if row["seed"] is None else int(row["seed"]),
        unescape(row["policy"]), row["status"], unescape(row["stop"]), row["total"], row["advantage"], row["turns"],
        row["tokens"], row["started"], row["seconds"], None if row["fault"] is None else unescape(row["fault"]),
        from_json(row["facts"]), from_json(row["scores"]))


def _episode(connection: sqlite3.Connection, row: sqlite3.Row, turns: list[sqlite3.Row]) -> Episode:
    def whole(cell: str | None) -> str | None:
        if cell is None or not cell.startswith(f"{codec.ESCAPE}="):
            return cell
        body = connection.execute("SELECT body FROM texts WHERE digest = ?", (cell[2:],)).fetchone()
        return None if body is None else codec.unpack(body[0])

    def text(cell: str | None) -> str | None:
        cell = whole(cell)
        return None if cell is None else codec.unescape(cell)

    def value(cell: str | None) -> Any:
        return codec.from_json(whole(cell))

    def newer(row: sqlite3.Row, column: str) -> str | None:
        """None in a file that was made before there was such a column."""
        return row[column] if column in row.keys() else None

    return Episode.model_validate({
        "id": text(row["id"]), "phase": row["phase"], "step": row["step"], "attempt": row["attempt"],
        "group": row["group_"], "sample": row["sample"],
        "environment": text(row["environment"]), "task": value(row["task"]),
        "seed": None if row["seed"] is None else int(row["seed"]), "fingerprint": text(row["fingerprint"]),
        "policy": codec.from_json(row["whole_policy"]), "status": row["status"], "stop": text(row["stop"]),
        "prompt": value(row["prompt"]) or (), "opening": text(row["opening"]) or "",
        "start_facts": value(row["start_facts"]) or {}, "facts": value(row["facts"]) or {},
        "scores": value(row["scores"]) or {}, "total": row["total"], "advantage": row["advantage"],
        "tokens": row["tokens"], "started": row["started"], "seconds": row["seconds"],
        "fault": codec.from_json(row["whole_fault"]),
        "judged": codec.from_json(newer(row, "judged")) or {}, "images": value(newer(row, "images")) or (),
        "parent": codec.from_json(newer(row, "parent")),
        "turns": [{
            "index": turn["index_"], "said": text(turn["said"]), "thought": text(turn["thought"]),
            "tool": text(turn["tool"]),
            "arguments": value(turn["arguments"]), "result": text(turn["result"]), "shown": text(turn["shown"]),
            "reward": turn["reward"], "done": bool(turn["done"]), "facts": value(turn["facts"]) or {},
            "tokens": turn["tokens"], "model_seconds": turn["model_seconds"], "seconds": turn["seconds"],
            "fault": codec.from_json(turn["fault"]), "cut": bool(turn["cut"]),
            "images": value(newer(turn, "images")) or (),
        } for turn in turns],
    })
