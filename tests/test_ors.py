"""Environments on Open Reward Standard servers, over real sockets: several servers and several environments at once."""

import asyncio
import importlib.util
import json
import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from openreward.environments import Server as SdkServer

from backend.environments import Task
from backend.environments.examples.ors_server import Locks, Riddles, Sums
from backend.environments.kinds import ors
from backend.environments.ors import reading
from backend.environments.ors.places import place_of
from backend.environments.ors.playing import OrsSource
from backend.environments.playthrough import Playthrough
from backend.environments.serving import Server
from backend.errors import EnvironmentFailed, SessionLost, SpecError
from backend.records import EnvironmentSpec, TaskSelection
from tests.ors_servers import Alone, Heard, Odd, WordForWord, serving

CASES = Path(__file__).parent / "cases"
TOOLS = {path.stem: json.loads(path.read_text()) for path in sorted(CASES.glob("ors_tools_*.json"))}
RESULTS = [json.loads(line) for line in (CASES / "ors_call_results.jsonl").read_text().splitlines() if line]
ONE_TOOL = {"tools": [{"name": "go-on", "description": "Go on.", "input_schema": None}], "terminal_tool": None}


@pytest.fixture(scope="module")
def examples():
    with serving(SdkServer([Sums, Locks, Riddles]).app) as url:
        yield url


@pytest.fixture(scope="module")
def odd():
    """(url, what it heard) of a server with an environment whose tasks and tools are awkward, and a plain one."""
    heard = Heard(SdkServer([Odd, Sums]).app)
    with serving(heard) as url:
        yield url, heard


def spec(use: str, **more) -> EnvironmentSpec:
    return EnvironmentSpec(id="e", use=use, **more)


def source_of(use: str, **more) -> OrsSource:
    asked = spec(use, **more)
    ors.check(asked)
    with ors.reach(asked, sessions=4) as address:
        return ors.source(asked, address)


def played(source, task: Task, *calls: tuple[str, dict]) -> Playthrough:
    async def play() -> Playthrough:
        one = Playthrough(source, spec("ors+http://here"), pauses=())
        await one.begin(task)
        for tool, arguments in calls:
            await one.call(tool, arguments)
        await one.end()
        return one

    return asyncio.run(play())


def first(source: OrsSource) -> Task:
    return source.tasks(TaskSelection(count=1), {})[0]


# ------------------------------------------------------------------------------------------------------- which server


