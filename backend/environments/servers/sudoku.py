"""The Sudoku server."""

from backend.environments.games.sudoku import Sudoku
from backend.environments.servers import environment, run


def build(sessions: int):
    from openenv.core.env_server import Action, Observation, create_app

    class SudokuAction(Action):
        row: int
        column: int
        value: int

    class SudokuObservation(Observation):
        text: str
        won: bool = False
        blanks: int
        filled: int = 0
        share_filled: float = 0.0
        invalid_moves: int = 0
        invalid: bool = False
        board: str

    return create_app(environment(Sudoku, SudokuAction, SudokuObservation), SudokuAction, SudokuObservation,
                      env_name="sudoku", max_concurrent_envs=sessions)


if __name__ == "__main__":
    run(build)
