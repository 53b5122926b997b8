"""Sudoku: its grids, its options, its players over a real server, and how it is drawn."""

import random
import re
from asyncio import run

import pytest

from backend.environments import Task
from backend.environments.catalog import check
from backend.environments.games import GameOver
from backend.environments.games.sudoku import MOST_BLANKS, Sudoku, clashes, puzzle, read, solutions
from backend.environments.players import PLAYERS, played, played_all
from backend.environments.sources import described, in_process, reach, source
from backend.errors import SpecError
from backend.records import EnvironmentSpec, Episode, Fault, TaskSelection, Turn
from ui.viewers import sudoku


def spec(**options) -> EnvironmentSpec:
    return EnvironmentSpec(id="sudoku", use="sudoku", options=options)


# ---------------------------------------------------------------------------------------------------------- the game


@pytest.mark.parametrize("size, blanks", [(9, 1), (9, 12), (9, MOST_BLANKS[9]), (4, 6), (4, MOST_BLANKS[4])])
def test_a_puzzle_has_as_many_blanks_as_asked_for_and_one_solution(size, blanks):
    for seed in range(10):
        grid, whole = puzzle(size, blanks, seed)
        assert grid.count(".") == blanks and len(grid) == size ** 2
        assert solutions(read(grid), size, 2) == [read(whole)]
        assert not any(clashes(read(whole), size, place, digit) for place, digit in enumerate(read(whole)))


def test_a_grid_that_breaks_the_rules_has_no_solution():
    assert solutions(read("11.." + "." * 12), 4, 2) == []


def test_seeds_make_different_puzzles_and_one_seed_the_same():
    assert len({puzzle(4, 6, seed) for seed in range(50)}) > 45
    assert len({Sudoku().reset(seed)["board"] for seed in (1, 1, 2)}) == 2


def begun() -> tuple[Sudoku, dict, int, str]:
    """(game, first observation, place of a blank, its digit)"""
    game = Sudoku()
    first = game.reset(3, size=4, blanks=2)
    place = first["board"].index(".")
    return game, first, place, puzzle(4, 2, 3)[1][place]


def test_the_grid_is_shown_row_by_row():
    first = Sudoku().reset(3, size=4, blanks=6)
    assert first["text"] == "1: 4 3 | 2 .\n2: 2 1 | 4 .\n3: 3 2 | 1 .\n4: . . | . 2"
    assert first["board"] == "432.214.321....2"
    assert (first["blanks"], first["filled"], first["won"], first["reward"]) == (6, 0, False, None)


