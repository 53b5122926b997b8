"""How TRL's transcript and what was really played become the turns of an episode."""

from concurrent.futures import Future

from backend.records import Turn
from backend.trainer.rollout import Round, Spoken, story


def message(text="", calls=()):
    calls = [{"type": "function", "function": {"name": name, "arguments": arguments}} for name, arguments in calls]
    return {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}


def played(*turns: Turn) -> Round:
    answers: Future = Future()
    answers.set_result([("shown", [turn]) for turn in turns])
    return Round([(turn.tool, turn.arguments) for turn in turns], answers, [])


ANSWER = {"role": "tool", "name": "move", "content": "ball 1 0 paddle 2"}


def test_words_tokens_and_seconds_go_to_the_turn_they_were_spent_on():
    first, last = message("going left", [("move", {"direction": "left"})]), message("done")
    rounds = {id(first): played(Turn(index=0, tool="move", arguments={"direction": "left"}, result="ball 1 0 paddle 1"))}
    turns = story([first, ANSWER, last], rounds, [Spoken(7, ""), Spoken(2, "")], [0.5, 0.25])
    assert [(t.index, t.said, t.tool, t.tokens, t.model_seconds, t.cut) for t in turns] == [
        (0, "going left", "move", 7, 0.5, False), (1, "done", None, 2, 0.25, False)]
    assert turns[0].result == "ball 1 0 paddle 1"


def test_a_second_call_of_one_message_is_a_turn_without_tokens_of_its_own():
    both = message("", [("move", {"direction": "left"}), ("stay", {})])
    rounds = {id(both): played(Turn(index=0, tool="move", result="a"), Turn(index=1, tool="stay", result="b"))}
    turns = story([both, ANSWER, ANSWER], rounds, [Spoken(9, "")], [0.1])
    assert [(t.tool, t.result, t.tokens) for t in turns] == [("move", "a", 9), ("stay", "b", None)]


def test_what_trl_took_out_of_the_transcript_is_kept_and_marked_cut():
    last = message("", [("move", {"direction": "left"})])
    turns = story([last], {id(last): played(Turn(index=0, tool="move", result="caught"))}, [Spoken(5, "")], [0.1])
    assert [(t.result, t.cut) for t in turns] == [("caught", True)]


def test_a_call_after_the_last_turn_is_told_as_never_played():
    last = message("", [("move", {"direction": "left"})])
    (turn,) = story([last], {}, [Spoken(5, "")], [0.1])
    assert (turn.tool, turn.result, turn.fault.kind) == ("move", None, "no_turns_left")


def test_calls_without_end_that_were_never_played_are_few_turns():
    last = message("", [("move", {"n": n}) for n in range(500)])
    turns = story([last], {}, [Spoken(5, "")], [0.1])
    assert len(turns) == 33 and {turn.fault.kind for turn in turns} == {"no_turns_left"}
    assert "made 500, and the last 468" in turns[-1].fault.message


def test_a_call_after_the_end_is_not_blamed_on_the_turns():
    first, last = message("", [("move", {"direction": "left"})]), message("", [("stay", {})])
    rounds = {id(first): played(Turn(index=0, tool="move", result="caught", done=True))}
    turns = story([first, ANSWER, last], rounds, [Spoken(5, ""), Spoken(3, "")], [0.1, 0.1])
    assert [(t.tool, t.fault and t.fault.kind) for t in turns] == [("move", None), ("stay", "after_the_end")]


def test_a_call_that_could_not_be_parsed_is_a_fault_with_what_was_written():
    written = '<|call|>move{"direction": "le<|end|>'
    (turn,) = story([message('move{"direction": "le')], {}, [Spoken(6, written)], [0.1])
    assert (turn.said, turn.fault.kind, turn.tool) == (written, "unparsed_call", None)


def test_a_silent_end_is_no_turn():
    assert story([message("")], {}, [Spoken(1, "<|end|>")], [0.1]) == ()
