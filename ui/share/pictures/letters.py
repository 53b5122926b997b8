"""Lines of characters in their places, for boards that are text, terminals, and episodes without any board: then each turn's
call and what it was answered."""

from collections.abc import Sequence

from PIL import Image

from backend.records import Episode
from ui.share.pictures import paper
from ui.viewers import facts, terminal, text_board
from ui.written import as_json

AROUND, SIZE = 20, 14
WIDE, HIGH = SIZE * 0.62, SIZE * 1.4
COLUMNS, ROWS = 100, 40
"""Of what is drawn; the transcript has the rest."""

Line = tuple[str, str]
"""(words, colour)"""


def board(episode: Episode, dark: bool = False) -> list[Image.Image]:
    return _sheets([[(line, "text") for line in text_board.lines_of(moment)] for moment in facts.over_time(episode)], dark)


def session(episode: Episode, dark: bool = False) -> list[Image.Image]:
    colours = {"typed": "accent", "printed": "text", "wrong": "error"}
    shown: list[Line] = []
    screens = [shown]
    for lines in terminal.lines_of(episode):
        shown = [*shown, *((line.prompt + line.words, colours[line.kind]) for line in lines)][-terminal.ROWS:]
        screens.append(shown)
    return _sheets(screens, dark)


def words(episode: Episode, dark: bool = False) -> list[Image.Image]:
    """The start and each turn; not a board, and it says so by its heading."""
    start = [(f"{episode.environment}, start", "muted"), *_told(episode.opening or _prompt(episode), "text")]
    sheets = [start]
    for k, turn in enumerate(episode.turns, 1):
        lines: list[Line] = [(f"turn {k} of {len(episode.turns)}", "muted")]
        lines += _told(turn.said, "text")
        if turn.tool is not None:
            sent = turn.arguments if isinstance(turn.arguments, str) else "" if turn.arguments is None \
                else as_json(turn.arguments)
            lines += _told(f"{turn.tool} {sent}", "accent")
        answer = turn.result if turn.shown is None else turn.shown
        lines += _told(answer or "", "muted")
        if turn.fault:
            lines += _told(f"{turn.fault.kind}: {turn.fault.message}", "error")
        sheets.append(lines)
    return _sheets(sheets, dark)


def _prompt(episode: Episode) -> str:
    told = [message.get("content") for message in episode.prompt]
    return "\n".join(content if isinstance(content, str) else as_json(content) for content in told if content)


def _told(written: str, colour: str, most: int = 14) -> list[Line]:
    lines = [line[start:start + COLUMNS] for line in written[:20_000].expandtabs(4).split("\n")
             for start in range(0, max(len(line), 1), COLUMNS)]
    more = [(f"… {len(lines) - most} more lines", "faint")] if len(lines) > most else []
    return [*((line, colour) for line in lines[:most] if line.strip() or len(lines) > 1), *more] if written.strip() else []


def _sheets(told: Sequence[Sequence[Line]], dark: bool) -> list[Image.Image]:
    """All of one size, so that they make a film."""
    told = [[(line[:COLUMNS], colour) for line, colour in lines[-ROWS:]] for lines in told]
    columns = max([len(line) for lines in told for line, _ in lines] + [24])
    written = {character for lines in told for line, _ in lines for character in line}
    if not all(paper.font_for(character, SIZE * paper.SCALE, "mono") for character in written):
        told = [[*lines, ("", "faint"), (f"{paper.MISSING} stands for what no font of this machine has", "faint")]
                for lines in told]
        columns = max(columns, *(len(line) for lines in told for line, _ in lines))
    rows = max([len(lines) for lines in told] + [1])
    return [_sheet(lines, columns, rows, dark) for lines in told]


def _sheet(lines: Sequence[Line], columns: int, rows: int, dark: bool) -> Image.Image:
    sheet = paper.Paper(2 * AROUND + columns * WIDE, 2 * AROUND + rows * HIGH, dark)
    for row, (line, colour) in enumerate(lines):
        for column, character in enumerate(line):
            if not character.isspace():  # each in its place, whatever the font's widths
                sheet.write(character, AROUND + (column + 0.5) * WIDE, AROUND + (row + 0.75) * HIGH, SIZE, colour, "mono", "ms")
    return sheet.done()
