"""What a run's file answers: episodes, one episode, metrics, curves, events. Each question is one short transaction."""

import contextlib
import json
import re
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from backend.errors import EpisodeNotFound, OrtamError, SpecError
from backend.records import NEVER_PLAYED, Episode, EpisodeStatus, Event, Judged, MetricPoint
from backend.store import codec, indexing, words
from backend.store.filters import conditions
from backend.store.sorting import order, past, sort_keys
from backend.store.tables import by_column, making_sense, only_numbers, reading
from backend.store.where import COLUMNS, to_sql

ROW = ("seq, id, phase, step, attempt, group_, sample, environment, task, seed, policy, status, stop, total, "
        "advantage, turns, tokens, started, seconds, fault, facts, scores")
_UNPLAYED = (f"coalesce(json_extract(fault, '$.kind') IN ({', '.join(map(repr, sorted(NEVER_PLAYED)))}, 'unparsed_call'), "
             "tool IS NULL AND result IS NULL)")
ALL = "1"
"""The condition that every episode meets."""
ROW_OF = ", ".join(f"episodes.{name}" for name in ROW.split(", "))
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
    """How many, those that weren't played among them."""
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

    def __init__(self, path: Path, gone: Callable[[], bool] = lambda: False):
        """`gone` says whether there was such a file once; then there is an error instead of an answer."""
        self.path, self.gone = path, gone
        self._scanned: tuple[tuple[words.Sought, tuple[int, ...]], str] | None = None

    def rows(self, sql: str, parameters: Sequence[Any] | dict[str, Any] = ()) -> list[sqlite3.Row]:
        """Raises OrtamError where the file can't be read."""
        return self._ask(lambda connection: connection.execute(sql, parameters).fetchall()) or []

    def columns(self, sql: str, parameters: Sequence[Any] | dict[str, Any] = ()) -> list[list[Any]]:
        """What `rows` gives, as columns: all of them empty without rows, and none without a file. Quicker where there are many
        rows. Raises OrtamError."""

        def told(connection: sqlite3.Connection) -> list[list[Any]]:
            connection.row_factory = None
            return by_column(connection.execute(sql, parameters))

        return self._ask(told) or []

    def _ask(self, question: Callable[[sqlite3.Connection], Any]) -> Any:
        """None where there is no file, or no table, yet."""
        if not self.path.exists():
            if self.gone():
                raise OrtamError(f"{self.path} is missing; put back a whole copy of the run's folder")
            return None
        try:
            with making_sense(self.path), reading(self.path) as connection:
                return question(connection)
        except sqlite3.DatabaseError as error:
            if "no such table" in str(error):
                return None
            if (missing := re.search(r"no such column: \W?(\w+)", str(error))) and missing[1] in COLUMNS:
                raise SpecError("where", f"{missing[1]} wasn't kept yet when this run was recorded") from None
            if "parser stack" in str(error) or "Expression tree" in str(error):
                raise SpecError("where", "the filter is nested too deeply; make it simpler") from None
            raise OrtamError(f"{self.path} can't be read ({error}); put back a whole copy of it") from None

    # ------------------------------------------------------------------------------------------------------ episodes

    def episodes(self, terms: Sequence[str], where: str | None, sort: str, limit: int | None, offset: int,
                 after: int | None, filters: dict[str, Any]) -> list[EpisodeRow]:
        wanted, parameters = self.condition(terms, where, after, filters)
        sql = (f"SELECT {ROW} FROM episodes WHERE {wanted} ORDER BY {order(sort_keys(sort, terms))} "
               "LIMIT ? OFFSET ?")
        rows = self.rows(sql, [*parameters, -1 if limit is None else limit, offset])
        with making_sense(self.path):
            return [episode_row(row) for row in rows]

    def count(self, terms: Sequence[str], where: str | None, after: int | None, filters: dict[str, Any]) -> int:
        wanted, parameters = self.condition(terms, where, after, filters)
        if wanted == ALL:  # kept by the writer; not in an older file
            kept = self.rows("SELECT number FROM counts WHERE what = 'episodes' AND typeof(number) = 'integer'")
            if kept:
                return kept[0][0]
        rows = self.rows(f"SELECT count(*) FROM episodes WHERE {wanted}", parameters)
        return rows[0][0] if rows else 0

    def neighbours(self, id: str, terms: Sequence[str], where: str | None, sort: str,
                   filters: dict[str, Any]) -> tuple[str | None, str | None]:
        wanted, parameters = self.condition(terms, where, None, filters)
        keys = sort_keys(sort, terms)
        names = ", ".join(key.sql for key in keys)
        here = self.rows(f"SELECT {names} FROM episodes WHERE id = ? AND {wanted}", [codec.escape(id), *parameters])
        if not here:
            return None, None
        found = []
        for forward in (False, True):
            asked = (self.rows(f"SELECT id FROM episodes WHERE {wanted} AND {beyond} ORDER BY {order(keys, forward)} LIMIT 1",
                               [*parameters, *values]) for beyond, values in past(keys, here[0], forward))
            found.append(next((codec.unescape(rows[0][0]) for rows in asked if rows), None))
        return found[0], found[1]

    def condition(self, terms: Sequence[str], where: str | None, after: int | None,
                   filters: dict[str, Any]) -> tuple[str, list[Any]]:
        find = words.understood(filters.get("find") or "")
        parts, parameters = conditions({name: wanted for name, wanted in filters.items() if name != "find"}, self.keeps)
        parts.insert(0, ALL)
        if find:
            sql, more = self._found(find)
            parts.append(sql)
            parameters += more
        if after is not None:
            parts.append("seq > ?")
            parameters.append(after)
        if where and where.strip():
            sql, more = to_sql(where, self.known_facts(), terms)
            parts.append(sql)
            parameters += more
        return " AND ".join(parts), parameters

    def keeps(self, column: str) -> bool:
        return bool(self.rows("SELECT 1 FROM pragma_table_info('episodes') WHERE name = ?", (column,)))

    # --------------------------------------------------------------------------------------------------------- words

    def indexed(self) -> bool:
        """Whether the words of all its episodes are in an index."""
        return not self.path.exists() or self._ask(indexing.there)

    def _found(self, sought: words.Sought) -> tuple[str, list[Any]]:
        if self.indexed():
            return indexing.condition(sought)
        key = sought, self.stamp()
        if self._scanned is None or self._scanned[0] != key:  # a page counts, lists and looks for neighbours
            self._scanned = key, json.dumps(self._ask(lambda connection: indexing.scan(connection, sought)))
        return "seq IN (SELECT value FROM json_each(?))", [self._scanned[1]]

    def stamp(self) -> tuple[int, ...]:
        """Changes when the file does."""
        told: list[int] = []
        for file in (self.path, self.path.with_name(f"{self.path.name}-wal")):
            with contextlib.suppress(OSError):  # the log goes away when the trainer ends
                stat = file.stat()
                told += [stat.st_size, stat.st_mtime_ns]
        return tuple(told)

    def excerpts(self, seqs: Sequence[int], find: str) -> dict[int, words.Excerpt]:
        sought = words.understood(find)
        if not sought or not sought.wanted or not seqs:
            return {}
        return self._ask(lambda connection: indexing.excerpts(connection, seqs, sought)) or {}

    def unplayed(self, seqs: Sequence[int]) -> dict[int, int]:
        """Of these episodes those with turns that weren't played, as `Turn.played` says, and how many."""
        rows = self.rows(f"SELECT episode, count(*) FROM turns WHERE episode IN ({', '.join('?' * len(seqs))}) AND "
                         f"{_UNPLAYED} GROUP BY episode", seqs)
        return dict(map(tuple, rows))

    def known(self, kind: str) -> list[str]:
        """`tool`, `policy` or `fault`: the names that were met so far."""
        kept = [name for (name,) in self.rows("SELECT name FROM known WHERE kind = ?", (kind,))]
        first = self.rows("SELECT tools FROM episodes ORDER BY seq LIMIT 1") if self.keeps("tools") else [(None,)]
        if not first or first[0][0] is not None:
            return sorted(map(codec.unescape, kept))
        # What is from before there was such a list is looked through as far as it goes quickly.
        oldest = "(SELECT min(seq) FROM (SELECT seq FROM episodes ORDER BY seq DESC LIMIT 2000))"
        asked = {"policy": f"SELECT DISTINCT policy FROM episodes WHERE seq >= {oldest}",
                 "tool": f"SELECT DISTINCT tool FROM turns WHERE episode >= {oldest} AND tool IS NOT NULL",
                 "fault": f"SELECT DISTINCT json_extract(fault, '$.kind') FROM turns WHERE episode >= {oldest} "
                          "AND fault IS NOT NULL"}
        older = [name for (name,) in self.rows(asked[kind])]
        with making_sense(self.path):
            return sorted({codec.unescape(name) for name in (*kept, *older)})

    def episode(self, run: str, id: str) -> Episode:
        def told(connection: sqlite3.Connection) -> Episode | None:
            connection.execute("BEGIN")  # it may be written again meanwhile
            row = (connection.execute(_WHOLE, (codec.escape(id),)).fetchone()
                   or connection.execute(_WHOLE, (codec.escape(codec.linked(id)),)).fetchone())
            if row is None:
                return None
            turns = connection.execute("SELECT * FROM turns WHERE episode = ? ORDER BY index_", (row["seq"],)).fetchall()
            return _episode(connection, row, turns)

        if (found := self._ask(told)) is None:
            raise EpisodeNotFound(f"the run {run} has no episode {id!r}", f"list them with: python -m backend episodes {run}")
        return found

    def groups(self, step: int, phase: str, attempt: int) -> list[int]:
        """From one number to the next in the index, so that a step of many episodes costs no more than its groups."""
        rows = self.rows("""WITH RECURSIVE numbers (n) AS (SELECT min(group_) FROM episodes WHERE step = :step UNION ALL
            SELECT (SELECT min(group_) FROM episodes WHERE step = :step AND group_ > n) FROM numbers WHERE n IS NOT NULL)
            SELECT n FROM numbers WHERE n IS NOT NULL AND EXISTS (SELECT 1 FROM episodes WHERE step = :step AND
            group_ = n AND phase = :phase AND attempt = :attempt)""",
                         {"step": step, "phase": phase, "attempt": attempt})
        return [number for (number,) in rows]

    def forks(self, run: str, episode: str) -> list[tuple[EpisodeRow, int]]:
        """Those of an episode that are kept here, oldest first, each with the turn it was forked at."""
        whose = codec.to_json({"run": run, "episode": episode})
        begins = f"{whose[:-1]}, " if whose else ""
        rows = self.rows(f"SELECT {ROW_OF}, details.parent FROM details JOIN episodes ON seq = episode WHERE "
                         "details.parent >= ? AND details.parent < ? ORDER BY seq", (begins, f"{begins}\U0010ffff"))
        with making_sense(self.path):
            return [(episode_row(row), codec.from_json(row["parent"])["turn"]) for row in rows]

    def known_facts(self) -> list[str]:
        rows = self.rows("SELECT name FROM known_facts ORDER BY name")
        with making_sense(self.path):
            return [codec.unescape(name) for (name,) in rows]

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
        with making_sense(self.path):
            only_numbers("metrics", [row["step"] for row in rows], [row["value"] for row in rows])
            return [MetricPoint.model_construct(step=step, name=codec.unescape(name), value=value)
                    for step, name, value in rows]

    def metric_names(self) -> list[str]:
        """From one name to the next in the index; DISTINCT would read every point."""
        rows = self.rows("""WITH RECURSIVE names (name) AS (SELECT min(name) FROM metrics UNION ALL SELECT
            (SELECT min(name) FROM metrics WHERE name > names.name) FROM names WHERE names.name IS NOT NULL)
            SELECT name FROM names WHERE name IS NOT NULL""")
        with making_sense(self.path):
            return [codec.unescape(name) for (name,) in rows]

    def curves(self, after_step: int, environment: str | None, name: str | None) -> list[CurvePoint]:
        rows = self.rows("SELECT step, name, mean, low, high, scored, all_, nullif(environment, '') FROM curves "
                         "WHERE step > ? AND environment = ? AND name = coalesce(?, name) ORDER BY step",
                         (after_step, codec.escape(environment or ""), None if name is None else codec.escape(name)))
        with making_sense(self.path):
            only_numbers("curves", [row["step"] for row in rows], [cell for row in rows for cell in row[2:7]])
            return [CurvePoint(step, codec.unescape(named), mean, low, high, scored, all_, of and codec.unescape(of))
                    for step, named, mean, low, high, scored, all_, of in rows]

    def events(self, after: int) -> list[tuple[int, Event]]:
        rows = self.rows("SELECT * FROM events WHERE seq > ? ORDER BY seq", (after,))
        with making_sense(self.path):
            return [(row["seq"], Event(at=row["at"], kind=row["kind"], text=codec.unescape(row["text"]), level=row["level"],
                                       step=row["step"], fault=codec.from_json(row["fault"]))) for row in rows]


