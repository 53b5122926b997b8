"""One run's folder: what was asked, what is happening, what happened."""

import contextlib
import json
import sqlite3
import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from backend.errors import OrtamError, SpecError
from backend.processes import alive
from backend.records import ENDED, Episode, Event, Judged, Match, MetricPoint, Result, RunSpec, RunStatus
from backend.store import codec
from backend.store.columns import EpisodeColumns, TurnColumns, episode_columns, turn_columns
from backend.store.games import Game, games
from backend.store.instructive import Standouts, standouts
from backend.store.notes import Note, Notes
from backend.store.printed import last_lines
from backend.store.queue import Queue
from backend.store.reading import CurvePoint, EpisodeRow, Reading
from backend.store.sorting import SORTABLE
from backend.store.spec_file import from_kept_yaml
from backend.store.spent import RECORDED, durations
from backend.store.sums import EVER
from backend.store.words import Excerpt
from backend.store.writing import RunWriter, held, hold, write_whole

QUIET_SECONDS = 120
"""A trainer that wrote nothing for this long, and for ten of its usual steps, is stalled."""
QUIET_STEPS = 10
QUIET_BEFORE_FIRST_STEP = 600
"""Loading a model may print nothing for a while."""


class Progress(NamedTuple):
    step: int
    """The last step of which episodes are recorded; of a match how many games are."""
    steps: int
    """Of a match all its games; 0 where that isn't known yet."""
    phase: str
    """What it is doing, in words; "" before it said anything."""
    elapsed: float | None
    """Seconds since it started."""
    left: float | None
    """Seconds, from its recent steps; None before two steps or when it ended."""
    reason: str
    """Why it ended, or why it waits; "" when there is nothing to say."""


