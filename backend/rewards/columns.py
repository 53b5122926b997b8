"""An expression over many episodes at once, with the numbers that `Expression.value` gives one by one.

What numpy does as Python does (numbers and booleans) is done on whole columns; everything else (text, a mix of types,
rounding to digits) is handed, episode by episode, to the very functions that the expression uses.
"""

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from backend.rewards.expression import CALLED, ERRORS, LARGEST_POWER, OPERATORS, Expression, NotANumber, Unknown

EXACT = 2**53
"""Whole numbers up to here are the same as floats."""


@dataclass(frozen=True)
class Column:
    values: np.ndarray
    """bool, float64 or object; anything where there is no value."""
    none: np.ndarray
    """Where the value is None."""
    dead: np.ndarray
    """Where the whole expression has no value: it needed what is None, or divided by 0, or the like."""

    @property
    def plain(self) -> bool:
        return self.values.dtype != object

    @property
    def missing(self) -> np.ndarray:
        return self.none | self.dead


def values(expression: Expression, facts: Mapping[str, Sequence[Any]], rows: int) -> np.ndarray:
    """float64, NaN where the expression gives None or fails. A fact that isn't in `facts` is None everywhere."""
    if _needs_python(expression.tree):
        return _one_by_one(expression, facts, rows)
    columns = {name: column(facts[name]) for name in expression.names if name in facts}
    with np.errstate(all="ignore"):
        found = _Work(columns, rows).at(expression.tree)
    numbers = found.values.astype(float) if found.plain else np.array([_number(value) for value in found.values], float)
    numbers[found.missing | ~np.isfinite(numbers)] = np.nan
    return numbers


def column(values: Sequence[Any]) -> Column:
    """From plain values. Numbers become floats where no digit is lost."""
    kinds = set(map(type, values))
    none = np.array([value is None for value in values], bool) if type(None) in kinds else np.zeros(len(values), bool)
    kinds.discard(type(None))
    nothing_dead = np.zeros(len(values), bool)
    if kinds <= {bool}:
        return Column(np.array([value is True for value in values], bool), none, nothing_dead)
    if kinds <= {int, float}:
        try:
            numbers = np.array(values, float)
        except OverflowError:
            return Column(_objects(values), none, nothing_dead)
        if int not in kinds or not (np.abs(numbers) > EXACT).any():
            return Column(numbers, none, nothing_dead)
    return Column(_objects(values), none, nothing_dead)


def _objects(values: Sequence[Any]) -> np.ndarray:
    made = np.empty(len(values), object)
    made[:] = values
    return made


def _number(value: Any) -> float:
    try:
        return float(value) if isinstance(value, (bool, int, float)) else np.nan
    except OverflowError:
        return np.inf


def _needs_python(tree: ast.expr) -> bool:
    """`is` between values, and rounding to digits that aren't written out, are told apart by Python types only."""
    return any(_told_by_type(node) for node in ast.walk(tree))


def _told_by_type(node: ast.AST) -> bool:
    match node:
        case ast.Compare(ops=ops, comparators=comparators):
            return any(isinstance(op, (ast.Is, ast.IsNot)) and getattr(right, "value", ...) is not None
                       for op, right in zip(ops, comparators, strict=True))
        case ast.Call(func=ast.Name(id="round"), args=[_, digits]):
            return not (isinstance(digits, ast.Constant) and type(digits.value) is int)
    return False


def _one_by_one(expression: Expression, facts: Mapping[str, Sequence[Any]], rows: int) -> np.ndarray:
    """Each different set of facts is worked out once."""
    names = sorted(expression.names & facts.keys())
    known: dict[tuple, float] = {}
    made = np.full(rows, np.nan)
    for row, told in enumerate(zip(*(facts[name] for name in names), strict=True) if names else [()] * rows):
        key = (*told, *map(type, told))
        if key not in known:
            try:
                value = expression.value(dict(zip(names, told, strict=True)))
            except NotANumber:
                value = None
            known[key] = np.nan if value is None else value
        made[row] = known[key]
    return made


