"""The built-in environments as a run meets them: real OpenEnv servers over real sockets."""

import asyncio
import json
import subprocess
import sys

import pytest
import websockets

from backend.environments import EPISODE_FACTS, Task
from backend.environments.catalog import CATALOG, check, entry
from backend.environments.playthrough import Playthrough
from backend.environments.serving import serve
from backend.environments.sources import in_process, source
from backend.errors import EnvironmentFailed, SessionLost, SpecError
from backend.records import EnvironmentSpec, TaskSelection
from backend.rewards import check as check_term

MOVES = {
    "catch": [("move", {"direction": "left"}), ("stay", {}), ("move", {"direction": "right"}), *[("stay", {})] * 6],
    "wordle": [("guess", {"guess": word}) for word in ("[crane]", "[zzxzz]", "slate", "[crane]", "[crane]")],
    "sudoku": [("place", {"row": row, "column": column, "value": value})
               for row, column, value in ((1, 1, 5), (3, 9, 10), (9, 9, 1), (1, 1, 1))],
    "echo": [("echo", {"message": text}) for text in ("Hello world!", "", "İ ğ 中 \x00 <|im_end|>", "x" * 100_000)],
}


@pytest.fixture(scope="module")
def servers():
    running = {use: serve(use, sessions=70) for use in CATALOG}
    yield running
    for server in running.values():
        server.stop()


def spec(use: str, **more) -> EnvironmentSpec:
    return EnvironmentSpec(id=use, use=use, **more)


async def episode(played_on, use: str, seed: int) -> Playthrough:
    play = Playthrough(played_on, spec(use, max_turns=50))
    await play.begin(Task(str(seed), seed))
    for tool, arguments in MOVES[use]:
        await play.call(tool, arguments)
    await play.end()
    return play


def story(play: Playthrough) -> list:
    """All of an episode but its clock."""
    return [play.opening, play.start_facts, play.fingerprint, play.status(), play.facts,
            *(turn.model_dump(exclude={"seconds"}) for turn in play.turns)]


# -------------------------------------------------------------------------------------------------------- the catalog


@pytest.mark.parametrize("use", CATALOG)
def test_an_entry_describes_itself_to_people_models_and_rewards(use):
    description = entry(use).description
    assert description.title and description.about and description.max_turns > 0
    for tool in description.tools:
        assert tool.description and f"`{tool.name}`" in description.prompt
        assert tool.parameters["required"] == list(tool.parameters["properties"])
        assert all(argument["description"] for argument in tool.parameters["properties"].values())
    assert not description.facts.keys() & EPISODE_FACTS.keys()
    for _, expression in description.rewards:
        check_term(expression, description.facts.keys() | EPISODE_FACTS.keys())


def test_an_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(SpecError, match="did you mean wordle") as wrong:
        entry("wordel")
    assert wrong.value.field == "use"
    with pytest.raises(SpecError, match="use catch, wordle, sudoku, echo"):
        entry("q")


def test_an_option_the_environment_does_not_have_is_refused():
    with pytest.raises(SpecError, match="wordle has no option 'lenght'") as wrong:
        check(spec("wordle", options={"lenght": 6}))
    assert wrong.value.field == "options"


# ------------------------------------------------------------------------------------------------- tasks and sessions


@pytest.mark.parametrize("use", CATALOG)
def test_an_episode_over_a_socket_reads_byte_for_byte_like_one_in_process(servers, use):
    async def both():
        there = await episode(source(spec(use), servers[use].url), use, 4)
        return there, await episode(in_process(spec(use)), use, 4)

    there, here = asyncio.run(both())
    assert there.fault is None and len(there.turns) == len(MOVES[use])
    assert json.dumps(story(there)) == json.dumps(story(here))


@pytest.mark.parametrize("use", CATALOG)
def test_a_group_plays_one_task(servers, use):
    async def group():
        return await asyncio.gather(*(episode(source(spec(use), servers[use].url), use, 11) for _ in range(16)))

    plays = asyncio.run(group())
    assert len({play.fingerprint for play in plays}) == 1 and plays[0].fingerprint
    assert all(story(play) == story(plays[0]) for play in plays)


@pytest.mark.parametrize("use", ["catch", "wordle", "sudoku"])
def test_tasks_are_seeds_and_different_seeds_are_different_tasks(servers, use):
    here = source(spec(use), servers[use].url)
    tasks = here.tasks(TaskSelection(count=5, first_seed=40), {})
    assert [(task.key, task.seed) for task in tasks] == [(str(seed), seed) for seed in range(40, 45)]

    async def all_of_them():
        return await asyncio.gather(*(episode(here, use, task.seed) for task in tasks))

    assert len({play.fingerprint for play in asyncio.run(all_of_them())}) == 5


