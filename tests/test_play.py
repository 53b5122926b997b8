"""Playing by hand, over real sockets: what a person does is refused, scored and kept as a model's episode is."""

import json
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from openreward.environments import Server as SdkServer

from backend.cli import main
from backend.cli.playing import understood
from backend.environments import Tool
from backend.environments.examples.ors_server import Locks
from backend.errors import OrtamError, RewardError, SpecError
from backend.play import Sittings, by_hand, chosen, worth_by
from backend.records import RewardTerm, RunSpec
from backend.store import Store
from tests.openenv_servers import mcp_cases
from tests.ors_servers import serving
from ui.play import choice, comparison, number_of
from ui.play_parts import drawn, news
from ui.tool_forms import tool_forms

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def process(tmp_path_factory):
    """One that plays; its environments stay up from test to test."""
    made = Sittings(Store(tmp_path_factory.mktemp("none")), most=4, unused=1e9)
    yield made
    made.close()


@pytest.fixture
def sittings(process, store):
    process.store = store
    yield process
    process.sweep(time.monotonic() + 3600)


@pytest.fixture(scope="module")
def ors():
    with serving(SdkServer([Locks]).app) as url:
        yield url


def only_run(store):
    (summary,) = store.runs()
    return store.run(summary.id)


# ---------------------------------------------------------------------------------------------------------- one game


def test_a_game_played_to_its_end_is_an_episode_with_the_policy_human(store, sittings):
    id = sittings.begin(chosen(store, "catch", seed=4))
    for _ in range(2):
        sittings.call(id, "move", {"direction": "right"})
    while not (seat := sittings.look(id)).sitting.ended:
        sittings.call(id, "stay", {})
    kept = store.run(seat.kept.run).episode(seat.kept.id)
    assert (kept.status, kept.phase, kept.policy.kind, kept.seed, kept.total) == ("won", "play", "human", 4, 1.5)
    assert len(kept.turns) == 9 and kept.prompt[0]["content"].endswith("ball 0 4 paddle 2") and kept.fingerprint
    assert kept.scores == {"caught": 1.0, "near": 0.5} and kept.stop == "the environment ended it"
    run = only_run(store)
    assert (run.spec.name, run.status(), run.spec.environments[0].use) == ("played", "finished", "catch")


def test_each_term_is_known_after_every_turn(store, sittings):
    id = sittings.begin(chosen(store, "wordle", seed=0))
    for word in ("crane", "zzzzz", "crane"):
        seat = sittings.call(id, "guess", {"guess": word})
    worth = seat.sitting.worth
    assert len(worth) == 4 and [round(scores["invalid"], 6) + 0 for scores in worth] == [0, 0, -0.1, -0.2]
    assert seat.sitting.ended and seat.sitting.episode().status == "invalid"


def test_a_refused_call_is_a_turn_and_one_after_the_end_is_nothing(store, sittings):
    id = sittings.begin(chosen(store, "catch"))
    assert sittings.call(id, "jump", {}).sitting.play.turns[-1].fault.kind == "unknown_tool"
    assert sittings.call(id, "move", {"direction": "up"}).sitting.play.turns[-1].fault.kind == "wrong_arguments"
    assert sittings.call(id, "move", "right").sitting.play.turns[-1].fault.kind == "wrong_arguments"
    ended = sittings.end(id)
    assert ended.sitting.episode().stop == "stopped by hand" and ended.kept
    assert len(sittings.call(id, "stay", {}).sitting.play.turns) == 3
    assert only_run(store).count_episodes() == 1


@pytest.mark.parametrize("use, player, status", [("catch", "perfect", "won"), ("wordle", "solver", "won"),
                                                 ("catch", "random", None)])
def test_a_scripted_player_takes_the_same_seat(store, sittings, use, player, status):
    id = sittings.begin(chosen(store, use, seed=2), player)
    while not (seat := sittings.advance(id)).sitting.ended:
        pass
    kept = store.run(seat.kept.run).episode(seat.kept.id)
    assert (kept.policy.kind, kept.policy.name) == ("script", player) and status in (None, kept.status)


