"""The Wordle server."""

from backend.environments.games.wordle import Wordle
from backend.environments.servers import environment, run


def build(sessions: int):
    from openenv.core.env_server import Action, Observation, create_app

    class WordleAction(Action):
        guess: str

    class WordleObservation(Observation):
        text: str
        won: bool = False
        guesses: int = 0
        best_greens: int = 0
        invalid_moves: int = 0
        invalid: bool = False
        last_guess: str | None = None
        last_feedback: str | None = None
        secret: str | None = None

    return create_app(environment(Wordle, WordleAction, WordleObservation), WordleAction, WordleObservation,
                      env_name="wordle", max_concurrent_envs=sessions)


if __name__ == "__main__":
    run(build)