def test_sixty_four_episodes_are_open_at_once_and_played_side_by_side(servers):
    async def batch():
        here = source(spec("catch"), servers["catch"].url)
        plays = [Playthrough(here, spec("catch")) for _ in range(64)]
        await asyncio.gather(*(play.begin(Task(str(k), k)) for k, play in enumerate(plays)))
        for _ in range(9):
            await asyncio.gather(*(play.call("stay", {}) for play in plays))
        await asyncio.gather(*(play.end() for play in plays))
        return plays

    plays = asyncio.run(batch())
    assert [play.status() for play in plays] == ["won" if k % 5 == 2 else "lost" for k in range(64)]


def test_what_travels_before_the_end_does_not_give_the_word_away(servers):
    from backend.environments.games.wordle import answers

    async def wire():
        async with websockets.connect(servers["wordle"].url.replace("http", "ws") + "/ws") as socket:
            await socket.send(json.dumps({"type": "reset", "data": {"seed": 5}}))
            first = await socket.recv()
            await socket.send(json.dumps({"type": "step", "data": {"guess": "[zzxzz]"}}))
            return first + await socket.recv()

    assert answers()[5] not in asyncio.run(wire())


def test_openenvs_own_client_plays_on_our_server(servers):
    from openenv.core import GenericEnvClient

    async def play():
        async with GenericEnvClient(base_url=servers["wordle"].url) as client:
            first = await client.reset(seed=3)
            second = await client.step({"guess": "[crane]"})
            return first, second, await client.state()

    first, second, state = asyncio.run(play())
    assert first.observation["metadata"]["fingerprint"] and first.reward is None
    assert second.observation["text"].startswith("Feedback:\nC R A N E\n") and second.reward == 0.0
    assert state["step_count"] == 1


# ------------------------------------------------------------------------------------------------ what can go wrong


def test_a_full_server_is_named_and_a_closed_episode_makes_room():
    async def play(server):
        here = source(spec("catch"), server.url)
        plays = [Playthrough(here, spec("catch"), pauses=()) for _ in range(4)]
        await plays[0].begin(Task("0", 0))
        await plays[1].begin(Task("0", 0))
        told = await plays[2].begin(Task("0", 0))
        await plays[0].end()
        await plays[3].begin(Task("0", 0))
        await asyncio.gather(*(play.end() for play in plays))
        return plays, told

    with serve("catch", sessions=2) as server:
        plays, told = asyncio.run(play(server))
    assert plays[2].status() == "env_error" and plays[2].opening is None and told
    assert "is full: all its 2 sessions are taken. Start it with more sessions" in plays[2].fault.message
    assert [plays[k].fault for k in (0, 1, 3)] == [None] * 3


def test_beginning_at_a_full_server_is_tried_again_until_there_is_room():
    async def play(server):
        here = source(spec("catch"), server.url)
        first, second = Playthrough(here, spec("catch")), Playthrough(here, spec("catch"), pauses=(0.02,) * 200)
        await first.begin(Task("0", 0))
        waiting = asyncio.create_task(second.begin(Task("0", 0)))
        refused = asyncio.create_task(Playthrough(here, spec("catch"), pauses=()).begin(Task("0", 0)))
        await refused
        assert not waiting.done()
        await first.end()
        opening = await waiting
        await second.end()
        return opening

    with serve("catch", sessions=1) as server:
        assert asyncio.run(play(server)) == "ball 0 0 paddle 2"


