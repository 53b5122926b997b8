"""The trainer's pen: one writer per run, which never raises into training.

What SQLite can't take now (a full disk, a lock) is kept in order and tried again at the next call; an episode it can't
take at all is left out with an event that says so.
"""

import contextlib
import fcntl
import json
import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

from backend.errors import OrtamError
from backend.records import Episode, Event, Fault, Result
from backend.store import codec, curves, indexing, sums
from backend.store.counting import calls, clipped, met
from backend.store.tables import RUN, RUN_INDEXES, RUN_KEYS, make_tables, open_for_writing

LOCK_SECONDS = 5


class RunWriter:
    def __init__(self, folder: Path):
        self.folder = folder
        self._waiting: deque[Callable[[sqlite3.Connection], object]] = deque()
        self._turn = threading.RLock()
        self._closed = False
        self._connection, notice = open_for_writing(folder / "run.db")
        make_tables(self._connection, RUN, RUN_KEYS, RUN_INDEXES)
        self._episode = self._last("episodes")
        self._event = self._last("events")
        self._indexed = indexing.make(self._connection)
        self._transact(_count_all)
        self._transact(sums.catch_up)
        if self._indexed:
            self._transact(indexing.catch_up)
        if notice:
            self.event(Event(at=time.time(), kind="warning", level="warning", text=notice))

    def _last(self, table: str) -> int:
        return self._connection.execute(f"SELECT coalesce(max(seq), 0) FROM {table}").fetchone()[0]

    def record(self, episodes: Sequence[Episode]) -> None:
        """Write these episodes in one transaction, each exactly once: the same id again replaces what was there."""
        if episodes:
            kept = tuple(episodes)
            self._do(lambda connection: self._record(connection, kept))

    def metrics(self, step: int, values: dict[str, float | None]) -> None:
        """None and NaN are kept as "nothing to measure"."""
        rows = [(step, codec.escape(name), _number(value)) for name, value in values.items()]
        self._do(lambda connection: connection.executemany("INSERT OR REPLACE INTO metrics VALUES (?, ?, ?)", rows))

    def event(self, event: Event) -> None:
        self._do(lambda connection: self._write_event(connection, event))

    @property
    def behind(self) -> bool:
        """Whether something waits that SQLite couldn't take."""
        return bool(self._waiting)

    def phase(self, text: str) -> None:
        """Say what the run is doing now, such as 'loading the model'."""
        self.event(Event(at=time.time(), kind="phase", text=text))

    def finish(self, result: Result) -> None:
        """Write how the run ended; the last thing a trainer writes."""
        self._do(None)
        write_whole(self.folder / "result.json", json.dumps(result.model_dump(), indent=2, ensure_ascii=True) + "\n")

    def close(self) -> None:
        """Leave one plain file, which opens from a read-only folder and can be copied as it is; as often as you like."""
        with self._turn:
            if self._closed:
                return
            self._closed = True
            self._do(None)
            if self._waiting:
                print(f"run.db couldn't be written to the end: {len(self._waiting)} writes are lost", flush=True)
            self._settle()
            self._connection.close()

    def _settle(self) -> None:
        """Move what the log holds into the file; waits a moment for readers, who stay for one question each."""
        deadline = time.monotonic() + LOCK_SECONDS
        while time.monotonic() < deadline:
            with contextlib.suppress(sqlite3.Error):
                if self._connection.execute("PRAGMA journal_mode=DELETE").fetchone()[0] != "wal":
                    return
            time.sleep(0.01)

    @contextlib.contextmanager
    def hold_lock(self) -> Iterator[None]:
        """Hold `trainer.lock` while training: a free lock without a result means that the trainer was lost."""
        with hold(self.folder / "trainer.lock"):
            yield

    def _do(self, work: Callable[[sqlite3.Connection], object] | None) -> None:
        with self._turn:
            if work is not None:
                self._waiting.append(work)
            while self._waiting:
                try:
                    self._transact(self._waiting[0])
                except sqlite3.Error as error:
                    print(f"run.db can't be written now ({error}); {len(self._waiting)} writes wait", flush=True)
                    return
                except Exception as error:  # a record that can't be stored must not end a training run
                    print(f"a record couldn't be stored: {error!r}", flush=True)
                self._waiting.popleft()

    def _transact(self, work: Callable[[sqlite3.Connection], object]) -> None:
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            work(connection)
        except BaseException:
            if connection.in_transaction:  # a full disk has ended it already
                connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")

    def _record(self, connection: sqlite3.Connection, episodes: Sequence[Episode]) -> None:
        steps, more = set(), 0
        for episode in episodes:
            connection.execute("SAVEPOINT episode")
            try:
                again = self._write_episode(connection, episode)
            except (TypeError, ValueError, OverflowError, RecursionError, sqlite3.DataError, sqlite3.InterfaceError,
                    sqlite3.IntegrityError) as error:
                connection.execute("ROLLBACK TO episode")
                self._write_event(connection, Event(
                    at=time.time(), kind="fault", level="error", step=None,
                    text=f"Episode {episode.id} couldn't be stored: {error}",
                    fault=Fault(where="trainer", kind=type(error).__name__, message=str(error))))
            else:
                more += not again
                if episode.phase != "play":
                    steps.add((episode.step, episode.phase))
            connection.execute("RELEASE episode")
        connection.execute("UPDATE counts SET number = number + ? WHERE what = 'episodes'", (more,))
        names = {name for episode in episodes for name in episode.facts}
        connection.executemany("INSERT OR IGNORE INTO known_facts VALUES (?)",
                               [(codec.escape(name),) for name in names])
        connection.executemany("INSERT OR IGNORE INTO known VALUES (?, ?)",
                               {(kind, codec.escape(name)) for episode in episodes for kind, name in met(episode)})
        for step, phase in steps:
            if phase == "train":
                connection.execute("INSERT OR IGNORE INTO steps VALUES (?, ?)", (step, time.time()))
            self._count(connection, step, phase)

    def _count(self, connection: sqlite3.Connection, step: int, phase: str) -> None:
        """What can't be counted must not take the episodes with it."""
        connection.execute("SAVEPOINT counting")
        try:
            counted = sums.keep(connection, step, phase)
            if phase == "train":
                curves.keep(connection, step, counted)
        except sqlite3.OperationalError:
            raise
        except Exception as error:
            connection.execute("ROLLBACK TO counting")
            self._write_event(connection, Event(
                at=time.time(), kind="fault", level="error", step=step,
                text=f"Step {step} couldn't be counted: {error!r}",
                fault=Fault(where="trainer", kind=type(error).__name__, message=str(error))))
        connection.execute("RELEASE counting")

    def _write_episode(self, connection: sqlite3.Connection, episode: Episode) -> bool:
        """Whether it was there before."""
        escape, to_json, facts = codec.escape, codec.to_json, codec.facts_to_json
        again = self._forget(connection, episode.id)
        self._episode += 1
        seq = self._episode
        long = _Long(connection)
        fault = episode.fault
        connection.execute(_insert("episodes"), (
            seq, escape(episode.id), episode.phase, episode.step, episode.attempt, episode.group, episode.sample,
            escape(episode.environment), to_json(episode.task), None if episode.seed is None else str(episode.seed),
            _text(episode.fingerprint), escape(episode.policy.name or episode.policy.kind), episode.status,
            escape(episode.stop), _number(episode.total), _number(episode.advantage), len(episode.turns),
            episode.tokens, episode.started, episode.seconds,
            None if fault is None else escape(f"{fault.kind}: {fault.message}"[:300]), facts(episode.facts),
            facts(episode.scores), clipped(episode), *calls(episode), None,
            json.dumps(list(dict.fromkeys(turn.tool for turn in episode.turns if turn.tool is not None)))))
        connection.execute(_insert("details"), (
            seq, long(to_json(list(episode.prompt)), 512), long(escape(episode.opening)), facts(episode.start_facts),
            _fault(fault), to_json(episode.policy.model_dump()),
            to_json({name: judged.model_dump() for name, judged in episode.judged.items()} or None),
            long(to_json(list(episode.images) or None)),
            None if episode.parent is None else to_json(episode.parent.model_dump())))
        connection.executemany(_insert("turns"), [(
            seq, turn.index, long(escape(turn.said)), long(escape(turn.thought)), _text(turn.tool),
            long(to_json(turn.arguments)), long(_text(turn.result)), long(_text(turn.shown)), _number(turn.reward),
            turn.done, told, turn.tokens, turn.model_seconds, turn.seconds, _fault(turn.fault), turn.cut,
            long(to_json(list(turn.images) or None)), partly)
            for turn, (told, partly) in zip(episode.turns, codec.facts_by_turn(turn.facts for turn in episode.turns),
                                            strict=True)])
        if self._indexed:
            indexing.add(connection, seq, episode)
        return again

    @staticmethod
    def _forget(connection: sqlite3.Connection, id: str) -> bool:
        row = connection.execute("SELECT seq FROM episodes WHERE id = ?", (codec.escape(id),)).fetchone()
        if row is None:
            return False
        connection.execute("DELETE FROM episodes WHERE seq = ?", row)
        for table in ("details", "turns"):
            connection.execute(f"DELETE FROM {table} WHERE episode = ?", row)
        return True

    def _write_event(self, connection: sqlite3.Connection, event: Event) -> None:
        self._event += 1
        connection.execute(_insert("events"), (self._event, event.at, event.kind, codec.escape(event.text), event.level,
                                               event.step, _fault(event.fault)))


