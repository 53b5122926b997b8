"""What a list of episodes is narrowed by, as SQL: columns, ranges, reward terms, tools, faults, tasks, words, tags."""

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from backend.errors import SpecError
from backend.store import codec
from backend.store.where import COLUMNS

ANY = "any"
"""A fault of any kind."""
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_RANGE = re.compile(rf"({_NUMBER})?\s*(?:\.\.|\bto\b|–|…|(?<=[\d.])-)\s*({_NUMBER})?")
_COMPARED = re.compile(rf"(<=|>=|<|>|=|≤|≥)?\s*({_NUMBER})")


class Between(NamedTuple):
    """A range of numbers; None: no bound on that side."""

    low: float | None = None
    high: float | None = None
    with_low: bool = True
    with_high: bool = True

    @classmethod
    def read(cls, name: str, written: str) -> "Between":
        """From `3`, `10-20`, `-1..0.5`, `> 0.5`, `<= 3` or `0 to 1`. Raises SpecError with the field `name`."""
        text = written.strip().replace("−", "-")
        if compared := _COMPARED.fullmatch(text):
            sign, number = compared[1] or "=", _finite(name, compared[2])
            return {"=": cls(number, number), "<": cls(None, number, with_high=False),
                    ">": cls(number, None, with_low=False), "<=": cls(None, number), "≤": cls(None, number),
                    ">=": cls(number, None), "≥": cls(number, None)}[sign]
        if (ranged := _RANGE.fullmatch(text)) and (ranged[1] or ranged[2]):
            low, high = (None if side is None else _finite(name, side) for side in ranged.groups())
            if low is not None and high is not None and low > high:
                low, high = high, low
            return cls(low, high)
        raise SpecError(name, f"{written.strip()!r:.40} is no number and no range; write it like 3, 10-20, > 0.5 or "
                              "-1..0")

    def sql(self, column: str) -> tuple[str, list[Any]]:
        if self.low is not None and self.low == self.high:
            return f"{column} = ?", [_plain(self.low)]
        parts, parameters = [], []
        for bound, sign, included in ((self.low, ">", self.with_low), (self.high, "<", self.with_high)):
            if bound is not None:
                parts.append(f"{column} {sign}{'=' * included} ?")
                parameters.append(_plain(bound))
        return " AND ".join(parts) or "1", parameters


def _finite(name: str, written: str) -> float:
    number = float(written)
    if not math.isfinite(number):
        raise SpecError(name, f"{written:.40} is too large a number")
    return number


def _plain(number: float) -> float | int:
    return int(number) if float(number).is_integer() and abs(number) < 2**62 else number


def conditions(filters: Mapping[str, Any], kept: Callable[[str], bool]) -> tuple[list[str], list[Any]]:
    """`kept` says whether the file's episodes have a column. Raises SpecError."""
    parts: list[str] = []
    parameters: list[Any] = []
    for name, wanted in filters.items():
        if wanted is None:
            continue
        sql, values = _SPECIAL[name](wanted, kept) if name in _SPECIAL else _column(name, wanted)
        parts.append(sql)
        parameters += values
    return parts, parameters


def _column(name: str, wanted: Any) -> tuple[str, list[Any]]:
    if name not in COLUMNS:
        raise SpecError(name, f"episodes can't be filtered by it; use one of {', '.join((*COLUMNS, *_SPECIAL))}")
    if isinstance(wanted, Between):
        return wanted.sql(COLUMNS[name])
    if isinstance(wanted, (set, frozenset, list, tuple)) and len(wanted) > 50:
        return f"{COLUMNS[name]} IN (SELECT value FROM json_each(?))", [json.dumps([_cell(one) for one in wanted])]
    many = list(wanted) if isinstance(wanted, (list, tuple, set, frozenset)) else [wanted]
    return f"{COLUMNS[name]} IN ({', '.join('?' * len(many))})", [_cell(one) for one in many]


def _cell(value: Any) -> Any:
    return codec.escape(value) if isinstance(value, str) else value


def _terms(wanted: Mapping[str, Between], kept: Callable[[str], bool]) -> tuple[str, list[Any]]:
    """Raw scores, by reward term."""
    parts, parameters = ["1"], []
    for term, between in wanted.items():
        if '"' in term:
            raise SpecError("term", f"no reward term is called {term!r:.60}")
        path = f'$."{term}"'
        sql, values = between.sql("json_extract(scores, ?)")
        parts.append(sql)
        for value in values:
            parameters += [path, value]
    return " AND ".join(parts), parameters


def _tool(wanted: str, kept: Callable[[str], bool]) -> tuple[str, list[Any]]:
    """Episodes in which the model called it, whether or not there is such a tool."""
    looked_up = "EXISTS (SELECT 1 FROM turns WHERE episode = seq AND tool = ?)"
    if kept("tools"):  # of a run that is older and was resumed, only its newer episodes have them
        return f"(instr(tools, ?) > 0 OR tools IS NULL AND {looked_up})", [json.dumps(wanted), codec.escape(wanted)]
    return looked_up, [codec.escape(wanted)]


def _trouble(wanted: str, kept: Callable[[str], bool]) -> tuple[str, list[Any]]:
    """A fault that ended the episode, or a call of it that failed; any, or one kind such as unknown_tool."""
    counted = kept("failed_calls")
    if wanted == ANY:
        return ("(fault IS NOT NULL OR failed_calls <> '{}' OR unparsed_calls > 0)" if counted
                else "fault IS NOT NULL"), []
    start = codec.escape(f"{wanted}:")
    sql, values = "substr(fault, 1, ?) = ?", [len(start), start]
    if counted:
        sql = f"({sql} OR instr(failed_calls, ?) > 0{' OR unparsed_calls > 0' * (wanted == 'unparsed_call')})"
        values.append(f"{json.dumps(wanted)}: ")
    return sql, values


def _task(wanted: str, kept: Callable[[str], bool]) -> tuple[str, list[Any]]:
    """A seed, a task, or the fingerprint of one; of a task that is a text or a mapping a part of it will do."""
    wanted = wanted.strip()
    sql, values = "seed = ? OR fingerprint = ? OR task = ? OR task = ?", [
        wanted, codec.escape(wanted), codec.escape(wanted), codec.to_json(wanted)]
    if len(wanted) > 2 and not wanted.isdecimal():
        sql += " OR instr(task, ?) > 0"
        values.append(json.dumps(wanted)[1:-1])
    return f"({sql})", values


_SPECIAL: dict[str, Callable[[Any, Callable[[str], bool]], tuple[str, list[Any]]]] = {
    "terms": _terms, "tool": _tool, "trouble": _trouble, "task_or_seed": _task}
