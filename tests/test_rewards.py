"""Reward terms: facts in, a number or None out, and nothing else gets through."""

import time

import pytest

from backend.errors import RewardError
from backend.records import RewardTerm
from backend.rewards import Terms, check

FACTS = {"won": True, "guesses": 3, "best_greens": 5, "last_guess": "crane", "nearness": None}


def value(expression, facts=FACTS):
    return Terms([RewardTerm(name="term", value=expression)], FACTS).score(facts)["term"]


@pytest.mark.parametrize(("expression", "expected"), [
    ("1.0 + 0.5 * (1 - guesses / 6) if won else 0.0", 1.25), ("0.0 if won else 0.1 * best_greens", 0.0), ("won", 1.0),
    ("not won", 0.0), ("min(guesses, 2) + max(1, 5) - abs(-2)", 5.0), ("round(2.567, 1)", 2.6),
                                                      ("len(last_guess)", 5.0),
    ("last_guess == 'crane'", 1.0), ("'a' in last_guess", 1.0), ("1 < guesses < 5", 1.0),
                                                      ("7 // 2 + 7 % 4 + 2 ** 3", 14.0),
    ("won and guesses <= 3", 1.0), ("-guesses", -3.0), ("True + 1", 2.0), ("(won or nearness) is True", 1.0),
                                                      ("1e-3", 0.001),
])
def test_a_term_gives_a_number(expression, expected):
    assert value(expression) == pytest.approx(expected)


@pytest.mark.parametrize("expression", ["nearness", "nearness + 1", "nearness > 0", "-nearness", "0.5 * nearness",
                                        "abs(nearness)",
                                        "nearness == 1", "max(nearness, 0)", "1 if nearness > 0 else 0",
                                        "guesses * nearness"])
def test_what_needs_an_unknown_fact_is_none_and_never_0(expression):
    assert value(expression) is None
    assert value(expression, {}) is None


@pytest.mark.parametrize(("expression", "expected"), [("1 if nearness is None else 2", 1), ("1 if nearness else 2", 2),
                                                      ("0.0 if nearness is not None else -1", -1), ("not nearness", 1),
                                                      ("nearness if won is None else 3", 3)])
def test_none_can_be_asked_for(expression, expected):
    assert value(expression) == expected


@pytest.mark.parametrize("expression", ["", "  ", "won +", "won.real", "won[0]", "(lambda: 1)()", "[x for x in (1, 2)]",
                                        "__import__('os')", "open('x')", "f'{won}'", "max(1, key=len)", "max", "x := 1",
                                        "1; 2",
                                        "{1: 2}", "won == None", "1j", "b'a'", "(" * 200, "1" * 600, "'a' * 10",
                                        "1 / 0", "yield",
                                        "print(1)", "*won", "won\n+ 1 +", "\0", "'text'", "1e999", "...", "eval('1')"])
def test_what_is_no_reward_is_one_sentence(expression):
    with pytest.raises(RewardError) as caught:
        check(expression, FACTS)
    assert "\n" not in str(caught.value)


def test_an_unknown_fact_names_the_near_ones():
    with pytest.raises(RewardError, match="no fact is called 'gueses'; did you mean guesses"):
        check("gueses", FACTS)
    with pytest.raises(RewardError, match="known facts: best_greens"):
        check("zzz", FACTS)
    with pytest.raises(RewardError, match="reward term win: no fact is called 'wonn'"):
        Terms([RewardTerm(name="win", value="wonn")], FACTS)


@pytest.mark.parametrize("expression", ["9 ** 9 ** 9 ** won", "last_guess * 1000000000", "'%1000000000d' % won",
                                        "round(guesses, -1000000000)", "won / 0", "1.0 / (guesses - 3)",
                                        "last_guess + 1",
                                        "10.0 ** 99 ** won * 1e300 * 1e300", "(0 - guesses) ** 0.5", "last_guess",
                                        "last_guess < 3", "len(guesses)", "1e308 * 10 * won"])
def test_what_cannot_be_worked_out_is_none_with_a_fault_and_takes_no_time(expression):
    terms = Terms([RewardTerm(name="term", value=expression)], FACTS)
    before = time.process_time()
    assert terms.score(FACTS) == {"term": None}
    assert time.process_time() - before < 0.5
    fault, = terms.faults(FACTS)
    assert fault.where == "reward"
    assert "reward term term" in fault.message


def test_an_unknown_fact_at_the_end_is_no_fault():
    assert Terms([RewardTerm(name="term", value="nearness")], FACTS).faults(FACTS) == []


def test_terms_apply_where_they_are_meant_to():
    terms = Terms([RewardTerm(name="win", value="1.0", environments=("wordle",)),
                   RewardTerm(name="near", value="2", weight=0.5)])
    assert terms.score({}, "catch") == {"win": None, "near": 2.0}
    assert terms.score({}, "wordle") == {"win": 1.0, "near": 2.0}


def test_a_total_is_the_weighted_sum_of_what_was_scored():
    terms = Terms([RewardTerm(name="a", value="1", weight=2), RewardTerm(name="b", value="1", weight=-0.5)])
    assert terms.total({"a": 1.0, "b": 1.0}) == 1.5
    assert terms.total({"a": None, "b": 1.0}) == -0.5
    assert terms.total({"a": None, "b": None}) is None
    assert terms.total({}) is None
