"""studio.db: what belongs to a folder of runs and to none of them. Asked one question at a time, changed as a whole."""

import contextlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from backend.errors import OrtamError
from backend.store.tables import STUDIO, STUDIO_KEYS, make_tables, open_for_writing, reading


class Studio:
    def __init__(self, folder: Path):
        self.path = folder / "studio.db"
        self._made = False

    def rows(self, question: str, values: Sequence[Any] = ()) -> list[tuple]:
        """Nothing while there is no file, or no such table. Raises OrtamError."""
        if not self.path.exists():
            return []
        try:
            with reading(self.path) as connection:
                connection.row_factory = None
                return connection.execute(question, values).fetchall()
        except sqlite3.DatabaseError as error:
            if "no such table" in str(error):
                return []
            raise OrtamError(f"{self.path} can't be read ({error}); put back a whole copy of it, or remove "
                             "it") from None

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
