"""OpenEnv servers that nobody here wrote: found out over real sockets, played, and told apart by their schemas."""

import asyncio
import base64
import json
import re

import pytest

from backend.environments import Task, discovery
from backend.environments.adapters.actions import ways
from backend.environments.adapters.observed import seen
from backend.environments.adapters.pictures import picture
from backend.environments.games.wordle import allowed
from backend.environments.kinds.remote import address
from backend.environments.playthrough import Playthrough
from backend.environments.serving import serve_module
from backend.environments.sources import check, described, reach, source
from backend.errors import EnvironmentFailed, SpecError
from backend.records import EnvironmentSpec, TaskSelection
from tests.openenv_servers import JPEG, mcp_cases


@pytest.fixture(scope="module")
def served():
    with serve_module("tests.openenv_servers", 8, "test") as server:
        yield server.url


def spec(use: str, **more) -> EnvironmentSpec:
    return EnvironmentSpec(id="it", use=use, **more)


def at(url: str, path: str, **more) -> EnvironmentSpec:
    return spec(f"openenv+{url}/{path}", **more)


def played(url: str, path: str, *calls, seed: int | None = 3, options: dict | None = None, **more) -> Playthrough:
    async def play():
        asked = at(url, path, max_turns=200)
        play = Playthrough(source(asked, f"{url}/{path}"), asked, pauses=(), **more)
        await play.begin(Task(str(seed), seed, options or {}))
        for tool, arguments in calls:
            await play.call(tool, arguments)
        await play.end()
        return play

    return asyncio.run(play())


# --------------------------------------------------------------------------------------------- found out by its schemas


@pytest.mark.parametrize("path", ["several", "wrapped"])
def test_each_class_of_a_union_of_actions_becomes_a_tool_with_its_exact_schema(served, path):
    walk, say = described(at(served, path)).tools
    assert (walk.name, walk.description) == ("walk", "Go somewhere.")
    assert walk.parameters["properties"] == {
        "to": {"$ref": "#/$defs/Point"},
        "how": {"description": "How to go.", "enum": ["slowly", "fast"], "title": "How", "type": "string"}}
    assert walk.parameters["required"] == ["to", "how"] and list(walk.parameters["$defs"]) == ["Point"]
    assert say.description == "Say something.\n\nTo whoever hears it."
    assert say.parameters["properties"]["loud"]["anyOf"] == [{"type": "boolean"}, {"type": "null"}]

    play = played(served, path, ("walk", {"to": {"x": 3}, "how": "fast"}), ("say", {"words": ["good", "bye"]}))
    assert play.fault is None and [turn.fault for turn in play.turns] == [None, None]
    assert play.turns[0].result == ('{"steps": 1, "solved": false, "inner": {"score": 1.5, "name": "fast"}, '
                                    '"cells": [3, 0], "turns": 7}')
    assert play.status() == "won"


def test_numbers_booleans_and_texts_of_an_observation_become_facts(served):
    description = described(at(served, "several"))
    assert description.facts["steps"] == "actions so far."
    play = played(served, "several", ("walk", {"to": {"x": 3}, "how": "fast"}), ("say", {"words": ["bye"]}))
    assert play.facts.keys() >= description.facts.keys()
    first, last = play.turns[0].facts, play.facts
    assert (first["inner_score"], first["inner_name"], first["note"], first["won"]) == (1.5, "fast", None, False)
    assert (first["env_turns"], first["turns"]) == (7, 1), "a field that every episode has already keeps its own name"
    assert first["reward"] is first["env_reward"] is None, "NaN is no reward, and no reward isn't 0"
    assert (last["solved"], last["won"], last["reward"], last["env_reward_total"]) == (True, True, 1, 1)


def test_a_reset_gets_seed_and_options(served):
    assert json.loads(played(served, "several", options={"size": 4}).opening)["note"] == '3 {"size": 4}'


def test_a_reset_names_the_options_the_server_publishes(served):
    assert described(at(served, "several")).options == {}
    told = discovery.Told("http://x", {}, {}, options={"level": {"type": "integer"}}, tools=())
    from backend.environments.adapters.discovered import discovered

    assert discovered(told).description.options == {"level": {"type": "integer"}}


