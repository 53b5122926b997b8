"""What people say about episodes: a note and tags, in notes.db in the run's folder, which a copy of it takes along.

run.db has one writer, the trainer, so this is a file of its own; pages write it in short transactions. A note has a
version: whoever writes over one they haven't seen is told, and a text that was replaced is kept beside the new one.
"""

import contextlib
import json
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from backend.errors import OrtamError, SpecError
from backend.store import codec
from backend.store.tables import BUSY_SECONDS, NOTES, NOTES_KEYS, kept_rows, make_plain_tables

LONGEST_NOTE, LONGEST_TAG, MOST_TAGS = 20_000, 40, 20


class Note(NamedTuple):
    """Of one episode; without a text where only tags, or nothing yet, were given."""

    text: str = ""
    version: int = 0
    """Grows with every change of the text; 0 before there was one."""
    at: float | None = None
    """Unix time of the last change of the text."""
    tags: tuple[str, ...] = ()


class Notes:
    def __init__(self, folder: Path):
        self.path = folder / "notes.db"

    def all(self) -> dict[str, Note]:
        """By episode id: every episode that has a note or a tag."""
        found = {codec.unescape(id): Note(codec.unescape(text), version, at) for id, text, version, at in
                 self._rows("SELECT episode, text, version, at FROM notes")}
        for id, tags in self._rows("SELECT episode, json_group_array(tag) FROM "
                                   "(SELECT episode, tag FROM tags ORDER BY episode, at, tag) GROUP BY episode"):
            key = codec.unescape(id)
            found[key] = found.get(key, Note())._replace(tags=tuple(map(codec.unescape, json.loads(tags))))
        return {id: note for id, note in found.items() if note.text or note.tags}

    def of(self, episode: str) -> Note:
        id = codec.escape(episode)
        tags = tuple(codec.unescape(tag) for (tag,) in
                     self._rows("SELECT tag FROM tags WHERE episode = ? ORDER BY at, tag", id))
        rows = self._rows("SELECT text, version, at FROM notes WHERE episode = ?", id)
        return Note(codec.unescape(rows[0][0]), rows[0][1], rows[0][2], tags) if rows else Note(tags=tags)

    def tags(self) -> dict[str, int]:
        """How many episodes have each, the commonest first."""
        return {codec.unescape(tag): count for tag, count in
                self._rows("SELECT tag, count(*) FROM tags GROUP BY tag ORDER BY count(*) DESC, tag")}

    def tagged(self, tag: str) -> list[str]:
        """Ids of the episodes that have this tag."""
        return [codec.unescape(id) for (id,) in self._rows("SELECT episode FROM tags WHERE tag = ?", codec.escape(tag))]

    def earlier(self, episode: str) -> list[str]:
        """Texts of its note that were replaced, the newest first."""
        return [codec.unescape(text) for (text,) in
                self._rows("SELECT text FROM earlier WHERE episode = ? ORDER BY version DESC", codec.escape(episode))]

    def write(self, episode: str, text: str, seen: int) -> tuple[bool, Note]:
        """Whether it was written, and the note as it is now: it isn't where the version is another than was `seen`.

        Raises SpecError for a text that is too long, OrtamError where nothing can be written.
        """
        if len(text) > LONGEST_NOTE:
            raise SpecError("note", f"it has {len(text):,} characters; {LONGEST_NOTE:,} are kept, so shorten it")
        id, kept = codec.escape(episode), codec.escape(text)
        with self._writing() as connection:
            row = connection.execute("SELECT text, version FROM notes WHERE episode = ?", (id,)).fetchone() or ("", 0)
            same = row[0] == kept
            if row[1] == seen and not same:
                if row[0]:
                    connection.execute("INSERT OR REPLACE INTO earlier (episode, version, text) VALUES (?, ?, ?)",
                                       (id, row[1], row[0]))
                connection.execute("INSERT OR REPLACE INTO notes (episode, text, version, at) VALUES (?, ?, ?, ?)",
                                   (id, kept, row[1] + 1, time.time()))
        return same or row[1] == seen, self.of(episode)

    def tag(self, episode: str, tag: str) -> Note:
        """Raises SpecError for what can't be a tag, OrtamError where nothing can be written."""
        tag = " ".join(tag.split())
        if not tag or len(tag) > LONGEST_TAG or not tag.isprintable():
            raise SpecError("tag", f"{tag!r:.60} can't be one; use 1 to {LONGEST_TAG} letters, digits or spaces")
        id = codec.escape(episode)
        with self._writing() as connection:
            if connection.execute("SELECT count(*) FROM tags WHERE episode = ?", (id,)).fetchone()[0] >= MOST_TAGS:
                raise SpecError("tag", f"an episode has {MOST_TAGS} at most; take one away first")
            connection.execute("INSERT OR IGNORE INTO tags (episode, tag, at) VALUES (?, ?, ?)",
                               (id, codec.escape(tag), time.time()))
        return self.of(episode)

    def untag(self, episode: str, tag: str) -> Note:
        with self._writing() as connection:
            connection.execute("DELETE FROM tags WHERE episode = ? AND tag = ?",
                               (codec.escape(episode), codec.escape(tag)))
        return self.of(episode)

    def _rows(self, sql: str, *values: object) -> list[tuple]:
        return kept_rows(self.path, sql, values)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction. The journal is SQLite's plain one, so that there is one file whenever nobody writes."""
        try:
            opened = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None)
            with contextlib.closing(opened) as connection:
                connection.execute("BEGIN IMMEDIATE")
                make_plain_tables(connection, NOTES, NOTES_KEYS)
                yield connection
                connection.execute("COMMIT")
        except (sqlite3.Error, OSError) as error:
            raise OrtamError(f"{self.path} can't be written ({error}); {_remedy(error)}") from None


def _remedy(error: Exception) -> str:
    if "locked" in str(error):
        return "somebody else is writing there; try again in a moment"
    if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
        return "put back a whole copy of it, or remove it"
    return "allow writing there to keep notes"
