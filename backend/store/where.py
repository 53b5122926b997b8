"""A filter such as 'won and guesses <= 3' turned into SQL.

Names are columns of an episode, its facts, or its reward terms. None follows SQL: whatever touches it is unknown and
not selected, so `not won` leaves out episodes in which it isn't known; ask `won is None` for those.
"""

import ast
import difflib
from collections.abc import Collection
from typing import Any

from backend.errors import SpecError

COLUMNS = {"id": "id", "phase": "phase", "step": "step", "attempt": "attempt", "group": "group_", "sample": "sample",
           "environment": "environment", "task": "task", "seed": "CAST(seed AS INTEGER)", "status": "status",
           "stop": "stop", "total": "total", "advantage": "advantage", "turns": "turns", "tokens": "tokens",
           "seconds": "seconds", "fault": "fault", "fingerprint": "fingerprint", "policy": "policy", "seq": "seq",
           **{name: name for name in ("clipped", "tool_calls", "unparsed_calls", "repeated_calls", "failed_calls",
                                      "group_signal", "tools")},
           "last_tokens": "(SELECT turns.tokens FROM turns WHERE turns.episode = episodes.seq AND turns.tokens IS NOT NULL "
                          "ORDER BY turns.index_ DESC LIMIT 1)"}
"""`last_tokens`: of the last message."""
LONGEST = 500

_COMPARE = {ast.Eq: "=", ast.NotEq: "<>", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_ARITHMETIC = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}
_CALLS = {"abs": (1, 1), "round": (1, 2), "len": (1, 1), "min": (2, 9), "max": (2, 9)}


def to_sql(expression: str, facts: Collection[str], terms: Collection[str] = ()) -> tuple[str, list[Any]]:
    """A condition and its parameters. `facts` may be empty (nothing recorded yet), and then any name is a fact.

    Raises SpecError with the field `where`.
    """
    if len(expression) > LONGEST:
        raise SpecError("where", f"the filter is longer than {LONGEST} characters; shorten it")
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise SpecError("where", f"{expression!r} doesn't parse ({getattr(error, 'msg', error)}); write it like "
                                 "'won and guesses <= 3'") from None
    parameters: list[Any] = []
    return _Translation(facts, terms, parameters).truth(tree), parameters


class _Translation:
    def __init__(self, facts: Collection[str], terms: Collection[str], parameters: list[Any]):
        self.facts, self.terms, self.parameters = facts, terms, parameters

    def truth(self, node: ast.expr) -> str:
        if isinstance(node, ast.BoolOp):
            word = " AND " if isinstance(node.op, ast.And) else " OR "
            return "(" + word.join(self.truth(value) for value in node.values) + ")"
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return f"(NOT {self.truth(node.operand)})"
        if isinstance(node, ast.Compare):
            return self.compare(node)
        return f"({self.value(node)} NOT IN (0, ''))"

    def value(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(value=None):
                return "NULL"
            case ast.Constant(value=bool() | int() | float() | str() as constant):
                if isinstance(constant, int) and abs(constant) >= 2**63:
                    constant = float(constant)
                return self.bound(constant)
            case ast.Name(id=name):
                return self.name(name)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return f"(-{self.value(operand)})"
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.value(operand)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
                return f"({self.value(left)} {_ARITHMETIC[type(op)]} {self.value(right)})"
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return f"(({self.value(left)}) * 1.0 / {self.value(right)})"
            case ast.IfExp(test=test, body=body, orelse=orelse):
                condition = self.truth(test)
                return f"(CASE WHEN {condition} THEN {self.value(body)} ELSE {self.value(orelse)} END)"
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _CALLS:
                fewest, most = _CALLS[name]
                if not fewest <= len(args) <= most:
                    raise SpecError("where", f"{name} takes {fewest} to {most} values")
                return f"{'length' if name == 'len' else name}({', '.join(self.value(a) for a in args)})"
            case ast.BoolOp() | ast.Compare() | ast.UnaryOp(op=ast.Not()):
                return self.truth(node)
        raise SpecError("where", f"{ast.unparse(node)!r} isn't possible in a filter; use names, numbers, quoted text, "
                                 "and, or, not, comparisons, + - * / and min, max, abs, round, len")

    def compare(self, node: ast.Compare) -> str:
        parts, left = [], node.left
        for op, right in zip(node.ops, node.comparators, strict=True):
            parts.append(self.pair(left, op, right))
            left = right
        return "(" + " AND ".join(parts) + ")"

    def pair(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> str:
        none = isinstance(right, ast.Constant) and right.value is None
        if isinstance(op, (ast.Is, ast.IsNot)) or (none and isinstance(op, (ast.Eq, ast.NotEq))):
            return f"{self.value(left)} {'IS' if isinstance(op, (ast.Is, ast.Eq)) else 'IS NOT'} {self.value(right)}"
        if isinstance(op, (ast.In, ast.NotIn)):
            word = "" if isinstance(op, ast.In) else "NOT "
            if isinstance(right, (ast.Tuple, ast.List, ast.Set)):
                item = self.value(left)
                return f"{item} {word}IN ({', '.join(self.value(e) for e in right.elts)})"
            text = self.value(right)
            return f"({word}instr({text}, {self.value(left)}) > 0)"
        return f"{self.value(left)} {_COMPARE[type(op)]} {self.value(right)}"

    def name(self, name: str) -> str:
        if name in COLUMNS:
            return f"+{COLUMNS[name]}"  # no index: the list's own order is the better one to walk
        if name in self.facts or (not self.facts and name not in self.terms):
            return f"json_extract(facts, {self.bound(_path(name))})"
        if name in self.terms:
            return f"json_extract(scores, {self.bound(_path(name))})"
        known = sorted({*COLUMNS, *self.facts, *self.terms})
        near = difflib.get_close_matches(name, known, 3) or known
        raise SpecError("where", f"no column, fact or reward term is called {name!r}; near it: {', '.join(near)}")

    def bound(self, constant: Any) -> str:
        self.parameters.append(constant)
        return "?"


def _path(name: str) -> str:
    return f'$."{name}"'
