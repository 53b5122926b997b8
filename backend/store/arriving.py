"""Run folders that come and go: whole runs copied out, and runs made of what comes from elsewhere.

What arrives is put together in a folder no list of runs looks into, and takes its place in one rename; what doesn't make
it leaves nothing behind.
"""

import contextlib
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from backend.errors import OrtamError
from backend.records import RunSpec
from backend.store.run import Run
from backend.store.spec_file import refuse_secrets, to_yaml
from backend.store.tables import reading
from backend.store.writing import write_whole

TRAVELS = ("spec.yaml", "run.db", "trainer.log", "result.json")
"""What is shared of a run: neither checkpoints nor what only its own machine needs, such as locks."""

LEFT_SECONDS = 86_400
"""No run arrives for longer."""


@contextlib.contextmanager
def arriving(runs: Path) -> Iterator[Path]:
    """An empty folder for a run that isn't one yet; gone afterwards unless it was settled."""
    with _room_in(runs):
        _sweep(runs)
        above = Path(tempfile.mkdtemp(prefix=".arriving-", dir=runs))
    try:
        with _room_in(runs):
            (above / "run").mkdir()
            yield above / "run"
    finally:
        shutil.rmtree(above, ignore_errors=True)


def _sweep(runs: Path) -> None:
    """Away with what a process left that was killed while a run arrived."""
    for left in runs.glob(".arriving-*"):
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime > LEFT_SECONDS:
                shutil.rmtree(left, ignore_errors=True)


def say_what_was_asked(draft: Path, spec: RunSpec) -> None:
    """Raises SpecError where the spec holds what looks like a secret."""
    refuse_secrets(spec)
    write_whole(draft / "spec.yaml", to_yaml(spec))


def settle(draft: Path, runs: Path, named: str) -> Run:
    """The run in its own place, under this name or the next free one."""
    path = free_folder(runs, named)
    draft.chmod(0o755)
    draft.rename(path)  # over the empty folder
    return Run(path)


def free_folder(runs: Path, named: str) -> Path:
    """A new, empty folder of this name, or of the next free one: no other process gets it. Raises OrtamError."""
    with _room_in(runs):
        for number in range(1, 10_000):
            path = runs / (named if number == 1 else f"{named}-{number}")
            with contextlib.suppress(FileExistsError):
                path.mkdir()
                return path
    raise OrtamError(f"{runs} holds too many runs called {named}; give this one another name")


@contextlib.contextmanager
def _room_in(runs: Path) -> Iterator[None]:
    try:
        runs.mkdir(parents=True, exist_ok=True)
        yield
    except (OSError, sqlite3.Error) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise OrtamError(f"{runs} can't take a new run ({why}); free space there, or name another folder with --runs") from None


def copy(run: Run, to: Path) -> list[Path]:
    """What travels, as it is now; a run that is being written gives a database that is whole."""
    copied = []
    for name in TRAVELS:
        source = run.path / name
        if not source.is_file():
            continue
        if name == "run.db":
            _copy_database(source, to / name)
        else:
            shutil.copyfile(source, to / name)
        copied.append(to / name)
    return copied


def _copy_database(source: Path, to: Path) -> None:
    with reading(source) as connection, contextlib.closing(sqlite3.connect(to)) as copied:
        connection.backup(copied)
        copied.execute("PRAGMA journal_mode=DELETE")