def test_a_fingerprint_comes_from_the_server_or_else_proves_nothing(served):
    assert played(served, "several").fingerprint == "task 3"
    first, again = played(served, "several", seed=None), played(served, "several", seed=None)
    assert first.fingerprint.startswith("~") and first.fingerprint == again.fingerprint
    other = played(served, "several", seed=None, options={"size": 4})
    assert other.fingerprint.startswith("~") and other.fingerprint != first.fingerprint


def test_parameters_of_any_name_arrive_as_sent(served):
    tool, = described(at(served, "odd")).tools
    assert tool.name == "odd" and list(tool.parameters["properties"]) == ["from", "class", "self", "with-dash"]
    sent = {"from": "here", "class": "b", "self": 3, "with-dash": "text"}
    play = played(served, "odd", ("odd", sent), ("odd", {"from": "here"}), ("odd", {**sent, "more": 1}))
    assert play.opening == "ready" and json.loads(play.turns[0].shown or play.turns[0].result) == sent
    assert play.turns[0].reward == 2
    assert play.turns[1].shown == "The environment refused the arguments of odd: class Field required."
    assert [turn.fault and turn.fault.kind for turn in play.turns] == [None, "wrong_arguments", "wrong_arguments"]


def test_a_picture_is_kept_beside_the_text(served):
    play = played(served, "odd", ("odd", {"from": "picture", "class": "a"}))
    assert play.turns[0].result == "look" and play.turns[0].images == (f"data:image/jpeg;base64,{JPEG}",)


# ----------------------------------------------------------------------------------------------------------- MCP tools


def test_every_mcp_tool_keeps_its_name_and_schema_and_can_be_called(served):
    tools = {tool.name: tool for tool in described(at(served, "cases")).tools}
    cases = mcp_cases()
    assert len(cases) > 60 and tools.keys() == cases.keys() | {"fail", "draw"}
    for name, case in cases.items():
        assert tools[name].parameters == case["inputSchema"] and tools[name].description == case["description"]
    sent = {"from": "a", "class": {"deep": [1, None, "字"]}, "cik-A": True, "self": 1}
    play = played(served, "cases", *((name, sent) for name in cases))
    assert play.fault is None and play.opening == "Cases of 3."
    assert all(json.loads(turn.result) == sent and turn.fault is None for turn in play.turns)


def test_every_mcp_tool_is_rendered_by_a_chat_template(served):
    from transformers.utils.chat_template_utils import render_jinja_template

    template = ("{% for tool in tools %}<tool>{{ tool | tojson }}</tool>\n{% endfor %}"
                "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}")
    tools = described(at(served, "cases")).tools
    whole, _ = render_jinja_template([[{"role": "user", "content": "x"}]], tools=[tool.schema() for tool in tools],
                                     chat_template=template)
    written = [json.loads(found) for found in re.findall("<tool>(.*)</tool>", whole[0])]
    assert [tool["function"]["parameters"] for tool in written] == [tool.parameters for tool in tools]


def test_a_tool_that_fails_is_a_fault_of_its_turn_and_the_episode_goes_on(served):
    play = played(served, "cases", ("fail", {"why": "no such file"}), ("list-things", {}), ("draw", {}))
    failed, listed, drawn = play.turns
    assert failed.result.startswith("Error: ") and "no such file" in failed.result
    assert failed.fault.where == "environment" and failed.fault.kind == "execution_error" and failed.reward is None
    assert listed.fault is None and play.facts["tool_failures"] == 1 and play.status() == "finished"
    assert (drawn.result, drawn.images) == ("a drawing", (f"data:image/jpeg;base64,{JPEG}",))


# ------------------------------------------------------------------------------- recognised by what their schemas say


def test_openenvs_echo_is_echo(served):
    play = played(served, "echo", ("echo", {"message": "Hello"}))
    assert play.turns[0].result == "Hello" and play.facts["echoed_length"] == 5 and play.facts["messages"] == 1


