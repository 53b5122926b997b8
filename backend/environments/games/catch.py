"""Catch: a ball falls one row a turn, a paddle in the bottom row moves under it. OpenSpiel's `catch`, 10 rows x 5
columns.

Every observation is one line of the same shape, rows counted from 0 at the top, columns from 0 at the left:

    ball 0 2 paddle 2              ball in row 0, column 2; paddle in column 2
    ball 9 1 paddle 1 caught       the end, after 9 moves
    ball 9 1 paddle 3 missed

Reward is OpenSpiel's: 0 on the way, 1 for a catch, -1 for a miss. The seed picks the ball's column (seed modulo 5, so
that consecutive seeds are balanced); the paddle starts in the middle.
"""

import random

from backend.environments.games import GameOver, fingerprint

ROWS, COLUMNS = 10, 5
MOVES = ("left", "stay", "right")
"""In the order of OpenSpiel's actions."""


class Catch:
    def __init__(self):
        self._state = None

    def reset(self, seed: int | None = None) -> dict:
        import pyspiel

        column = random.randrange(COLUMNS) if seed is None else seed % COLUMNS
        self._state = pyspiel.load_game("catch", {"rows": ROWS, "columns": COLUMNS}).new_initial_state()
        self._state.apply_action(column)
        return {**self._observation(), "reward": None,
                "metadata": {"fingerprint": fingerprint("catch", ROWS, COLUMNS, column)}}

    def step(self, move: str) -> dict:
        if self._state is None or self._state.is_terminal():
            raise GameOver("there is no game to move in; reset first")
        self._state.apply_action(MOVES.index(move))
        return self._observation()

    def _observation(self) -> dict:
        row, column, paddle = self._state.ball_row(), self._state.ball_col(), self._state.paddle_col()
        done = self._state.is_terminal()
        caught = column == paddle if done else None
        text = f"ball {row} {column} paddle {paddle}"
        return {
            "text": f"{text} {'caught' if caught else 'missed'}" if done else text,
            "reward": self._state.returns()[0],
            "done": done,
            "won": caught is True,
            "caught": caught,
            "nearness": 1 - abs(column - paddle) / (COLUMNS - 1) if done else None,
            "ball_row": row,
            "ball_column": column,
            "paddle_column": paddle,
            "rows": ROWS,
            "columns": COLUMNS,
        }