class _Work:
    def __init__(self, columns: Mapping[str, Column], rows: int):
        self.columns, self.rows = columns, rows

    def at(self, node: ast.expr) -> Column:
        match node:
            case ast.Constant(value=value):
                return self.constant(value)
            case ast.Name(id=name):
                return self.columns.get(name) or self.constant(None)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                found = self.at(operand)
                return Column(~_true(found), self.nowhere(), found.dead)
            case ast.UnaryOp(op=op, operand=operand):
                return self.numbers(OPERATORS[type(op)], np.negative if isinstance(op, ast.USub) else np.positive,
                                    self.at(operand))
            case ast.BinOp(left=left, op=op, right=right):
                return self.numbers(OPERATORS[type(op)], _ARITHMETIC[type(op)], self.at(left), self.at(right))
            case ast.BoolOp(op=op, values=parts):
                found = self.at(parts[0])
                for part in parts[1:]:
                    on = _true(found) if isinstance(op, ast.And) else ~_true(found)
                    found = _either(on & ~found.dead, self.at(part), found)
                return found
            case ast.IfExp(test=test, body=body, orelse=orelse):
                asked = self.at(test)
                chosen = _either(_true(asked), self.at(body), self.at(orelse))
                return Column(chosen.values, chosen.none, chosen.dead | asked.dead)
            case ast.Compare():
                return self.compare(node)
            case ast.Call(func=ast.Name(id=name), args=args):
                return self.call(name, [self.at(arg) for arg in args])
        raise TypeError(ast.dump(node))

    def nowhere(self) -> np.ndarray:
        return np.zeros(self.rows, bool)

    def constant(self, value: Any) -> Column:
        if value is None:
            return Column(np.zeros(self.rows), np.ones(self.rows, bool), self.nowhere())
        one = column([value])
        return Column(np.repeat(one.values, self.rows), self.nowhere(), self.nowhere())

    def compare(self, node: ast.Compare) -> Column:
        left = self.at(node.left)
        found = self.constant(True)
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.at(comparator)
            found = _either(_true(found) & ~found.dead, self.pair(type(op), left, right), found)
            left = right
        return found

    def pair(self, op: type[ast.cmpop], left: Column, right: Column) -> Column:
        if op in (ast.Is, ast.IsNot):  # with None: `_needs_python` has seen to the rest
            return Column(left.none if op is ast.Is else ~left.none, self.nowhere(), left.dead | right.dead)
        kind = float if left.plain and right.plain else object
        if op not in (_COMPARE if kind is float else (ast.Eq, ast.NotEq)):
            return self.each(OPERATORS[op], left, right)
        made = _COMPARE[op](left.values.astype(kind), right.values.astype(kind))
        return Column(made.astype(bool), self.nowhere(), left.missing | right.missing)

    def call(self, name: str, args: list[Column]) -> Column:
        plain = all(arg.plain for arg in args)
        if plain and name == "abs" and len(args) == 1:
            return self.numbers(CALLED[name], np.abs, *args)
        if plain and name == "round" and len(args) == 1:
            return self.numbers(CALLED[name], np.rint, *args)
        if plain and name in ("min", "max") and len(args) > 1 and not any(np.isnan(arg.values.astype(float)).any()
                                                                          for arg in args):
            return self.numbers(CALLED[name], _least if name == "min" else _most, *args)
        if name == "round" and len(args) == 2:
            digits = int(args[1].values[0]) if self.rows else 0
            return self.each(lambda value: CALLED["round"](value, digits), args[0])
        return self.each(CALLED[name], *args)

    def numbers(self, work: Callable, fast: Callable, *args: Column) -> Column:
        if not all(arg.plain for arg in args):
            return self.each(work, *args)
        made = fast(*(arg.values.astype(float) for arg in args))
        made, wrong = made if isinstance(made, tuple) else (made, False)
        return Column(made, self.nowhere(), np.logical_or.reduce([arg.missing for arg in args]) | wrong)

    def each(self, work: Callable, *args: Column) -> Column:
        dead = np.logical_or.reduce([arg.missing for arg in args]) if args else self.nowhere()
        made: list[Any] = [None] * self.rows
        columns = [arg.values.tolist() for arg in args]
        for row in np.flatnonzero(~dead).tolist():
            try:
                made[row] = work(*(values[row] for values in columns))
            except (Unknown, ZeroDivisionError, *ERRORS):
                dead[row] = True
        return Column(column(made).values, self.nowhere(), dead)


def _true(found: Column) -> np.ndarray:
    """None counts as not true."""
    values = found.values
    if values.dtype == object:
        values = np.fromiter(map(bool, values), bool, len(values))
    return values.astype(bool) & ~found.none


def _either(mask: np.ndarray, yes: Column, no: Column) -> Column:
    a, b = yes.values, no.values
    if a.dtype != b.dtype:
        if yes.none.all():
            a = np.zeros(len(a), b.dtype)
        elif no.none.all():
            b = np.zeros(len(b), a.dtype)
        else:
            a, b = a.astype(object), b.astype(object)
    return Column(np.where(mask, a, b), np.where(mask, yes.none, no.none), np.where(mask, yes.dead, no.dead))


def _power(base: np.ndarray, exponent: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    made = np.power(base, exponent)
    usual = np.isfinite(base) & np.isfinite(exponent)
    return made, (np.abs(exponent) > LARGEST_POWER) | (usual & ~np.isfinite(made))


def _least(*columns: np.ndarray) -> np.ndarray:
    return np.minimum.reduce(columns)


def _most(*columns: np.ndarray) -> np.ndarray:
    return np.maximum.reduce(columns)


_ARITHMETIC: dict[type[ast.operator], Callable] = {
    ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Pow: _power,
    ast.Div: lambda a, b: (np.divide(a, b), b == 0), ast.FloorDiv: lambda a, b: (np.floor_divide(a, b), b == 0),
    ast.Mod: lambda a, b: (np.mod(a, b), b == 0),
}
_COMPARE: dict[type[ast.cmpop], Callable] = {
    ast.Eq: np.equal, ast.NotEq: np.not_equal, ast.Lt: np.less, ast.LtE: np.less_equal, ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
}
