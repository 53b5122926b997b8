"""Scripted players, on games in process."""

import random
from asyncio import run

import pytest

from backend.environments.catalog import CATALOG
from backend.environments.players import PLAYERS, CatchPlayer, Erring, played_all
from backend.environments.sources import in_process
from backend.records import EnvironmentSpec, TaskSelection


def games(use: str, new_player, count: int = 100, seed: int = 0):
    spec = EnvironmentSpec(id=use, use=use)
    here = in_process(spec)
    return run(played_all(new_player, here, spec, here.tasks(TaskSelection(count=count), {}), seed))


def share_won(plays) -> float:
    return sum(play.status() == "won" for play in plays) / len(plays)


def test_every_environment_has_a_player_and_every_player_an_environment():
    assert PLAYERS.keys() == CATALOG.keys()


@pytest.mark.parametrize("use, name", [(use, name) for use, named in PLAYERS.items() for name in named])
def test_a_player_makes_no_call_that_is_refused(use, name):
    for play in games(use, PLAYERS[use][name], count=20):
        assert play.fault is None and play.turns and play.seconds is not None
        assert [turn.fault for turn in play.turns] == [None] * len(play.turns)


def test_the_perfect_catch_player_catches_every_ball():
    assert share_won(games("catch", PLAYERS["catch"]["perfect"])) == 1


def test_the_wordle_solver_wins_nearly_always_and_the_random_player_nearly_never():
    assert share_won(games("wordle", PLAYERS["wordle"]["solver"])) > 0.95
    assert share_won(games("wordle", PLAYERS["wordle"]["random"])) < 0.05


def test_a_player_that_errs_more_catches_less():
    shares = [share_won(games("catch", lambda rng, share=share: Erring(CatchPlayer(rng), share, rng), count=300))
              for share in (0.0, 0.5, 1.0)]
    assert shares[0] == 1 and 0.55 < shares[1] < 0.85 and shares[2] < 0.4


def test_the_same_seed_plays_the_same_games():
    def calls(seed):
        return [[(turn.tool, turn.arguments) for turn in play.turns]
                for play in games("wordle", PLAYERS["wordle"]["solver"], count=10, seed=seed)]

    random.seed(1)
    first = calls(5)
    random.seed(2)
    assert calls(5) == first != calls(6)
