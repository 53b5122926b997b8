"""The grid, the ball with its trail, the paddle in its lane; at the end a tick or a cross in the ball."""

from PIL import Image

from backend.records import Episode
from ui.share.pictures.paper import Paper
from ui.viewers import catch, facts

AROUND = 20
LARGEST = 420
"""Of the longer side."""


def frames(episode: Episode, dark: bool = False) -> list[Image.Image]:
    moments = facts.over_time(episode)
    ended = episode.facts.get("caught")
    told = [*(moment.get("caught") for moment in moments[:-1]), ended]
    return [_frame(moments[:k + 1], verdict if isinstance(verdict, bool) else None, moments, dark)
            for k, verdict in enumerate(told)]


def _frame(moments, caught: bool | None, everything, dark: bool) -> Image.Image:
    seen = [place for place in map(catch.place_of, moments) if place]
    rows, columns, row, column, paddle = seen[-1] if seen else next(filter(None, map(catch.place_of, everything)))
    cell = LARGEST / max(rows, columns)
    paper = Paper(2 * AROUND + columns * cell, 2 * AROUND + rows * cell, dark)

    def middle(row: int, column: int) -> tuple[float, float]:
        return AROUND + (column + 0.5) * cell, AROUND + (row + 0.5) * cell

    if seen:
        paper.box(AROUND + paddle * cell, AROUND, cell, rows * cell, "surface-2")
    for k in range(1, columns):
        paper.line([(AROUND + k * cell, AROUND), (AROUND + k * cell, AROUND + rows * cell)], "line", 0.7)
    for k in range(1, rows):
        paper.line([(AROUND, AROUND + k * cell), (AROUND + columns * cell, AROUND + k * cell)], "line", 0.7)
    paper.box(AROUND - 2, AROUND - 2, columns * cell + 4, rows * cell + 4, None, "line-2", 6, 1.5)
    if not seen:
        return paper.done()
    for before in seen[:-1]:
        paper.circle(*middle(before[2], before[3]), cell * 0.1, "tile-y")
    paper.box(AROUND + (paddle + 0.08) * cell, AROUND + (rows - 0.3) * cell, cell * 0.84, cell * 0.26, "accent",
              round_by=cell * 0.13)
    x, y = middle(row, column)
    paper.circle(x, y, cell * 0.34, "tile-y" if caught is None else "tile-g" if caught else "tile-x")
    c = cell / 10
    if caught is True:
        paper.line([(x - 1.9 * c, y), (x - 0.5 * c, y + 1.5 * c), (x + 2 * c, y - 1.4 * c)], "tile-ink", 0.9 * c)
    elif caught is False:
        paper.line([(x - 1.5 * c, y - 1.5 * c), (x + 1.5 * c, y + 1.5 * c)], "tile-ink", 0.9 * c)
        paper.line([(x + 1.5 * c, y - 1.5 * c), (x - 1.5 * c, y + 1.5 * c)], "tile-ink", 0.9 * c)
    return paper.done()
