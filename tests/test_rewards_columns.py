"""Many episodes at once give the numbers that they give one by one."""

import math
import random

import pytest

from backend.errors import RewardError
from backend.rewards.columns import values
from backend.rewards.expression import Expression, NotANumber

FACTS = {"won": lambda luck: luck.random() < 0.5, "n": lambda luck: luck.randint(-3, 6), "zero": lambda luck: 0,
         "x": lambda luck: luck.choice([0.1, -2.75, 3.0, 1e200, math.inf, None]), "gone": lambda luck: None,
         "word": lambda luck: luck.choice(["crane", "", "a"]),
         "mixed": lambda luck: luck.choice([None, True, 2, "a", 0.5, 2**70])}


def written(luck: random.Random, depth: int) -> str:
    """An expression of the allowed kind."""
    if depth == 0 or luck.random() < 0.15:
        return luck.choice([*FACTS, *FACTS, "0", "1", "2.5", "-1", "None", "True", "'a'", "0.1", "7"])
    a, b, c = (written(luck, depth - 1) for _ in range(3))
    sign, order = luck.choice(["+", "-", "*", "/", "//", "%", "**"]), luck.choice(["<", "<=", ">", ">=", "==", "!="])
    return luck.choice([
        f"({a} {sign} {b})", f"({a} {order} {b})", f"({a} and {b})", f"({a} or {b})", f"(not {a})",
        f"({a} if {b} else {c})", f"(-{a})", f"min({a}, {b})", f"max({a}, {b})", f"abs({a})", f"round({a})",
        f"round({a}, 2)", f"len({a})", f"({a} is None)", f"({a} is not None)", f"({a} is True)", f"({a} in {b})",
        f"({a} not in {b})",
        f"({a} < {b} <= {c})", f"round({a}, {b})"])


def alone(expression: Expression, facts: dict) -> float | None:
    try:
        return expression.value(facts)
    except NotANumber:
        return None


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("seed", range(4))
def test_any_expression_gives_the_same_at_once_and_one_by_one(seed):
    luck, tried = random.Random(seed), 0
    while tried < 400:
        try:
            expression = Expression(written(luck, luck.randint(1, 4)))
        except RewardError:
            continue
        tried += 1
        rows = [{name: make(luck) for name, make in FACTS.items()} for _ in range(10)]
        at_once = values(expression, {name: [row[name] for row in rows] for name in FACTS}, len(rows))
        for row, number in zip(rows, at_once, strict=True):
            expected = alone(expression, row)
            if expected is None:
                assert math.isnan(number), (expression.text, row)
            else:
                assert number == pytest.approx(expected, rel=1e-12, abs=1e-12), (expression.text, row)


def test_a_fact_that_no_episode_has_is_none_everywhere():
    assert values(Expression("gone + 1"), {}, 3).tolist() == pytest.approx([math.nan] * 3, nan_ok=True)
    assert values(Expression("1 if gone is None else 2"), {}, 2).tolist() == [1, 1]


def test_no_episodes_give_no_numbers():
    for text in ("1", "won", "round(x, 1)", "'a' in word", "x is True"):
        assert values(Expression(text), {"won": [], "x": [], "word": []}, 0).tolist() == []
