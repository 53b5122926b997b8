"""A game of TextArena's that is served here: one tool, `act`, in the game's own words."""

from typing import Any

from backend.environments import Description, Observation
from backend.environments.adapters import Shipped, number, tool
from backend.environments.text_games import TextGame

USUAL_CALLS, MOST_CALLS = 100, 200
"""Calls of an episode where the game sets no limit, and where its own limit is far away."""


def adapter(game: TextGame) -> "Text":
    calls = USUAL_CALLS if game.turns is None else min(2 * game.turns, max(game.turns, MOST_CALLS))
    facts = {"won": "whether the game gave its full reward; None before the end" if game.winnable else
             "always None: the game gives a score and nobody wins it",
             "reward": "the game's reward; None before the end",
             "invalid_moves": "moves the game refused",
             "invalid": "whether two refused moves in a row ended the game",
             "board": "the last board, or else the last words, that the game showed"}
    return Text(Description(
        title=game.title,
        about=f"{game.about} A game of TextArena's.",
        tools=(tool("act", "Make a move in the game.", message={
            "type": "string", "description": "The move, written as the rules of the game ask for it."}),),
        facts=facts,
        prompt=("Play the game described below. Use the tool `act` for each move, its message written as the rules ask "
                "for it, until the game is over. A move the game can't make is refused; two in a row end the game."),
        max_turns=calls,
        viewer="text_board",
        rewards=(("outcome", "reward if done else 0.0"), ("invalid", "-0.1 * invalid_moves")),
        notice="" if game.seeded else "Every seed plays the same task.",
    ), lambda _, arguments: {"message": arguments["message"]})


class Text(Shipped):
    def read(self, data: dict[str, Any]) -> Observation:
        reward = number(data.get("reward"))
        return super().read({**data, "reward": reward, "observation": {**data["observation"], "reward": reward}})
