"""Where an export goes: a file or a folder that somebody named, written whole or not at all."""

import contextlib
import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from backend.errors import OrtamError
from backend.exchange.choosing import Choice


class Format(Protocol):
    SUFFIX: str
    FOR: str
    """What it is good for, in a few words."""

    def write(self, choice: Choice, path: Path, told: Callable[[int], None]) -> int:
        """Writes to `path`, which isn't there yet, telling how many were taken so far; how many it wrote in the end."""
        ...


def file_name(*parts: str) -> str:
    """A name no folder can be left by, whatever runs and episodes are called."""
    safe = (re.sub(r"[^A-Za-z0-9._-]+", "-", part).strip(".-_") for part in parts)
    return "-".join(part[:80] for part in safe if part) or "export"


def place(to: Path, named: str, suffix: str) -> Path:
    """The file that `--to` means: itself, or in a folder one that is named after the run. Raises OrtamError."""
    with _writable(to):
        inside = to.is_dir() or (to.suffix == "" and not to.exists())
        return to / f"{named}{suffix}" if inside else to


def export(format: Format, choice: Choice, path: Path, replace: bool = False,
           told: Callable[[int], None] = lambda n: None) -> int:
    """How many it wrote. Raises OrtamError where the file is there already or can't be written."""
    draft = path.with_name(f".{path.name[:40]}.{os.getpid()}.part")
    try:
        with _writable(path):
            if path.exists() and not (path.is_file() or path.is_dir()):
                raise OrtamError(f"{path} is no file and no folder; name a file, or a folder for one")
            if path.exists() and not replace:
                raise OrtamError(f"{path} is there already; name another file or say --replace")
            if path.is_dir():
                raise OrtamError(f"{path} is a folder; name a file in it")
            path.parent.mkdir(parents=True, exist_ok=True)
            written = format.write(choice, draft, told)
            os.replace(draft, path)
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()
    return written


@contextlib.contextmanager
def _writable(path: Path) -> Iterator[None]:
    """Raises OrtamError where a disk or a folder refuses."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise OrtamError(f"{path} can't be written ({why}); free space or allow writing there") from None


def write_lines(lines: Iterator[str], path: Path, told: Callable[[int], None]) -> int:
    """How many there were."""
    n = 0
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        for n, written in enumerate(lines, 1):
            file.write(written)
            told(n)
    return n
