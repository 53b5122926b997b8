"""An episode's turns played again, over real sockets: what repeats goes on from there, what doesn't says why."""

import asyncio

import pytest

from backend.environments import Source
from backend.environments.players import players
from backend.environments.playthrough import Playthrough
from backend.environments.repeating import repeat, unrepeatable
from backend.environments.serving import serve
from backend.environments.sources import in_process, source
from backend.errors import CannotRepeat
from backend.play import Sitting
from backend.records import EnvironmentSpec, Episode, Fault, Policy, Turn


@pytest.fixture(scope="module")
def there():
    """use -> (spec, source) on a server of its own."""
    found: dict[str, tuple[EnvironmentSpec, Source]] = {}
    servers = []

    def reach(use: str) -> tuple[EnvironmentSpec, Source]:
        if use not in found:
            servers.append(serve(use, sessions=8))
            spec = EnvironmentSpec(id=use, use=use)
            found[use] = spec, source(spec, servers[-1].url)
        return found[use]

    yield reach
    for server in servers:
        server.stop()


def at(url: str, kind: str) -> tuple[EnvironmentSpec, Source]:
    spec = EnvironmentSpec(id="walk", use=f"openenv+{url}/{kind}")
    return spec, source(spec, f"{url}/{kind}")


async def _recorded(spec: EnvironmentSpec, where: Source, player: str | None, calls=(), seed: int = 3) -> Episode:
    task = where.tasks(spec.tasks.model_copy(update={"first_seed": seed}), spec.options)[0]
    sitting = Sitting(spec, where, (), task, player)
    await sitting.begin()
    for call in calls:
        await sitting.call(*call)
    while player and not sitting.ended:
        await sitting.advance()
    await sitting.end()
    return sitting.episode(id="played")


def recorded(spec, where, player=None, calls=(), seed=3) -> Episode:
    return asyncio.run(_recorded(spec, where, player, calls, seed))


def again(spec, where, episode: Episode, turns: int) -> Playthrough:
    play = Playthrough(where, spec, pauses=())

    async def both():
        await repeat(play, episode, turns)
        await play.end()

    asyncio.run(both())
    return play


@pytest.mark.parametrize("use", ["catch", "wordle", "sudoku"])
def test_what_ships_here_repeats_turn_by_turn(there, use):
    spec, where = there(use)
    whole = recorded(spec, where, next(iter(players(use))))
    turns = len(whole.turns) - 1
    play = again(spec, where, whole, turns)
    assert [(t.tool, t.result, t.facts) for t in play.turns] == [(t.tool, t.result, t.facts) for t in whole.turns[:turns]]
    assert not play.done and play.fingerprint == whole.fingerprint and play.facts["turns"] == turns


def test_the_next_call_goes_on_from_there(there):
    spec, where = there("catch")
    whole = recorded(spec, where, "perfect")
    play = Playthrough(where, spec)

    async def fork():
        await repeat(play, whole, 8)
        told = await play.call("stay", {})
        await play.end()
        return told

    assert asyncio.run(fork()).endswith("caught") and play.status() == "won" and len(play.turns) == 9


def test_nothing_repeated_is_the_start(there):
    spec, where = there("wordle")
    play = again(spec, where, recorded(spec, where, "solver"), 0)
    assert play.turns == [] and play.opening


def test_what_was_said_and_thought_stays_with_its_turn(there):
    spec, where = there("catch")
    whole = recorded(spec, where, "perfect")
    spoken = whole.turns[0].model_copy(update={"said": "left it is", "thought": "hm", "tokens": 9})
    play = again(spec, where, whole.model_copy(update={"turns": (spoken, *whole.turns[1:])}), 1)
    assert (play.turns[0].said, play.turns[0].thought, play.turns[0].tokens) == ("left it is", "hm", 9)


def test_refused_calls_are_refused_again(there):
    spec, where = there("catch")
    whole = recorded(spec, where, calls=[("fly", {}), ("move", {"direction": "up"}), ("move", "not json"), ("stay", {})])
    play = again(spec, where, whole, 4)
    assert [turn.fault and turn.fault.kind for turn in play.turns] == ["unknown_tool", "wrong_arguments",
                                                                       "wrong_arguments", None]
    assert play.facts["tool_failures"] == 3 and play.facts["turns"] == 1


def test_a_call_that_went_through_before_and_is_refused_now_is_told(there):
    spec, where = there("catch")
    whole = recorded(spec, where, calls=[("stay", {})])
    odd = whole.model_copy(update={"turns": (whole.turns[0].model_copy(update={"tool": "wait"}),)})
    with pytest.raises(CannotRepeat, match="turn 1 was refused this time, so the environment doesn't repeat"):
        again(spec, where, odd, 1)


