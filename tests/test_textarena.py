"""TextArena's games: the list is what is installed, all of it plays without a network, and seeds are honoured."""

import json
import random
import re
import sys
from asyncio import gather, run
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest

from backend.environments import EPISODE_FACTS, Task
from backend.environments.adapters.text_game import adapter
from backend.environments.games import GameOver
from backend.environments.games.text_game import TextGame
from backend.environments.in_process import InProcess
from backend.environments.listing import built_in
from backend.environments.players import played, players
from backend.environments.playthrough import Playthrough
from backend.environments.sources import check, described, reach, source
from backend.environments.text_games import GAMES
from backend.errors import SpecError
from backend.records import EnvironmentSpec, Episode, TaskSelection
from backend.rewards import check as check_term
from ui.viewers import text_board, viewer

PLAYED = [name for name, game in GAMES.items() if not game.refused and not game.fetches]
FIRST = [name for name in PLAYED if name.endswith("-v0")]

reaching_out: list[str] = []
forbidden: list[bool] = []
sys.addaudithook(lambda event, args: event in ("socket.connect", "socket.getaddrinfo") and forbidden
                 and reaching_out.append(f"{event} {args[1:]}"))


@pytest.fixture
def offline():
    """Notes every attempt to reach another machine."""
    reaching_out.clear()
    forbidden.append(True)
    yield reaching_out
    forbidden.clear()


def spec(name: str, **more) -> EnvironmentSpec:
    return EnvironmentSpec(id="game", use=f"textarena:{name}", **more)


def here(name: str) -> InProcess:
    return InProcess(partial(TextGame, name), adapter(GAMES[name]))


async def episode(played_on, name: str, seed: int, calls: int = 60) -> Playthrough:
    player = players(f"textarena:{name}")["random"](random.Random(seed))
    return await played(player, played_on, spec(name, max_turns=calls), Task(str(seed), seed))


def story(play: Playthrough) -> list:
    return [play.opening, play.start_facts, play.fingerprint, play.facts,
            *(turn.model_dump(exclude={"seconds"}) for turn in play.turns)]


# ---------------------------------------------------------------------------------------------------------- the list


def test_the_list_has_every_game_for_one_player_that_the_library_has():
    from textarena.envs.registration import ENV_REGISTRY

    folder = Path(find_spec("textarena").origin).parent.parent
    single = set()
    for name, known in ENV_REGISTRY.items():
        file = folder / f"{known.entry_point.split(':')[0].replace('.', '/')}.py"
        if not name.endswith(("-raw", "-train")) and file.exists() and "SinglePlayerState" in file.read_text("utf-8"):
            single.add(name)
    assert set(GAMES) - {"BabyAiText-v0"} == single


@pytest.mark.parametrize("name", PLAYED)
def test_a_listed_game_plays_a_random_episode_without_a_network(name, offline):
    play = run(episode(here(name), name, 3))
    assert play.fault is None and play.opening and play.fingerprint and play.turns
    assert play.done or len(play.turns) == 60
    assert play.facts.keys() == described(spec(name)).facts.keys() | EPISODE_FACTS.keys() - {"truncated",
                                                                                             "completion_tokens"}
    assert isinstance(play.facts["reward"], float) == play.done
    assert offline == []
    json.dumps(story(play))


@pytest.mark.parametrize("name", FIRST)
def test_a_seed_is_one_task_and_another_seed_another_where_the_game_has_several(name):
    first, again, other = (run(episode(here(name), name, seed, calls=3)) for seed in (5, 5, 6))
    assert story(first) == story(again)
    assert (first.fingerprint != other.fingerprint) == GAMES[name].seeded


def test_a_game_describes_itself():
    for name in PLAYED:
        told = described(spec(name))
        assert told.title and told.about and told.max_turns >= (GAMES[name].turns or 1)
        for _, expression in told.rewards:
            check_term(expression, told.facts.keys() | EPISODE_FACTS.keys())
    assert len({described(spec(name)).title for name in PLAYED}) == len(PLAYED)


# ----------------------------------------------------------------------------------------------------------- a game


