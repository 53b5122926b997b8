"""The tables of run.db, notes.db and studio.db, and how their files are opened. No other module knows a column's type.

sqlite-utils makes the tables with explicit types (a first None would otherwise make a TEXT column) and adds the columns
that an older file lacks. The writer opens a file once; a reader opens it for one short question.
"""

import contextlib
import shutil
import sqlite3
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from backend.errors import OrtamError
from backend.records import UNSCORED
from backend.store import counting

BUSY_SECONDS = 10
NETWORK = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "beegfs", "gpfs",
           "virtiofs", "fuse.sshfs", "fuse.gcsfuse", "fuse.s3fs", "fuse.rclone", "fuse.glusterfs"}
"""File systems on which the shared memory of WAL isn't shared between machines."""

RUN: dict[str, dict[str, type]] = {
    "episodes": {"seq": int, "id": str, "phase": str, "step": int, "attempt": int, "group_": int, "sample": int,
                 "environment": str, "task": str, "seed": str, "fingerprint": str, "policy": str, "status": str,
                 "stop": str, "total": float, "advantage": float, "turns": int, "tokens": int, "started": float,
                 "seconds": float, "fault": str, "facts": str, "scores": str, "clipped": int, "tool_calls": int,
                 "unparsed_calls": int, "repeated_calls": int, "failed_calls": str, "moves": str, "group_signal": str,
                 "tools": str},
    "details": {"episode": int, "prompt": str, "opening": str, "start_facts": str, "fault": str, "policy": str,
                "judged": str, "images": str, "parent": str},
    "turns": {"episode": int, "index_": int, "said": str, "thought": str, "tool": str, "arguments": str, "result": str,
              "shown": str, "reward": float, "done": int, "facts": str, "tokens": int, "model_seconds": float,
              "seconds": float, "fault": str, "cut": int, "images": str, "partly": int},
    "curves": {"step": int, "name": str, "environment": str, "mean": float, "low": float, "high": float, "scored": int,
               "all_": int},
    "steps": {"step": int, "at": float},
    "tallies": {"phase": str, "step": int, "environment": str, "episodes": int, "judged": int, "scored": int,
                "total": float, **dict.fromkeys(counting.STATUSES, int), "groups": int,
                **{counting.column(cause): int for cause in counting.CAUSES}, "learnt_from": int, "pure": int,
                "mixed": int, "first_mixed": int, "alike": int, "first_alike": int, "turns": int, "seconds": float,
                "with_seconds": int, "tokens": int, "with_tokens": int, "clipped": int, "tool_calls": int,
                "silent": int, "unparsed_calls": int, "repeated_calls": int, "failures": int, "failed_calls": str,
                "spreads": str},
    "metrics": {"step": int, "name": str, "value": float},
    "events": {"seq": int, "at": float, "kind": str, "text": str, "level": str, "step": int, "fault": str},
    "known_facts": {"name": str},
    "known": {"kind": str, "name": str},
    "texts": {"digest": str, "body": bytes},
    "counts": {"what": str, "number": int},
}
RUN_KEYS = {"episodes": "seq", "details": "episode", "turns": ("episode", "index_"), "steps": "step", "events": "seq",
            "curves": ("step", "name", "environment"), "metrics": ("step", "name"), "known_facts": "name",
            "known": ("kind", "name"), "texts": "digest", "tallies": ("phase", "step", "environment"), "counts": "what"}
RUN_INDEXES = {"episodes": [("step", "group_", "sample"), ("total",), ("advantage",),
                            ("status", "step", "group_", "sample")],
               "curves": [("name", "environment", "step", "mean")], "details": [("parent",)], "metrics": [("name", "step")],
               "tallies": [("phase", "step", "episodes", "tokens", "judged", "with_tokens")]}

STUDIO = {"queue": {"run": str, "state": str, "asked": float, "worker": str, "pid": int, "born": str, "started": float,
                    "ended": float, "code": int, "reason": str, "gpus": str},
          "reward_sets": {"name": str, "terms": str, "saved": float},
          "saved_environments": {"name": str, "use_": str, "options": str, "note": str, "told": str, "saved": float},
          "imported_environments": {"id": str, "repository": str, "checkout": str, "card": str, "imported": float},
          "saved_filters": {"name": str, "asked": str, "saved": float}}
STUDIO_KEYS = {"queue": "run", "reward_sets": "name", "saved_environments": "name", "imported_environments": "id",
               "saved_filters": "name"}

GONE = ", ".join(f"'{status}'" for status in sorted(UNSCORED))
"""For `status IN (...)`: episodes that say nothing about the policy."""

NOTES: dict[str, dict[str, type]] = {
    "notes": {"episode": str, "text": str, "version": int, "at": float},
    "earlier": {"episode": str, "version": int, "text": str},
    "tags": {"episode": str, "tag": str, "at": float}}
NOTES_KEYS = {"notes": "episode", "earlier": ("episode", "version"), "tags": ("episode", "tag")}


def network_mount(path: Path) -> str | None:
    """The network file system that `path` lies on; None on a local one, or where the system doesn't say."""
    try:
        mounts = Path("/proc/mounts").read_text("utf-8", "replace").splitlines()
    except OSError:
        return None
    place, best = path.resolve(), ("", "")
    for line in mounts:
        _, point, kind, *_ = line.split(" ")
        point = point.replace("\\040", " ")
        if place.is_relative_to(point) and len(point) >= len(best[0]):
            best = (point, kind)
    return best[1] if best[1] in NETWORK else None