@pytest.mark.parametrize("change, said", [
    ({"result": "ball 9 9 paddle 2"}, r"turn 1 answered differently: 'ball 1 3 paddle 2' instead of 'ball 9 9 paddle 2'"),
    ({"done": True}, "the episode is over at turn 1; fork it before that"),
    ({"reward": 0.5}, r"turn 1 gave the reward 0.0 instead of 0.5"),
    ({"facts": {"ball_row": 7}}, "turn 1 left other facts: ball_row is 1 instead of 7"),
])
def test_each_thing_that_differs_is_named(there, change, said):
    spec, where = there("catch")
    whole = recorded(spec, where, calls=[("stay", {}), ("stay", {})])
    changed = whole.model_copy(update={"turns": (whole.turns[0].model_copy(update=change), whole.turns[1])})
    with pytest.raises(CannotRepeat, match=said):
        again(spec, where, changed, 2)


@pytest.mark.parametrize("change, said", [
    ({"fingerprint": "another"}, "gave another task"),
    ({"opening": "ball 0 0 paddle 0"}, "the game opened differently: 'ball 0 3 paddle 2' instead of 'ball 0 0 paddle 0'"),
    ({"start_facts": {"paddle_column": 4}}, "the game opened differently: paddle_column is 2 instead of 4"),
])
def test_a_game_that_opens_differently_is_refused(there, change, said):
    spec, where = there("catch")
    whole = recorded(spec, where, calls=[("stay", {})])
    with pytest.raises(CannotRepeat, match=said):
        again(spec, where, whole.model_copy(update=change), 1)


@pytest.mark.parametrize("kind, said", [
    ("dropsseed", "gave another task|opened differently"),
    ("hidesseed", "turn 1 answered differently"),
])
def test_an_environment_that_doesnt_repeat_is_refused_with_what_differed(odd, kind, said):
    spec, where = at(odd, kind)
    whole = recorded(spec, where, calls=[("turn", {"way": "left"})] * 3)
    assert whole.turns[0].fault is None
    with pytest.raises(CannotRepeat, match=said):
        again(spec, where, whole, 2)


def test_an_environment_that_is_gone_is_refused():
    spec = EnvironmentSpec(id="walk", use="catch")
    played = recorded(spec, in_process(spec), calls=[("stay", {})])
    with pytest.raises(CannotRepeat, match="the environment couldn't be begun: .*answers at http://127.0.0.1:9"):
        again(spec, source(spec, "http://127.0.0.1:9"), played, 1)


def test_what_the_record_alone_rules_out():
    def of(*turns, **more):
        return Episode(**{"id": "e", "step": 1, "group": 0, "sample": 0, "environment": "catch", "status": "lost",
                          "seed": 1, "turns": turns, **more})

    move = Turn(index=0, tool="stay", result="x")
    broke = Turn(index=1, tool="stay", fault=Fault(where="environment", kind="SessionLost", message="gone"))
    late = Turn(index=1, tool="stay", fault=Fault(where="model", kind="no_turns_left", message="none"))
    assert unrepeatable(of(move), 1) == ""
    assert "there is no turn 2: the episode has 1" in unrepeatable(of(move), 2)
    assert "imported" in unrepeatable(of(move, policy=Policy(kind="import")), 1)
    assert "neither its seed nor its task" in unrepeatable(of(move, seed=None), 1)
    assert "its seed 2147483648 isn't one" in unrepeatable(of(move, seed=2**31), 1)
    assert unrepeatable(of(move, broke), 1) == "" and "environment failed in turn 2" in unrepeatable(of(move, broke), 2)
    assert "over at turn 2" in unrepeatable(of(move, late), 2)
    assert "no tool was called in turn 2" in unrepeatable(of(move, Turn(index=1, said="bye")), 2)


def test_no_fork_where_no_turn_is_left(there):
    spec, where = there("catch")
    whole = recorded(spec, where, calls=[("stay", {})] * 2)
    with pytest.raises(CannotRepeat, match="no turn is left after turn 2: 2 are allowed"):
        again(spec.model_copy(update={"max_turns": 2}), where, whole, 2)


def test_calls_that_a_message_made_too_many_are_left_out_again(there):
    spec, where = there("catch")
    spec = spec.model_copy(update={"max_turns": 50})
    episode = recorded(spec, where)
    play = Playthrough(where, spec)

    async def made():
        await play.begin(where.tasks(spec.tasks.model_copy(update={"first_seed": 3}), spec.options)[0])
        await play.calls([("leap", {"n": n}) for n in range(99)])
        await play.call("stay", {})
        await play.end()

    asyncio.run(made())
    turns = again(spec, where, episode.model_copy(update={"turns": tuple(play.turns)}), 34).turns
    assert [turn.fault and turn.fault.message for turn in turns] == [turn.fault and turn.fault.message for turn in play.turns]
    assert turns[33].facts == play.turns[33].facts
