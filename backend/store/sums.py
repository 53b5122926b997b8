"""What whole steps add up to: counted once when a step is written, read without looking at its episodes.

Runs older than the table `tallies`, recorded demos among them, are counted when they are read. A step that a resumed
run played again counts as it was played last.
"""

import contextlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any

from backend.errors import OrtamError
from backend.store import codec, counting
from backend.store.tables import GONE, RUN, by_column, making_sense, only_numbers, reading
from backend.store.where import COLUMNS

_HERE = "phase = :phase AND step > :after AND step <= :until"
PLAYED_LAST = f"""{_HERE} AND (step NOT IN (SELECT step FROM episodes WHERE {_HERE} AND attempt > 1)
    OR (step, attempt) IN (SELECT step, max(attempt) FROM episodes WHERE {_HERE} AND attempt > 1 GROUP BY step))"""
"""Few steps are played again, so that each episode is looked for only among those."""
EVER = 2**62
_ADDED_UP = ("episodes", "judged", "scored", "total", *counting.STATUSES, "groups",
             *map(counting.column, counting.CAUSES), "learnt_from", "turns", "seconds", "with_seconds", "clipped",
             "tool_calls", "failures", "late_calls", "unparsed_calls", "repeated_calls")
_LATE = "iif(failures IS NULL, NULL, coalesce(json_extract(failed_calls, '$.after_the_end'), 0))"
_READ = {"late_calls": _LATE, "failures": f"failures - {_LATE}"}
"""In the table `failures` counts late calls too, which are no failed ones; `_parted` is the same for a row."""


# ------------------------------------------------------------------------------------------------------------- writing


def keep(connection: sqlite3.Connection, step: int, phase: str) -> list[counting.Counted]:
    """Counts a step anew and says in each of its episodes what its group had to teach; the episodes it counted."""
    episodes = [counted for _, counted in _episodes(connection, phase, step - 1, step)]
    connection.execute("DELETE FROM tallies WHERE phase = ? AND step = ?", (phase, step))
    columns = RUN["tallies"]
    rows = [{**row, "phase": phase} for row in _tallies(step, episodes)]
    connection.executemany(f"INSERT INTO tallies ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})",
                           [[row[column] for column in columns] for row in rows])
    if phase == "train":
        connection.executemany("UPDATE episodes SET group_signal = ? WHERE step = ? AND group_ = ? AND phase = 'train'",
                               [(group["cause"], step, group["group"]) for group in counting.groups(step, episodes)])
    return episodes


def catch_up(connection: sqlite3.Connection) -> None:
    """Counts all steps of a run that was begun before there were tallies."""
    if connection.execute("SELECT 1 FROM tallies LIMIT 1").fetchone():
        return
    for step, phase in connection.execute("SELECT DISTINCT step, phase FROM episodes WHERE phase <> 'play'").fetchall():
        keep(connection, step, phase)


# ------------------------------------------------------------------------------------------------------------- reading


def steps(run: Path, after_step: int = -1, phase: str = "train", names: Sequence[str] = _ADDED_UP,
          environment: str | None = None, before: int = 0) -> dict[str, list[Any]]:
    """As columns with one entry a step: `step` and what adds up, or only some of that. All environments together, or
    one of a mix. The steps behind `after_step`, and so many recorded ones `before` them."""
    mine = None if environment is None else codec.escape(environment)
    columns: Iterable[list[Any]] = [[] for _ in range(1 + len(names))]
    with _open(run) as connection:
        kept = connection is not None and _kept(connection)
        if connection is not None and before:
            after_step = _earlier(connection, "tallies" if kept else "episodes", phase, after_step, mine, before)
        if connection is None:
            pass
        elif kept:
            connection.row_factory = None
            asked = ", ".join(["step", *(f"sum({_READ.get(name, name)})" for name in names), _words(names)])
            *columns, words = by_column(connection.execute(
                f"SELECT {asked} FROM tallies WHERE phase = ?1 AND step > ?2 AND (?3 IS NULL OR environment = ?3) "
                "GROUP BY step", (phase, after_step, mine)))
            only_numbers("tallies", columns[0], *columns[1:], words)
        else:
            found = (_parted(row) for row in _counted(connection, phase, after_step) if mine in (None, row["environment"]))
            rows = [_merged(step, list(told), names) for step, told in groupby(found, key=itemgetter("step"))]
            columns = map(list, zip(*rows, strict=True)) if rows else columns
    return dict(zip(("step", *names), columns, strict=True))


