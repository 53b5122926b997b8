"""Sudoku: one tool, `place`; rules and texts are in `backend.environments.games.sudoku`."""

from typing import Any

from backend.environments import Description
from backend.environments.adapters import Shipped, tool
from backend.environments.games.sudoku import INVALID_IN_A_ROW, MOST_BLANKS, SIZES, USUAL_BLANKS
from backend.errors import SpecError

OPTIONS = {
    "size": {"type": "integer", "enum": list(SIZES), "default": 9,
             "description": "Digits in a row: 9, or 4 for a small grid that a small model can learn."},
    "blanks": {"type": "integer", "minimum": 1, "maximum": max(MOST_BLANKS.values()),
               "description": "How hard it is: cells to fill, 1 to 50 (24 where not said), on a grid of 4 x 4 1 to 10 "
                              "(8 where not said)."},
}

EXAMPLE = {9: "2: 4 . 2 | 1 7 5 | 6 9 8", 4: "2: 4 . | 1 3"}

FACTS = {
    "won": "whether the whole grid was filled",
    "blanks": "cells that were empty at the start",
    "filled": "cells filled so far",
    "share_filled": "cells filled so far as a share of the blanks, 0 to 1",
    "invalid_moves": "digits that were refused: wrong ones, filled cells, places off the grid",
    "invalid": "whether two invalid moves in a row ended the game",
    "board": "the grid row by row, a character a cell, . for an empty one",
}


def adapter(options: dict[str, Any]) -> Shipped:
    """For a grid as asked for; options that fit `OPTIONS`. Raises SpecError where they don't fit each other."""
    size = int(options.get("size", 9))
    blanks = int(options.get("blanks", USUAL_BLANKS[size]))
    if blanks > MOST_BLANKS[size]:
        raise SpecError("options.blanks", f"{blanks} blanks are too many for a grid of {size} x {size}; use 1 to "
                        f"{MOST_BLANKS[size]}")
    block, one = SIZES[size], {"type": "integer", "minimum": 1, "maximum": size}
    place = tool("place", "Write a digit into an empty cell.",
                 row={**one, "description": "1 is the top row."},
                 column={**one, "description": "1 is the leftmost column."},
                 value={**one, "description": "The digit."})
    return Shipped(Description(
        title="Sudoku",
        about="Fill a grid so that each row, column and block holds every digit once. Teaches to reason over many "
              "small steps.",
        tools=(place,),
        facts=FACTS,
        prompt=(f"You solve a Sudoku: each row, each column and each block of {block} x {block} cells of the {size} x "
                f"{size} grid holds the digits 1 to {size} once. Rows are numbered from the top, columns from the "
                f"left; a line such as '{EXAMPLE[size]}' is row 2, and its second cell is empty. Use the tool `place` "
                "to write a digit into an empty cell, one at a time, until the grid is full. A wrong digit is refused "
                "as an invalid move; two in a row end the game."),
        max_turns=INVALID_IN_A_ROW * blanks,
        viewer="sudoku",
        rewards=(("solved", "1.0 if won else 0.0"), ("filled", "0.5 * share_filled"),
                 ("invalid", "-0.05 * invalid_moves")),
        options=OPTIONS,
    ), lambda _, arguments: {name: int(arguments[name]) for name in ("row", "column", "value")})
