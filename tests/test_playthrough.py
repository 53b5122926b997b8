"""One episode, and what is kept of it. In process; tests/test_environments.py shows that sockets read the same."""

import asyncio

import pytest

from backend.environments import EPISODE_FACTS, Observation, Task
from backend.environments.playthrough import MOST_CALLS, Playthrough
from backend.environments.sources import in_process
from backend.errors import EnvironmentFailed
from backend.records import EnvironmentSpec


def begun(use: str, seed: int = 0, **more) -> Playthrough:
    spec = EnvironmentSpec(id=use, use=use, **more)
    play = Playthrough(in_process(spec), spec)
    asyncio.run(play.begin(Task(str(seed), seed)))
    return play


def say(play: Playthrough, tool: str, arguments=None) -> str:
    return asyncio.run(play.call(tool, {} if arguments is None else arguments))


def fault(play: Playthrough) -> str | None:
    return play.turns[-1].fault and play.turns[-1].fault.kind


def test_a_turn_keeps_what_was_asked_answered_and_known():
    play = begun("catch", seed=3)
    assert say(play, "move", {"direction": "right"}) == "ball 1 3 paddle 3"
    turn = play.turns[0]
    assert (turn.index, turn.tool, turn.arguments) == (0, "move", {"direction": "right"})
    assert turn.result == "ball 1 3 paddle 3"
    assert (turn.reward, turn.done, turn.fault, turn.shown) == (0.0, False, None, None)
    assert turn.facts["paddle_column"] == 3 and turn.facts["turns"] == 1 and turn.seconds >= 0
    assert play.start_facts["paddle_column"] == 2 and play.opening == "ball 0 3 paddle 2"


@pytest.mark.parametrize("tool, arguments, kind, told", [
    ("mov", {}, "unknown_tool", "There is no tool 'mov'; use move or stay."),
    ("move", {}, "wrong_arguments", "Wrong arguments for move: 'direction' is a required property."),
    ("move", {"direction": "up"}, "wrong_arguments", "Wrong arguments for move: direction: 'up' is not one of "
                                                     "['left', 'right']."),
    ("stay", {"now": True}, "wrong_arguments", "Wrong arguments for stay: Additional properties are not allowed "
                                               "('now' was unexpected)."),
    ("move", '{"direction": ', "wrong_arguments", "The arguments of move must be a JSON object."),
])
def test_a_wrong_call_is_refused_in_words_and_recorded(tool, arguments, kind, told):
    play = begun("catch")
    assert say(play, tool, arguments) == told
    turn = play.turns[0]
    assert (turn.tool, turn.arguments, turn.result, turn.shown) == (tool, arguments, None, told)
    assert (turn.fault.where, turn.fault.kind, turn.reward) == ("model", kind, None)
    assert (play.facts["turns"], play.facts["tool_failures"]) == (0, 1)
    assert say(play, "stay") == "ball 1 0 paddle 2", "the game goes on"


def test_a_refusal_stays_short_however_long_the_call_was():
    play = begun("catch")
    assert len(say(play, "x" * 100_000)) < 200
    assert len(say(play, "move", {"direction": "y" * 100_000})) < 400


def test_a_call_after_the_end_is_refused_and_changes_nothing():
    play = begun("catch", seed=2)
    for _ in range(9):
        say(play, "stay")
    facts = play.facts
    assert play.status() == "won"
    assert say(play, "stay") == "The game is over. Make no more calls."
    assert fault(play) == "after_the_end" and play.facts == facts and play.status() == "won"


def test_no_more_calls_are_played_than_the_spec_allows():
    play = begun("catch", seed=2, max_turns=3)
    for _ in range(3):
        say(play, "stay")
    assert play.status() == "out_of_turns"
    assert say(play, "stay") == "No turns left: all 3 are used."
    assert fault(play) == "no_turns_left" and play.facts["ball_row"] == 3