def _words(names: Sequence[str]) -> str:
    """SQL for a cell of these that is no number, which a sum would count as 0; text is larger than any number."""
    tests = " ".join(f"WHEN {name} >= '' THEN {name}" for name in names if name in RUN["tallies"])
    return f"max(CASE {tests} END)" if tests else "NULL"


def _earlier(connection: sqlite3.Connection, table: str, phase: str, after: int, environment: str | None, before: int) -> int:
    """The step behind which there are `before` recorded ones up to `after`; -1 where there are no more."""
    found = connection.execute(
        f"SELECT DISTINCT step FROM {table} WHERE phase = ?1 AND step <= ?2 AND (?3 IS NULL OR environment = ?3) "
        "ORDER BY step DESC LIMIT 1 OFFSET ?4", (phase, after, environment, before)).fetchone()
    return found[0] if found else -1


def added(run: Path, names: Sequence[str], until_step: int) -> dict[str, int]:
    """What the training steps up to and with this one add up to, unknown ones as nothing."""
    with _open(run) as connection:
        if connection is None:
            return dict.fromkeys(names, 0)
        if _kept(connection):
            asked = ", ".join(f"coalesce(sum({name}), 0)" for name in names)
            [row] = connection.execute(f"SELECT {asked} FROM tallies WHERE phase = 'train' AND step <= ?", (until_step,))
            return dict(zip(names, row, strict=True))
        rows = list(_counted(connection, "train", -1, until_step))
        return {name: sum(row[name] or 0 for row in rows) for name in names}


