"""The line of turns: what each turn came to, by sign and colour, and what it earned."""

import re

from backend.records import Episode, Fault, Parent, RewardTerm, Turn
from ui.timeline import marks, per_turn, transport


def episode(*turns: Turn, **more) -> Episode:
    return Episode(**{"id": "e", "step": 1, "group": 0, "sample": 0, "environment": "catch", "status": "lost", "turns": turns,
                      **more})


def turn(k: int, reward: float | None = None, **more) -> Turn:
    return Turn(**{"index": k, "tool": "move", "reward": reward, "facts": {"n": k, "turns": k + 1}, **more})


def test_a_reward_is_a_bar_with_its_sign_and_none_is_no_bar():
    told = transport(marks(episode(turn(0, 1.0), turn(1, -0.5), turn(2), turn(3, 0.0))), 0)
    assert re.findall(r'<b class="o-(\w+)" style="--high:(\d+)">', told) == [("plus", "100"), ("minus", "50")]
    assert 'title="Turn 2: move, reward −0.50"' in told and 'title="Turn 3: move"' in told


def test_terms_of_every_turn_are_drawn_where_the_environment_gave_none():
    terms = [RewardTerm(name="closer", value="n", scope="turn", weight=2), RewardTerm(name="end", value="9.0"),
             RewardTerm(name="elsewhere", value="5.0", scope="turn", environments=("other",))]
    assert per_turn(episode(turn(0), turn(1), Turn(index=2, said="bye")), terms) == ([0.0, 2.0, None], "closer")
    assert per_turn(episode(turn(0, 0.3), turn(1)), terms) == ([0.3, None], "reward")
    broken = [RewardTerm(name="x", value="1 +", scope="turn")]
    assert per_turn(episode(turn(0)), broken) == ([None], "reward")


def test_faults_refusals_and_cuts_are_told_apart_by_more_than_colour():
    told = marks(episode(turn(0), turn(1, fault=Fault(where="model", kind="unknown_tool", message="no")),
                         turn(2, fault=Fault(where="environment", kind="Gone", message="x")), turn(3, cut=True)))
    assert [mark.kind for mark in told] == ["o-zero", "", "o-refused", "o-theirs", "o-cut"]
    assert told[2].hint == "Turn 2: move, refused (unknown tool)" and "the environment failed" in told[3].hint
    assert re.findall('data-sign="(.)"', transport(told, 4)) == ["!", "E", "✂"]


def test_a_fork_shows_where_it_begins():
    told = marks(episode(turn(0), turn(1), parent=Parent(run="r", episode="p", turn=1)))
    assert told[1].kind == "o-part-here" and told[1].hint.endswith("the last that repeats") and told[2].kind == ""


def test_many_turns_lie_under_a_veil_instead_of_being_marked_one_by_one():
    drawn = transport(marks(episode(*map(turn, range(100)))), 50)
    assert "o-ahead" in drawn and "translateX(50.00%)" in drawn and "o-now" not in drawn
    assert "o-ahead" not in transport(marks(episode(*map(turn, range(10)))), 5)
