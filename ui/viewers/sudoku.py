"""Sudoku: givens in bold, what was placed in the accent, a refused digit in red and crossed; the last move has a ring.

Reads the facts `board` (the grid row by row, a character a cell, `.` for an empty one), `invalid_moves` and `won`, and
where a refused digit was meant to go from its call's `row`, `column` and `value`.
"""

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from backend.records import Episode, Turn
from ui.viewers import facts
from ui.written import attribute, counted

BLOCKS = {9: 3, 4: 2}
"""Cells in a row -> cells in a block's row."""

Move = tuple[int, str]
"""(place, digit)."""


@dataclass(frozen=True)
class Grid:
    """What is on the table at one moment."""

    size: int
    given: str
    now: str
    """Row by row, `.` for an empty cell; as long as `given`."""
    last: Move | None = None
    """The digit placed last."""
    refused: Move | None = None
    """The digit this turn tried in vain, where the call says which."""
    refusals: int = 0

    @property
    def to_fill(self) -> int:
        return self.given.count(".")

    @property
    def filled(self) -> int:
        return self.to_fill - self.now.count(".")


def draws(episode: Episode) -> bool:
    return any(_cells(moment) for moment in facts.over_time(episode))


def frames(episode: Episode) -> list[str]:
    last = len(episode.turns)
    return [f'<div class="o-sudoku">{_board(grid)}{_caption(grid, episode, k == last)}</div>'
            for k, grid in enumerate(follow(episode))]


def thumbnail(episode: Episode) -> str:
    if not draws(episode):
        return '<div class="o-mini-words" role="img" aria-label="Grid not known"><em>no grid</em></div>'
    grid = deque(follow(episode), maxlen=1)[0]
    clashing = clashing_cells(grid)
    cells = "".join(f'<b{_classes(kind_of(grid, place, clashing), edges(grid, place))}></b>'
                    for place in range(len(grid.now)))
    return (f'<div class="o-mini-sudoku" style="--n:{grid.size}" role="img" aria-label="{_spoken(grid)}">'
            f'{cells}</div>')


def _cells(moment: facts.Facts) -> str:
    """The grid with `.` for what is empty; "" where the fact is no grid."""
    board = re.sub("[0_]", ".", facts.word(moment, "board"))
    return board if re.fullmatch(r"[1-9.]{81}|[1-4.]{16}", board) else ""


def follow(episode: Episode) -> Iterator[Grid]:
    """The grid at the start and after each turn; a turn that tells none keeps the one before it."""
    moments = facts.over_time(episode)
    boards = [_cells(moment) for moment in moments]
    first = next(board for board in boards if board)
    grid = Grid(9 if len(first) == 81 else 4, first, first)
    yield grid
    for turn, before, after, board in zip(episode.turns, moments[:-1], moments[1:], boards[1:], strict=True):
        board = board if len(board) == len(first) else grid.now
        new = [(place, digit) for place, digit in enumerate(board) if digit not in (".", grid.now[place])]
        refused = not new and ((facts.whole(after, "invalid_moves") or 0) > (facts.whole(before, "invalid_moves") or 0)
                               or (turn.fault is not None and turn.fault.where == "model"))
        grid = replace(grid, now=board, last=new[-1] if new else grid.last,
                       refused=_tried(turn, grid.size) if refused else None, refusals=grid.refusals + refused)
        yield grid


def _tried(turn: Turn, size: int) -> Move | None:
    sent = turn.arguments if isinstance(turn.arguments, dict) else {}
    row, column, value = (facts.whole(sent, name) or 0 for name in ("row", "column", "value"))
    if not (1 <= row <= size and 1 <= column <= size and 1 <= value <= 9):
        return None
    return (row - 1) * size + column - 1, str(value)


def kind_of(grid: Grid, place: int, clashing: set[int]) -> str:
    if (grid.refused and place == grid.refused[0]) or (place in clashing and grid.given[place] == "."):
        return "o-wrong"
    if grid.now[place] == ".":
        return ""
    return "o-placed" if grid.given[place] == "." else "o-given"


def clashing_cells(grid: Grid) -> set[int]:
    """Cells whose digit stands twice in a row, column or block: some environments keep such a digit."""
    found: set[int] = set()
    seen: dict[tuple[int, int, str], int] = {}
    for place, digit in enumerate(grid.now):
        for kind, unit in enumerate(_units(grid.size)[place] if digit != "." else ()):
            if (kind, unit, digit) in seen:
                found |= {place, seen[kind, unit, digit]}
            seen[kind, unit, digit] = place
    return found


@cache
def _units(size: int) -> list[tuple[int, int, int]]:
    """Row, column and block of each cell."""
    block = BLOCKS[size]
    return [(row, column, row // block * block + column // block) for row in range(size) for column in range(size)]


def edges(grid: Grid, place: int) -> str:
    """Where a block ends, but not the grid."""
    row, column = divmod(place, grid.size)
    block = BLOCKS[grid.size]
    return " ".join(name for name, at in (("o-right", column), ("o-below", row))
                    if at % block == block - 1 and at < grid.size - 1)


def _board(grid: Grid) -> str:
    moved = grid.refused or grid.last
    clashing, units = clashing_cells(grid), _units(grid.size)
    cells = []
    for place, digit in enumerate(grid.now):
        shown = grid.refused[1] if grid.refused and place == grid.refused[0] else digit.strip(".")
        ringed = "o-last" if moved and place == moved[0] else ""
        row, column, _ = units[place]
        aligned = "o-aligned" if moved and (row == units[moved[0]][0] or column == units[moved[0]][1]) else ""
        kind = kind_of(grid, place, clashing)
        cells.append(f'<b{_classes("o-cell", kind, edges(grid, place), ringed, aligned)}>{shown}</b>')
    return (f'<div class="o-sudoku-board" style="--n:{grid.size}" role="img" aria-label="{_spoken(grid)}">'
            f'{"".join(cells)}</div>')


def _classes(*names: str) -> str:
    joined = " ".join(name for name in names if name)
    return f' class="{joined}"' if joined else ""


def _caption(grid: Grid, episode: Episode, at_the_end: bool) -> str:
    if at_the_end and episode.facts.get("won") is True:
        return f'<p class="o-verdict o-won">Solved{_refusals(grid, ", ")}</p>'
    return f'<p class="o-verdict"><b>{grid.filled}</b> of {grid.to_fill} filled{_refusals(grid, " · ")}</p>'


def _refusals(grid: Grid, before: str) -> str:
    return f"{before}{grid.refusals} refused" if grid.refusals else ""


def _spoken(grid: Grid) -> str:
    said = [f"Sudoku of {grid.size} by {grid.size}, {grid.filled} of {counted(grid.to_fill, 'empty cell')} filled"]
    for what, move in (("Last", grid.last), ("Refused", grid.refused)):
        if move:
            row, column = divmod(move[0], grid.size)
            said.append(f"{what}: {move[1]} in row {row + 1}, column {column + 1}")
    return attribute(". ".join(said))
