"""An episode as pictures: its board at the start and after each turn, drawn from the same facts as on the page.

To add a board: a function that gives a picture for the start and one for each turn, all of one size, named in `DRAWN` beside
its viewer. An episode without a board is drawn as words: what was called and answered.
"""

from collections.abc import Callable, Sequence

from PIL import Image

from backend.records import Episode
from ui.share.pictures import catch, letters, screen, sudoku, wordle
from ui.viewers import VIEWERS, viewer

DRAWN: dict[str, Callable[[Episode, bool], Sequence[Image.Image]]] = {
    "wordle": wordle.frames, "catch": catch.frames, "sudoku": sudoku.frames, "text_board": letters.board,
    "terminal": letters.session, "screen": screen.frames, "transcript": letters.words,
}
"""Viewer -> what draws it."""


def frames(episode: Episode, named: str = "transcript", dark: bool = False) -> Sequence[Image.Image]:
    """One more than there are turns; `named` is the viewer the environment names."""
    chosen = viewer(episode, named)
    name = next(name for name, one in VIEWERS.items() if one is chosen)
    return DRAWN[name](episode, dark)
