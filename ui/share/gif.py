"""gif: an episode played, about a second a turn, the last board held; a long one goes faster."""

from collections.abc import Callable, Sequence
from pathlib import Path

from PIL import Image

from backend.exchange import Choice
from backend.records import Episode
from ui.replay import viewer_of
from ui.share import pictures
from ui.share.png import draw

SUFFIX = ".gif"
FOR = "one episode played, a second a turn"
TURN, END = 1000, 3000
"""Milliseconds."""
LONGEST = 60_000
FRAMES = 120
"""Boards in a file; of a longer episode they are picked evenly, the last one always."""
COLOURS = 128


def write(choice: Choice, path: Path, told: Callable[[int], None]) -> int:
    """Raises SpecError where no single episode was asked for."""
    return draw(save, choice, path, told)


def save(choice: Choice, episode: Episode, file, dark: bool = False) -> None:
    drawn = picked(pictures.frames(episode, viewer_of(choice.run.spec, episode.environment), dark))
    turn = max(60, min(TURN, LONGEST // len(drawn)))
    reduced = [picture.quantize(COLOURS, dither=Image.Dither.NONE) for picture in drawn]
    reduced[0].save(file, "GIF", save_all=True, append_images=reduced[1:], loop=0, optimize=True, disposal=1,
                    duration=[turn] * (len(reduced) - 1) + [END])


def picked(drawn: Sequence[Image.Image]) -> Sequence[Image.Image]:
    if len(drawn) <= FRAMES:
        return drawn
    return [drawn[round(k * (len(drawn) - 1) / (FRAMES - 1))] for k in range(FRAMES)]