def test_several_servers_and_several_environments_are_played_at_once(examples, odd, monkeypatch):
    monkeypatch.setenv("OPENREWARD_API_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("OPENREWARD_SESSION_URL", "http://127.0.0.1:1")
    with serving(SdkServer([Alone]).app) as third:
        sources = {use: source_of(f"ors+{use}") for use in (
            f"{examples}#sums", f"{examples}#riddles", f"{odd[0]}#odd", f"{odd[0]}#Sums", third)}

        async def play_all() -> list[str]:
            plays = [Playthrough(source, spec("ors+http://here"), pauses=()) for source in sources.values()]
            return await asyncio.gather(*(play.begin(first(source))
                                          for play, source in zip(plays, sources.values(), strict=True)))

        openings = asyncio.run(play_all())
    assert [source.describe().title for source in sources.values()] == ["sums", "riddles", "odd", "sums", "alone"]
    assert openings == ["What is 2 + 1?", "What has hands but can't clap?", "Do spec 0.", "What is 2 + 1?",
                        "Press it.\n\nNot in this task: press-odd."]


def test_a_server_with_one_environment_needs_no_name_and_is_found_by_any_name_of_its_host():
    with serving(SdkServer([Alone]).app) as url:
        for written in (url, url.replace("127.0.0.1", "localhost"), f"{url}/", f"{url}#ALONE"):
            assert source_of(f"ors+{written}").describe().title == "alone"


@pytest.mark.parametrize(("name", "said"), [
    ("", "several environments, and none is chosen"),
    ("#riddle", "there is no environment 'riddle'"),
    ("#nothing", "there is no environment 'nothing'"),
])
def test_a_missing_or_wrong_environment_names_those_there(examples, name, said):
    for ask in (ors.described, source_of_spec):
        with pytest.raises(SpecError) as error:
            ask(spec(f"ors+{examples}{name}"))
        assert error.value.field == "use" and said in str(error.value)
        assert "sums, locks, riddles" in str(error.value)
    if name == "#riddle":
        assert str(error.value).endswith(f"ors+{examples}#riddles")


def source_of_spec(asked: EnvironmentSpec):
    return ors.source(asked, "")


@pytest.mark.parametrize(("use", "field"), [
    ("ors+ftp://host", "use"), ("ors+http://", "use"), ("ors+http://host:port", "use"), ("ors+host:80", "use"),
    ("ors+http://host/env", "use"), ("ors+http://me:word@host", "use"), ("ors+http://host?x=1", "use"),
    ("ors:", "use"), ("ors:Name", "use"), ("ors:Org/Name/more", "use"),
])
def test_an_address_that_can_not_be_right_is_refused_before_anyone_is_asked(use, field, monkeypatch):
    monkeypatch.setenv("OPENREWARD_API_KEY", "k")
    with pytest.raises(SpecError) as error:
        ors.check(spec(use))
    assert error.value.field == field and "word@" not in str(error.value)


def test_an_unknown_option_is_refused():
    with pytest.raises(SpecError, match="facts, secrets, api_key_variable"):
        ors.check(spec("ors+http://host", options={"secret": "x"}))
    with pytest.raises(SpecError, match="options.facts: must be a list"):
        ors.check(spec("ors+http://host", options={"facts": "off_by"}))


def test_nobody_there_and_someone_else_there_are_said_in_one_sentence():
    def nothing(scope):
        async def answer(receive, send):
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"<html>hello</html>"})
        return answer

    async def other(scope, receive, send):
        await nothing(scope)(receive, send)

    began = time.monotonic()
    with pytest.raises(EnvironmentFailed, match="Nothing that speaks the Open Reward Standard answers at"):
        source_of("ors+http://127.0.0.1:1")
    with serving(other) as url, pytest.raises(EnvironmentFailed, match="see whether it is the right server"):
        source_of(f"ors+{url}")
    assert time.monotonic() - began < 5


# -------------------------------------------------------------------------------------------------------------- tasks


@pytest.mark.parametrize(("selection", "indices", "fetched"), [
    (TaskSelection(count=3), [0, 1, 2], [(0, 3)]),
    (TaskSelection(indices=(7, "50-52", "5")), [7, 50, 51, 52, 5], [5, 7, (50, 53)]),
    (TaskSelection(count=None, split="train"), list(range(200)), [(0, 200)]),
    (TaskSelection(count=100_000), list(range(200)), [(0, 200)]),
])
def test_only_the_tasks_that_are_asked_for_are_fetched(odd, selection, indices, fetched):
    Odd.fetched.clear()
    source = source_of(f"ors+{odd[0]}#odd", tasks=selection)
    assert [task.options["index"] for task in source.tasks(selection, {})] == indices
    assert sorted(Odd.fetched, key=str) == sorted(fetched, key=str)
    assert odd[1].paths()["/odd/tasks"] == 0


def test_a_split_or_a_task_that_is_not_there_is_named(odd):
    with pytest.raises(SpecError, match="tasks.split: there is no split 'tain'; .* has hard, train"):
        source_of(f"ors+{odd[0]}#odd", tasks={"split": "tain"})
    with pytest.raises(SpecError, match="tasks.split: the split hard has no tasks"):
        source_of(f"ors+{odd[0]}#odd", tasks={"split": "hard"})
    with pytest.raises(SpecError, match="tasks.indices: there is no task 200; the split train has 200"):
        source_of(f"ors+{odd[0]}#odd", tasks={"indices": ["198-200"]})
    with pytest.raises(SpecError, match="tasks.indices"):
        ors.check(spec("ors+http://host", tasks={"indices": ["9-x"]}))


