"""Any game of TextArena's for one player: what it says is the text, what is sent to it is a message in its own format.

The library draws from Python's one generator of random numbers and seeds it at a reset, so two games played side by
side would change each other's course. Here each game has the generator to itself for as long as it makes a move.

Reward comes at the end, as the library gives it: usually 1 for a win, else the share that was done. As in the library
one invalid move is forgiven before each valid one, and a second in a row ends the game.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from functools import lru_cache
from typing import Any

from backend.environments.games import GameOver, fingerprint
from backend.environments.text_games import GAMES

TRIES, NEXT_TRY = 5, 2**31
"""A few seeds make no game (lights that are all out): the same other seed is then taken for them each time."""


class TextGame:
    def __init__(self, name: str):
        self._known = GAMES[name]
        self._game = None if self._known.slow else _made(name)
        self._done = True

    def reset(self, seed: int | None = None) -> dict:
        seed = random.randrange(2**31) if seed is None else seed
        if self._game is None:
            self._played, self._random = deepcopy(_kept(self._known.name, seed))
        else:
            self._played, self._random = self._game, _begun(self._game, seed)
        self._state = self._played.state
        self._state.set_invalid_move = _in_order(self._state.set_invalid_move)
        self._board: str | None = None
        self._done, self._invalid = False, 0
        text = self._heard()
        task = fingerprint(self._known.name, text, self._random if self._known.seeded else "")
        return {**self._observation(text, None), "metadata": {"fingerprint": task}}

    def step(self, message: str) -> dict:
        if self._done:
            raise GameOver("there is no game to play in; reset first")
        before = self._state.error_count
        with _generator(self._random) as after:
            self._done, _ = self._played.step(message)
        self._random = after()
        self._invalid += self._refused or self._state.error_count > before
        told = self._heard()
        if not self._done:
            return self._observation(told, None)
        reason = str(self._state.game_info[0].get("reason") or "")
        reward = (self._state.rewards or {}).get(0)
        return self._observation("\n".join(filter(None, (told, reason))), None if reward is None else float(reward))

    @property
    def _refused(self) -> bool:
        """Whether an invalid move ended the game."""
        return bool(self._state.game_info[0].get("invalid_move"))

    def _heard(self) -> str:
        """What the game says that it didn't say before; the move itself isn't repeated."""
        from textarena import ObservationType as Kind

        # Where a game mixes up what it passes, a move comes with itself as its kind.
        heard = [(str(text).strip("\n"), kind) for _, text, kind in self._state.get_current_player_observation()
                 if isinstance(kind, Kind) and kind != Kind.PLAYER_ACTION]
        boards = [text for text, kind in heard if kind == Kind.GAME_BOARD]
        others = [text for text, kind in heard if kind not in (Kind.PROMPT, Kind.GAME_ADMIN)]
        self._board = next(iter((boards or others)[-1:]), self._board)
        return "\n\n".join(text for text, _ in heard if text)

    def _observation(self, text: str, reward: float | None) -> dict:
        won = (reward is not None and reward >= 1) if self._known.winnable and self._done else None
        return {"text": text, "reward": reward, "done": self._done, "won": won, "invalid_moves": self._invalid,
                "invalid": self._done and self._refused, "board": self._board}


def _made(name: str) -> Any:
    """The library's game, its messages unjoined, its moves put in brackets where it does so itself."""
    import textarena
    from textarena.envs.registration import ENV_REGISTRY

    if GAMES[name].fetches:
        import nltk

        nltk.download = lambda *_, **__: True  # it is there; without a network the library would wait for an index
    game = textarena.make(f"{name}-raw")
    for wrapper in ENV_REGISTRY[name].default_wrappers or ():
        if issubclass(wrapper, textarena.ActionWrapper):
            game = wrapper(game)
    return game


def _begun(game: Any, seed: int) -> tuple:
    """The generator as it is once the game has been reset."""
    for further in range(TRIES):
        own = seed + further * NEXT_TRY
        try:
            with _generator(random.Random(own).getstate()) as after:
                game.reset(num_players=1, seed=own)
            return after()
        except Exception:
            if further == TRIES - 1:
                raise
    raise AssertionError


@lru_cache(maxsize=256)
def _kept(name: str, seed: int) -> tuple[Any, tuple]:
    """To be copied before it is played."""
    game = _made(name)
    return game, _begun(game, seed)


@contextmanager
def _generator(own: tuple) -> Iterator[Any]:
    """Gives what tells, after the block, in which state it left the generator."""
    others = random.getstate()
    left: list[tuple] = []
    random.setstate(own)
    try:
        yield left.pop
    finally:
        left.append(random.getstate())
        random.setstate(others)


def _in_order(refuse: Any) -> Any:
    """A few games pass the reason of a refusal where its reward belongs, and the reward for the reason."""
    def refused(reason: Any, reward: Any = -1.0) -> None:
        if isinstance(reward, str):
            reason, reward = reward, reason
        refuse(reason=reason, reward=reward)

    return refused
