"""The server of TextArena's games: `python -m backend.environments.servers.textarena --game 2048-v0 --port 8001`."""

import argparse
import sys
from functools import partial

from backend.environments.games.text_game import TextGame
from backend.environments.servers import environment, run


def build(name: str, sessions: int):
    from openenv.core.env_server import Action, Observation, create_app

    class TextAction(Action):
        message: str

    class TextObservation(Observation):
        text: str
        won: bool | None = None
        invalid_moves: int = 0
        invalid: bool = False
        board: str | None = None

    class Named(TextGame):
        def __init__(self):
            super().__init__(name)

    return create_app(environment(Named, TextAction, TextObservation), TextAction, TextObservation, env_name=name,
                      max_concurrent_envs=sessions)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--game", required=True)
    asked, others = parser.parse_known_args(arguments)
    run(partial(build, asked.game), others)


if __name__ == "__main__":
    main(sys.argv[1:])