def test_evaluation_draws_from_the_test_split_where_there_is_one(examples, odd):
    sums = source_of(f"ors+{examples}#sums")
    assert [task.key for task in sums.held_out(TaskSelection(), {}, 3)] == ["test/0 40+1", "test/1 40+2", "test/2 40+3"]
    after = sums.held_out(TaskSelection(split="test", count=20), {}, 9)
    assert [task.options["split"] for task in after] == ["test"] * 5
    none_left = source_of(f"ors+{odd[0]}#odd", tasks={"count": None})
    assert none_left.held_out(TaskSelection(count=None), {}, 3) == []
    after = none_left.held_out(TaskSelection(indices=("190-198", 3)), {}, 4)
    assert [task.options["index"] for task in after] == [199, 0, 1, 2]


def test_what_a_task_says_never_collides_with_what_a_task_is(odd):
    source = source_of(f"ors+{odd[0]}#odd", tasks={"indices": [4]})
    task, = source.tasks(TaskSelection(indices=(4,)), {})
    assert (task.key, task.seed) == ("train/4", None)
    assert task.options == {"environment": "odd", "split": "train", "index": 4, "task": Odd.DATA[4]}
    again = Task(task.key, task.seed, json.loads(json.dumps(task.options)))
    play = played(source, again)
    assert play.opening == "Do spec 4." and play.images == ("data:image/png;base64,aGk=",)
    assert play.start_facts == {"finished": False, "task_task_spec": "spec 4", "task_index": 40, "task_seed": 4,
                                "task_prompt": "own prompt", "task_split": "own", "task_environment": "own",
                                "task_turns": 7, "task_exact_match": True}
    assert set(play.start_facts) == set(source.describe().facts)


def test_a_fingerprint_tells_tasks_apart_and_a_group_plays_one(examples):
    source = source_of(f"ors+{examples}#sums")
    one, other = source.tasks(TaskSelection(count=2), {})
    prints = [played(source, task).fingerprint for task in (one, one, other)]
    assert prints[0] == prints[1] != prints[2] and prints[0].startswith("sums/train/0/")


# -------------------------------------------------------------------------------------------------------------- tools


def test_tools_of_every_task_are_found_and_one_of_another_task_is_refused(examples):
    source = source_of(f"ors+{examples}#locks")
    assert [tool.name for tool in source.describe().tools] == ["look", "turn-dial", "press-keys"]
    keypad = source.tasks(TaskSelection(indices=(10,)), {})[0]
    play = played(source, keypad, ("look", {}), ("turn-dial", {"to": 1}), ("press-keys", {"keys": ["red", "red"]}))
    assert play.opening == "Open the keypad.\n\nNot in this task: turn-dial."
    assert play.turns[1].fault.kind == "unknown_tool" and "look or press-keys" in play.turns[1].fault.message
    assert play.status() == "won" and play.facts["env_reward"] == 1.0


def test_a_tool_that_no_asked_task_has_is_told_in_its_own():
    with serving(SdkServer([Alone]).app) as url:
        source = source_of(f"ors+{url}", tasks={"indices": [0, 2, 4]})
        assert [tool.name for tool in source.describe().tools] == ["press"]
        task = source.tasks(TaskSelection(indices=(1,)), {})[0]
        assert task.key == "all/1 task 1"
        play = played(source, task, ("press-odd", {"hard": True}))
        assert "In this task there are also these tools:" in play.opening and '"press-odd"' in play.opening
        assert '{"hard": {"type": "boolean"}}' in play.opening
        assert "there is no tool" in play.turns[0].fault.message.lower()  # Alone lists it, but has no method for it


