"""What a trainer printed, in pieces that begin where a line begins: a page puts each piece after the last."""

import re
from pathlib import Path

FIRST, MOST = 64_000, 500_000
"""Bytes shown of a log opened in the middle, and of one piece."""


def printed(run: Path, since: int | None = None) -> tuple[str, int]:
    """Text from byte `since` on, and where the next piece begins: at the line that isn't ended yet, to be read again.

    None starts near the end. A progress bar that keeps returning to the start of its line begins at its last state.
    A file that became shorter is read from its start.
    """
    try:
        with open(run / "trainer.log", "rb") as file:
            size = file.seek(0, 2)
            if since is None:
                since = _line_start(file, max(0, size - FIRST))
            elif since > size:
                since = 0
            file.seek(since)
            body = file.read(MOST)
    except OSError:
        return "", since or 0
    if since + len(body) < size:
        body = body[: body.rfind(b"\n") + 1] or body
    start = body.rfind(b"\n") + 1
    returned = body.rstrip(b"\r").rfind(b"\r", start)
    if returned >= start:
        start = returned + 1
    return body.decode("utf-8", "replace"), since + start


def last_lines(run: Path, lines: int) -> str:
    """Of each line that returns to its start, such as a progress bar, the last state."""
    try:
        with open(run / "trainer.log", "rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - 256 * (lines + 50)))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    settled = re.sub(r"[^\n]*\r(?!\n)", "", text.replace("\r\n", "\n"))
    return "\n".join(settled.splitlines()[-lines:])


def _line_start(file, place: int) -> int:
    if not place:
        return 0
    file.seek(place)
    rest = file.read(FIRST)
    return place + rest.find(b"\n") + 1
