"""An environment of one's own, after TRL's contract: `use: python:tests/examples/number_hunt.py:NumberHunt`."""

import random


class NumberHunt:
    """Find a number from 1 to 20 in five guesses; after each you are told whether it is higher or lower."""

    max_turns = 8

    def __init__(self):
        self.won = False
        self.done = False
        self.guesses = 0
        self.nearest = None

    def reset(self, seed=0, highest=20, **kwargs) -> str | None:
        self._number = random.Random(seed).randint(1, highest)
        self._highest = highest
        return f"I think of a number from 1 to {highest}."

    def guess(self, number: int) -> str:
        """
        Guess the number.

        Args:
            number: A number from 1 to 20.

        Returns:
            Whether the number is higher or lower.
        """
        if self.done:
            raise ValueError("The game is over.")
        if not 1 <= number <= self._highest:
            raise ValueError(f"{number} isn't from 1 to {self._highest}.")
        away = abs(number - self._number)
        self.nearest = away if self.nearest is None else min(away, self.nearest)
        self.guesses += 1
        self.won = number == self._number
        self.done = self.won or self.guesses == 5
        if self.won:
            return "That is it."
        return "Higher." if number < self._number else "Lower."

    async def give_up(self) -> str:
        """End the game and be told the number."""
        self.done = True
        return f"It was {self._number}."

    def get_reward(self) -> float:
        return 1.0 if self.won else 0.0 if self.nearest is None else 0.5 / (1 + self.nearest)