def open_for_writing(path: Path) -> tuple[sqlite3.Connection, str | None]:
    """A connection in autocommit mode, and a notice where WAL had to be given up."""
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    if kind := network_mount(path.parent):
        connection.execute("PRAGMA journal_mode=DELETE")
        return connection, (f"{path.parent} is on a network file system ({kind}), so {path.name} keeps a rollback "
                            "journal; read it only on the machine that trains.")
    mode = connection.execute("PRAGMA journal_mode=WAL").fetchone()[0]
    connection.execute("PRAGMA synchronous=NORMAL")
    notice = None if mode == "wal" else f"{path.name} couldn't use a write-ahead log here and keeps a rollback journal."
    return connection, notice


def make_tables(connection: sqlite3.Connection, tables: dict, keys: dict, indexes: dict | None = None) -> None:
    from sqlite_utils import Database

    database = Database(connection)
    for name, columns in tables.items():
        table = database.table(name)
        if not table.exists():
            table.create(columns, pk=keys.get(name), if_not_exists=True)
            continue
        for column in columns.keys() - table.columns_dict.keys():
            table.add_column(column, columns[column])
    for name, wanted in (indexes or {}).items():
        for columns in wanted:
            database.table(name).create_index(columns, if_not_exists=True)
    if "episodes" in tables:
        database.table("episodes").create_index(["id"], unique=True, if_not_exists=True)


_TYPES = {int: "INTEGER", str: "TEXT", float: "REAL", bytes: "BLOB"}


def make_plain_tables(connection: sqlite3.Connection, tables: dict[str, dict[str, type]], keys: dict) -> None:
    """Those that aren't there yet, within the caller's transaction: for a file that several processes may make at once."""
    for name, columns in tables.items():
        key = keys[name] if isinstance(keys[name], tuple) else (keys[name],)
        listed = ", ".join(f"{column} {_TYPES[kind]}" for column, kind in columns.items())
        connection.execute(f"CREATE TABLE IF NOT EXISTS {name} ({listed}, PRIMARY KEY ({', '.join(key)}))")


@contextlib.contextmanager
def making_sense(path: Path) -> Iterator[None]:
    """While cells of a file are taken apart: an OrtamError where they hold what no trainer writes."""
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, zlib.error) as error:
        said = str(error).splitlines()
        raise OrtamError(f"{path} holds what can't be understood ({said[0] if said else type(error).__name__}); put back a "
                         "whole copy of it") from None


def only_numbers(table: str, steps: Sequence[Any], *columns: Sequence[Any]) -> None:
    """SQLite keeps whatever is put into a cell. ValueError where a step isn't a whole number, or another cell neither a number
    nor NULL; for use while `making_sense`."""
    wanted: set[type] = {int}
    for column in (steps, *columns):
        if not set(map(type, column)) <= wanted:
            odd = next(cell for cell in column if type(cell) not in wanted)
            raise ValueError(f"{odd!r:.40} where a number belongs, in {table}")
        wanted = {int, float, type(None)}


@contextlib.contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection for one question; reads from a read-only folder too."""
    with contextlib.ExitStack() as stack:
        connection = _open_for_reading(path, stack)
        connection.row_factory = sqlite3.Row
        yield connection


def kept_rows(path: Path, question: str, values: Sequence[Any] = ()) -> list[tuple]:
    """Of a file that isn't a run's; nothing while there is none, or no such table. Raises OrtamError."""
    if not path.exists():
        return []
    try:
        with reading(path) as connection:
            connection.row_factory = None
            return connection.execute(question, values).fetchall()
    except sqlite3.DatabaseError as error:
        if "no such table" in str(error):
            return []
        raise OrtamError(f"{path} can't be read ({error}); put back a whole copy of it, or remove it") from None


def _open_for_reading(path: Path, stack: contextlib.ExitStack) -> sqlite3.Connection:
    uri = path.absolute().as_uri()
    try:
        return _probed(f"{uri}?mode=ro", stack)
    except sqlite3.OperationalError:
        if not path.exists():
            raise
    log = path.with_name(path.name + "-wal")
    if not log.exists() or not log.stat().st_size:
        return _probed(f"{uri}?immutable=1", stack)
    # What the log holds isn't in the file yet, and a read-only folder can't take the index SQLite needs to read it.
    copy = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    for part in (path, log):
        shutil.copyfile(part, copy / part.name)
    return _probed((copy / path.name).as_uri(), stack)


def _probed(uri: str, stack: contextlib.ExitStack) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    except sqlite3.Error:
        connection.close()
        raise
    stack.callback(connection.close)
    return connection


def by_column(rows: sqlite3.Cursor) -> list[list[Any]]:
    """What a question without a row factory answers, column by column. A few hundred rows at once: so many tuples that
    stay until the last would keep the garbage collector busier than SQLite."""
    columns: list[list[Any]] = [[] for _ in rows.description]
    while some := rows.fetchmany(256):
        for column, values in zip(columns, zip(*some, strict=True), strict=True):
            column.extend(values)
    return columns