def test_a_killed_player_leaves_no_session_taken():
    code = ("import sys\nfrom websockets.sync.client import connect\nsocket = connect(sys.argv[1])\n"
            "socket.send('{\"type\": \"reset\", \"data\": {}}')\nsocket.recv()\nprint('playing', flush=True)\ninput()")

    async def play(server):
        here = source(spec("catch"), server.url)
        player = subprocess.Popen([sys.executable, "-c", code, server.url.replace("http", "ws") + "/ws"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        with player:
            assert player.stdout.readline() == "playing\n"
            refused = Playthrough(here, spec("catch"), pauses=())
            await refused.begin(Task("0", 0))
            player.kill()
        after = Playthrough(here, spec("catch"), pauses=(0.02,) * 200)
        await after.begin(Task("0", 0))
        await after.end()
        return refused, after

    with serve("catch", sessions=1) as server:
        refused, after = asyncio.run(play(server))
    assert refused.status() == "env_error" and after.fault is None


def test_a_server_that_dies_loses_the_episode_and_never_starts_another_in_its_place():
    async def play(server):
        here = source(spec("catch"), server.url)
        lost = Playthrough(here, spec("catch"))
        await lost.begin(Task("2", 2))
        await lost.call("stay", {})
        server._process.kill()
        told = [await lost.call("stay", {}), await lost.call("stay", {})]
        await lost.end()
        return lost, told

    with serve("catch", sessions=2) as server:
        lost, told = asyncio.run(play(server))
    assert lost.status() == lost.status(truncated=True) == "env_lost"
    assert lost.fault.kind == "SessionLost" and server.url in lost.fault.message
    assert told == ["The connection to the environment was lost; the episode is over.",
                    "The environment is gone; no more can be played."]
    assert [turn.fault and turn.fault.kind for turn in lost.turns] == [None, "SessionLost", "no_environment"]
    assert lost.facts["ball_row"] == 1 and lost.facts["turns"] == 2


def test_nothing_at_the_address_is_an_environment_error():
    async def play():
        play = Playthrough(source(spec("catch"), "http://127.0.0.1:9"), spec("catch"), pauses=(0.0,))
        await play.begin(Task("0", 0))
        await play.end()
        return play

    play = asyncio.run(play())
    assert play.status() == "env_error"
    assert "Nothing that speaks OpenEnv answers at http://127.0.0.1:9" in play.fault.message


def test_a_reset_the_server_refuses_is_named(servers):
    async def reset():
        session = await source(spec("wordle"), servers["wordle"].url).open()
        try:
            await session.reset(Task("0", 0, {"hard": True}))
        finally:
            await session.close()

    with pytest.raises(EnvironmentFailed, match="unknown reset option hard"):
        asyncio.run(reset())


def test_half_a_surrogate_pair_from_a_model_does_not_end_the_session(servers):
    async def play():
        play = Playthrough(source(spec("echo"), servers["echo"].url), spec("echo"))
        await play.begin(Task("0", 0))
        answers = [await play.call("echo", {"message": text}) for text in ("a\ud83d", "\ude00b", "\U0001f600")]
        await play.end()
        return play, answers

    play, answers = asyncio.run(play())
    assert play.fault is None
    assert answers == ["a\ufffd", "\ufffdb", "\U0001f600"]


def test_a_message_of_five_megabytes_comes_back_whole_and_is_shown_cut(servers):
    async def play():
        play = Playthrough(source(spec("echo"), servers["echo"].url), spec("echo"))
        await play.begin(Task("0", 0))
        answer = await play.call("echo", {"message": "é" * 2_500_000})
        await play.end()
        return answer, play.turns[0]

    answer, turn = asyncio.run(play())
    assert turn.result == "é" * 2_500_000
    assert turn.shown == answer and len(answer) < 21_000 and "2,480,000 characters left out" in answer


def test_the_wrong_server_is_an_environment_error(servers):
    async def play():
        play = Playthrough(source(spec("catch"), servers["wordle"].url), spec("catch"), pauses=())
        await play.begin(Task("0", 0))
        await play.end()
        return play

    play = asyncio.run(play())
    assert play.status() == "env_error" and "is it the right server?" in play.fault.message


@pytest.mark.parametrize("answer", ["not json", "[1]", '{"type": "observation"}',
                                    '{"type": "observation", "data": {}}'])
def test_an_answer_that_is_no_openenv_message_is_an_environment_error(answer):
    async def play():
        async def answering(socket):
            async for message in socket:
                if json.loads(message)["type"] == "close":
                    return
                await socket.send(answer)

        async with websockets.serve(answering, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            session = await source(spec("catch"), f"http://127.0.0.1:{port}").open()
            try:
                await session.reset(Task("0", 0))
            finally:
                await session.close()

    with pytest.raises(EnvironmentFailed, match="http://127.0.0.1"):
        asyncio.run(play())


def test_a_call_that_was_given_up_leaves_no_answer_for_the_next(servers):
    async def play():
        session = await source(spec("echo"), servers["echo"].url).open()
        await session.reset(Task("0", 0))
        given_up = asyncio.create_task(session.call("echo", {"message": "first"}))
        await asyncio.sleep(0)
        given_up.cancel()
        await asyncio.gather(given_up, return_exceptions=True)
        try:
            await session.call("echo", {"message": "second"})
        finally:
            await session.close()

    with pytest.raises(SessionLost):
        asyncio.run(play())


def test_a_bare_address_is_told_what_to_write_in_front_of_it():
    with pytest.raises(SpecError, match="write openenv. or ors. in front"):
        entry("http://127.0.0.1:8001")
