"""What a record refuses, as one sentence of ours; pydantic's own words never reach a person.

To word another kind of error, add a case to `_message`. A kind that has none says only that the value can't stand there.
"""

import difflib
import inspect
import re
from collections.abc import Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from backend.errors import SpecError
from backend.records import NAME, RunSpec

Record = type[BaseModel]
ABOVE = {"greater_than": "above", "greater_than_equal": "at least", "less_than": "below", "less_than_equal": "at most"}
TYPES = {"bool": "true or false", "int": "a whole number", "float": "a number", "string": "text", "tuple": "a list",
         "list": "a list", "dict": "a mapping", "model": "a mapping"}
"""How the kinds of error of a type begin, and what is wanted then."""
BRANCH = re.compile(r"(constrained-)?(bool|int|float|str|tuple|list|dict)(\[|$)")
"""What pydantic calls one of several types."""


def refused(error: ValidationError, record: Record | None = None) -> SpecError:
    """The first thing wrong, with its place, and the places of a few others. `record`, which refused it, knows what fields
    mean and what they are called."""
    # An unknown field is usually a misspelt one, and then explains a missing one beside it.
    problems = sorted(error.errors(), key=lambda problem: problem["type"] != "extra_forbidden")
    first = problems[0]
    tried = _alternatives(first, problems)
    place, message = _either(tried) if len(tried) > 1 else _explained(first, record)
    others = [other for other in dict.fromkeys(_dotted(problem["loc"]) for problem in problems if problem not in tried)
              if not f"{place}.".startswith(f"{other}.")]
    more = f" (also wrong: {', '.join(o for o in others[:3] if o)})" if any(others) else ""
    return SpecError(place, message + more)


def _alternatives(first: Any, problems: Sequence[Any]) -> list[Any]:
    """Where one of several types is wanted, pydantic tells of each of them, at a place that ends in the type's name."""
    if not first["loc"]:
        return [first]
    return [problem for problem in problems if problem["loc"][:-1] == first["loc"][:-1]
            and BRANCH.match(str(problem["loc"][-1])) and _wanted(problem)] or [first]


def _either(tried: Sequence[Any]) -> tuple[str, str]:
    wanted = dict.fromkeys(_wanted(problem) for problem in tried)
    return _dotted(tried[0]["loc"][:-1]), f"must be {_listed([*map(str, wanted)])}, not {_shown(tried[0]['input'])}"


def _wanted(problem: Any) -> str | None:
    start = problem["type"].partition("_")[0]
    return TYPES.get(start) if problem["type"].endswith(("_type", "_parsing", "_from_float")) else None


def _explained(problem: Any, record: Record | None) -> tuple[str, str]:
    loc, kind, limits = problem["loc"], problem["type"], problem.get("ctx", {})
    place = _dotted(loc)
    match kind:
        case "union_tag_invalid":
            return _inside(place, "kind"), f"must be one of {limits['expected_tags']}, not {_shown(limits['tag'])}"
        case "union_tag_not_found":
            kinds = [*map(repr, _kinds(loc, record))]
            return _inside(place, "kind"), f"is missing; {f'write one of {_listed(kinds)}' if kinds else 'add it'}"
        case "value_error" | "assertion_error":
            said = problem["msg"].partition(", ")[2]
            first = said.split()[0] if said else ""
            if first in _fields(loc, record):
                return _inside(place, first), said.removeprefix(first).strip()
            return place, said
    return place, _message(problem, limits, record)