def test_calls_of_one_message_beyond_a_number_are_one_refused_turn_that_counts_as_a_failed_call():
    play = begun("catch", seed=2, max_turns=100)
    answers = asyncio.run(play.calls([("unknown", {"n": n}) for n in range(500)]))
    assert len(answers) == 500 and len(play.turns) == MOST_CALLS + 1 and sum(len(turns) for _, turns in answers) == MOST_CALLS + 1
    assert fault(play) == "too_many_calls" and play.turns[-1].arguments == {"n": MOST_CALLS}
    assert play.facts["tool_failures"] == MOST_CALLS + 1 and play.facts["turns"] == 0
    assert {told for told, _ in answers[MOST_CALLS:]} == {play.turns[-1].shown}
    assert say(play, "stay") == "ball 1 2 paddle 2", "the game goes on"


def test_calls_made_at_once_are_played_one_after_another():
    play = begun("catch", seed=2)

    async def together():
        return await asyncio.gather(*(play.call("stay", {}) for _ in range(9)))

    assert asyncio.run(together()) == [f"ball {row} 2 paddle 2" for row in range(1, 9)] + ["ball 9 2 paddle 2 caught"]


@pytest.mark.parametrize("use, calls, truncated, status", [
    ("catch", 9, False, "won"),
    ("catch", 9, True, "won"),
    ("catch", 4, False, "lost"),
    ("catch", 4, True, "truncated"),
    ("echo", 1, False, "finished"),
    ("echo", 4, False, "out_of_turns"),
])
def test_the_status_says_how_it_ended(use, calls, truncated, status):
    play = begun(use, seed=2)
    for _ in range(calls):
        say(play, "stay") if use == "catch" else say(play, "echo", {"message": "x"})
    asyncio.run(play.end())
    assert play.status(truncated) == status


def test_two_invalid_words_in_a_row_end_the_episode_as_invalid():
    play = begun("wordle")
    say(play, "guess", {"guess": "[xxxxx]"})
    assert play.status() == "lost"
    say(play, "guess", {"guess": "[xxxxx]"})
    assert play.done and play.status() == "invalid"


def test_an_episode_that_never_began_is_cancelled_and_has_no_clock():
    spec = EnvironmentSpec(id="catch", use="catch")
    play = Playthrough(in_process(spec), spec)
    assert play.status() == "cancelled" and play.seconds is None


def test_facts_hold_those_of_every_episode_and_no_reward_is_none():
    play = begun("echo")
    assert EPISODE_FACTS.keys() - play.facts.keys() == {"truncated", "completion_tokens"}
    assert play.facts["env_reward"] is play.facts["env_reward_total"] is None
    say(play, "echo", {"message": "Hello"})
    say(play, "echo", {"message": "Hello world"})
    assert (play.facts["env_reward"], play.facts["env_reward_total"]) == (1.1, 1.6)


def test_the_clock_stops_at_the_end_and_ending_twice_is_fine():
    play = begun("catch")
    asyncio.run(play.end())
    seconds = play.seconds
    asyncio.run(play.end())
    assert play.seconds == seconds >= 0


class Broken:
    """A session that fails in a way nobody foresaw, with something in its words that no model should read."""

    async def reset(self, task):
        return Observation("begin")

    async def call(self, tool, arguments):
        raise RuntimeError("password is 1234")

    async def close(self):
        raise EnvironmentFailed("gone")


class BrokenSource:
    describe = in_process(EnvironmentSpec(id="catch", use="catch")).describe

    async def open(self):
        return Broken()


def test_a_bug_in_an_environment_ends_the_episode_with_its_traceback_and_tells_the_model_nothing():
    play = Playthrough(BrokenSource(), EnvironmentSpec(id="catch", use="catch"))
    asyncio.run(play.begin(Task("0", 0)))
    assert say(play, "stay") == "The environment failed; the episode is over."
    asyncio.run(play.end())
    assert play.status() == "env_error"
    assert (play.fault.kind, play.fault.message) == ("RuntimeError", "password is 1234")
    assert "in call" in play.fault.traceback and play.turns[0].fault == play.fault
    assert "1234" not in play.turns[0].shown