def test_a_player_that_is_not_known_is_a_sentence(store, sittings):
    with pytest.raises(SpecError, match="use perfect or random"):
        sittings.begin(chosen(store, "catch"), "solver")


def test_an_environment_that_fails_ends_the_game_unscored_with_its_reason(store, sittings, odd):
    id = sittings.begin(chosen(store, f"openenv+{odd}/breaks"))
    seat = sittings.look(id)
    assert seat.sitting.ended and seat.sitting.episode().status == "env_error" and seat.kept
    assert "no map" in seat.sitting.episode().fault.message and seat.sitting.episode().total is None
    assert "no map" in drawn(seat)["html"]


# -------------------------------------------------------------------------------------------------- whose rewards count


def test_a_game_may_be_worth_by_the_terms_of_a_run_or_of_a_saved_set(store, sittings):
    run = store.create(RunSpec.model_validate({
        "name": "mine", "model": "x", "environments": [{"id": "c", "use": "catch", "max_turns": 3},
                                                       {"id": "e", "use": "echo"}],
        "rewards": [{"name": "calls", "value": "1.0 * turns", "environments": ["c"]},
                    {"name": "other", "value": "1.0", "environments": ["e"]}]}))
    store.save_reward_set("quick", [RewardTerm(name="fast", value="-1.0 * turns", weight=2.0)])
    assert [value for value, _ in worth_by(store, "catch")] == ["own", "set:quick", f"run:{run.id}"]

    id = sittings.begin(chosen(store, "catch", worth=f"run:{run.id}"))
    for _ in range(3):
        seat = sittings.call(id, "stay", {})
    assert seat.sitting.ended and seat.sitting.episode().scores == {"calls": 3.0}
    assert store.run(seat.kept.run).spec.environments[0].id == "c"

    id = sittings.begin(chosen(store, "catch", worth="set:quick"))
    assert sittings.call(id, "stay", {}).sitting.episode().total == -2.0


@pytest.mark.parametrize("worth, error", [("set:none", SpecError), ("run:none", OrtamError), ("nonsense", SpecError)])
def test_rewards_that_are_not_there_are_a_sentence(store, worth, error):
    store.create(RunSpec.model_validate({"name": "x", "model": "x", "environments": [{"id": "e", "use": "echo"}]}))
    with pytest.raises(error):
        chosen(store, "catch", worth=worth)


def test_terms_that_do_not_fit_are_refused_before_anything_is_played(store, sittings):
    store.save_reward_set("words", [RewardTerm(name="g", value="1.0 * guesses")])
    with pytest.raises(RewardError, match="guesses"):
        sittings.begin(chosen(store, "catch", worth="set:words"))
    assert not store.runs()


# ------------------------------------------------------------------------------------------------- where it is all kept


def test_games_of_one_task_are_one_group_whoever_played_them(store, sittings):
    for seed, player in ((7, None), (7, "perfect"), (8, "random")):
        id = sittings.begin(chosen(store, "catch", seed=seed), player)
        while not sittings.look(id).sitting.ended:
            sittings.advance(id) if player else sittings.end(id)
    rows = only_run(store).episodes(sort="seq", phase="play")
    assert [(row.id, row.group, row.sample, row.policy) for row in rows] == [
        ("play-7-0", 7, 0, "human"), ("play-7-1", 7, 1, "perfect"), ("play-8-0", 8, 0, "random")]


