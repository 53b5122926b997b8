"""Givens in bold, what was placed in the accent, what clashes or was refused in red and crossed out, a ring around the last."""

from PIL import Image

from backend.records import Episode
from ui.share.pictures.paper import Paper
from ui.viewers import sudoku

AROUND = 20
COLOURS = {"o-given": ("text", "bold"), "o-placed": ("accent", "plain"), "o-wrong": ("error", "plain")}


def frames(episode: Episode, dark: bool = False) -> list[Image.Image]:
    return [_frame(grid, dark) for grid in sudoku.follow(episode)]


def _frame(grid, dark: bool) -> Image.Image:
    cell = 44 if grid.size == 9 else 72
    whole, block = grid.size * cell, sudoku.BLOCKS[grid.size]
    paper = Paper(2 * AROUND + whole, 2 * AROUND + whole, dark)
    clashing = sudoku.clashing_cells(grid)
    moved = grid.refused or grid.last
    for place, digit in enumerate(grid.now):
        row, column = divmod(place, grid.size)
        x, y = AROUND + column * cell, AROUND + row * cell
        shown = grid.refused[1] if grid.refused and place == grid.refused[0] else digit.strip(".")
        colour, kind = COLOURS.get(sudoku.kind_of(grid, place, clashing), ("text", "plain"))
        if shown:
            paper.write(shown, x + cell / 2, y + cell / 2, cell * 0.5, colour, kind)
        if shown and colour == "error":
            paper.line([(x + cell * 0.25, y + cell / 2), (x + cell * 0.75, y + cell / 2)], "error", 2)
        if moved and place == moved[0]:
            paper.box(x + 3, y + 3, cell - 6, cell - 6, None, "error" if grid.refused else "accent", 5, 2.5)
    for k in sorted(range(1, grid.size), key=lambda k: k % block == 0):
        heavy = k % block == 0
        at, end, colour, thick = AROUND + k * cell, AROUND + whole, "muted" if heavy else "line", 2 if heavy else 1
        paper.line([(at, AROUND), (at, end)], colour, thick)
        paper.line([(AROUND, at), (end, at)], colour, thick)
    paper.box(AROUND, AROUND, whole, whole, None, "muted", 4, 2)
    return paper.done()
