"""runs/<id>/live.json: the episodes being played now, as the trainer last told. There only while a batch is played.

One process writes it whole, a few times a second at most; what can't be written is left out, since training must not
notice. A reader takes a missing, torn or foreign file for nothing, and believes it only while a trainer lives.
"""

import contextlib
import json
import os
import time
from pathlib import Path
from stat import S_ISREG
from typing import Any, Literal

from pydantic import ValidationError

from backend.errors import OrtamError
from backend.records import Episode, Kept
from backend.store.writing import write_whole

STALE_SECONDS = 20
"""A trainer that plays says so every few seconds."""

LARGEST = 4_000_000
"""Bytes; a larger file isn't ours."""

Stage = Literal["opening", "generating", "environment", "waiting", "scoring", "ended"]
"""`waiting`: answered, while others of the batch aren't; `ended`: played, and recorded with the rest of its batch."""


class Seated(Kept):
    """One episode in play."""

    episode: Episode
    """So far: its id is the one it is recorded under, long texts are cut, and it has no totals."""
    stage: Stage
    since: float
    """Unix time at which the stage began."""
    calls: tuple[tuple[str, Any], ...] = ()
    """(tool, arguments) that the environment has not answered yet."""
    left_out: int = 0
    """Turns before the first of `episode.turns`."""


class Live(Kept):
    phase: Literal["train", "eval"]
    step: int
    began: float
    """Unix time at which this batch was begun."""
    counts: dict[Stage, int] = {}
    """Of all episodes that this process plays."""
    playing: int
    """How many that are."""
    processes: int = 1
    """Of the run; only the first one tells, of its own episodes."""
    shown: tuple[Seated, ...] = ()
    """Some of them, the same ones throughout the batch."""
    stale: bool = False
    """A trainer lives, but has told nothing for a while."""


class LiveFile:
    """For the trainer. Never raises."""

    def __init__(self, run: Path):
        self.path = run / "live.json"

    def write(self, told: Live) -> bool:
        """Whether it is told now."""
        try:
            write_whole(self.path, json.dumps(told.model_dump(), ensure_ascii=True))
        except (OrtamError, ValueError, TypeError, RecursionError):
            self.remove()
            return False
        return True

    def still(self) -> None:
        """Nothing is new, and it is still so."""
        with contextlib.suppress(OSError):
            os.utime(self.path)

    def remove(self) -> None:
        for path in (self.path, self.path.with_name(f".{self.path.name}.{os.getpid()}")):
            with contextlib.suppress(OSError):
                path.unlink()


def mark(run: Path) -> str:
    """Changes when the trainer tells anything, and when it has told nothing for too long; "" while nothing is played.
    One look at the file system."""
    try:
        stat = (run / "live.json").stat()
    except OSError:
        return ""
    return f"{stat.st_mtime_ns:x}.{stat.st_size:x}.{stat.st_ino:x}{'~' if _stale(stat) else ''}"


def read(run: Path, training: bool) -> Live | None:
    """None where nothing is being played. `training`: whether a trainer holds the run's lock."""
    path = run / "live.json"
    if not training:
        return None
    try:
        stat = path.stat()
        if not S_ISREG(stat.st_mode) or stat.st_size > LARGEST:
            return None
        told = Live.model_validate(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, ValidationError, RecursionError):
        return None
    return told.model_copy(update={"stale": _stale(stat)})


def _stale(stat: os.stat_result) -> bool:
    return time.time() - stat.st_mtime > STALE_SECONDS
