"""What a trainer printed, as HTML lines: carriage returns overwrite, colours become spans, everything else is text."""

import re
from html import escape

COLOURS = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
LONGEST = 4000
"""Characters of a line that are shown."""

_CONTROL = re.compile(r"\x1b\[(?P<sgr>[0-9;]*)m|\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-_]|"
                      r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def lines(text: str) -> list[str]:
    """One piece of HTML a line. The last one is what follows the last newline, "" when that is nothing."""
    return [_line(line) for line in text.replace("\r\n", "\n").split("\n")]


def _line(line: str) -> str:
    shown: list[tuple[str, str]] = []
    style, cursor, place = "", 0, 0
    while place < len(line):
        control = _CONTROL.match(line, place)
        if control:
            if control["sgr"] is not None:
                style = _style(style, control["sgr"])
            place = control.end()
            continue
        character = line[place]
        place += 1
        if character == "\r":
            cursor = 0
            continue
        if cursor < len(shown):
            shown[cursor] = (character, style)
        elif cursor < LONGEST:
            shown.append((character, style))
        cursor += 1
    return _spans(shown)


def _style(before: str, codes: str) -> str:
    style = before
    for code in codes.split(";"):
        if code in ("", "0", "39"):
            style = ""
        elif code == "1" and not style:
            style = "o-ansi-bold"
        elif code.isdigit() and (30 <= int(code) <= 37 or 90 <= int(code) <= 97):
            style = f"o-ansi-{COLOURS[int(code) % 10]}"
    return style


def _spans(shown: list[tuple[str, str]]) -> str:
    html, start = "", 0
    for place in range(1, len(shown) + 1):
        if place == len(shown) or shown[place][1] != shown[start][1]:
            piece = escape("".join(character for character, _ in shown[start:place]))
            html += f'<span class="{shown[start][1]}">{piece}</span>' if shown[start][1] else piece
            start = place
    return html
