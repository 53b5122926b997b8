"""Sudoku: fill the empty cells so that each row, column and block holds every digit once. 9 x 9 in blocks of 3 x 3, or
4 x 4 in blocks of 2 x 2.

The grid is shown row by row, numbered, `.` for an empty cell and `|` between blocks:

    1: 5 3 . | . 7 . | 9 1 2

A puzzle has one solution. A digit that isn't the solution's is an invalid move: it is refused with the reason, as far
as one can be seen on the grid, and the cell stays empty. As in TextArena one invalid move is forgiven before each
digit, and a second in a row ends the game, so a game has at most twice as many turns as it has blanks.

Reward is 0 on the way and 1 for the whole grid; a game that ends without it gives the share of the blanks that were
filled.
"""

import random
from functools import lru_cache

from backend.environments.games import GameOver, fingerprint

SIZES = {9: 3, 4: 2}
"""Cells in a row -> cells in a block's row."""

USUAL_BLANKS, MOST_BLANKS = {9: 24, 4: 8}, {9: 50, 4: 10}
"""By size. Up to the most, a puzzle of any seed with exactly so many blanks is found in a moment."""

INVALID_IN_A_ROW = 2

Cells = list[int]
"""Row by row; 0 is empty."""


@lru_cache(maxsize=4096)
def puzzle(size: int, blanks: int, seed: int) -> tuple[str, str]:
    """(grid, solution), row by row, `.` for a blank. A group plays one puzzle, so it is made once for all of it."""
    rng = random.Random(f"sudoku/{size}/{blanks}/{seed}")
    while True:
        whole = solutions([0] * size ** 2, size, 1, rng)[0]
        cells, empty = list(whole), 0
        for place in rng.sample(range(size ** 2), size ** 2):
            if empty == blanks:
                break
            cells[place] = 0
            if len(solutions(cells, size, 2)) == 1:
                empty += 1
            else:
                cells[place] = whole[place]
        if empty == blanks:
            return written(cells), written(whole)


def solutions(cells: Cells, size: int, most: int, rng: random.Random | None = None) -> list[Cells]:
    """Up to `most` ways to complete a grid without clashes; in random order with `rng`."""
    rows, columns, blocks = [0] * size, [0] * size, [0] * size
    for place, digit in enumerate(cells):
        if digit:
            row, column, block = _units(place, size)
            bit = 1 << digit
            if (rows[row] | columns[column] | blocks[block]) & bit:
                return []
            rows[row], columns[column], blocks[block] = rows[row] | bit, columns[column] | bit, blocks[block] | bit
    found: list[Cells] = []
    left, board = {place for place, digit in enumerate(cells) if not digit}, list(cells)
    digits = list(range(1, size + 1))

    def search() -> None:
        if not left:
            found.append(list(board))
            return
        place, taken, fewest = -1, 0, size + 1
        for candidate in left:
            row, column, block = _units(candidate, size)
            used = rows[row] | columns[column] | blocks[block]
            if (free := size - used.bit_count()) < fewest:
                place, taken, fewest = candidate, used, free
            if free <= 1:
                break
        row, column, block = _units(place, size)
        left.remove(place)
        for digit in rng.sample(digits, size) if rng else digits:
            bit = 1 << digit
            if not taken & bit:
                board[place] = digit
                rows[row], columns[column], blocks[block] = rows[row] | bit, columns[column] | bit, blocks[block] | bit
                search()
                rows[row], columns[column], blocks[block] = rows[row] ^ bit, columns[column] ^ bit, blocks[block] ^ bit
                if len(found) == most:
                    break
        board[place] = 0
        left.add(place)

    search()
    return found


def clashes(cells: Cells, size: int, place: int, digit: int) -> str:
    """Where the digit stands already that it can't stand twice: `row`, `column`, `block` or nothing."""
    units = _units(place, size)
    for nth, name in enumerate(("row", "column", "block")):
        if any(other == digit and where != place and _units(where, size)[nth] == units[nth]
               for where, other in enumerate(cells)):
            return name
    return ""