def test_wordle_on_a_textarena_server_is_played_like_the_wordle_here(served):
    description = described(at(served, "wordle"))
    assert [tool.name for tool in description.tools] == ["guess"] and description.viewer == "wordle"
    words = [word for word in sorted(allowed())[::97] if word.isascii()]
    play = played(served, "wordle", ("guess", {"guess": f"[{words[0]}]"}), ("guess", {"guess": "[zzxzz]"}),
                  ("guess", {"guess": f"[{words[1]}]"}))
    assert play.opening == "[GAME] You are Playing Wordle."
    assert re.fullmatch(rf"\[Player\] \[{words[0]}\]\n\[GAME\] You submitted .*\nFeedback:\n[A-Z ]{{9}}\n[GYX ]{{9}}\n"
                        "You have some left.", play.turns[0].result), "only what is new"
    assert "invalid move" in play.turns[1].result and "Feedback" not in play.turns[1].result
    assert (play.facts["guesses"], play.facts["invalid_moves"], play.facts["last_guess"]) == (2, 1, words[1])
    assert play.facts["last_feedback"].strip("GYX") == "" and play.facts["secret"] is None


def test_the_end_of_a_wordle_on_a_textarena_server_is_understood_though_it_says_nothing(served):
    async def won():
        asked = at(served, "wordle")
        here = source(asked, f"{served}/wordle")
        play = Playthrough(here, asked, pauses=())
        await play.begin(Task("0", 0))
        await play.call("guess", {"guess": f"[{play._session._adapter.state['secret_word']}]"})
        await play.end()
        return play

    play = asyncio.run(won())
    assert play.status() == "won" and play.facts["best_greens"] == 5 and play.facts["last_feedback"] == "GGGGG"
    assert play.facts["secret"] == play.facts["last_guess"]

    play = played(served, "wordle", *[("guess", {"guess": "[zzxzz]"})] * 2)
    assert play.status() == "invalid" and play.facts["invalid_moves"] == 2 and play.facts["won"] is False


def test_a_textarena_server_that_ignores_seeds_is_seen_through(served):
    prints = {played(served, "wordle", seed=5).fingerprint for _ in range(12)}
    assert len(prints) > 1 and not any(name.startswith("~") for name in prints)


def test_sudoku_on_a_textarena_server_is_played_by_row_column_and_value(served):
    description = described(at(served, "sudoku"))
    assert [tool.name for tool in description.tools] == ["place"]
    play = played(served, "sudoku")
    board = play.facts["board"]
    assert len(board) == 81 and board.count(".") == play.facts["blanks"] == 6 and play.facts["share_filled"] == 0

    async def solve():
        asked = at(served, "sudoku")
        play = Playthrough(source(asked, f"{served}/sudoku"), asked, pauses=())
        await play.begin(Task("0", 0))
        while "." in play.facts["board"] and not play.done:
            place, digits = min(candidates(play.facts["board"]), key=lambda found: len(found[1]))
            row, column = divmod(place, 9)
            await play.call("place", {"row": row + 1, "column": column + 1, "value": min(digits)})
        await play.end()
        return play

    play = asyncio.run(solve())
    assert play.facts["filled"] > 0 and (play.status() in ("won", "lost") or play.facts["invalid_moves"])

    refused = played(served, "sudoku", ("place", {"row": 0, "column": 1, "value": 1}), *[("act", {})])
    assert [turn.fault.kind for turn in refused.turns] == ["wrong_arguments", "unknown_tool"]