def test_games_side_by_side_do_not_change_each_others_course():
    async def alone(seed):
        return await episode(here("2048-v0-8x8"), "2048-v0-8x8", seed, calls=20)

    async def together():
        return await gather(alone(1), alone(2))

    apart = [run(alone(1)), run(alone(2))]
    random.seed(0)
    assert [story(play) for play in run(together())] == [story(play) for play in apart]
    drawn = random.random()
    random.seed(0)
    assert random.random() == drawn, "nor the generator of whoever plays them"


def test_only_what_is_new_is_told_and_the_move_is_not_repeated():
    game = TextGame("GuessTheNumber-v0")
    rules = game.reset(4)["text"]
    low, high = game.step("[1]"), game.step("20")
    assert "number" in rules and rules not in low["text"] and low["text"] not in high["text"]
    assert "[20]" not in high["text"] and "[1]" not in low["text"]


def test_a_win_an_invalid_move_and_a_game_that_is_over():
    game = TextGame("GuessTheNumber-v0")
    game.reset(4)
    seen = next(seen for number in range(1, 21) if (seen := game.step(f"[{number}]"))["done"] or number == 10)
    game.reset(4)
    assert (first := game.step("hm"))["invalid_moves"] == 1 and not first["done"] and first["won"] is None
    assert "invalid move" in first["text"]
    last = game.step("hm")
    assert (last["done"], last["invalid"], last["won"], last["invalid_moves"]) == (True, True, False, 2)
    with pytest.raises(GameOver):
        game.step("[1]")
    assert seen["done"] and isinstance(seen["reward"], float)
    assert won_somewhere()


def won_somewhere() -> bool:
    """Three cups can be followed by anyone who tries each."""
    for guess in range(3):
        game = TextGame("ThreeCardMonte-v0")
        game.reset(0)
        seen = game.step(f"[{guess}]")
        if seen["reward"] == 1.0:
            return seen["won"] and seen["done"] and not seen["invalid"]
    return False


@pytest.mark.parametrize("name", ["Countdown-v0", "Cryptarithm-v0", "Slitherlink-v0", "ThreeCardMonte-v0"])
def test_a_refusal_says_why_even_where_the_library_mixes_it_up(name):
    game = TextGame(name)
    game.reset(0)
    assert re.search("Reason: Bad|Reason: Invalid", game.step("[nonsense]")["text"])
    seen = game.step("[nonsense]")
    assert seen["invalid"] and isinstance(seen["reward"], float) and re.search("Bad|Invalid action", seen["text"])


def test_a_game_that_only_scores_is_never_lost():
    play = run(episode(here("Blackjack-v0"), "Blackjack-v0", 3))
    assert play.status() == "finished" and play.facts["won"] is None and 0 <= play.facts["reward"] <= 1


@pytest.mark.parametrize("message", ["", "[", "[[[", "[٣ ٣ ٣]", "[99999999999999999999 1 1]", "\ud800", "x" * 100_000])
@pytest.mark.parametrize("name", ["2048-v0", "Sudoku-v0", "Minesweeper-v0", "RushHour-v0", "Mastermind-v0"])
def test_any_message_is_answered(name, message):
    game = TextGame(name)
    game.reset(1)
    assert game.step(message)["text"]


# ------------------------------------------------------------------------------------------------ what can't be played


@pytest.mark.parametrize("name, why", [
    ("2048", "did you mean textarena:2048-v0"), ("frozenlake-v0", "did you mean textarena:FrozenLake-v0?"),
    ("Chess-v0", "TextArena has no game 'Chess-v0' for one player"), ("", "one is textarena:2048-v0"),
    ("TwentyQuestions-v0", "TwentyQuestions-v0 asks a language model at OpenRouter"),
    ("Klondike-v0", "has a syntax error there; choose another"), ("Sudoku-v0-hard", "takes up to half a minute"),
])
def test_what_cannot_be_played_is_refused_with_the_reason(name, why):
    with pytest.raises(SpecError, match=re.escape(why)) as wrong:
        check(spec(name))
    assert wrong.value.field == "use"


def test_options_are_refused():
    with pytest.raises(SpecError, match="has no option 'size'; it has none"):
        check(spec("2048-v0", options={"size": 4}))


