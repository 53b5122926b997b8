"""The verbs export and import in a terminal."""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

from backend.cli import printing
from backend.errors import OrtamError
from backend.exchange import Choice, export, file_name, group_of, place
from backend.store import Store

EVERY = 0.2
"""Seconds between two words of progress."""


def exported(store: Store, asked: argparse.Namespace) -> None:
    from ui.share import FORMATS, format_of

    run = store.run(asked.run)
    if asked.to.startswith("hub:"):
        from backend.exchange import hub

        with _progress("file") as told:
            address = hub.send(run, asked.to, public=asked.public, told=told)
        return _said({"run": run.id, "to": address}, f"{run.id} is at {address}", asked.json)
    to = Path(asked.to)
    named = asked.format or format_of(to.name) or "jsonl"
    format = FORMATS[named]
    choice = Choice(run, asked.where, asked.sort, asked.limit, asked.episode,
                    group_of(asked.group) if asked.group else None)
    path = place(to, file_name(run.id, asked.episode or asked.group or ""), format.SUFFIX)
    if asked.format is None and path == to and to.suffix and format_of(to.name) is None:
        known = ", ".join(f"{each.SUFFIX} ({name})" for name, each in FORMATS.items())
        raise OrtamError(f"no format has files that end in {to.suffix}; end the name in one of {known}, or say --format")
    made = next((folder for folder in [*reversed(path.parents)] if not folder.exists()), None)
    with _progress("episode") as told:
        written = export(format, choice, path, asked.replace, told)
    size = path.stat().st_size
    if made:
        print(f"the folder {made} was made", file=sys.stderr)
    if not written:
        print("nothing was chosen, so the file is empty", file=sys.stderr)
    _said({"run": run.id, "path": str(path), "format": named, "written": written, "bytes": size},
          f"{path}   {named}, {written:,} written, {size / 1e6:.2f} MB", asked.json)


def imported(store: Store, asked: argparse.Namespace) -> None:
    if asked.file.startswith("hub:"):
        from backend.exchange import hub

        run = hub.bring(store, asked.file, asked.name)
        return _said({"id": run.id}, run.id, asked.json)
    if asked.format is None:
        from backend.exchange.importing import READERS

        raise OrtamError(f"say what {asked.file} holds with --format; one of {', '.join(READERS)}")
    from backend.exchange.importing import bring

    with _progress("line") as told:
        brought = bring(store, Path(asked.file), asked.format, asked.name, told)
    for skipped in brought.skipped:
        print(printing.plain(f"line {skipped.line} was skipped: {skipped.reason}"), file=sys.stderr)
    if brought.more_skipped:
        print(f"and {brought.more_skipped:,} more lines were skipped", file=sys.stderr)
    _said({"id": brought.run.id, "episodes": brought.episodes, "skipped": [skip._asdict() for skip in brought.skipped],
           "more_skipped": brought.more_skipped}, brought.run.id, asked.json)


def _said(value: dict, words: str, as_json: bool) -> None:
    printing.json_line(value) if as_json else print(words)


class _progress:
    """Counts on one line of a terminal; says nothing elsewhere."""

    def __init__(self, noun: str):
        self.noun, self.last, self.shown = noun, 0.0, False

    def __enter__(self) -> Callable[[int], None]:
        return self.tell if sys.stderr.isatty() else lambda n: None

    def tell(self, n: int) -> None:
        if time.monotonic() - self.last > EVERY:
            self.last, self.shown = time.monotonic(), True
            print(f"\r{n:,} {self.noun}s ", end="", file=sys.stderr, flush=True)

    def __exit__(self, *_) -> None:
        if self.shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