def test_an_environment_with_only_a_terminal_tool_is_played_with_it(examples):
    source = source_of(f"ors+{examples}#riddles")
    tool, = source.describe().tools
    assert tool.name == "submit" and tool.description.startswith("Answer the riddle in one word.")
    assert tool.parameters == {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
    assert "`submit`" in source.describe().prompt
    play = played(source, first(source), ("submit", {"answer": "Clock"}))
    assert play.status() == "won" and play.facts["finished"] is True and play.turns[0].done


def test_words_without_a_call_are_the_answer_where_there_is_a_terminal_tool(examples):
    async def said(use: str, words: str):
        source = source_of(f"ors+{examples}#{use}")
        play = Playthrough(source, spec(f"ors+{examples}#{use}"))
        await play.begin(first(source))
        turn = await play.say(words)
        again = await play.say(words)
        await play.end()
        return play, turn, again

    play, turn, again = asyncio.run(said("riddles", "Clock"))
    assert (turn.tool, turn.said, turn.result, turn.reward, turn.done) == (None, "Clock", "Yes.", 1.0, True)
    assert play.status() == "won" and again is None and play.turns == [turn] and play.facts["turns"] == 1
    play, turn, _ = asyncio.run(said("sums", "3"))
    assert turn is None and play.turns == [] and play.status() == "finished"


def test_schemas_arrive_at_the_model_as_the_server_has_them(odd):
    from transformers.utils.chat_template_utils import render_jinja_template

    trl = Path(importlib.util.find_spec("trl").origin).parent
    template = (trl / "chat_templates" / "qwen3.jinja").read_text()
    for name, answer in TOOLS.items():
        server = WordForWord(answer)
        with serving(server.app()) as url:
            tools = source_of(f"ors+{url}").describe().tools
        schemas = [tool.schema() for tool in tools]
        asked = [[{"role": "user", "content": "Go."}]]
        prompt, = render_jinja_template(asked, tools=schemas, chat_template=template)[0]
        for tool, schema in zip(tools, schemas, strict=True):
            assert f'{{"type": "function", "function": {json.dumps(schema["function"])}}}' in prompt, name
            listed = {each["name"]: each["input_schema"] for each in answer["tools"]}
            if tool.name in listed:
                assert tool.parameters == (listed[tool.name] or {"type": "object", "properties": {}})


@pytest.mark.parametrize(("case", "calls"), [
    ("ors_tools_keyword_param", [("send", {"from": "me"})]),
    ("ors_tools_nullopt_image_null_schema", [("boom", {"answer": "a"}), ("done", {}), ("search", {"q": "x"}),
                                             ("search", {"q": "x", "limit": 2, "tag": None})]),
    ("ors_tools_terminal_only", [("submit", {"answer": "42"})]),
])
def test_every_tool_is_called_with_the_arguments_as_sent(case, calls):
    server = WordForWord(TOOLS[case], [RESULTS[0]] * len(calls))
    with serving(server.app()) as url:
        source = source_of(f"ors+{url}")
        play = played(source, first(source), *calls)
    assert {name for name, _ in calls} == {tool.name for tool in source.describe().tools}
    assert server.calls == [{"name": name, "input": arguments} for name, arguments in calls]
    assert [turn.fault for turn in play.turns] == [None] * len(calls)


def test_an_argument_that_is_left_out_stays_out(odd):
    source = source_of(f"ors+{odd[0]}#odd")
    play = played(source, first(source), ("search", {"q": "x"}), ("search", {}), ("search", {"q": 1, "limit": "many"}))
    assert play.turns[0].result == '{"q": "x"}'
    assert play.turns[1].fault.message == "The environment refused the call of search: q: Field required."
    assert "q: Input should be a valid string; limit: Input should be a valid integer" in play.turns[2].fault.message
    assert (play.facts["tool_failures"], play.fault, play.status()) == (2, None, "finished")


def test_two_tools_of_one_name_are_pointed_out():
    twice = {"tools": [dict(ONE_TOOL["tools"][0], description=f"Way {n}.") for n in (1, 2)], "terminal_tool": None}
    with serving(WordForWord(twice).app()) as url:
        description = source_of(f"ors+{url}").describe()
    assert [tool.description for tool in description.tools] == ["Way 1."]
    assert description.notice.startswith("The server lists two tools called go-on")


# ------------------------------------------------------------------------------------------------------------ answers


def test_every_way_a_call_can_end_becomes_a_turn():
    with serving(WordForWord(ONE_TOOL, list(RESULTS)).app()) as url:
        source = source_of(f"ors+{url}")
        task = first(source)
        plays = [played(source, task, ("go-on", {})) for _ in RESULTS]
    assert all(len(play.turns) == 1 and play.fault is None for play in plays)
    turns = [(play, play.turns[0]) for play in plays]
    plain, metadata, image, refused, finished, unknown, collision, old = turns

    assert (plain[1].result, plain[1].reward, plain[1].fault, plain[1].done) == ("t", None, None, False)
    assert (metadata[1].result, metadata[1].shown, metadata[1].facts["k"]) == ("", "(no text)", 1)
    assert (image[1].images, image[1].reward, image[1].done) == (("data:image/png;base64,aGk=",), 0.5, True)
    assert (image[1].result, image[1].shown, image[0].facts["env_reward"]) == ("", "(an image)", 0.5)
    for play, turn in (refused, finished, unknown, collision, old):
        assert turn.fault is not None and turn.reward is None and play.facts["env_reward"] is None
    kinds = [turn.fault.kind for _, turn in (refused, finished, unknown, collision, old)]
    assert kinds == ["wrong_arguments", "after_the_end", "wrong_arguments", "name_collision", "wrong_arguments"]
    assert (collision[1].fault.where, finished[1].done, finished[0].facts["finished"]) == ("environment", True, True)


def test_metadata_is_told_as_facts_by_usable_names(odd):
    source = source_of(f"ors+{odd[0]}#odd", options={"facts": ["length", "is-long", "turns"]})
    assert {"length", "is_long", "metadata_turns"} <= set(source.describe().facts)
    play = played(source, first(source), ("say", {"text": "hello"}))
    assert play.start_facts["length"] is None
    told = {name: play.facts[name] for name in ("length", "is_long", "metadata_turns", "turns", "mood")}
    assert told == {"length": 5, "is_long": False, "metadata_turns": 99, "turns": 1, "mood": "calm"}


@pytest.mark.parametrize("text", [" " * 10_000, "a  b\n" * 5_000, "\n\n \u2028é😀\x1b[31m\x00" * 1_000, ""])
def test_a_long_answer_arrives_whole(odd, text):
    source = source_of(f"ors+{odd[0]}#odd")
    play = played(source, first(source), ("say", {"text": text}))
    assert play.turns[0].result == text


def test_an_answer_of_five_megabytes_in_one_line_arrives_whole():
    text = "all in one line " * 330_000
    server = WordForWord(ONE_TOOL, [{"ok": True, "output": {"blocks": [{"type": "text", "text": text}]}}])
    with serving(server.app()) as url:
        source = source_of(f"ors+{url}")
        play = played(source, first(source), ("go-on", {}))
    assert play.turns[0].result == text and len(play.turns[0].shown) < 30_000


@pytest.mark.parametrize("block", [
    {"type": "image", "mimeType": "text/html", "data": "aGk="},
    {"type": "image", "mimeType": "image/png", "data": "\"><script>"},
    {"type": "video", "data": "aGk="}, {},
])
def test_a_block_that_is_no_text_and_no_image_is_named(block):
    words, images = reading.words_and_images([block])
    assert images == () and words.startswith("[something of the kind")


@pytest.mark.parametrize(("sent", "read"), [(1, 1.0), (0.0, 0.0), (-2.5, -2.5), (None, None), (True, None), ("1", None),
                                            (float("nan"), None)])
def test_a_reward_is_a_number_or_none(sent, read):
    assert reading.reward_of(sent) == read


# ------------------------------------------------------------------------------------------------------------ trouble


def test_a_tool_that_raises_ends_the_episode_and_tells_the_model_nothing(odd, monkeypatch):
    monkeypatch.setenv("ODD_TOKEN", "very-secret-value")
    source = source_of(f"ors+{odd[0]}#odd", options={"secrets": ["ODD_TOKEN"]})
    play = played(source, first(source), ("boom", {}), ("search", {"q": "x"}))
    assert Odd.built[-1] == {"ODD_TOKEN": "very-secret-value"}
    assert (play.status(), play.fault.where, play.fault.kind) == ("env_error", "environment", "EnvironmentFailed")
    assert "could not log in with *** at /srv/private" in play.fault.message
    assert play.turns[0].shown == "The environment failed; the episode is over."
    assert play.turns[1].fault.kind == "no_environment"
    assert "very-secret-value" not in "".join(turn.model_dump_json() for turn in play.turns)


def test_a_secret_comes_from_the_environment_or_not_at_all(monkeypatch):
    monkeypatch.delenv("ODD_TOKEN", raising=False)
    with pytest.raises(SpecError, match="options.secrets: .* ODD_TOKEN isn't set"):
        ors.check(spec("ors+http://host", options={"secrets": ["ODD_TOKEN"]}))


def test_the_catalog_key_is_shown_to_no_other_server(monkeypatch):
    monkeypatch.setenv("OPENREWARD_API_KEY", "catalog-key")
    heard = Heard(SdkServer([Alone]).app)
    with serving(heard) as url:
        source = source_of(f"ors+{url}")
        played(source, first(source), ("press", {}))
    assert len(heard.requests) > 10 and "catalog-key" not in str(heard.requests)
    assert not any("x-secrets" in headers for _, headers in heard.requests)


def test_a_server_of_ones_own_may_ask_for_a_key(monkeypatch):
    monkeypatch.setenv("MY_SERVER_KEY", "own-key")
    heard = Heard(SdkServer([Alone]).app)

    async def guarded(scope, receive, send):
        if scope["type"] == "http" and (b"x-api-key", b"own-key") not in scope["headers"]:
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b"who are you?"})
        else:
            await heard(scope, receive, send)

    with serving(guarded) as url:
        with pytest.raises(EnvironmentFailed, match="asks for an API key"):
            source_of(f"ors+{url}")
        source = source_of(f"ors+{url}", options={"api_key_variable": "MY_SERVER_KEY"})
        assert played(source, first(source), ("press", {})).facts["env_reward"] == 1.0


