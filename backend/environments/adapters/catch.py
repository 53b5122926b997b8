"""Catch: `move` left or right, or `stay`; the observations are described in `backend.environments.games.catch`."""

from backend.environments import Description
from backend.environments.adapters import Shipped, tool

DESCRIPTION = Description(
    title="Catch",
    about="A ball falls one row a turn; be under it when it lands. Teaches to read a position and to plan a few moves.",
    tools=(
        tool("move", "Move the paddle one column and let the ball fall one row.",
             direction={"type": "string", "enum": ["left", "right"], "description": "Where the paddle goes."}),
        tool("stay", "Leave the paddle where it is and let the ball fall one row."),
    ),
    facts={
        "won": "whether the ball was caught; False until it was",
        "caught": "whether the ball was caught; None before the end",
        "nearness": "at the end 1 for a catch, 0 for a miss by the whole width; None before the end",
        "ball_row": "0 is the top row",
        "ball_column": "0 is the leftmost column",
        "paddle_column": "0 is the leftmost column",
        "rows": "height of the board",
        "columns": "width of the board",
    },
    prompt=("A ball falls down a board of 10 rows and 5 columns, one row a turn. Your paddle is in the bottom row. "
            "Catch the ball: when it reaches row 9, the paddle must be in its column. Rows count from 0 at the top, "
            "columns from 0 at the left. 'ball 3 1 paddle 2' means that the ball is in row 3, column 1, and the paddle "
            "in column 2. Each turn, use the tool `move` with the direction left or right, or the tool `stay`, until "
            "the ball is caught or missed."),
    max_turns=9,
    viewer="catch",
    rewards=(("caught", "1.0 if won else 0.0"), ("near", "0.5 * nearness if done else 0.0")),
)

ADAPTER = Shipped(DESCRIPTION, lambda name, arguments: {"move": arguments["direction"] if name == "move" else "stay"})
