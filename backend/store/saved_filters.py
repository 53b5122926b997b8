"""Filters of episode lists under a name, in studio.db: saved once, used on any run."""

import time
from pathlib import Path
from typing import NamedTuple

from backend.errors import SpecError
from backend.store import codec
from backend.store.studio import Studio

LONGEST_NAME, LONGEST = 60, 2000


class SavedFilter(NamedTuple):
    name: str
    asked: str
    """As it stands in an address, without a run and an episode: `status=won&step=10-20`."""
    saved: float
    """Unix time."""


class SavedFilters:
    def __init__(self, folder: Path):
        self._studio = Studio(folder)

    def all(self) -> list[SavedFilter]:
        """By name."""
        rows = self._studio.rows("SELECT name, asked, saved FROM saved_filters ORDER BY name COLLATE NOCASE")
        return [SavedFilter(codec.unescape(name), codec.unescape(asked), saved) for name, asked, saved in rows]

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
        self._studio.write(("INSERT OR REPLACE INTO saved_filters (name, asked, saved) VALUES (?, ?, ?)",
                            (codec.escape(name), codec.escape(asked), time.time())))

    def delete(self, name: str) -> bool:
        """Whether there was one."""
        return self._studio.write(("DELETE FROM saved_filters WHERE name = ?", (codec.escape(name),))) > 0