def test_a_catalog_name_needs_its_key(monkeypatch):
    monkeypatch.delenv("OPENREWARD_API_KEY", raising=False)
    with pytest.raises(SpecError) as error:
        ors.check(spec("ors:Org/Name"))
    assert str(error.value) == ("use: ors:Org/Name is played at openreward.ai, and OPENREWARD_API_KEY isn't set; set "
                                "it as an environment variable before starting Ortam")


def test_a_catalog_name_is_played_with_its_key_where_its_place_says(monkeypatch):
    """Up to the host: the catalog's own can't be reached from a test, so the same is asked of a server here."""
    monkeypatch.setenv("OPENREWARD_API_KEY", "catalog-key")
    place = place_of(spec("ors:Org/Name#alone"))
    assert (place.url, place.api_url) == ("https://sessions.openreward.ai", "https://api.openreward.ai")
    assert (place.name, place.environment) == ("Org/Name", "alone") and "catalog-key" not in repr(place)
    for chosen in ("alone", None):
        heard = Heard(SdkServer([Alone]).app)
        with serving(heard) as url:
            source = OrsSource(replace(place, url=url, environment=chosen), TaskSelection(count=2))
            assert played(source, first(source), ("press", {})).facts["env_reward"] == 1.0
        assert all(headers["x-api-key"] == "catalog-key" for _, headers in heard.requests)
        assert {headers.get("x-deployment") for _, headers in heard.requests} - {None} == {"Org/Name"}