def candidates(grid: str) -> list[tuple[int, set[int]]]:
    """Of each blank, the digits that nothing in its row, column and box rules out; a puzzle differs from time to time."""
    found = []
    for place in (place for place, digit in enumerate(grid) if digit == "."):
        row, column = divmod(place, 9)
        taken = {grid[k] for k in range(81)
                 if k // 9 == row or k % 9 == column or (k // 27, k % 9 // 3) == (row // 3, column // 3)}
        found.append((place, {int(digit) for digit in "123456789" if digit not in taken}))
    return found


def test_any_other_textarena_game_is_played_by_message(served):
    games = (played(served, "guess", ("act", {"message": "[5]"}), ("act", {"message": "nothing"})) for _ in range(4))
    play = next(game for game in games if not game.turns[0].done)  # it draws without the seed, and 5 may be right
    assert play.opening.startswith("[GAME]") and play.turns[0].result.startswith("[Player] [5]\n[GAME]")
    assert play.facts["invalid_moves"] == 1 and play.facts["won"] is None


@pytest.mark.parametrize("path, calls", [
    ("guess", [("act", {"message": "nothing"})] * 2),
    ("sudoku", [("place", {"row": 1, "column": 1, "value": value}) for value in (1, 2, 1, 2)]),
])
def test_a_refusal_that_ends_a_text_game_without_a_word_is_read_from_its_state(served, path, calls):
    play = played(served, path, *calls)
    assert play.status() == "invalid" and play.facts["invalid_moves"] >= 2


@pytest.mark.parametrize("moves", [["left"] * 9, ["right"] * 9, [None] * 9])
def test_catch_on_an_openspiel_server_reads_like_the_catch_here(served, moves):
    from backend.environments.sources import in_process

    there = played(served, "catch", *(("move", {"direction": way}) if way else ("stay", {}) for way in moves))

    async def here():
        play = Playthrough(in_process(spec("catch")), spec("catch"))
        await play.begin(Task("0", there.start_facts["ball_column"]))
        for way in moves:
            await play.call("move" if way else "stay", {"direction": way} if way else {})
        return play

    same = asyncio.run(here())
    assert there.opening == same.opening and there.fingerprint == same.fingerprint and there.facts == same.facts
    assert [turn.result for turn in there.turns] == [turn.result for turn in same.turns]


def test_any_other_openspiel_game_is_played_by_action(served):
    play = played(served, "cliff", ("play", {"action": 0}), ("play", {"action": "0"}))
    assert play.opening.startswith("Legal actions: [0, 1, 2, 3]. State: ") and len(play.opening) < 100
    assert play.turns[1].fault.kind == "after_the_end" and play.facts["legal"] == 0
    assert play.status() == "lost" and play.facts["env_reward"] == -100


def test_a_browser_is_clicked_and_seen(served):
    description = described(at(served, "browser"))
    assert {"click", "fill", "goto", "send_msg_to_user"} <= {tool.name for tool in description.tools}
    assert "not against a real browser" in description.notice
    play = played(served, "browser", ("fill", {"bid": "12", "value": 'say "hi"\n'}), ("click", {"bid": "12"}))
    assert play.opening == "Goal: Press the button.\nPage http://page.example/\n[12] button 'Go'"
    failed, clicked = play.turns
    assert failed.shown.startswith('That failed: can\'t do fill("12", "say \\"hi\\"\\n")')
    png = base64.b64decode(clicked.images[0].removeprefix("data:image/png;base64,"))
    assert png.startswith(b"\x89PNG") and play.images and "screenshot" not in clicked.result
    assert play.status() == "won" and play.facts["failed_actions"] == 1


def test_a_car_is_driven_and_its_camera_seen(served):
    description = described(at(served, "carla"))
    assert "not against the real simulator" in description.notice and description.facts["speed_kmh"]
    play = played(served, "carla", ("control", {"throttle": 1, "steer": 0, "brake": 0}), ("capture_image", {}),
                  ("control", {"throttle": 7, "steer": 0, "brake": 0}), ("emergency_stop", {}))
    assert [turn.facts["speed_kmh"] for turn in play.turns] == [50, 50, 50, 0]
    assert play.turns[1].images == (f"data:image/jpeg;base64,{JPEG}",) and JPEG not in play.turns[1].result
    assert play.turns[2].fault.kind == "wrong_arguments" and play.facts["done_reason"] == "stopped"


def test_a_picture_of_pixels_is_a_png_anyone_can_open():
    from io import BytesIO

    from PIL import Image

    pixels = [[[x * 20, y * 30, 7] for x in range(5)] for y in range(3)]
    image = Image.open(BytesIO(base64.b64decode(picture(pixels).split(",")[1])))
    assert image.size == (5, 3) and [list(image.getpixel((x, 2))) for x in range(5)] == pixels[2]
    assert picture([[[1, 2]]]) is picture([[[1, 2, 999]]]) is picture("not a picture " * 9) is picture([[1.5]]) is None


# ------------------------------------------------------------------------------------------------------- under trouble


def test_a_tool_that_hangs_is_cut_at_a_limit(served):
    play = played(served, "odd", ("odd", {"from": "sleep", "class": "a", "self": 3}),
                  ("odd", {"from": "x", "class": "a"}), patience=0.5)
    assert play.status() == "env_error" and "got no answer within 0.5 s" in play.fault.message
    assert "TimeoutError" in play.fault.traceback
    assert [turn.fault.kind for turn in play.turns] == ["EnvironmentFailed", "no_environment"]


def test_an_error_at_the_environment_keeps_its_traceback_and_tells_the_model_nothing(served):
    play = played(served, "odd", ("odd", {"from": "raise", "class": "a"}))
    assert play.status() == "env_error" and "the engine stalled" in play.fault.message
    assert "_ask" in play.fault.traceback and "stalled" not in play.turns[0].shown


def test_a_long_result_is_kept_whole_and_shown_cut(served):
    turn = played(served, "odd", ("odd", {"from": "long", "class": "a"})).turns[0]
    assert turn.result == "é" * 2_500_000
    assert len(turn.shown) < 21_000 and "[2,480,000 characters left out]" in turn.shown


def test_what_the_player_is_shown_is_cleaned(served):
    play = played(served, "odd", ("odd", {"from": "<|im_end|>", "class": "a"}), ("<|im_end|>", {}),
                  clean=lambda text: text.replace("<|", "< |"))
    assert "<|im_end|>" in play.turns[0].result and "<|" not in play.turns[0].shown
    assert "<|" not in play.turns[1].shown


def test_a_server_with_too_few_sessions_says_how_many_it_has(served):
    async def three_and_one():
        asked = at(served, "small")
        here = source(asked, f"{served}/small")
        plays = [Playthrough(here, asked, pauses=()) for _ in range(4)]
        for play in plays:
            await play.begin(Task("0", 0))
        for play in plays:
            await play.end()
        return plays

    *fine, refused = asyncio.run(three_and_one())
    assert not any(play.fault for play in fine) and "is full: all its 3 sessions are taken" in refused.fault.message


def test_tasks_are_seeds_by_count_or_number_and_held_out_ones_follow(served):
    here = source(at(served, "odd"), f"{served}/odd")
    assert [task.seed for task in here.tasks(TaskSelection(count=3, first_seed=5), {})] == [5, 6, 7]
    chosen = TaskSelection(indices=(0, "3-5", "4"), first_seed=10)
    assert [task.seed for task in here.tasks(chosen, {})] == [10, 13, 14, 15]
    assert [task.seed for task in here.held_out(chosen, {}, 2)] == [16, 17]


# --------------------------------------------------------------------------------------------- what a person can write


@pytest.mark.parametrize("use, url", [
    ("openenv+https://example.com/", "https://example.com"),
    ("openenv+http://127.0.0.1:8001/envs/echo", "http://127.0.0.1:8001/envs/echo"),
    ("space:openenv/echo_env", "https://openenv-echo-env.hf.space"),
    ("space:Some.One/My_Env.v2", "https://some-one-my-env-v2.hf.space"),
])
def test_an_address_is_where_it_says(use, url):
    assert address(use) == url


@pytest.mark.parametrize("use, says", [
    ("openenv+127.0.0.1:8001", "isn't an address; write one such as openenv\\+https"),
    ("openenv+ftp://example.com", "isn't an address"),
    ("openenv+http://example.com:port", "isn't an address"),
    ("openenv+https://me:secret@example.com", "must not hold a password"),
    ("openenv+https://example.com?key=1", "behind \\? or #"),
    ("space:echo_env", "write its owner and name"),
    ("space:a/b/c", "write its owner and name"),
    ("docker:--privileged image", "isn't an image"),
    ("folder:", "needs a path"),
    ("folder:no/such/place", "there is no folder"),
])
def test_what_is_written_wrongly_is_refused_in_words(use, says):
    with pytest.raises(SpecError, match=says) as wrong:
        check(spec(use))
    assert wrong.value.field == "use"


def test_splits_and_numbers_that_do_not_exist_are_refused():
    with pytest.raises(SpecError, match="there is no split 'test'"):
        check(spec("openenv+http://127.0.0.1:9", tasks=TaskSelection(split="test")))
    with pytest.raises(SpecError, match="'9-2' is no task number"):
        check(spec("catch", tasks=TaskSelection(indices=("9-2",))))


@pytest.mark.parametrize(("indices", "says"), [
    (("0-2000000000",), "'0-2000000000' makes more than 1,000,000 tasks"),
    (("0-600000", "600001-1200000"), "more than 1,000,000"),
    (("0-9999999999",), "beyond the largest task number"),
    ((2**31,), "beyond the largest task number"),
    (("9" * 5000,), "is no task number"),
])
def test_a_range_too_large_to_hold_is_refused_and_not_held(indices, says):
    with pytest.raises(SpecError, match=says):
        check(spec("catch", tasks=TaskSelection(indices=indices)))


def test_no_task_numbers_mean_a_count(served):
    here = source(at(served, "odd"), f"{served}/odd")
    assert [task.seed for task in here.tasks(TaskSelection(count=2, indices=()), {})] == [0, 1]


def test_nothing_there_is_said_with_the_address():
    for ask in (described, lambda asked: reach(asked, 1).__enter__()):
        with pytest.raises(EnvironmentFailed, match="Nothing answers at http://127.0.0.1:9 .*start the server"):
            ask(spec("openenv+http://127.0.0.1:9"))


@pytest.mark.parametrize("path, says", [
    ("nothing", "answers, but not as an OpenEnv server; correct the address .HTTP 404"),
    ("asleep", "isn't up yet: wait for it, or wake a sleeping Space by opening its page .HTTP 503"),
    ("private", "refuses access: for a private Space of yours set HF_TOKEN"),
    ("page", "something that isn't JSON; is it an OpenEnv server"),
])
def test_something_else_there_is_said(served, path, says):
    with pytest.raises(EnvironmentFailed, match=says):
        described(at(served, path))


def test_a_host_that_answers_for_a_server_that_sleeps_is_told_apart(served):
    with pytest.raises(discovery.NotUp):
        discovery.schemas(f"{served}/asleep")
    with pytest.raises(EnvironmentFailed) as failed:
        discovery.schemas(f"{served}/private")
    assert not isinstance(failed.value, discovery.NotUp)


def test_a_server_that_answers_is_reached(served):
    with reach(at(served, "odd"), 4) as there:
        assert there == f"{served}/odd"


def test_a_token_is_shown_only_to_the_spaces_one_names_as_ones_own(monkeypatch):
    from backend.environments.addresses import secret_headers

    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    assert secret_headers("https://me-env.hf.space/schema") == {}
    monkeypatch.setenv("ORTAM_PRIVATE_SPACES", "me/Env, me/other_one")
    assert secret_headers("wss://me-other-one.hf.space/ws") == {"Authorization": "Bearer hf_secret"}
    assert secret_headers("https://me-env.hf.space/schema") == {"Authorization": "Bearer hf_secret"}
    for url in ("http://me-env.hf.space", "https://you-env.hf.space", "https://evil.example/hf.space", "https://xhf.space", "http://127.0.0.1:80"):
        assert secret_headers(url) == {}


# ------------------------------------------------------------------------------------------------ schemas of all sorts


def test_schemas_that_lead_nowhere_or_round_in_circles_give_something_usable():
    assert list(ways({})) == ["act"]
    assert list(ways({"$ref": "#/$defs/Gone"})) == ["act"]
    assert list(ways({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}})) == ["act"]
    assert seen({"$ref": "#"}) == [] == seen({"properties": None})
    twins = {"anyOf": [{"title": "MoveAction", "type": "object"}, {"title": "Move", "type": "object"}]}
    assert list(ways(twins)) == ["move", "move2"]