def _message(problem: Any, limits: dict[str, Any], record: Record | None) -> str:
    loc, kind, given = problem["loc"], problem["type"], problem["input"]
    field = _field(loc, record)
    about = _lower((field and (field.description or field.title)) or "")
    match kind:
        case "extra_forbidden":
            known = _fields(loc[:-1], record)
            if place := _elsewhere(str(loc[-1]), loc, record):
                return f"there is no such field here; {loc[-1]} belongs {place}"
            near = difflib.get_close_matches(str(loc[-1]), known, 1)
            return "there is no such field; " + (f"did you mean {near[0]}?" if near else f"use {_listed(known)}" if known else
                                                 "leave it out")
        case "missing":
            return f"is missing; {about or 'add it'}"
        case "string_pattern_mismatch" if limits.get("pattern") == NAME:
            return (f"{_shown(given)} can't be a name; use letters, digits, dash and underscore, beginning with a letter, at "
                    "most 48")
        case "string_pattern_mismatch":
            wanted = about or "write something else"
            return f"is empty; {wanted}" if given == "" else f"{_shown(given)} doesn't fit; {wanted}"
        case "literal_error" | "enum":
            return f"must be {limits['expected']}, not {_shown(given)}"
        case "greater_than" | "greater_than_equal" | "less_than" | "less_than_equal":
            return f"must be {ABOVE[kind]} {next(iter(limits.values()))}, not {_shown(given)}"
        case "multiple_of":
            return f"must be a multiple of {limits['multiple_of']}, not {_shown(given)}"
        case "finite_number":
            return f"must be a finite number, not {_shown(given)}"
        case "string_type":
            return f"must be text, not {_shown(given)}; put it in quotes"
        case "string_unicode":
            return "holds half of a character (a lone surrogate); write the character itself"
        case "string_too_short" if limits["min_length"] > 1:
            return f"must have at least {limits['min_length']:,} characters"
        case "string_too_short":
            return f"is empty; {about or 'write something'}"
        case "string_too_long":
            return f"is longer than {limits['max_length']:,} characters; shorten it"
        case "too_short":
            least = limits.get("min_length", 1)
            return f"needs at least {'one entry' if least == 1 else f'{least:,} entries'}"
        case "too_long":
            most = limits.get("max_length")
            return f"has more than {'one entry' if most == 1 else f'{most:,} entries'}; leave some out"
        case "tuple_type" | "list_type":
            return f"must be a list, not {_shown(given)}; write it as lines that begin with a dash"
        case "model_type" | "dict_type" | "mapping_type" | "model_attributes_type":
            known = _fields(loc, record)
            return f"must hold fields{f' such as {_listed(known[:3])}' if known else ''}, not {_shown(given)}"
    type_ = _wanted(problem) or TYPES.get(kind.partition("_")[0])
    return f"must be {type_}, not {_shown(given)}" if type_ else f"{_shown(given)} can't stand here"


def _elsewhere(name: str, loc: tuple, record: Record | None) -> str:
    """Where else in a spec a field of this name is, in words; the place nearest to the top."""
    if record is not RunSpec:
        return ""
    if name in RunSpec.model_fields:
        return "at the top of the spec" if len(loc) > 1 else ""
    for section, field in RunSpec.model_fields.items():
        if any(name in inner.model_fields for inner in _records(field.annotation)):
            return f"under {section}" if section != loc[0] else ""
    return ""


def _inside(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _dotted(loc: Sequence[Any]) -> str:
    return ".".join(str(part) for part in loc)


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, (dict, list, tuple)):
        return "a mapping" if isinstance(value, dict) else "a list"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:].rstrip(".")


# ------------------------------------------------------------------------------------------- what the record says of it


def _field(loc: tuple, record: Record | None):
    inner = _record(loc[:-1], record)
    return inner.model_fields.get(str(loc[-1])) if inner and loc else None


def _fields(loc: tuple, record: Record | None) -> list[str]:
    inner = _record(loc, record)
    return list(inner.model_fields) if inner else []


def _record(loc: tuple, record: Record | None) -> Record | None:
    """The record that a place holds; the first of several kinds of record where none is named yet."""
    return next(iter(_possible(loc, record)), None)


def _possible(loc: tuple, record: Record | None) -> list[Record]:
    found = [record] if record else []
    for part in loc:
        if isinstance(part, int):
            continue
        if len(found) > 1:  # pydantic names which one it took
            found = [one for one in found if _kind(one) == part]
            continue
        field = found[0].model_fields.get(part) if found else None
        found = _records(field.annotation) if field else []
    return found


def _kinds(loc: tuple, record: Record | None) -> list[str]:
    return [_kind(one) for one in _possible(loc, record)]


def _kind(record: Record) -> str:
    return record.model_fields["kind"].default if "kind" in record.model_fields else ""


def _records(annotation: Any) -> list[Record]:
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        return [annotation]
    return [record for inner in get_args(annotation) for record in _records(inner)]