def test_a_session_is_kept_alive_with_pings_that_arrive(odd):
    source = source_of(f"ors+{odd[0]}#odd")

    async def open_and_wait() -> tuple[str, bool]:
        session = await source.open()
        odd[1].pinged.clear()
        del odd[1].requests[:]
        await session.reset(first(source))
        arrived = await asyncio.to_thread(odd[1].pinged.wait, 15)
        sid = session._session.sid
        await session.close()
        return sid, arrived

    sid, arrived = asyncio.run(open_and_wait())
    assert arrived and sid in {headers["x-session-id"] for path, headers in odd[1].requests if path == "/ping"}


def test_a_closed_session_is_freed_at_the_server(examples):
    server = SdkServer([Sums])
    with serving(server.app) as url:
        source = source_of(f"ors+{url}")
        played(source, first(source), ("answer", {"answer": 1}))
        assert server._active_envs == {}


def test_a_killed_server_is_a_lost_episode_within_a_moment():
    command = [sys.executable, "-m", "backend.environments.examples.ors_server", "--port", "0", "--with-parent",
               str(os.getpid())]
    with Server(command, "example") as server:
        source = source_of(f"ors+{server.url}#sums")

        async def play() -> Playthrough:
            one = Playthrough(source, spec("ors+http://here"), pauses=())
            await one.begin(first(source))
            assert await one.call("answer", {"answer": 1}) == "Wrong."
            os.killpg(server.pid, signal.SIGKILL)
            began = time.monotonic()
            told = await one.call("answer", {"answer": 3})
            assert told == "The connection to the environment was lost; the episode is over."
            await one.end()
            assert time.monotonic() - began < 5
            return one

        one = asyncio.run(play())
    assert (one.status(), one.fault.kind) == ("env_lost", SessionLost.__name__)
    assert one.facts["env_reward"] == 0.0