class Run:
    def __init__(self, path: Path):
        self.path = path
        self.id = path.name
        self._reading = Reading(path / "run.db", self._lost_its_file)
        self.notebook = Notes(path)
        self._stood_out: tuple[tuple[Any, ...], Standouts] | None = None

    def __repr__(self) -> str:
        return f"Run({self.id})"

    # -------------------------------------------------------------------------------------------------- what was asked

    @property
    def spec(self) -> RunSpec:
        return from_kept_yaml(self.spec_text)

    @property
    def spec_text(self) -> str:
        """Raises SpecError."""
        try:
            return (self.path / "spec.yaml").read_text("utf-8")
        except UnicodeDecodeError as error:
            raise SpecError("", f"spec.yaml can't be read: it isn't UTF-8 ({error.reason})") from None

    @property
    def demo(self) -> bool:
        """Recorded to be looked at; such a folder's name starts with demo-."""
        return self.id.startswith("demo-")

    # ------------------------------------------------------------------------------------------------ what is happening

    def status(self) -> RunStatus:
        """Worked out from the folder, the lock and the queue; stored nowhere."""
        if result := self.result():
            return result.status
        if not self.training():
            # The result is written before the lock is let go, so look once more.
            if result := self.result():
                return result.status
            return self._unlocked()
        if self.stop_asked():
            return "stopping"
        quiet = time.time() - self.last_sign()
        step, usual = self._pace() if quiet > QUIET_SECONDS else (None, None)
        if quiet > QUIET_SECONDS:
            limit = QUIET_BEFORE_FIRST_STEP if step is None else max(QUIET_SECONDS, QUIET_STEPS * (usual or 0))
            if quiet > limit:
                return "stalled"
        return "preparing" if self._last_step() is None and not self._played() else "running"

    def _unlocked(self) -> RunStatus:
        place = Queue(self.path.parent).place(self.id)
        if place is not None and place.state in ("waiting", "claimed"):
            return "queued"
        if place is not None and place.state == "running" and place.pid and alive(place.pid, place.born):
            return "stopping" if self.stop_asked() else "preparing"
        started = place is not None or (self.path / "trainer.lock").exists() or (self.path / "run.db").exists()
        return "lost" if started else "queued"

    def training(self) -> bool:
        """Whether a trainer holds the lock now."""
        return held(self.path / "trainer.lock")

    def trainer_pid(self) -> int | None:
        """The process that holds the lock; None when nobody does."""
        return self._lock_says().get("pid") if self.training() else None

    def _lock_says(self) -> dict[str, Any]:
        try:
            return json.loads((self.path / "trainer.lock").read_text("utf-8"))
        except (OSError, ValueError):
            return {}

    def last_sign(self) -> float:
        """Unix time at which the trainer last wrote anything."""
        times = [_modified(self.path / name) for name in ("run.db", "run.db-wal", "trainer.log", "trainer.lock")]
        return max(times)

    def progress(self) -> Progress:
        status, result = self.status(), self.result()
        started = self.started()
        ended = status in ENDED
        end = (result.ended if result and result.ended else self.last_sign()) if ended else time.time()
        step, usual = self._pace()
        steps = self.spec.train.steps
        if match := self.spec.match:
            step, steps, usual = self._games(match, end)
        left = None if ended or usual is None else max(0.0, usual * (steps - (step or 0)))
        phases = self._told("SELECT text FROM events WHERE kind = 'phase' ORDER BY seq DESC LIMIT 1")
        reason = result.reason if result else self._why(status)
        if self._lost_its_file():
            reason = f"run.db is missing, so nothing it recorded can be shown; put back a whole copy of {self.path}"
        elapsed = None if started is None else max(0.0, end - started)
        return Progress(step or 0, steps, codec.unescape(phases[0][0]) if phases else "", elapsed, left, reason)

    def _why(self, status: RunStatus) -> str:
        if status == "queued":
            waiting = [place.run for place in Queue(self.path.parent).places("waiting", "claimed")]
            ahead = waiting.index(self.id) if self.id in waiting else 0
            return f"{ahead} run{'s' if ahead > 1 else ''} ahead of it" if ahead else "next to start"
        if status == "lost":
            place = Queue(self.path.parent).place(self.id)
            said = place.reason if place else None
            return said or "The trainer ended without saying how. Every episode it recorded is here."
        if status == "stalled":
            minutes = int((time.time() - self.last_sign()) / 60)
            return f"The trainer lives, but has written nothing for {minutes} minutes."
        return ""

    def started(self) -> float | None:
        """Unix time at which the trainer began; None before it did."""
        times = [row[0] for row in self._told("SELECT min(at) FROM events") if row[0]]
        if locked := self._lock_says().get("at"):
            times.append(locked)
        return min(times, default=None)

    def so_far(self) -> tuple[int, float | None]:
        """How many episodes are recorded, and the mean total of the last step; None before one was scored."""
        rows = self._told(f"SELECT iif(mean < {EVER}, mean, NULL) FROM curves WHERE name = 'total' AND environment = '' "
                          "ORDER BY step DESC LIMIT 1")
        with contextlib.suppress(OrtamError):
            return self.count_episodes(), rows[0][0] if rows else None
        return 0, None

    def _told(self, sql: str) -> list[sqlite3.Row]:
        """For what a run's state is worked out from: a file that can't be read says nothing."""
        try:
            return self._reading.rows(sql)
        except OrtamError:
            return []

    def _lost_its_file(self) -> bool:
        """Whether it trained, and yet has no run.db: a trainer opens that before it takes the lock."""
        if (self.path / "run.db").exists():
            return False
        result = self.result()
        return bool(result and result.step) or ((self.path / "trainer.lock").exists() and not self.training())

    def _last_step(self) -> int | None:
        rows = self._told("SELECT max(step) FROM steps")
        return rows[0][0] if rows else None

    def _pace(self) -> tuple[int | None, float | None]:
        """The last recorded step, and the median seconds of a recent step."""
        rows = self._told(f"{RECORDED} DESC LIMIT 30")
        if not rows:
            return None, None
        gaps = durations(rows)
        return rows[0]["step"], statistics.median(gaps) if gaps else None

    def _played(self) -> int:
        rows = self._told("SELECT count(*) FROM (SELECT 1 FROM episodes WHERE phase = 'play' LIMIT 1)")
        return rows[0][0] if rows else 0

    def _games(self, match: Match, end: float) -> tuple[int, int, float | None]:
        """How many are played, how many there are to play, and the seconds of one; None while a player has yet to end one."""
        rows = self._told("SELECT sample, count(*) AS games, (SELECT started FROM episodes AS one WHERE step = 0 AND "
                          "one.sample = episodes.sample ORDER BY group_ LIMIT 1) AS began FROM episodes WHERE step = 0 "
                          "GROUP BY sample ORDER BY sample")  # of an index alone, since it's asked after every game
        played = sum(row["games"] for row in rows)
        told = self._told("SELECT value FROM metrics WHERE name = 'games'")
        tasks = 1 if match.fork else match.held_out or self.spec.environments[0].tasks.count or 0
        games = int(told[0][0]) if told and told[0][0] else tasks * len(match.players)
        last = rows[-1] if rows else None  # players differ in their pace, and play one after another
        pace = (end - last["began"]) / last["games"] if last and last["games"] * len(match.players) < games else None
        return played, games, pace

    def result(self) -> Result | None:
        try:
            return Result.model_validate(json.loads((self.path / "result.json").read_text("utf-8")))
        except (OSError, ValueError):
            return None

    def version(self) -> str:
        """Changes when anything but the log does; a few file stats, so it can be asked on every tick."""
        parts: list[str] = [self.status()]
        for name in ("run.db", "run.db-wal", "result.json", "stop"):
            try:
                stat = (self.path / name).stat()
                parts.append(f"{stat.st_size}.{stat.st_mtime_ns}")
            except OSError:
                parts.append("")
        return "|".join(parts)

    def ask_to_stop(self) -> None:
        """Leave a note that the trainer looks for after each step."""
        write_whole(self.path / "stop", f"{time.time()}\n")

    def stop_asked(self) -> bool:
        return (self.path / "stop").exists()

    # ------------------------------------------------------------------------------------------------------------- log

    def log_tail(self, lines: int = 200) -> str:
        """The last lines it printed; a progress bar that redraws itself counts as one line."""
        return last_lines(self.path, lines)

    # ----------------------------------------------------------------------------------------------- what people say

    def notes(self) -> dict[str, Note]:
        """By episode id: every episode that has a note or a tag; `notebook` writes them."""
        return self.notebook.all()

    def tags(self) -> dict[str, int]:
        """How many episodes have each, the commonest first."""
        return self.notebook.tags()

    # --------------------------------------------------------------------------------------------------- what happened

    def episodes(self, where: str | None = None, sort: str = "-step", limit: int | None = 50, offset: int = 0,
                 after: int | None = None, **filters: Any) -> list[EpisodeRow]:
        """Episodes without their turns.

        `where` is an expression over facts, columns and reward terms; `sort` a column or a reward term, with - in front
        for the largest first; `after` a seq. Filters take one value, several or a Between: step, group, environment,
        status, phase, total, ...; besides these `find` (words, as store/words.py says), `tool`, `trouble` (any, or a
        kind of fault), `task_or_seed`, `terms` ({name: Between}) and `tag`. Raises SpecError where an expression or a
        name can't be used.
        """
        filters = self._tagged(filters)
        return self._reading.episodes(self._terms(where, sort), where, sort, limit, offset, after, filters)

    def count_episodes(self, where: str | None = None, after: int | None = None, **filters: Any) -> int:
        return self._reading.count(self._terms(where, ""), where, after, self._tagged(filters))

    def neighbours(self, id: str, where: str | None = None, sort: str = "-step",
                   **filters: Any) -> tuple[str | None, str | None]:
        """Ids before and after this episode in the same list; None at its ends, or where the list doesn't hold it."""
        return self._reading.neighbours(id, self._terms(where, sort), where, sort, self._tagged(filters))

    def _tagged(self, filters: dict[str, Any]) -> dict[str, Any]:
        """`tag` as the ids of the episodes that have it."""
        tag = filters.get("tag")
        rest = {name: wanted for name, wanted in filters.items() if name != "tag"}
        return {**rest, "id": self.notebook.tagged(tag)} if tag else rest

    def excerpts(self, rows: Sequence[EpisodeRow], find: str) -> dict[str, Excerpt]:
        """By episode id, where each of these holds what was looked for; long lists of long ones aren't read whole."""
        ids = {row.seq: row.id for row in rows}
        return {ids[seq]: found for seq, found in self._reading.excerpts(list(ids), find).items()}

    def unplayed(self, rows: Sequence[EpisodeRow]) -> dict[str, int]:
        """By episode id, how many of its turns weren't played; those of which all were played are left out."""
        ids = {row.seq: row.id for row in rows}
        return {ids[seq]: turns for seq, turns in self._reading.unplayed(list(ids)).items()}

    def standouts(self, view: str, where: str | None = None, **filters: Any) -> Standouts:
        """What is worth a look, as store/instructive.py says: advantage, surprising, suspects, unscored or longest."""
        condition, parameters = self._reading.condition(self._terms(where, ""), where, None, self._tagged(filters))
        key = view, condition, tuple(parameters), self._reading.stamp()
        if self._stood_out is None or self._stood_out[0] != key:  # a page lists, opens the first and looks for neighbours
            self._stood_out = key, standouts(self._reading, view, condition, parameters)
        return self._stood_out[1]

    def indexed(self) -> bool:
        """Whether words can be looked up; in an older run the newest episodes are read through instead."""
        return self._reading.indexed()

    def known(self, kind: str) -> list[str]:
        """Names that were met so far: of `tool`, `policy` or `fault` (kinds of it)."""
        return self._reading.known(kind)

    def _terms(self, where: str | None, sort: str) -> list[str]:
        if not where and (not sort or sort.removeprefix("-") in SORTABLE):
            return []
        return [codec.unescape(name) for (name,) in
                self._reading.rows("SELECT DISTINCT name FROM curves WHERE environment = ''")]

    def games(self, policy: str | None = None, after: int = 0) -> list[Game]:
        """What was played in a match, or by hand; of all, or of one policy; after a seq. Raises OrtamError."""
        return games(self._reading, policy, after)

    def episode(self, id: str) -> Episode:
        """Raises EpisodeNotFound."""
        return self._reading.episode(self.id, id)

    def groups(self, step: int, phase: str = "train", attempt: int = 1) -> list[int]:
        """The numbers of a step's groups, in order."""
        return self._reading.groups(step, phase, attempt)

    def forks(self, run: str, episode: str) -> list[tuple[EpisodeRow, int]]:
        """Episodes in this run that are forks of one, of this run or another; with the turn each was forked at."""
        return self._reading.forks(run, episode)

    def metrics(self, names: Sequence[str] | None = None, after_step: int = -1) -> list[MetricPoint]:
        return self._reading.metrics(names, after_step)

    def metric_names(self) -> list[str]:
        return self._reading.metric_names()

    def term_curves(self, after_step: int = -1, environment: str | None = None,
                    name: str | None = None) -> list[CurvePoint]:
        """One point per training step and name (`total` and each reward term), in the order of steps.

        All environments together, or one of a mix; all names, or one.
        """
        return self._reading.curves(after_step, environment, name)

    def events(self, after: int = 0) -> list[tuple[int, Event]]:
        return self._reading.events(after)

    def known_facts(self) -> list[str]:
        """Every fact that some recorded episode has."""
        return self._reading.known_facts()

    def columns(self, facts: Sequence[str] = (), scores: Sequence[str] = ()) -> EpisodeColumns:
        """All training episodes at once, with these facts and reward terms."""
        return episode_columns(self.path, facts, scores)

    def turn_columns(self, facts: Sequence[str]) -> TurnColumns:
        """All turns of the training episodes at once, with these facts as they were after each."""
        return turn_columns(self.path, facts)

    def judged(self) -> dict[str, Judged]:
        """What judges answered, by the digest of what they were asked."""
        return self._reading.judged()

    def conclude(self, result: Result) -> None:
        """Say how a run ended that has no trainer to say it; keeps what a trainer said."""
        if self.result() is None:
            write_whole(self.path / "result.json", result.model_dump_json(indent=2) + "\n")

    def writer(self) -> RunWriter:
        """For the trainer only: a run has one writer."""
        return RunWriter(self.path)

    @contextlib.contextmanager
    def writing(self) -> Iterator[RunWriter]:
        """Its one writer, for what is added without a trainer. Waits a moment for another; raises OrtamError."""
        with hold(self.path / "trainer.lock"), contextlib.closing(self.writer()) as writer:
            yield writer


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
