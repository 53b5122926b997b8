"""The index of words in run.db: written with each episode, asked by the list, and made up for where a file has none.

It is an FTS5 table that keeps no text, one row an episode, with a column for each of words.PARTS. A row is never
deleted: an episode that is recorded again gets a new seq, and nobody asks for the old one.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from backend.records import Episode, Turn
from backend.store import codec
from backend.store.words import PARTS, Excerpt, Sought, ends, excerpt, folded, spaced

SCANNED = 10_000
"""Newest episodes that are read where there is no index."""
MOST_READ = 8_000_000
"""Characters read for the excerpts of one page of a list."""
NEXT = " \ue0fe "
"""Between two texts, a word of its own, so that no phrase goes on from one into the other."""

_MAKE = (f"CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5({', '.join(PARTS)}, content='', columnsize=0, "
         """tokenize="unicode61 remove_diacritics 0")""")
_ADD = f"INSERT INTO words (rowid, {', '.join(PARTS)}) VALUES ({', '.join('?' * (len(PARTS) + 1))})"


# ------------------------------------------------------------------------------------------------------------- writing


def make(connection: sqlite3.Connection) -> bool:
    """Whether there is an index now; there is none where SQLite was built without FTS5."""
    try:
        connection.execute(_MAKE)
    except sqlite3.OperationalError as error:
        if "no such module" not in str(error):
            raise
        return False
    return True


def add(connection: sqlite3.Connection, seq: int, episode: Episode) -> None:
    parts: dict[str, list[str]] = {part: [] for part in PARTS}
    parts["opening"] = [episode.opening] if episode.opening else list(_told(episode.prompt))
    if episode.fault:
        parts["fault"].append(f"{episode.fault.kind} {episode.fault.message}")
    for turn in episode.turns:
        for part, text in _of(turn):
            parts[part].append(text)
    connection.execute(_ADD, (seq, *(NEXT.join(folded(ends(text)) for text in texts) for texts in parts.values())))


def _told(prompt: Iterable[Any]) -> Iterator[str]:
    for message in prompt:
        content = message.get("content") if isinstance(message, dict) else message
        if content:
            yield content if isinstance(content, str) else _as_text(content)


def _of(turn: Turn) -> Iterator[tuple[str, str]]:
    for part, text in (("thought", turn.thought), ("said", turn.said), ("tool", turn.tool),
                       ("call", None if turn.arguments is None else _as_text(turn.arguments)),
                       ("result", turn.result), ("result", None if turn.shown == turn.result else turn.shown),
                       ("fault", turn.fault and f"{turn.fault.kind} {turn.fault.message}")):
        if text:
            yield part, text


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


# -------------------------------------------------------------------------------------------------------------- asking


def there(connection: sqlite3.Connection) -> bool:
    """Whether the file has an index that this SQLite can read."""
    try:
        connection.execute("SELECT rowid FROM words WHERE words MATCH 'a' LIMIT 1").fetchone()
    except sqlite3.OperationalError:
        return False
    return True


def condition(sought: Sought) -> tuple[str, list[Any]]:
    """For rows of `episodes`, where there is an index."""
    parts, parameters = [], []
    if sought.wanted:
        parts.append("+seq IN (SELECT rowid FROM words WHERE words MATCH ?)")
        parameters.append(" AND ".join(f"({phrase.match()})" for phrase in sought.wanted))
    if sought.without:
        parts.append("seq NOT IN (SELECT rowid FROM words WHERE words MATCH ?)")
        parameters.append(" OR ".join(f"({phrase.match()})" for phrase in sought.without))
    return " AND ".join(parts), parameters


def scan(connection: sqlite3.Connection, sought: Sought) -> list[int]:
    """The seqs that hold it among the newest episodes, read one by one: for files without an index."""
    oldest = connection.execute("SELECT min(seq) FROM (SELECT seq FROM episodes ORDER BY seq DESC LIMIT ?)",
                                (SCANNED,)).fetchone()[0]
    if oldest is None:
        return []
    found = []
    for seq, texts in _texts(connection, "seq >= ?", [oldest]):
        parts: dict[str, list[str]] = {}
        for _, part, text in texts:
            parts.setdefault(part, []).append(text)
        if sought.in_parts({part: spaced(these) for part, these in parts.items()}):
            found.append(seq)
    return found


def excerpts(connection: sqlite3.Connection, seqs: Sequence[int], sought: Sought) -> dict[int, Excerpt]:
    """Of each episode the turn that holds most of what was looked for, the first of several. A tool's name is shown only where
    nothing else was looked for: beside words it is a condition."""
    words = [phrase for phrase in sought.wanted if phrase.part != "tool"] or sought.wanted
    found: dict[int, Excerpt] = {}
    read = 0
    for seq in seqs:
        if read > MOST_READ:
            break
        best: tuple[tuple[int, int], Excerpt] | None = None
        for _, texts in _texts(connection, "seq = ?", [seq]):
            for turn, parts in groupby(texts, key=itemgetter(0)):
                here = list(parts)
                read += sum(len(text) for _, _, text in here)
                held = [phrase for phrase in sought.wanted
                        if any(excerpt(turn, part, text, [phrase]) for _, part, text in here)]
                told = [phrase for phrase in held if phrase in words]
                most = len(told), len(held)
                if not told or (best and most <= best[0]):
                    continue
                shown = next(one for _, part, text in here if (one := excerpt(turn, part, text, told)))
                best = most, shown
                if len(held) == len(sought.wanted):
                    break
        if best:
            found[seq] = best[1]
    return found


def _texts(connection: sqlite3.Connection, which: str,
           parameters: Sequence[Any]) -> Iterator[tuple[int, list[tuple[int, str, str]]]]:
    """(seq, [(turn, part, text)]) of each of these episodes, as they stand in the file."""
    def whole(cell: str | None) -> str:
        if cell is not None and cell.startswith(f"{codec.ESCAPE}="):
            body = connection.execute("SELECT body FROM texts WHERE digest = ?", (cell[2:],)).fetchone()
            cell = None if body is None else codec.unpack(body[0])
        return "" if cell is None else cell

    def fault(cell: str | None) -> str:
        told = codec.from_json(cell)
        return f"{told['kind']} {told['message']}" if told else ""

    connection.row_factory = None
    for seq, opening, prompt, broke in connection.execute(
            "SELECT seq, opening, prompt, details.fault FROM episodes JOIN details ON episode = seq "
            f"WHERE {which} ORDER BY seq", parameters):
        start = [codec.unescape(whole(opening))] if opening else list(_told(codec.from_json(whole(prompt) or "[]")))
        texts = [(0, "opening", text) for text in start]
        if broke:
            texts.append((0, "fault", fault(broke)))
        turns = connection.execute("SELECT thought, said, tool, arguments, result, shown, fault FROM turns "
                                   "WHERE episode = ? ORDER BY index_", (seq,))
        for turn, (thought, said, tool, arguments, result, shown, failed) in enumerate(turns, 1):
            texts += [(turn, part, text) for part, text in (
                ("thought", codec.unescape(whole(thought))), ("said", codec.unescape(whole(said))),
                ("tool", codec.unescape(whole(tool))),
                ("call", _as_text(codec.from_json(whole(arguments))) if arguments else ""),
                ("result", codec.unescape(whole(result))), ("result", codec.unescape(whole(shown))),
                ("fault", fault(failed))) if text]
        yield seq, texts


def catch_up(connection: sqlite3.Connection) -> None:
    """Fills the index of a file that was begun before there was one."""
    if connection.execute("SELECT 1 FROM words_data WHERE id > 10 LIMIT 1").fetchone():
        return
    for seq, texts in _texts(connection, "1", []):
        parts: dict[str, list[str]] = {part: [] for part in PARTS}
        for _, part, text in texts:
            parts[part].append(folded(ends(text)))
        connection.execute(_ADD, (seq, *map(NEXT.join, parts.values())))