def test_a_session_that_the_server_dropped_is_lost_and_no_other_is_opened():
    server = WordForWord(ONE_TOOL, [RESULTS[0]], ends_session_after=1)
    with serving(server.app()) as url:
        source = source_of(f"ors+{url}")
        task, before = first(source), len(server.sessions)
        play = played(source, task, ("go-on", {}), ("go-on", {}), ("go-on", {}))
        assert len(server.sessions) == before + 1
    assert [turn.result for turn in play.turns] == ["t", None, None] and len(server.calls) == 2
    assert play.status() == "env_lost" and "no longer has this session" in play.fault.message


def test_a_call_whose_fate_is_unknown_is_not_sent_again():
    server = WordForWord(ONE_TOOL, [b""])
    with serving(server.app()) as url:
        source = source_of(f"ors+{url}")
        play = played(source, first(source), ("go-on", {}))
    assert len(server.calls) == 1 and play.status() == "env_lost"


def test_a_call_that_has_begun_is_taken_up_again_under_its_name():
    server = WordForWord(ONE_TOOL, [b"event: task_id\ndata: t7\n\nevent: chunk\ndata: {\"ok\n\n", RESULTS[0]])
    with serving(server.app()) as url:
        source = source_of(f"ors+{url}")
        play = played(source, first(source), ("go-on", {}))
    assert [call.get("task_id") for call in server.calls] == [None, "t7"] and play.turns[0].result == "t"


def test_an_answer_that_is_not_the_standards_is_the_environments_fault():
    answers = [{"ok": True}, {"fine": 1}, [1], b"event: task_id\ndata: t\n\nevent: end\ndata: {not json\n\n"]
    with serving(WordForWord(ONE_TOOL, list(answers)).app()) as url:
        source = source_of(f"ors+{url}")
        task = first(source)
        plays = [played(source, task, ("go-on", {})) for _ in answers]
    assert [(play.status(), play.turns[0].reward) for play in plays] == [("env_error", None)] * 4


def test_64_sessions_play_at_once(examples):
    source = source_of(f"ors+{examples}#sums")

    async def play_all() -> list[Playthrough]:
        plays = [Playthrough(source, spec("ors+http://here"), pauses=()) for _ in range(64)]
        await asyncio.gather(*(play.begin(task) for play, task in
                               zip(plays, source.tasks(TaskSelection(), {}), strict=True)))
        await asyncio.gather(*(play.call("answer", {"answer": play.start_facts["task_left"]
                                                    + play.start_facts["task_right"]}) for play in plays))
        await asyncio.gather(*(play.end() for play in plays))
        return plays

    assert [play.status() for play in asyncio.run(play_all())] == ["won"] * 64
