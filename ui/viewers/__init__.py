"""How an episode is drawn.

To add a viewer: write a module with `draws`, `frames` and `thumbnail` (see `Viewer`), and name it in `VIEWERS`.
`tests/test_viewers.py` runs one contract over the table.
"""

from typing import Protocol

from backend.records import Episode
from ui.viewers import catch, screen, sudoku, terminal, text_board, transcript, wordle


class Viewer(Protocol):
    def draws(self, episode: Episode) -> bool:
        """Whether the episode says enough for a board, with its facts, calls or pictures."""
        ...

    def frames(self, episode: Episode) -> list[str]:
        """HTML of the board at the start and after each turn, one more than there are turns; empty for no board."""
        ...

    def thumbnail(self, episode: Episode) -> str:
        """HTML of how it ended, small, for lists; draws something for any episode."""
        ...


VIEWERS: dict[str, Viewer] = {"wordle": wordle, "catch": catch, "sudoku": sudoku, "text_board": text_board,
                              "terminal": terminal, "screen": screen, "transcript": transcript}


def viewer(episode: Episode, named: str = "transcript") -> Viewer:
    """The one the environment names if it can draw this episode, else any that can; the transcript always can."""
    first = VIEWERS.get(named, transcript)
    if first is not transcript and first.draws(episode):
        return first
    return next(other for other in VIEWERS.values() if other.draws(episode))