def test_several_at_once_and_another_process_lose_nothing(store, sittings):
    def whole_game(seed: int) -> None:
        id = sittings.begin(chosen(store, "echo", seed=seed), "obedient")
        while not sittings.advance(id).sitting.ended:
            pass

    other = subprocess.Popen([sys.executable, "-m", "backend", "play", "echo", "--games", "8", "--runs",
                              str(store.folder)], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    with ThreadPoolExecutor(3) as several:
        list(several.map(whole_game, range(9)))
    said, _ = other.communicate(timeout=60)
    assert other.returncode == 0, said
    runs = [store.run(summary.id) for summary in store.runs()]
    rows = [row for run in runs for row in run.episodes(limit=None)]
    assert len(rows) == 9 + 16 and all(run.status() == "finished" for run in runs)
    assert len({(run.id, row.seq) for run in runs for row in run.episodes(limit=None)}) == 25


def test_a_game_can_be_replayed_on_the_replay_page(store, sittings):
    from ui.replay import answer, group_of

    for player in ("solver", "random"):
        id = sittings.begin(chosen(store, "wordle", seed=3), player)
        while not (seat := sittings.advance(id)).sitting.ended:
            pass
    search = f"?run={seat.kept.run}&id={seat.kept.id}"
    shown = answer(store, search)["player"]
    assert "script random" in shown and "o-wordle-board" in shown and "partial" in shown
    assert group_of(store, search).count("o-mini-wordle") == 2


# --------------------------------------------------------------------------------------- in the memory of one process


def test_an_environment_is_started_once_and_stopped_when_nobody_plays_it(store):
    sittings = Sittings(store, idle=10.0, unused=10.0)
    try:
        ids = [sittings.begin(chosen(store, "catch", seed=seed)) for seed in range(3)]
        assert sittings.up == 1
        sittings.call(ids[0], "stay", {})
        sittings.sweep(time.monotonic() + 5)
        assert sittings.look(ids[0]) and sittings.up == 1
        sittings.sweep(time.monotonic() + 11)
        assert sittings.up == 0
        with pytest.raises(OrtamError, match="start a new one"):
            sittings.call(ids[0], "stay", {})
        (left,) = only_run(store).episodes()
        assert (left.status, left.total, left.stop) == ("cancelled", None, "left unfinished")
        assert sittings.begin(chosen(store, "catch")) and sittings.up == 1
    finally:
        sittings.close()
    assert sittings.up == 0


def test_a_full_house_is_a_sentence_and_a_game_left_for_another_makes_room(store, sittings):
    ids = [sittings.begin(chosen(store, "echo", seed=seed)) for seed in range(4)]
    with pytest.raises(OrtamError, match="4 games are being played"):
        sittings.begin(chosen(store, "echo"))
    assert len(set(ids)) == 4 and sittings.begin(chosen(store, "echo"), instead=ids[0])
    with pytest.raises(OrtamError):
        sittings.look(ids[0])


def test_games_that_are_opened_at_the_same_moment_dont_pass_the_limit(store):
    sittings = Sittings(store, most=2)
    together, told = threading.Barrier(6), []

    def begin(seed):
        together.wait()
        try:
            told.append(sittings.begin(chosen(store, "echo", seed=seed)))
        except OrtamError as error:
            told.append(error)

    threads = [threading.Thread(target=begin, args=(seed,)) for seed in range(6)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        refused = [one for one in told if isinstance(one, OrtamError)]
        assert len(refused) == 4 and all("2 games are being played" in str(one) for one in refused)
    finally:
        sittings.close()


def test_two_people_do_not_see_each_other(store, sittings):
    one, other = (sittings.begin(chosen(store, "wordle", seed=seed)) for seed in (1, 2))
    sittings.call(one, "guess", {"guess": "crane"})
    assert len(sittings.look(one).sitting.play.turns) == 1 and not sittings.look(other).sitting.play.turns


# ------------------------------------------------------------------------------------------------------------ baseline


def test_a_baseline_says_what_each_player_earns_and_people_beside_them(store, sittings):
    id = sittings.begin(chosen(store, "catch", seed=2))
    sittings.end(id)
    id = sittings.compare(chosen(store, "catch", seed=5), 6)
    tick = threading.Event()
    while not (answer := comparison(store, sittings, id))["done"]:
        tick.wait(0.02)
    assert (answer["played"], answer["games"]) == (12, 12)
    rows = re.findall(r"<tr><td>(.*?)</td>.*?<b>(.*?)</b>", answer["html"])
    assert [name for name, _ in rows] == ["perfect", "random", "by hand"] and rows[0][1] == "1.50"
    assert by_hand(only_run(store)).games == 1 and only_run(store).count_episodes() == 13


def test_a_baseline_starts_at_a_numbered_task_and_ends_where_the_list_does(store, sittings, ors):
    tick = threading.Event()
    for task, games, tasks in (("2", 3, [2, 3, 4]), ("11", 20, [11, 12])):
        id = sittings.compare(chosen(store, f"ors+{ors}#locks", task=task), games)
        while not comparison(store, sittings, id)["done"]:
            tick.wait(0.02)
        played = {int(re.match(r"train/(\d+)", each.task.key)[1]) for each in sittings.compared(id).baseline.sittings}
        assert sorted(played) == tasks and not sittings.compared(id).problem


def test_the_tools_are_those_of_the_task_also_when_it_is_over(store, sittings, ors):
    for task, its, others in (("0", "turn-dial", "press-keys"), ("10", "press-keys", "turn-dial")):
        id = sittings.begin(chosen(store, f"ors+{ors}#locks", task=task))
        shown = drawn(sittings.look(id))["html"]
        assert f'data-tool="{its}"' in shown and f'data-tool="{others}"' not in shown
        sittings.call(id, "look", {})
        ended = drawn(sittings.end(id))["html"]
        assert f'<b class="o-mono">{its}</b>' in ended and f'<b class="o-mono">{others}</b>' not in ended


# ------------------------------------------------------------------------------------------------- what the page sends


def test_a_call_sends_back_only_what_is_new(store, sittings):
    id, sizes = sittings.begin(chosen(store, "catch")), []
    for turn in range(8):
        answer = news(sittings.call(id, "stay", {}), turn)
        sizes.append(len(json.dumps(answer)))
        assert "html" not in answer and answer["turn"] == turn + 1
        assert re.findall('<section [^>]*data-turn="([0-9]+)"', answer["cards"]) == [str(turn + 1)]
    assert sizes[-1] < 1.2 * sizes[1] and len(drawn(sittings.look(id))["html"]) > 1.5 * sizes[-1]
    assert answer["rows"].startswith('<tr data-turn="8">') and 'data-turn="6"' not in answer["rows"]
    assert "Turn 8</h2>" in answer["cards"] and "No turn was played" not in drawn(sittings.look(id))["html"]
    for odd in (None, -1, 9, "2", True):
        assert 'data-turn="1"' in news(sittings.look(id), odd)["html"]


@pytest.mark.parametrize("asked, said", [
    ({"use": "catch", "seed": "-1"}, "seed must be one whole number"), ({"use": "catch", "seed": "9" * 5000}, "seed must be one"),
    ({"use": "catch", "seed": "99999999999"}, "seed: must be 0 to"), ({"use": "catch", "task": "5-9"}, "one task"),
    ({"use": "ors+http://127.0.0.1:9", "seed": "5-9"}, "task must be one whole number"), ({"use": "  "}, "choose an environment"),
    ({"use": "catch", "options": "[" * 100_000}, "aren't JSON"), ({"use": "catch", "options": "[1]"}, "JSON object"),
    ({"use": "catch", "worth": "run:nothing"}, "no runs yet"), ({"use": ["catch"], "seed": {}}, "whole number")])
def test_what_is_wrong_in_a_field_is_one_sentence(store, asked, said):
    with pytest.raises(OrtamError, match=re.escape(said)):
        choice(store, asked)


@pytest.mark.parametrize("games", ["many", "-3", "1.5", "9" * 40])
def test_so_many_games_are_a_whole_number(games):
    with pytest.raises(OrtamError, match="games must be one whole number"):
        number_of({"games": games}, "games", 20)


# --------------------------------------------------------------------------------------------------------------- forms


@pytest.mark.parametrize("name", sorted(mcp_cases()))
def test_any_tool_becomes_a_form_with_a_field_for_each_argument(name):
    told = mcp_cases()[name]
    tool = Tool(name, told.get("description") or "", told.get("inputSchema") or {})
    form = tool_forms([tool])
    known = tool.parameters.get("properties") or {}
    assert form.count("data-argument=") == max(len(known), 0) or "data-call=" in form
    assert "<script" not in form


def test_choices_are_buttons_and_what_is_nested_is_json():
    move = Tool("move", "Go.", {"type": "object", "properties": {"way": {"enum": ["left", "right"]}}})
    assert tool_forms([move]).count("data-call=") == 2
    assert tool_forms([Tool("stay", "", {"type": "object", "properties": {}})]).count("data-call=") == 1
    mixed = tool_forms([Tool("put", "<b>Put</b>", {"type": "object", "required": ["n", "on"], "properties": {
        "n": {"type": "integer", "minimum": 1, "maximum": 9}, "on": {"type": "boolean"}, "to": {"type": "object"},
        "way": {"enum": [1, "<i>"]}, "class": {"type": ["string", "null"]}}})])
    assert re.findall(r'data-kind="(\w+)"', mixed) == ["integer", "boolean", "json", "choice", "string"]
    assert "1 to 9" in mixed and "&lt;b&gt;Put" in mixed and "<i>" not in mixed.replace("<i></i>", "")


# ----------------------------------------------------------------------------------------------------- on the terminal


PLACE = Tool("place", "", {"type": "object", "required": ["row"], "properties": {"row": {"type": "integer"},
                                                                                "value": {"type": "integer"}}})
GUESS = Tool("guess", "", {"type": "object", "required": ["guess"], "properties": {"guess": {"type": "string"}}})
MOVE = Tool("move", "", {"type": "object", "required": ["way"], "properties": {"way": {"enum": ["left", "right"]}}})
STAY = Tool("stay", "", {"type": "object", "properties": {}})


@pytest.mark.parametrize("typed, tools, call", [
    ("2", (MOVE, STAY), ("move", {"way": "right"})), ("3", (MOVE, STAY), ("stay", {})), ("stay", (MOVE, STAY), ("stay", {})),
    ("move left", (MOVE, STAY), ("move", {"way": "left"})), ("crane", (GUESS,), ("guess", {"guess": "crane"})),
    ('guess {"guess": "[a]"}', (GUESS,), ("guess", {"guess": "[a]"})), ("12", (GUESS,), ("guess", {"guess": "12"})),
    ("row=1 value=2", (PLACE,), ("place", {"row": 1, "value": 2})), ("place 1 2", (PLACE,), ("place", {"row": 1, "value": 2})),
    ("9", (MOVE, STAY), None), ("place {x", (PLACE,), None), ("1 2 3", (PLACE,), None)])
def test_what_is_typed_is_a_call_or_a_sentence(typed, tools, call):
    found = understood(typed, tools)
    assert found == call if call else isinstance(found, str)


@pytest.fixture
def terminal(tmp_path, capsys, monkeypatch):
    def play(*words: str, typed: str = ""):
        import io

        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        ended = main(["play", *words, "--runs", str(tmp_path / "runs")])
        return ended, capsys.readouterr()

    return play


def test_catch_is_played_in_the_terminal(terminal, store):
    ended, said = terminal("catch", "--seed", "2", typed="3\n" * 9)
    assert ended == 0 and "ball 9 2 paddle 2 caught" in said.out and "total 1.5" in said.out
    assert only_run(store).episodes()[0].policy == "human" and "play-2-0" in said.out


def test_a_script_plays_in_the_terminal_and_prints_json(terminal, store):
    ended, said = terminal("wordle", "--player", "solver", "--json")
    told = json.loads(said.out)
    assert ended == 0 and told["status"] == "won" and told["policy"] == {"kind": "script", "name": "solver"}
    assert told["run"] == only_run(store).id and told["turns"][0]["tool"] == "guess"


def test_a_line_that_ends_stops_the_game_there(terminal, store):
    ended, said = terminal("wordle", typed="crane\n?\nf\n")
    assert ended == 0 and "stopped by hand" in said.out and "best_greens" in said.out
    assert only_run(store).episodes()[0].turns == 1


@pytest.mark.parametrize("words, said", [(("wordel",), "did you mean wordle?"), (("catch", "--seed", "-1"), "seed"),
                                         (("catch", "--player", "solver"), "perfect or random"),
                                         (("catch", "--worth", "set:x"), "no reward set")])
def test_what_cannot_be_played_is_one_sentence(terminal, words, said):
    ended, out = terminal(*words)
    assert ended == 2 and said in out.err and out.err.count("\n") == 1
