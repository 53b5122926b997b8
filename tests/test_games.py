"""The games themselves, without a server."""

import itertools
import random
import re

import pytest

from backend.environments.games import GameOver
from backend.environments.games.catch import COLUMNS, MOVES, Catch
from backend.environments.games.echo import Echo
from backend.environments.games.sudoku import Sudoku
from backend.environments.games.wordle import WORDS, Wordle, allowed, answers, marks


@pytest.mark.parametrize("name", ["answers.txt", "guesses.txt"])
def test_a_word_list_holds_five_letter_words_once_each_in_order(name):
    words = (WORDS / name).read_text().splitlines()
    assert words == sorted(set(words))
    assert [word for word in words if not re.fullmatch("[a-z]{5}", word)] == []


def test_there_are_enough_words_and_no_answer_is_listed_twice():
    assert len(answers()) >= 600
    assert len(allowed()) >= 2500
    assert not set(answers()) & set((WORDS / "guesses.txt").read_text().split())


@pytest.mark.parametrize("guess, secret, expected", [
    ("crane", "crane", "GGGGG"),
    ("crane", "build", "XXXXX"),
    ("crane", "nacre", "YYYYG"),
    ("speed", "abide", "XXYXY"),  # one e in the secret: only the first e is marked
    ("speed", "erase", "YXYYX"),  # two
    ("speed", "steal", "GXGXX"),  # the green e takes it
    ("allay", "llama", "YGYYX"),
    ("geese", "eagle", "YYXXG"),  # of three e's the green one counts first
])
def test_marks_count_each_letter_as_often_as_the_secret_has_it(guess, secret, expected):
    assert marks(guess, secret) == expected


def wordle(secret: str) -> Wordle:
    game = Wordle()
    game.reset(answers().index(secret))
    return game


def test_a_guess_is_answered_letter_by_letter():
    seen = wordle("plain").step("[crane]")
    assert seen["text"] == "Feedback:\nC R A N E\nX X G Y X\n5 guesses left."
    assert (seen["reward"], seen["done"], seen["last_guess"], seen["last_feedback"]) == (0.0, False, "crane", "XXGYX")
    assert (seen["guesses"], seen["best_greens"], seen["secret"]) == (1, 1, None)


@pytest.mark.parametrize("written", ["[crane]", "crane", " CRANE ", "[ Crane ]", "I will try [crane] now"])
def test_a_guess_may_be_written_in_brackets_or_bare(written):
    assert wordle("plain").step(written)["last_guess"] == "crane"


@pytest.mark.parametrize("written, why", [
    ("[cranes]", "cranes has 6 letters, not 5."),
    ("[cat]", "cat has 3 letters, not 5."),
    ("[zzxzz]", "zzxzz is not in the word list."),
    ("[slate]", "slate was guessed before."),
    ("my first guess", "write one word in square brackets, such as [crane]."),
    ("", "write one word in square brackets, such as [crane]."),
    ("a" * 5_000_000, "aaaaaaaaaaaaaaaaaaaa… has 5000000 letters, not 5."),
])
def test_an_invalid_move_is_named_and_uses_up_no_guess(written, why):
    game = wordle("plain")
    game.step("[slate]")
    seen = game.step(written)
    assert seen["text"] == f"Invalid move: {why} 5 guesses left."
    assert (seen["guesses"], seen["invalid_moves"], seen["invalid"], seen["done"]) == (1, 1, False, False)


def test_a_second_invalid_move_in_a_row_ends_the_game_as_invalid():
    game = wordle("plain")
    game.step("[zzxzz]")
    game.step("[slate]")
    game.step("[zzxzz]")
    seen = game.step("[slate]")
    assert seen["done"] and seen["invalid"] and not seen["won"]
    assert (seen["invalid_moves"], seen["guesses"]) == (3, 1)
    assert seen["text"].endswith("ends the game. The word was plain.")
    with pytest.raises(GameOver):
        game.step("[plain]")


def test_finding_the_word_wins():
    game = wordle("plain")
    game.step("[crane]")
    seen = game.step("[plain]")
    assert (seen["won"], seen["done"], seen["reward"], seen["guesses"], seen["secret"]) == (True, True, 1.0, 2, "plain")
    assert seen["text"].endswith("G G G G G\nYou won.")


def test_the_sixth_guess_ends_the_game_and_a_near_miss_is_worth_its_share():
    game = wordle("plain")
    guesses = [game.step(word) for word in ("crane", "slate", "build", "house", "chair", "plait")]
    assert [seen["done"] for seen in guesses] == [False] * 5 + [True]
    assert guesses[-1]["reward"] == 0.8
    assert guesses[4]["text"].endswith("1 guess left.")
    assert guesses[-1]["text"].endswith("You lost. The word was plain.")


def test_consecutive_seeds_play_every_word_before_one_comes_again():
    game = Wordle()
    tasks = [game.reset(seed)["metadata"]["fingerprint"] for seed in range(1000, 1000 + len(answers()))]
    assert len(set(tasks)) == len(answers())


@pytest.mark.parametrize("game", [Catch, Wordle, Sudoku, Echo])
def test_the_same_seed_begins_the_same_game(game):
    assert game().reset(7) == game().reset(7)


@pytest.mark.parametrize("game", [Catch, Wordle, Sudoku, Echo])
def test_a_move_before_the_beginning_is_refused(game):
    action = {Catch: {"move": "stay"}, Wordle: {"guess": "[crane]"}, Sudoku: {"row": 1, "column": 1, "value": 1},
              Echo: {"message": "x"}}[game]
    with pytest.raises(GameOver):
        game().step(**action)


def test_five_consecutive_seeds_drop_the_ball_in_five_columns():
    assert sorted(Catch().reset(seed)["ball_column"] for seed in range(33, 38)) == list(range(COLUMNS))


def test_catch_says_where_everything_is_in_one_regular_line():
    game = Catch()
    lines = [game.reset(1)["text"], *(game.step("right")["text"] for _ in range(9))]
    assert lines[0] == "ball 0 1 paddle 2"
    assert lines[1] == "ball 1 1 paddle 3"
    assert lines[-1] == "ball 9 1 paddle 4 missed"
    assert all(re.fullmatch(r"ball \d \d paddle \d", line) for line in lines[:-1])


def test_catch_is_won_lost_and_near_as_the_paddle_lands():
    for column, moves in itertools.product(range(COLUMNS), (["left"] * 9, ["stay"] * 9, ["right"] * 9)):
        game = Catch()
        before = game.reset(column)
        assert (before["won"], before["caught"], before["nearness"]) == (False, None, None)
        *_, last = [game.step(move) for move in moves]
        paddle = {"left": 0, "stay": 2, "right": 4}[moves[0]]
        assert last["caught"] is last["won"] is (paddle == column)
        assert last["nearness"] == 1 - abs(paddle - column) / 4
        assert last["reward"] == (1.0 if paddle == column else -1.0)


def test_catch_moves_as_openspiel_moves():
    import pyspiel

    rng = random.Random(0)
    for column in range(COLUMNS):
        game, state = Catch(), pyspiel.load_game("catch").new_initial_state()
        seen = game.reset(column)
        state.apply_action(column)
        while not state.is_terminal():
            action = rng.randrange(3)
            state.apply_action(action)
            seen = game.step(MOVES[action])
            board = str(state).splitlines()
            if "o" in board[seen["ball_row"]]:
                assert board[seen["ball_row"]].index("o") == seen["ball_column"]
            assert board[-1].index("x") == seen["paddle_column"] or seen["caught"]
        assert seen["done"] and seen["reward"] == state.returns()[0]
