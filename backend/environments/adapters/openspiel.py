"""OpenSpiel games on an OpenEnv server (actions with `action_id`, observations with `info_state` and `legal_actions`).

Catch gets `move` and `stay` and the words and facts of the Catch that ships here; any other game gets `play`.
"""

from dataclasses import replace
from typing import Any

from backend.environments import Description, Observation, discovery
from backend.environments.adapters import Adapter, Checked, WithoutState, catch, number, tool
from backend.environments.adapters.discovered import USUAL_TURNS
from backend.environments.adapters.observed import compact
from backend.environments.discovery import Told
from backend.environments.games import fingerprint
from backend.environments.games.catch import COLUMNS, MOVES, ROWS

UNSEEDED = "The published OpenSpiel server ignores seeds, so the episodes of a group may play different tasks."

SHORT = 60
"""Values up to which a state is written out; of a longer one, those that aren't 0 by their place."""


def fits(told: Told) -> bool:
    return told.has("action_id", "info_state", "legal_actions")


def adapter(told: Told) -> Adapter:
    state = discovery.state(told.address)
    game, asked = str(state.get("game_name") or "OpenSpiel game"), state.get("game_params") or {}
    if game == "catch" and (asked.get("rows", ROWS), asked.get("columns", COLUMNS)) == (ROWS, COLUMNS):
        return Catch()
    return Game(_game(game))


def _game(name: str) -> Description:
    return Description(
        title=name, about=f"{name}, a game of OpenSpiel's.",
        tools=(tool("play", "Make a move by its number.", action={
            "type": "integer", "description": "One of the legal actions of the last observation."}),),
        facts={"won": "whether the last reward was above 0; None before the end",
               "reward": "the game's reward for the last move",
               "legal": "moves that can be made now",
               "phase": "initial, playing or terminal"},
        prompt=f"Play {name}. Use the tool `play` with one of the legal actions.",
        max_turns=USUAL_TURNS, notice=UNSEEDED)


class Game(WithoutState):
    def __init__(self, description: Description):
        self.description = description
        self._checked = Checked(description.tools)

    def fresh(self) -> "Game":
        return self

    def action(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self._checked(tool, arguments)
        return {"action_id": arguments["action"]}

    def read(self, data: dict[str, Any]) -> Observation:
        observation, done, reward = data["observation"], bool(data.get("done")), number(data.get("reward"))
        legal = observation["legal_actions"]
        seen = _state(observation["info_state"])
        text = f"The game is over. State: {seen}" if done else f"Legal actions: {compact(legal)}. State: {seen}"
        return Observation(text, reward, done, {
            "won": reward is not None and reward > 0 if done else None, "reward": reward, "legal": len(legal),
            "phase": str(observation.get("game_phase", ""))})


def _state(values: list[float]) -> str:
    """A long tensor is nearly all zeros."""
    if len(values) <= SHORT:
        return compact([round(value, 4) for value in values])
    return compact({str(place): round(value, 4) for place, value in enumerate(values) if value})


class Catch(WithoutState):
    """The ball keeps its column, so the column of the first observation tells ball and paddle apart to the end."""

    description = replace(catch.DESCRIPTION, title=f"{catch.DESCRIPTION.title} (OpenSpiel)", notice=UNSEEDED)

    def __init__(self) -> None:
        self._checked = Checked(self.description.tools)
        self._column: int | None = None

    def fresh(self) -> "Catch":
        return Catch()

    def action(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self._checked(tool, arguments)
        return {"action_id": MOVES.index(arguments["direction"] if tool == "move" else "stay")}

    def read(self, data: dict[str, Any]) -> Observation:
        done, board = bool(data.get("done")), data["observation"]["info_state"]
        if len(board) != ROWS * COLUMNS:
            raise ValueError(f"a board of {len(board)} cells, not {ROWS} x {COLUMNS}")
        ones = [divmod(place, COLUMNS) for place, value in enumerate(board) if value]
        above = next((one for one in ones if one[0] < ROWS - 1), None)
        begins = self._column is None
        if self._column is None:
            if above is None:
                raise ValueError("a board without a ball")
            self._column = above[1]
        ball = self._column
        row = above[0] if above else ROWS - 1
        paddle = next((column for at, column in ones if at == ROWS - 1 and (above or column != ball)), ball)
        caught = ball == paddle if done else None
        text = f"ball {row} {ball} paddle {paddle}"
        return Observation(
            text=f"{text} {'caught' if caught else 'missed'}" if done else text,
            reward=None if begins else number(data.get("reward")), done=done,
            facts={"won": caught is True, "caught": caught,
                   "nearness": 1 - abs(ball - paddle) / (COLUMNS - 1) if done else None,
                   "ball_row": row, "ball_column": ball, "paddle_column": paddle, "rows": ROWS, "columns": COLUMNS},
            fingerprint=fingerprint("catch", ROWS, COLUMNS, ball) if begins else None)