def written(cells: Cells) -> str:
    return "".join(str(digit) if digit else "." for digit in cells)


def read(board: str) -> Cells:
    return [0 if cell == "." else int(cell) for cell in board]


def _units(place: int, size: int) -> tuple[int, int, int]:
    """Row, column and block of a cell, each counted from 0."""
    row, column = divmod(place, size)
    block = SIZES[size]
    return row, column, row // block * block + column // block


class Sudoku:
    def __init__(self) -> None:
        self._cells: Cells = []
        self._done = True

    def reset(self, seed: int | None = None, size: int = 9, blanks: int | None = None) -> dict:
        if size not in SIZES:
            raise ValueError(f"size is {size!r:.40}; it can be 9 or 4")
        if blanks is None:
            blanks = USUAL_BLANKS[size]
        if not (isinstance(blanks, int) and 1 <= blanks <= MOST_BLANKS[size]):
            raise ValueError(f"blanks is {blanks!r:.40}; on {size} x {size} cells it can be 1 to {MOST_BLANKS[size]}")
        grid, whole = puzzle(size, blanks, random.randrange(2**31) if seed is None else seed)
        self._size, self._blanks, self._cells, self._solution = size, blanks, read(grid), read(whole)
        self._filled = self._invalid = self._invalid_in_a_row = 0
        self._done = False
        return {**self._observation(self._shown(), None), "metadata": {"fingerprint": fingerprint("sudoku", grid)}}

    def step(self, row: int, column: int, value: int) -> dict:
        if self._done:
            raise GameOver("there is no grid to fill; reset first")
        if why := self._wrong_with(row, column, value):
            return self._invalid_move(why)
        self._cells[(row - 1) * self._size + column - 1] = value
        self._filled += 1
        self._invalid_in_a_row = 0
        self._done = self._filled == self._blanks
        if self._done:
            return self._observation(f"{self._shown()}\nSolved.", 1.0)
        return self._observation(f"{self._shown()}\n{self._left()}", 0.0)

    def _wrong_with(self, row: int, column: int, value: int) -> str:
        for name, number in (("row", row), ("column", column), ("value", value)):
            if not 1 <= number <= self._size:
                return f"{name} {number if abs(number) < 10**6 else '…'} isn't from 1 to {self._size}."
        place = (row - 1) * self._size + column - 1
        if self._cells[place]:
            return f"row {row}, column {column} holds {self._cells[place]} already."
        if there := clashes(self._cells, self._size, place, value):
            return f"{value} stands in the same {there} already."
        return "" if value == self._solution[place] else f"{value} doesn't belong in row {row}, column {column}."

    def _invalid_move(self, why: str) -> dict:
        self._invalid += 1
        self._invalid_in_a_row += 1
        self._done = self._invalid_in_a_row >= INVALID_IN_A_ROW
        if self._done:
            return self._observation(f"Invalid move: {why} That is the second in a row and ends the game.",
                                     self._filled / self._blanks)
        return self._observation(f"Invalid move: {why} {self._left()}", 0.0)

    def _left(self) -> str:
        left = self._blanks - self._filled
        return f"{left} empty cell{'s' if left > 1 else ''} left."

    def _shown(self) -> str:
        block = SIZES[self._size]
        rows = []
        for row in range(self._size):
            cells = written(self._cells[row * self._size:(row + 1) * self._size])
            parts = (" ".join(cells[start:start + block]) for start in range(0, self._size, block))
            rows.append(f"{row + 1}: {' | '.join(parts)}")
        return "\n".join(rows)

    def _observation(self, text: str, reward: float | None) -> dict:
        return {
            "text": text,
            "reward": reward,
            "done": self._done,
            "won": self._filled == self._blanks,
            "blanks": self._blanks,
            "filled": self._filled,
            "share_filled": self._filled / self._blanks,
            "invalid_moves": self._invalid,
            "invalid": self._done and self._invalid_in_a_row >= INVALID_IN_A_ROW,
            "board": written(self._cells),
        }
