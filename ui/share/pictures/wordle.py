"""Tiles with their letter and the small mark G, Y or X, as the page draws them; what was refused stands beside its row."""

from PIL import Image

from backend.records import Episode
from ui.share.pictures.paper import Paper
from ui.viewers import wordle

TILE, GAP, ASIDE, AROUND = 56, 6, 118, 20


def frames(episode: Episode, dark: bool = False) -> list[Image.Image]:
    boards = [(list(board.guesses), {row: list(tried) for row, tried in board.refused.items()})
              for board in wordle.follow(episode)]
    ended = next(reversed(list(wordle.follow(episode))))
    letters, aside = wordle.size_of(episode, ended), bool(ended.refused)
    rows = min(max(wordle.ROWS, len(ended.guesses)), wordle.TALLEST)
    return [_frame(guesses, refused, letters, rows, aside, dark) for guesses, refused in boards]


def _frame(guesses, refused, letters: int, rows: int, aside: bool, dark: bool) -> Image.Image:
    across = letters * (TILE + GAP) - GAP
    paper = Paper(2 * AROUND + across + ASIDE * aside, 2 * AROUND + rows * (TILE + GAP) - GAP, dark)
    first = max(0, len(guesses) - rows)
    for row in range(rows):
        y = AROUND + row * (TILE + GAP)
        word, marks = guesses[first + row] if first + row < len(guesses) else ("", "")
        for place in range(letters):
            x = AROUND + place * (TILE + GAP)
            mark = marks[place] if place < len(marks) else ""
            if mark in wordle.MEANING:
                paper.box(x, y, TILE, TILE, f"tile-{mark.lower()}", round_by=6)
                paper.write(mark, x + TILE - 9, y + TILE - 9, 10, "tile-ink", "bold")
            else:
                paper.box(x, y, TILE, TILE, "tile-empty", "line-2", 6, 1.5)
            if place < len(word):
                paper.write(word[place].upper(), x + TILE / 2, y + TILE / 2, 28,
                            "tile-ink" if mark in wordle.MEANING else "text", "bold")
        for n, (tried, _) in enumerate(refused.get(first + row, [])[-2:]):
            paper.write(tried[:12], AROUND + across + 12, y + 18 + 20 * n, 12, "invalid", "mono", "lm")
    return paper.done()
