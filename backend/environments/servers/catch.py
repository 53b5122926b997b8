"""The Catch server."""

from typing import Literal

from backend.environments.games.catch import Catch
from backend.environments.servers import environment, run


def build(sessions: int):
    from openenv.core.env_server import Action, Observation, create_app

    class CatchAction(Action):
        move: Literal["left", "stay", "right"]

    class CatchObservation(Observation):
        text: str
        won: bool = False
        caught: bool | None = None
        nearness: float | None = None
        ball_row: int
        ball_column: int
        paddle_column: int
        rows: int
        columns: int

    return create_app(environment(Catch, CatchAction, CatchObservation), CatchAction, CatchObservation,
                      env_name="catch", max_concurrent_envs=sessions)


if __name__ == "__main__":
    run(build)
