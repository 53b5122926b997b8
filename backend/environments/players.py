"""Players that follow a script: what warm-up imitates, what a run is compared with, proof that a reward is in reach.

A player is a callable that looks at a playthrough and gives its next call, (tool, arguments), or None to stop. To add
one: write it here and name it in `PLAYERS`.
"""

import asyncio
import random
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, cast

from backend.environments import Source, Task, sampling
from backend.environments.games.sudoku import clashes, read, solutions
from backend.environments.games.wordle import allowed, answers, marks
from backend.environments.playthrough import Playthrough
from backend.records import EnvironmentSpec

Call = tuple[str, dict[str, Any]]
Player = Callable[[Playthrough], Call | None]


async def played(player: Player, source: Source, environment: EnvironmentSpec, task: Task) -> Playthrough:
    """One episode from its beginning to its end, closed."""
    play = Playthrough(source, environment)
    await play.begin(task)
    while not (play.done or play.fault or len(play.turns) >= play.max_turns):
        call = player(play)
        if call is None:
            break
        await play.call(*call)
    await play.end()
    return play


async def played_all(new_player: Callable[[random.Random], Player], source: Source, environment: EnvironmentSpec,
                     tasks: Sequence[Task], seed: int = 0, at_once: int = 64) -> list[Playthrough]:
    """One episode of each task, in order, `at_once` of them at a time. The same seed plays the same games."""
    room = asyncio.Semaphore(at_once)

    async def one(place: int, task: Task) -> Playthrough:
        async with room:
            return await played(new_player(random.Random(f"{seed}/{place}")), source, environment, task)

    return await asyncio.gather(*(one(place, task) for place, task in enumerate(tasks)))


@cache
def _words() -> list[str]:
    return sorted(allowed())


class RandomPlayer:
    """Any tool with any arguments its schema allows; words for Wordle are real ones."""

    def __init__(self, rng: random.Random):
        self.rng = rng

    def __call__(self, play: Playthrough) -> Call:
        tool = self.rng.choice(play.tools)
        if tool.name == "guess" and play.source.describe().viewer == "wordle":
            return tool.name, {name: f"[{self.rng.choice(_words())}]" for name in tool.parameters.get("properties", {})}
        return tool.name, sampling.arguments(tool.parameters, self.rng)


class EchoPlayer:
    """Sends the one message it is asked for, and stops."""

    def __init__(self, rng: random.Random):
        pass

    def __call__(self, play: Playthrough) -> Call | None:
        return None if play.turns else ("echo", {"message": "Hello world!"})


class CatchPlayer:
    """Goes under the ball and stays there: catches every one."""

    def __init__(self, rng: random.Random):
        pass

    def __call__(self, play: Playthrough) -> Call:
        ball, paddle = (cast(int, play.facts[name]) for name in ("ball_column", "paddle_column"))
        away = ball - paddle
        return ("move", {"direction": "right" if away > 0 else "left"}) if away else ("stay", {})


class WordleSolver:
    """Guesses any word that all feedback so far allows."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.possible = list(answers())
        self.seen: str | None = None

    def __call__(self, play: Playthrough) -> Call:
        guess, feedback = (cast(str | None, play.facts[name]) for name in ("last_guess", "last_feedback"))
        if guess and guess != self.seen:
            self.seen = guess
            self.possible = [word for word in self.possible if marks(guess, word) == feedback]
        return "guess", {"guess": f"[{self.rng.choice(self.possible)}]"}


class SudokuSolver:
    """Fills one empty cell after another, each with its digit."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.whole: list[int] = []

    def __call__(self, play: Playthrough) -> Call:
        cells = _cells(play)
        size = int(len(cells) ** 0.5)
        self.whole = self.whole or solutions(cells, size, 1)[0]
        place = self.rng.choice([place for place, digit in enumerate(cells) if not digit])
        return _placed(place, size, self.whole[place])


class SudokuGuesser:
    """Writes into any empty cell any digit that clashes with none that it sees."""

    def __init__(self, rng: random.Random):
        self.rng = rng

    def __call__(self, play: Playthrough) -> Call:
        cells = _cells(play)
        size = int(len(cells) ** 0.5)
        place = self.rng.choice([place for place, digit in enumerate(cells) if not digit])
        return _placed(place, size, self.rng.choice([digit for digit in range(1, size + 1)
                                                     if not clashes(cells, size, place, digit)]))


class MoveGuesser:
    """For a game whose moves are words: moves like those its rules show in brackets, with other numbers."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.shown: list[str] = []

    def __call__(self, play: Playthrough) -> Call:
        self.shown = self.shown or re.findall(r"\[[^\[\]\n]{1,20}\]", play.opening or "") or ["[1]"]
        return "act", {"message": re.sub(r"\d", lambda _: str(self.rng.randrange(7)), self.rng.choice(self.shown))}


def _cells(play: Playthrough) -> list[int]:
    return read(cast(str, play.facts["board"]))


def _placed(place: int, size: int, digit: int) -> Call:
    return "place", {"row": place // size + 1, "column": place % size + 1, "value": digit}


class Erring:
    """Plays as `player`, but a given share of its calls are a random player's."""

    def __init__(self, player: Player, share: float, rng: random.Random):
        self.player, self.share, self.rng = player, share, rng
        self.stray = RandomPlayer(rng)

    def __call__(self, play: Playthrough) -> Call | None:
        call = self.player(play)
        return self.stray(play) if self.rng.random() < self.share else call


PLAYERS: dict[str, dict[str, Callable[[random.Random], Player]]] = {
    "catch": {"perfect": CatchPlayer, "random": RandomPlayer},
    "wordle": {"solver": WordleSolver, "random": RandomPlayer},
    "sudoku": {"solver": SudokuSolver, "random": SudokuGuesser},
    "echo": {"obedient": EchoPlayer, "random": RandomPlayer},
}
"""Environment -> players from the best to the worst; each is made anew, with its own randomness, for an episode."""


def players(use: str) -> dict[str, Callable[[random.Random], Player]]:
    """Of any environment, from the best to the worst; where none was written for it, the random one alone."""
    if use.startswith("textarena:"):
        return {"random": MoveGuesser}
    return PLAYERS.get(use, {"random": RandomPlayer})
