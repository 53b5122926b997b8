"""Any TextArena game on an OpenEnv server (actions with `message`, observations with `prompt` and `messages`).

The server sends the whole history each turn, so what is new is cut from it. It ignores the seed of a reset; its state
tells which game is really played, which makes the fingerprint. Wordle and Sudoku get their own tools and facts; any
other game gets `act`.
"""

import hashlib
import json
import re
from dataclasses import replace
from typing import Any

from backend.environments import Description, Observation, discovery
from backend.environments.adapters import Adapter, Checked, number, sudoku, tool, wordle
from backend.environments.adapters.discovered import USUAL_TURNS
from backend.environments.discovery import Told

UNSEEDED = "The published TextArena server ignores seeds, so the episodes of a group may play different tasks."
WON_AT = 1.0

Call = dict[str, Any] | None
"""The arguments of the last call; None before the first."""


def fits(told: Told) -> bool:
    return told.has("message", "prompt", "messages", "legal_players")


def adapter(told: Told) -> Adapter:
    state = discovery.state(told.address)
    game = str(state.get("env_id") or "TextArena")
    if game.startswith("Wordle"):
        return Wordle(replace(wordle.DESCRIPTION, title=f"{wordle.DESCRIPTION.title} (TextArena)", notice=UNSEEDED))
    if game.startswith("Sudoku"):
        return Sudoku(replace(SUDOKU, notice=UNSEEDED))
    return Game(_game(game, state.get("max_turns")))


def _game(name: str, max_turns: Any) -> Description:
    return Description(
        title=name, about=f"{name}, a text game of TextArena's.",
        tools=(tool("act", "Make a move in the game.", message={
            "type": "string", "description": "The move, written as the game's rules ask for it."}),),
        facts={"won": "whether the game ended with a full reward; None before the end",
               "reward": "the game's reward for the last move",
               "invalid_moves": "moves the game refused",
               "invalid": "whether a refused move ended the game"},
        prompt="Play the game described below. Use the tool `act` for each move.",
        max_turns=max_turns if isinstance(max_turns, int) and max_turns > 0 else USUAL_TURNS, notice=UNSEEDED)


class Game:
    """One episode, whatever the game; a game with more to tell overrides `translate` and `facts`."""

    asks_state = True

    def __init__(self, description: Description):
        self.description = description
        self._checked = Checked(description.tools)
        self._history = ""
        self._called: Call = None
        self._invalid_moves = 0
        self.ended_by_invalid = False
        self.state: dict[str, Any] = {}

    def fresh(self) -> "Game":
        return type(self)(self.description)

    def action(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self._checked(tool, arguments)
        self._called = arguments
        return {"message": self.translate(arguments)}

    def read(self, data: dict[str, Any]) -> Observation:
        observation, done = data["observation"], bool(data.get("done"))
        told = "\n".join(str(message["content"]) for message in observation["messages"])
        new = told[len(self._history):] if told.startswith(self._history) else told
        reward = number(data.get("reward"))
        won = done and reward is not None and reward >= WON_AT
        if self._called is None:
            new = new or str(observation["prompt"])
        else:
            refused = "invalid move" in new.lower() or (done and not won and not self.answered(new))
            self._invalid_moves += refused
            self.ended_by_invalid = done and refused
        self._history = told
        return Observation(new.strip("\n"), reward if self._called is not None else None, done,
                           self.facts(new, self._called, reward, done, won), raw=None)

    def identify(self, state: dict[str, Any]) -> str | None:
        self.state = (state.get("raw_state") or {}).get("game_state") or {}
        if not self.state:
            return None
        whole = json.dumps(self.state, sort_keys=True, default=str)
        return hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()[:12]

    def translate(self, arguments: dict[str, Any]) -> str:
        return arguments["message"]

    def ended(self, state: dict[str, Any], last: Observation) -> Observation:
        """A refusal that ends a game leaves no words, but the state knows of it."""
        told = ((state.get("raw_state") or {}).get("game_info") or {}).get("0")
        if not isinstance(told, dict) or bool(told.get("invalid_move")) == self.ended_by_invalid:
            return last
        self.ended_by_invalid = not self.ended_by_invalid
        self._invalid_moves += 1 if self.ended_by_invalid else -1
        return replace(last, facts={**last.facts, "invalid": self.ended_by_invalid,
                                    "invalid_moves": self._invalid_moves})

    def answered(self, new: str) -> bool:
        """Whether the text of a last move shows that it was taken."""
        return True

    def facts(self, new: str, called: Call, reward: float | None, done: bool, won: bool) -> dict[str, Any]:
        return {"won": won if done else None, "reward": reward if called is not None else None,
                "invalid_moves": self._invalid_moves, "invalid": self.ended_by_invalid}


class Wordle(Game):
    """The facts are those of the Wordle that ships here."""

    FEEDBACK = re.compile(r"Feedback:\n([A-Z](?: [A-Z])*)\n([GYX](?: [GYX])*)")

    def __init__(self, description: Description):
        super().__init__(description)
        self._tried: list[tuple[str, str]] = []

    def translate(self, arguments: dict[str, Any]) -> str:
        return arguments["guess"]

    def answered(self, new: str) -> bool:
        return bool(self.FEEDBACK.search(new))

    def facts(self, new: str, called: Call, reward: float | None, done: bool, won: bool) -> dict[str, Any]:
        if called is not None:
            if found := self.FEEDBACK.search(new):
                self._tried.append((found[1].replace(" ", "").lower(), found[2].replace(" ", "")))
            elif won:  # the winning guess gets no feedback
                word = "".join(re.findall(r"\w", called["guess"])).lower()
                self._tried.append((word, "G" * len(word)))
        last_guess, last_feedback = self._tried[-1] if self._tried else (None, None)
        secret = self.state.get("secret_word")
        return {
            "won": won,
            "guesses": len(self._tried),
            "best_greens": max((marks.count("G") for _, marks in self._tried), default=0),
            "invalid_moves": self._invalid_moves,
            "invalid": self.ended_by_invalid,
            "last_guess": last_guess,
            "last_feedback": last_feedback,
            "secret": secret if done and isinstance(secret, str) else None,
        }


SUDOKU = replace(
    sudoku.adapter({}).description,
    title="Sudoku (TextArena)",
    prompt="Solve the Sudoku below. Use the tool `place` to write one digit at a time into an empty cell.",
    max_turns=100,
    options={},
)


class Sudoku(Game):
    ROW = re.compile(r"^R(\d)((?:[ |]+[\d.]){9})\s*$", re.MULTILINE)

    def __init__(self, description: Description):
        super().__init__(description)
        self._board: str | None = None
        self._blanks: int | None = None

    def translate(self, arguments: dict[str, Any]) -> str:
        return f"[{arguments['row']} {arguments['column']} {arguments['value']}]"

    def answered(self, new: str) -> bool:
        return bool(self.ROW.search(new))

    def facts(self, new: str, called: Call, reward: float | None, done: bool, won: bool) -> dict[str, Any]:
        rows = {number: "".join(re.findall(r"[\d.]", cells)) for number, cells in self.ROW.findall(new)}
        if len(rows) == 9:
            self._board = "".join(rows[str(number)] for number in range(1, 10))
            if self._blanks is None:
                self._blanks = self._board.count(".")
        filled = self._blanks - self._board.count(".") if self._blanks is not None and self._board else None
        return {
            "won": won, "blanks": self._blanks, "filled": filled,
            "share_filled": filled / self._blanks if filled is not None and self._blanks else None,
            "invalid_moves": self._invalid_moves, "invalid": self.ended_by_invalid, "board": self._board,
        }