def test_the_right_digit_stays_and_the_last_one_solves():
    game, first, place, digit = begun()
    seen = game.step(place // 4 + 1, place % 4 + 1, int(digit))
    assert seen["board"][place] == digit and seen["text"].endswith("1 empty cell left.")
    assert (seen["filled"], seen["share_filled"], seen["reward"], seen["done"]) == (1, 0.5, 0.0, False)
    place = seen["board"].index(".")
    seen = game.step(place // 4 + 1, place % 4 + 1, int(puzzle(4, 2, 3)[1][place]))
    assert (seen["won"], seen["done"], seen["reward"], seen["share_filled"]) == (True, True, 1.0, 1.0)
    assert seen["text"].endswith("\nSolved.")


def test_an_invalid_move_is_named_and_leaves_the_grid():
    game, first, place, digit = begun()
    row, column = place // 4 + 1, place % 4 + 1
    given = next(place for place, cell in enumerate(first["board"]) if cell != ".")
    for move, why in (((0, 1, 1), "row 0 isn't from 1 to 4."), ((1, 1, 9**99), "value … isn't from 1 to 4."),
                      ((given // 4 + 1, given % 4 + 1, 1), "holds"),
                      ((row, column, int(digit) % 4 + 1), "stands in the same")):
        game.reset(3, size=4, blanks=2)
        seen = game.step(*move)
        assert seen["text"].startswith("Invalid move: ") and why in seen["text"]
        assert seen["text"].endswith("2 empty cells left.")
        assert (seen["board"], seen["invalid_moves"], seen["done"]) == (first["board"], 1, False)


def test_a_digit_that_only_the_solution_rules_out_is_refused_too():
    game = Sudoku()
    cells = read(game.reset(0, size=4, blanks=10)["board"])
    whole = puzzle(4, 10, 0)[1]
    place, digit = next((place, digit) for place, cell in enumerate(cells) if not cell for digit in range(1, 5)
                        if not clashes(cells, 4, place, digit) and str(digit) != whole[place])
    assert f"{digit} doesn't belong in row" in game.step(place // 4 + 1, place % 4 + 1, digit)["text"]


def test_a_second_invalid_move_in_a_row_ends_the_game():
    game, first, place, digit = begun()
    game.step(9, 1, 1)
    game.step(place // 4 + 1, place % 4 + 1, int(digit))
    assert not game.step(9, 1, 1)["done"]
    seen = game.step(9, 1, 1)
    assert (seen["done"], seen["invalid"], seen["won"], seen["reward"]) == (True, True, False, 0.5)
    with pytest.raises(GameOver):
        game.step(1, 1, 1)


# ------------------------------------------------------------------------------------------------------------ options


@pytest.mark.parametrize("options, field, why", [
    ({"blank": 3}, "options", "sudoku has no option 'blank'; did you mean blanks?"),
    ({"hard": True}, "options", "it has size and blanks; leave it out"),
    ({"blanks": "many"}, "options.blanks", "'many' is not of type 'integer'. How hard it is"),
    ({"blanks": True}, "options.blanks", "not of type 'integer'"),
    ({"blanks": 0}, "options.blanks", "less than the minimum of 1"),
    ({"blanks": 51}, "options.blanks", "greater than the maximum of 50"),
    ({"size": 6}, "options.size", "6 is not one of [9, 4]"),
    ({"size": 4, "blanks": 30}, "options.blanks", "30 blanks are too many for a grid of 4 x 4; use 1 to 10"),
])
def test_an_option_that_does_not_fit_is_named_with_the_remedy(options, field, why):
    with pytest.raises(SpecError, match=re.escape(why)) as wrong:
        check(spec(**options))
    assert wrong.value.field == field


def test_options_change_tools_prompt_and_turns():
    usual, small = described(spec()), described(spec(size=4, blanks=3))
    assert usual.tools[0].parameters["properties"]["value"]["maximum"] == 9
    assert small.tools[0].parameters["properties"]["value"]["maximum"] == 4
    assert "4 x 4 grid" in small.prompt and small.max_turns == 6
    assert usual.facts == small.facts and usual.rewards == small.rewards


@pytest.mark.parametrize("options, refusal", [({"size": 5}, "size is 5; it can be 9 or 4"),
                                              ({"blanks": "x"}, "blanks is 'x'; on 9 x 9 cells it can be 1 to 50")])
def test_the_game_itself_refuses_options_that_nobody_checked(options, refusal):
    with pytest.raises(ValueError, match=re.escape(refusal)):
        Sudoku().reset(0, **options)


# ------------------------------------------------------------------------------------------- players, a server, a board


def test_the_solver_fills_every_grid_over_a_real_server_as_its_options_say():
    small = spec(size=4, blanks=7)

    async def games(here):
        return await played_all(PLAYERS["sudoku"]["solver"], here, small, here.tasks(TaskSelection(count=8),
                                                                                     small.options))

    with reach(small, 10) as address:
        there = run(games(source(small, address)))
    assert [play.status() for play in there] == ["won"] * 8
    assert {play.facts["blanks"] for play in there} == {len(play.turns) for play in there} == {7}
    assert len({play.fingerprint for play in there}) > 5
    assert [play.turns for play in run(games(in_process(small)))][0][-1].result == there[0].turns[-1].result


def test_the_random_player_fills_some_of_a_hard_grid():
    hard = spec(blanks=30)
    here = in_process(hard)
    tasks = here.tasks(TaskSelection(count=20), hard.options)
    plays = run(played_all(PLAYERS["sudoku"]["random"], here, hard, tasks))
    shares = [play.facts["share_filled"] for play in plays]
    assert 0.1 < sum(shares) / len(shares) < 0.95
    assert {play.status() for play in plays} >= {"invalid"}


def drawn(*moves: tuple[int, int, int]) -> tuple[Episode, list[str]]:
    left = iter([("place", {"row": row, "column": column, "value": value}) for row, column, value in moves])
    small = spec(size=4, blanks=6)
    play = run(played(lambda play: next(left, None), in_process(small), small, Task("3", 3, small.options)))
    told = Episode(id="1-0-0", step=1, group=0, sample=0, environment="sudoku", status="lost", turns=tuple(play.turns),
                   start_facts=play.start_facts, facts=play.facts)
    return told, sudoku.frames(told)


def cell(frame: str, row: int, column: int) -> str:
    return re.findall(r'<b class="o-cell[^>]*>[^<]*</b>', frame)[(row - 1) * 4 + column - 1]


def test_givens_are_bold_what_was_placed_has_the_accent_and_the_last_a_ring():
    _, frames = drawn((1, 4, 1), (2, 4, 3))
    assert "o-given" in cell(frames[0], 1, 1) and "o-last" not in frames[0]
    assert cell(frames[1], 1, 4) == '<b class="o-cell o-placed o-last o-aligned">1</b>'
    assert "o-last" in cell(frames[2], 2, 4) and "o-last" not in cell(frames[2], 1, 4)
    assert "<b>2</b> of 6 filled" in frames[2]
    assert "2 of 6 empty cells filled. Last: 3 in row 2, column 4" in frames[2]


def test_a_refused_digit_is_red_in_the_turn_that_tried_it_and_counted_after():
    _, frames = drawn((1, 4, 3), (1, 4, 1))
    assert "o-wrong" in cell(frames[1], 1, 4) and ">3<" in cell(frames[1], 1, 4)
    assert "Refused: 3 in row 1, column 4" in frames[1]
    assert "o-wrong" not in frames[2] and "1 refused" in frames[2]


def test_a_digit_the_environment_keeps_though_it_clashes_is_red():
    grid = "12.." "...." "...." "...."
    told = Episode(id="1-0-0", step=1, group=0, sample=0, environment="any", status="lost", start_facts={"board": grid},
                   turns=(Turn(index=0, tool="place", facts={"board": "121." + grid[4:]}),))
    assert "o-wrong" in cell(sudoku.frames(told)[1], 1, 3) and "o-given" in cell(sudoku.frames(told)[1], 1, 1)


def test_a_call_that_was_refused_by_its_schema_is_drawn_where_it_can_be():
    grid = "12.." "...." "...." "...."
    wrong, known = Fault(where="model", kind="wrong_arguments", message="no"), {"row": 1, "column": 3, "value": 9}
    for arguments in (known, {"row": "x"}, "nonsense", {"row": 40, "column": 1, "value": 1}):
        turn = Turn(index=0, tool="place", arguments=arguments, fault=wrong)
        told = Episode(id="1-0-0", step=1, group=0, sample=0, environment="any", status="lost",
                       start_facts={"board": grid}, turns=(turn,))
        frame = sudoku.frames(told)[1]
        assert "1 refused" in frame and ("o-wrong" in frame) == (arguments is known)


def test_a_long_game_is_drawn_quickly():
    rng = random.Random(0)
    grid, whole = puzzle(9, 50, 1)
    turns, board = [], list(grid)
    for place in rng.sample([place for place in range(81) if grid[place] == "."], 50):
        board[place] = whole[place]
        turns.append(Turn(index=len(turns), tool="place", facts={"board": "".join(board)}))
    told = Episode(id="1-0-0", step=1, group=0, sample=0, environment="sudoku", status="won", turns=tuple(turns),
                   start_facts={"board": grid}, facts={"won": True})
    frames = sudoku.frames(told)
    assert len(frames) == 51 and "Solved" in frames[-1] and "o-wrong" not in frames[-1]
    assert sum(map(len, frames)) < 500_000