def recent(run: Path, window: int, message_cap: int | None = None) -> dict[str, list[dict[str, Any]]]:
    """What the alarms look at: the tallies of the last `window` recorded steps as `lately`, of as many `before` and of
    the run's first as `start`; why episodes of `lately` went `unscored`, the most frequent reason first; and how many
    cut ones of each environment were `capped`, their last message as long as one may be."""
    with _open(run) as connection:
        told: dict[str, list[dict[str, Any]]] = {"lately": [], "before": [], "start": [], "unscored": [],
                                                 "capped": []}
        if connection is None:
            return told
        newest = "SELECT step FROM steps ORDER BY step DESC LIMIT ?"
        last = [step for (step,) in connection.execute(newest, (2 * window,))]
        if not last:
            return told
        early = [step for (step,) in connection.execute("SELECT step FROM steps ORDER BY step LIMIT ?", (window,))]
        span = min(window, max(1, len(last) // 2))
        told["lately"] = _between(connection, last[span - 1] - 1, last[0])
        if len(last) > span:
            told["before"] = _between(connection, last[2 * span - 1] - 1, last[span])
        told["start"] = _between(connection, early[0] - 1, early[min(span, len(early)) - 1])
        lately = {"phase": "train", "after": last[span - 1] - 1, "until": EVER}
        told["unscored"] = _rows(connection, f"""
            SELECT environment, status, coalesce(fault, stop) AS reason, count(*) AS episodes FROM episodes
            WHERE {PLAYED_LAST} AND status IN ({GONE}) GROUP BY 1, 2, 3 ORDER BY 4 DESC LIMIT 20""", lately)
        if message_cap is not None:
            cut = "clipped" if "clipped" in _columns(connection) else "status = 'truncated'"
            told["capped"] = _rows(connection, f"""
                SELECT environment, count(*) AS episodes FROM episodes WHERE {PLAYED_LAST} AND status NOT IN ({GONE})
                AND {cut} AND {COLUMNS['last_tokens']} >= :cap GROUP BY 1""", {**lately, "cap": message_cap})
        return told


def groups(run: Path, step: int) -> list[dict[str, Any]]:
    """One row a training group of a step, as `counting.groups` tells them."""
    with _open(run) as connection:
        if connection is None:
            return []
        episodes = [counted for _, counted in _episodes(connection, "train", step - 1, step)]
        return [{**row, "environment": codec.unescape(row["environment"])} for row in counting.groups(step, episodes)]


def beside(run: Path, step: int) -> tuple[int | None, int | None]:
    """The recorded steps next to this one."""
    with _open(run) as connection:
        if connection is None:
            return None, None
        [(before, after)] = connection.execute("SELECT (SELECT max(step) FROM steps WHERE step < ?), "
                                               "(SELECT min(step) FROM steps WHERE step > ?)", (step, step)).fetchall()
        return before, after


@contextlib.contextmanager
def _open(run: Path) -> Iterator[sqlite3.Connection | None]:
    """The run's file for one question; None where nothing was recorded yet."""
    file = run / "run.db"
    if not file.exists():
        yield None
        return
    try:
        with making_sense(file), reading(file) as connection:
            made = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'steps'").fetchone()
            yield connection if made else None
    except sqlite3.DatabaseError as error:
        raise OrtamError(f"{file} can't be read ({error}); put back a whole copy of it") from None


def _kept(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'tallies'").fetchone()
                and connection.execute("SELECT 1 FROM tallies LIMIT 1").fetchone())


def _between(connection: sqlite3.Connection, after: int, until: int) -> list[dict[str, Any]]:
    if _kept(connection):
        rows = _rows(connection, "SELECT * FROM tallies WHERE phase = 'train' AND step > :after AND step <= :until "
                                 "ORDER BY step", {"after": after, "until": until})
    else:
        rows = list(_counted(connection, "train", after, until))
    for row in rows:
        only_numbers("tallies", [row["step"]], [row[name] for name, kind in RUN["tallies"].items() if kind in (int, float)])
        row["failed_calls"], row["spreads"] = codec.from_json(row["failed_calls"]), codec.from_json(row["spreads"])
        if not isinstance(row["failed_calls"], dict) or not isinstance(row["spreads"], dict):
            raise ValueError("a list where a mapping belongs, in tallies")
    return [_parted(row) for row in rows]


def _rows(connection: sqlite3.Connection, query: str, values: dict[str, Any]) -> list[dict[str, Any]]:
    return [{key: codec.unescape(value) if isinstance(value, str) else value for key, value in dict(row).items()}
            for row in connection.execute(query, values)]


def _counted(connection: sqlite3.Connection, phase: str, after: int, until: int = EVER) -> Iterator[dict[str, Any]]:
    for step, told in groupby(_episodes(connection, phase, after, until), key=itemgetter(0)):
        yield from _tallies(step, [counted for _, counted in told])


def _tallies(step: int, episodes: Iterable[counting.Counted]) -> list[dict[str, Any]]:
    ordered = sorted(episodes, key=attrgetter("environment"))
    return [counting.tally(environment, step, list(members))
            for environment, members in groupby(ordered, key=attrgetter("environment"))]


def _episodes(connection: sqlite3.Connection, phase: str, after: int,
              until: int = EVER) -> Iterator[tuple[int, counting.Counted]]:
    have = _columns(connection)
    columns = ", ".join(name if name in have else "NULL" for name in counting.COLUMNS)
    query = f"SELECT step, {columns} FROM episodes WHERE {PLAYED_LAST} ORDER BY step, seq"
    for step, *values in connection.execute(query, {"phase": phase, "after": after, "until": until}):
        yield step, counting.Counted(*values)


def _columns(connection: sqlite3.Connection) -> set[str]:
    return {row[1] for row in connection.execute("PRAGMA table_info(episodes)")}


def _parted(row: dict[str, Any]) -> dict[str, Any]:
    if row["failures"] is None:
        return {**row, "late_calls": None}
    kinds = json.loads(row["failed_calls"]) if isinstance(row["failed_calls"], str) else row["failed_calls"] or {}
    late = kinds.get("after_the_end", 0)
    return {**row, "late_calls": late, "failures": row["failures"] - late}


def _merged(step: int, rows: list[dict[str, Any]], names: Sequence[str]) -> tuple[Any, ...]:
    known = [[row[name] for row in rows if row[name] is not None] for name in names]
    return step, *(sum(numbers) if numbers else None for numbers in known)