def _count_all(connection: sqlite3.Connection) -> None:
    """How many episodes there are, for pages that say so again and again; kept with every write from then on."""
    connection.execute("INSERT OR REPLACE INTO counts SELECT 'episodes', count(*) FROM episodes")


@cache
def _insert(table: str) -> str:
    return f"INSERT INTO {table} ({', '.join(RUN[table])}) VALUES ({', '.join('?' * len(RUN[table]))})"


def _text(value: str | None) -> str | None:
    return None if value is None else codec.escape(value)


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)


def _fault(fault: Fault | None) -> str | None:
    return None if fault is None else codec.to_json(fault.model_dump())


class _Long:
    """Keeps a long text once, whatever number of episodes it appears in."""

    def __init__(self, connection: sqlite3.Connection):
        self.connection = connection

    def __call__(self, cell: str | None, longer_than: int = codec.LONG) -> str | None:
        if cell is None or len(cell) <= longer_than:
            return cell
        key = codec.digest(cell)
        self.connection.execute("INSERT OR IGNORE INTO texts VALUES (?, ?)", (key, codec.pack(cell)))
        return f"{codec.ESCAPE}={key}"


def write_whole(path: Path, text: str) -> None:
    """Raises OrtamError where nothing can be written."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(text, "utf-8")
        os.replace(draft, path)
    except OSError as error:
        raise OrtamError(f"{path} can't be written ({error.strerror}); free space or allow writing there") from None


def held(path: Path) -> bool:
    """Whether any process holds the lock; looks without taking it for longer than a moment."""
    try:
        with open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


@contextlib.contextmanager
def hold_if_free(path: Path) -> Iterator[bool]:
    """Whether this process could take the lock, which it then holds."""
    with open(path, "a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


@contextlib.contextmanager
def hold(path: Path) -> Iterator[None]:
    """An exclusive lock on a file that says who holds it; waits a moment for readers that are only looking."""
    with open(path, "a+", encoding="utf-8") as file:
        deadline = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise OrtamError(f"{path} is held by another process; stop that one first") from None
                time.sleep(0.02)
        file.truncate(0)
        file.write(json.dumps({"pid": os.getpid(), "at": time.time()}))
        file.flush()
        yield