@pytest.fixture
def word_lists(tmp_path, monkeypatch):
    """NLTK's word corpus as it is laid out, with words of ours; gone from this machine until it is put in place."""
    import nltk

    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    monkeypatch.setenv("NLTK_DATA", str(tmp_path))

    def put():
        (tmp_path / "corpora/words").mkdir(parents=True)
        for list_name in ("en", "en-basic"):
            (tmp_path / "corpora/words" / list_name).write_text("apple\ngarden\nwindow\nsilver\n")

    return put


def test_a_game_that_would_fetch_words_says_so_and_plays_once_they_are_there(word_lists, offline):
    for name, command in (("Hangman-v0", "python -m nltk.downloader words"),
                          ("Wordle-v0", "python -m nltk.downloader words averaged_perceptron_tagger_eng")):
        with pytest.raises(SpecError, match=command + "$"):
            check(spec(name))
    assert offline == []
    forbidden.clear()
    word_lists()
    with reach(spec("Hangman-v0"), 2) as address:
        play = run(episode(source(spec("Hangman-v0"), address), "Hangman-v0", 1, calls=3))
    assert play.fault is None and "Hangman" in play.opening


# ------------------------------------------------------------------------------------------------------ over a server


def test_a_served_game_reads_like_one_in_process_and_a_group_plays_one_task():
    asked = spec("2048-v0-ultra-easy")

    async def group(played_on):
        return await gather(*(episode(played_on, "2048-v0-ultra-easy", seed) for seed in (7, 7, 7, 7, 8)))

    with reach(asked, 8) as address:
        there = source(asked, address)
        assert [task.seed for task in there.tasks(TaskSelection(count=2, first_seed=7), {})] == [7, 8]
        plays = run(group(there))
    assert [play.fault for play in plays] == [None] * 5
    assert len({play.fingerprint for play in plays[:4]}) == 1 != len({play.fingerprint for play in plays[3:]})
    assert json.dumps([story(play) for play in plays]) == json.dumps([story(play) for play in run(group(here(
        "2048-v0-ultra-easy")))])


# -------------------------------------------------------------------------------------------------------------- drawn


def recorded(name: str) -> Episode:
    play = run(episode(here(name), name, 3, calls=6))
    return Episode(id="1-0-0", step=1, group=0, sample=0, environment="game", status=play.status(), facts=play.facts,
                   turns=tuple(play.turns), start_facts=play.start_facts)


def test_the_board_is_drawn_and_the_lines_that_changed_are_marked():
    told = recorded("FrozenLake-v0")
    assert viewer(told, "text_board") is text_board
    frames = text_board.frames(told)
    assert len(frames) == len(told.turns) + 1
    assert "P" in frames[0] and "o-changed" not in frames[0]
    assert all("o-text-lines" in frame for frame in frames)
    one, other = "a b c\n. . .", "a b c\n. X ."
    changed = text_board.frames(told.model_copy(update={"start_facts": {"board": one}, "facts": {}, "turns": (
        told.turns[0].model_copy(update={"facts": {"board": other}}),)}))[1]
    assert re.findall("class=o-changed>([^<]*)<", changed) == [". X ."]


def test_a_game_without_a_board_is_told_in_words():
    assert viewer(recorded("Mastermind-v0"), "text_board").__name__.endswith("transcript")


def test_every_game_is_in_the_catalog_with_its_versions_and_what_it_would_fetch():
    listed = {one.use: one for one in built_in()}
    assert "textarena:FrozenLake-v0-random" in listed["textarena:FrozenLake-v0"].note
    assert listed["textarena:FrozenLake-v0"].status == "built in"
    assert listed["textarena:Hangman-v0"].first.endswith("python -m nltk.downloader words")
    assert listed["textarena:GuessWho-v0"].status == "not run here"
    assert listed["textarena:Countdown-v0"].note == "Every seed plays the same task."
    for name in GAMES:
        assert any(one.use == f"textarena:{name}" or f"textarena:{name}" in one.note or GAMES[name].refused
                   for one in listed.values()), name
