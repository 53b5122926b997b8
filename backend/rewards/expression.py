"""One safe expression. simpleeval evaluates; the syntax it may see, and what None means, are decided here."""

import ast
import difflib
import math
import operator
from collections.abc import Callable, Collection, Mapping
from typing import Any

from simpleeval import SimpleEval

from backend.errors import RewardError

LONGEST = 500
LARGEST_POWER = 100
RUBRIC = "rubric_"
"""How facts begin that are parts of an OpenEnv server's own reward."""
FUNCTIONS: dict[str, Callable] = {"min": min, "max": max, "abs": abs, "round": round, "len": len}

ERRORS = (TypeError, ValueError, OverflowError, RecursionError)
"""What a wrong operand raises, besides ZeroDivisionError."""

_ALLOWED = (ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.UAdd, ast.BinOp, ast.Add,
            ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.Compare, ast.Eq, ast.NotEq, ast.Lt, ast.LtE,
            ast.Gt, ast.GtE, ast.Is, ast.IsNot, ast.In, ast.NotIn, ast.IfExp, ast.Call, ast.Name, ast.Load,
            ast.Constant)


class NotANumber(Exception):
    """The expression has no finite value for these facts."""

    def __init__(self, kind: str, message: str):
        self.kind = kind
        super().__init__(message)


class Unknown(Exception):
    """Something it needs is None."""


class Expression:
    def __init__(self, text: str):
        """Raises RewardError where the text isn't an expression of the allowed kind."""
        self.text = text.strip()
        tree = _parsed(self.text)
        for node in ast.walk(tree):
            _refuse(node, self.text)
        self.tree = tree.body
        called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        self.names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in called}
        if not self.names:
            self._must_be_a_number()

    def _must_be_a_number(self) -> None:
        try:
            self.value({})
        except NotANumber as problem:
            raise RewardError(f"{problem}; use facts in it, or a plain number") from None

    def must_know(self, facts: Collection[str]) -> None:
        """Raises RewardError naming the first fact that isn't among them, and the nearest ones.

        Facts that begin with `rubric_` are taken as they come: a server tells of them only while it is played.
        """
        for name in sorted(name for name in self.names - set(facts) if not name.startswith(RUBRIC)):
            near = difflib.get_close_matches(name, sorted(facts), 3, 0.5)
            listed = f"did you mean {' or '.join(near)}?" if near else f"known facts: {', '.join(sorted(facts)) or 'none'}"
            raise RewardError(f"no fact is called {name!r}; {listed}")

    def value(self, facts: Mapping[str, object]) -> float | None:
        """None where a fact it needs isn't known. Raises NotANumber for anything else that isn't a finite number."""
        names = {name: facts.get(name) for name in self.names}
        evaluator = SimpleEval(operators=OPERATORS, functions=CALLED, names=names)
        try:
            result = evaluator.eval(self.text, previously_parsed=self.tree)
        except Unknown:
            return None
        except ZeroDivisionError:
            raise NotANumber("ZeroDivisionError", f"{self.text!r} divides by 0") from None
        except ERRORS as error:
            raise NotANumber(type(error).__name__, f"{self.text!r} can't be worked out: {error}") from None
        if result is None:
            return None
        if not isinstance(result, (bool, int, float)):
            raise NotANumber("NotANumber", f"{self.text!r} gives text, not a number")
        try:
            number = float(result)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise NotANumber("NotFinite", f"{self.text!r} isn't a finite number")
        return number


def _parsed(text: str) -> ast.Expression:
    if not text:
        raise RewardError("the value is empty; write an expression such as 1.0 if won else 0.0")
    if len(text) > LONGEST:
        raise RewardError(f"the expression is longer than {LONGEST} characters; split it into several terms")
    try:
        return ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f" near column {error.offset}" if isinstance(error, SyntaxError) and error.offset else ""
        raise RewardError(f"{text!r} doesn't parse{where} ({getattr(error, 'msg', error)}); write an expression such "
                          "as 1.0 if won else 0.0") from None


def _refuse(node: ast.AST, text: str) -> None:
    if not isinstance(node, _ALLOWED):
        raise RewardError(f"{text!r} uses {_words(node)}, which a reward can't; use facts, numbers, comparisons, and, "
                          f"or, not, x if y else z, and {', '.join(FUNCTIONS)}")
    if isinstance(node, ast.Constant) and not isinstance(node.value, (bool, int, float, str, type(None))):
        raise RewardError(f"{text!r} uses {node.value!r}; use plain numbers and quoted text")
    plain = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS
    if isinstance(node, ast.Call) and (not plain or node.keywords):
        raise RewardError(f"{text!r} calls {ast.unparse(node.func)}; the functions are {', '.join(FUNCTIONS)}")
    if isinstance(node, ast.Compare):
        for op, right in zip(node.ops, node.comparators, strict=True):
            if isinstance(op, (ast.Eq, ast.NotEq)) and isinstance(right, ast.Constant) and right.value is None:
                word = "is" if isinstance(op, ast.Eq) else "is not"
                raise RewardError(f"{text!r} compares with None; write {word} None")


def _words(node: ast.AST) -> str:
    return {"Attribute": "a dot", "Subscript": "square brackets", "Lambda": "a lambda", "NamedExpr": "an assignment",
            "JoinedStr": "formatted text", "GeneratorExp": "a loop", "ListComp": "a loop", "Starred": "a star",
            }.get(type(node).__name__, type(node).__name__)


def _known(*values: object) -> None:
    if any(value is None for value in values):
        raise Unknown


def _numbers(work: Callable) -> Callable:
    def on_numbers(*values):
        _known(*values)
        for value in values:
            if not isinstance(value, (bool, int, float)):
                raise TypeError(f"{value!r:.40} is text, not a number")
        return work(*values)

    return on_numbers


def _known_only(work: Callable) -> Callable:
    def on_known(*values):
        _known(*values)
        return work(*values)

    return on_known


def _power(base: float, exponent: float) -> float:
    if abs(exponent) > LARGEST_POWER:
        raise OverflowError(f"a power above {LARGEST_POWER}")
    power = float(base) ** exponent
    if isinstance(power, complex):
        raise ValueError("a root of a negative number")
    return power


def _round(value: float, digits: int = 0) -> float:
    if abs(digits) > LARGEST_POWER:
        raise OverflowError(f"more than {LARGEST_POWER} digits")
    return round(value, digits)


OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: _numbers(operator.add), ast.Sub: _numbers(operator.sub), ast.Mult: _numbers(operator.mul),
    ast.Div: _numbers(operator.truediv), ast.FloorDiv: _numbers(operator.floordiv), ast.Mod: _numbers(operator.mod),
    ast.Pow: _numbers(_power), ast.USub: _numbers(operator.neg), ast.UAdd: _numbers(operator.pos),
    ast.Not: operator.not_,
    ast.Eq: _known_only(operator.eq), ast.NotEq: _known_only(operator.ne), ast.Lt: _known_only(operator.lt),
    ast.LtE: _known_only(operator.le), ast.Gt: _known_only(operator.gt), ast.GtE: _known_only(operator.ge),
    ast.Is: operator.is_, ast.IsNot: operator.is_not,
    ast.In: _known_only(lambda part, whole: part in whole),
    ast.NotIn: _known_only(lambda part, whole: part not in whole),
}
CALLED: dict[str, Callable[..., Any]] = {
    **{name: _known_only(work) for name, work in FUNCTIONS.items()}, "round": _known_only(_round)}
