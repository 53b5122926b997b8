"""png: the board of an episode at a turn, the last one where none is said."""

from collections.abc import Callable
from pathlib import Path

from backend.errors import SpecError
from backend.exchange import Choice
from backend.records import Episode
from ui.replay import viewer_of
from ui.share import pictures

SUFFIX = ".png"
FOR = "the board of one episode at its end"


def write(choice: Choice, path: Path, told: Callable[[int], None]) -> int:
    """Raises SpecError where no single episode was asked for."""
    return draw(save, choice, path, told)


def draw(save: Callable, choice: Choice, path: Path, told: Callable[[int], None]) -> int:
    """Of the one episode that was asked for, by this `save`; for gif too."""
    episode = only_one(choice)
    with open(path, "wb") as file:
        save(choice, episode, file)
    told(1)
    return 1


def save(choice: Choice, episode: Episode, file, turn: int | None = None, dark: bool = False) -> None:
    drawn = pictures.frames(episode, viewer_of(choice.run.spec, episode.environment), dark)
    place = len(drawn) - 1 if turn is None else min(max(turn, 0), len(drawn) - 1)
    drawn[place].save(file, "PNG", optimize=True)


def only_one(choice: Choice) -> Episode:
    if choice.id is None:
        raise SpecError("episode", "a picture is of one episode; say which with --episode ID")
    return next(choice.episodes())
