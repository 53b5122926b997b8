"""studio.db: what belongs to a folder of runs and to none of them. Asked one question at a time, changed as a whole."""

import contextlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from backend.errors import OrtamError
from backend.store.tables import STUDIO, STUDIO_KEYS, kept_rows, make_tables, open_for_writing


class Studio:
    def __init__(self, folder: Path):
        self.path = folder / "studio.db"
        self._made = False

    def rows(self, question: str, values: Sequence[Any] = ()) -> list[tuple]:
        """Nothing while there is no file, or no such table. Raises OrtamError."""
        return kept_rows(self.path, question, values)

    def write(self, *changes: tuple[str, Sequence[Any]]) -> int:
        """In one transaction; how many rows the last change touched. Raises OrtamError."""
        touched = 0
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            made = self._made and self.path.exists()
            connection, _ = open_for_writing(self.path)
            with contextlib.closing(connection):
                if not made:
                    make_tables(connection, STUDIO, STUDIO_KEYS)
                    self._made = True
                connection.execute("BEGIN IMMEDIATE")
                for sql, values in changes:
                    touched = connection.execute(sql, values).rowcount
                connection.execute("COMMIT")
        except (sqlite3.Error, OSError) as error:
            raise OrtamError(f"{self.path} can't be written ({error}); free space or allow writing there") from None
        return touched