def episode_row(row: sqlite3.Row) -> EpisodeRow:
    unescape, from_json = codec.unescape, codec.from_json
    return EpisodeRow(
        row["seq"], unescape(row["id"]), row["phase"], int(row["step"]), int(row["attempt"]), int(row["group_"]),
        int(row["sample"]), unescape(row["environment"]), from_json(row["task"]), _maybe(int, row["seed"]),
        unescape(row["policy"]), row["status"], unescape(row["stop"]), _maybe(float, row["total"]),
        _maybe(float, row["advantage"]), row["turns"], _maybe(int, row["tokens"]), _maybe(float, row["started"]),
        _maybe(float, row["seconds"]), _maybe(unescape, row["fault"]), from_json(row["facts"]),
        {name: _maybe(float, score) for name, score in (from_json(row["scores"]) or {}).items()})


def _maybe(made: Callable[[Any], Any], cell: Any) -> Any:
    return None if cell is None else made(cell)


def _episode(connection: sqlite3.Connection, row: sqlite3.Row, turns: list[sqlite3.Row]) -> Episode:
    def whole(cell: str | None) -> str | None:
        if cell is None or not cell.startswith(f"{codec.ESCAPE}="):
            return cell
        body = connection.execute("SELECT body FROM texts WHERE digest = ?", (cell[2:],)).fetchone()
        if body is None:
            raise KeyError(cell)
        return codec.unpack(body[0])

    def text(cell: str | None) -> str | None:
        with contextlib.suppress(KeyError):
            found = whole(cell)
            return None if found is None else codec.unescape(found)
        return codec.MISSING

    def value(cell: str | None, missing: Any = codec.MISSING) -> Any:
        with contextlib.suppress(KeyError):
            return codec.from_json(whole(cell))
        return missing

    def newer(row: sqlite3.Row, column: str) -> str | None:
        """None in a file that was made before there was such a column."""
        return row[column] if column in row.keys() else None

    facts: dict[str, Any] = {}
    by_turn = []
    for turn in turns:
        told = value(turn["facts"]) or {}
        facts = {**facts, **told} if newer(turn, "partly") else told
        by_turn.append(facts)
    return Episode.model_validate({
        "id": text(row["id"]), "phase": row["phase"], "step": row["step"], "attempt": row["attempt"],
        "group": row["group_"], "sample": row["sample"],
        "environment": text(row["environment"]), "task": value(row["task"]),
        "seed": None if row["seed"] is None else int(row["seed"]), "fingerprint": text(row["fingerprint"]),
        "policy": codec.from_json(row["whole_policy"]), "status": row["status"], "stop": text(row["stop"]),
        "prompt": value(row["prompt"], ({"role": "user", "content": codec.MISSING},)) or (),
        "opening": text(row["opening"]) or "",
        "start_facts": value(row["start_facts"]) or {}, "facts": value(row["facts"]) or {},
        "scores": value(row["scores"]) or {}, "total": row["total"], "advantage": row["advantage"],
        "tokens": row["tokens"], "started": row["started"], "seconds": row["seconds"],
        "fault": codec.from_json(row["whole_fault"]),
        "judged": codec.from_json(newer(row, "judged")) or {}, "images": value(newer(row, "images"), (codec.MISSING,)) or (),
        "parent": codec.from_json(newer(row, "parent")),
        "turns": [{
            "index": turn["index_"], "said": text(turn["said"]), "thought": text(turn["thought"]),
            "tool": text(turn["tool"]),
            "arguments": value(turn["arguments"]), "result": text(turn["result"]), "shown": text(turn["shown"]),
            "reward": turn["reward"], "done": bool(turn["done"]), "facts": facts,
            "tokens": turn["tokens"], "model_seconds": turn["model_seconds"], "seconds": turn["seconds"],
            "fault": codec.from_json(turn["fault"]), "cut": bool(turn["cut"]),
            "images": value(newer(turn, "images"), (codec.MISSING,)) or (),
        } for turn, facts in zip(turns, by_turn, strict=True)],
    })
