"""Filters of episode lists under a name, in studio.db: saved once, used on any run."""

import sqlite3
import time
from pathlib import Path
from typing import NamedTuple

from backend.errors import OrtamError, SpecError
from backend.store import codec
from backend.store.tables import STUDIO, STUDIO_KEYS, make_tables, open_for_writing, reading

LONGEST_NAME, LONGEST = 60, 2000


class SavedFilter(NamedTuple):
    name: str
    asked: str
    """As it stands in an address, without a run and an episode: `status=won&step=10-20`."""
    saved: float
    """Unix time."""


class SavedFilters:
    def __init__(self, folder: Path):
        self.path = folder / "studio.db"

    def all(self) -> list[SavedFilter]:
        """By name."""
        if not self.path.exists():
            return []
        try:
            with reading(self.path) as connection:
                rows = connection.execute("SELECT name, asked, saved FROM saved_filters ORDER BY name COLLATE NOCASE")
                return [SavedFilter(codec.unescape(name), codec.unescape(asked), saved) for name, asked, saved in rows]
        except sqlite3.DatabaseError as error:
            if "no such table" in str(error):
                return []
            raise OrtamError(f"{self.path} can't be read ({error}); put back a whole copy of it, or remove "
                             "it") from None

    def save(self, name: str, asked: str) -> None:
        """Replaces what was saved under this name. Raises SpecError, or OrtamError where nothing can be written."""
        name = " ".join(name.split())
        if not name or len(name) > LONGEST_NAME or not name.isprintable():
            raise SpecError("name", f"{name!r:.80} can't be the name of a filter; use 1 to {LONGEST_NAME} letters, "
                                    "digits or spaces")
        if not asked:
            raise SpecError("filter", "nothing is filtered now; choose a filter or an order before you save it")
        if len(asked) > LONGEST:
            raise SpecError("filter", "it is too long to be saved; ask for less at once")
        self._write("INSERT OR REPLACE INTO saved_filters (name, asked, saved) VALUES (?, ?, ?)",
                    (codec.escape(name), codec.escape(asked), time.time()))

    def delete(self, name: str) -> bool:
        """Whether there was one."""
        return self._write("DELETE FROM saved_filters WHERE name = ?", (codec.escape(name),)) > 0

    def _write(self, sql: str, values: tuple) -> int:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            connection, _ = open_for_writing(self.path)
            try:
                make_tables(connection, STUDIO, STUDIO_KEYS)
                return connection.execute(sql, values).rowcount
            finally:
                connection.close()
        except (sqlite3.Error, OSError) as error:
            raise OrtamError(f"{self.path} can't be written ({error}); free space or allow writing there") from None
