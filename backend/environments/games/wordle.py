"""Wordle: find a secret five-letter word in six guesses.

A guess is answered with `Feedback:`, its letters and a mark under each: G right place, Y elsewhere in the word, X not
in the word. A letter guessed twice gets as many marks as the secret has of it, greens first.

A guess that isn't one five-letter word of the list, or was made before, is an invalid move: it is named, and uses up no
guess. As in TextArena (error_allowance 1), one invalid move is forgiven before each guess and a second in a row ends
the game, so a game has at most 12 turns.

Reward is 0 on the way and 1 for a win; a game that ends without one gives what TextArena gives, the share of the last
guess that was right, a yellow counting half.

    words/answers.txt    secrets are drawn from these; one a line
    words/guesses.txt    allowed as guesses too
"""

import random
import re
from functools import cache
from pathlib import Path

from backend.environments.games import GameOver, fingerprint

LENGTH, GUESSES = 5, 6
INVALID_IN_A_ROW = 2
"""That many invalid moves without a valid guess between them end the game."""

WORDS = Path(__file__).parent / "words"
BRACKETED = re.compile(r"\[\s*(\w+)\s*\]")


@cache
def answers() -> tuple[str, ...]:
    """In a fixed, shuffled order: seed k plays the k-th, so consecutive seeds play different words."""
    words = (WORDS / "answers.txt").read_text().split()
    random.Random("wordle").shuffle(words)
    return tuple(words)


@cache
def allowed() -> frozenset[str]:
    return frozenset(answers()) | frozenset((WORDS / "guesses.txt").read_text().split())


def marks(guess: str, secret: str) -> str:
    """Such as `GXYXX`."""
    result, left = ["X"] * len(guess), []
    for i, (mine, theirs) in enumerate(zip(guess, secret, strict=True)):
        if mine == theirs:
            result[i] = "G"
        else:
            left.append(theirs)
    for i, mine in enumerate(guess):
        if result[i] != "G" and mine in left:
            result[i] = "Y"
            left.remove(mine)
    return "".join(result)


class Wordle:
    def __init__(self):
        self._secret = None
        self._done = True

    def reset(self, seed: int | None = None) -> dict:
        words = answers()
        self._secret = random.choice(words) if seed is None else words[seed % len(words)]
        self._tried: list[tuple[str, str]] = []
        self._invalid = self._invalid_in_a_row = 0
        self._done = self._won = False
        text = f"A secret {LENGTH}-letter word is chosen. You have {GUESSES} guesses."
        return {**self._observation(text, None), "metadata": {"fingerprint": fingerprint("wordle", self._secret)}}

    def step(self, guess: str) -> dict:
        if self._done:
            raise GameOver("there is no game to guess in; reset first")
        bracketed = BRACKETED.search(guess)
        word = (bracketed.group(1) if bracketed else guess.strip()).lower()
        if why := self._wrong_with(word):
            return self._invalid_move(why)
        return self._guessed(word)

    def _wrong_with(self, word: str) -> str | None:
        shown = word if len(word) <= 20 else word[:20] + "…"
        if not re.fullmatch(r"\w+", word):
            return "write one word in square brackets, such as [crane]."
        if len(word) != LENGTH:
            return f"{shown} has {len(word)} letters, not {LENGTH}."
        if word in [tried for tried, _ in self._tried]:
            return f"{shown} was guessed before."
        if word not in allowed():
            return f"{shown} is not in the word list."
        return None

    def _invalid_move(self, why: str) -> dict:
        self._invalid += 1
        self._invalid_in_a_row += 1
        self._done = self._invalid_in_a_row >= INVALID_IN_A_ROW
        if self._done:
            text = f"Invalid move: {why} That is the second in a row and ends the game. The word was {self._secret}."
            return self._observation(text, self._closeness())
        return self._observation(f"Invalid move: {why} {self._left()}", 0.0)

    def _guessed(self, word: str) -> dict:
        feedback = marks(word, self._secret)
        self._tried.append((word, feedback))
        self._invalid_in_a_row = 0
        self._won = word == self._secret
        self._done = self._won or len(self._tried) == GUESSES
        text = f"Feedback:\n{' '.join(word.upper())}\n{' '.join(feedback)}\n"
        if self._won:
            return self._observation(f"{text}You won.", 1.0)
        if self._done:
            return self._observation(f"{text}You lost. The word was {self._secret}.", self._closeness())
        return self._observation(text + self._left(), 0.0)

    def _left(self) -> str:
        left = GUESSES - len(self._tried)
        return f"{left} guess{'es' if left > 1 else ''} left."

    def _closeness(self) -> float:
        feedback = self._tried[-1][1] if self._tried else ""
        return (feedback.count("G") + feedback.count("Y") / 2) / LENGTH

    def _observation(self, text: str, reward: float | None) -> dict:
        word, feedback = self._tried[-1] if self._tried else (None, None)
        return {
            "text": text,
            "reward": reward,
            "done": self._done,
            "won": self._won,
            "guesses": len(self._tried),
            "best_greens": max((f.count("G") for _, f in self._tried), default=0),
            "invalid_moves": self._invalid,
            "invalid": self._done and self._invalid_in_a_row >= INVALID_IN_A_ROW,
            "last_guess": word,
            "last_feedback": feedback,
            "secret": self._secret if self._done else None,
        }
