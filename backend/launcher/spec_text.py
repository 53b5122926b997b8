"""From what a person wrote to a RunSpec: a YAML text, a file, or the name of a shipped recipe."""

import difflib
import inspect
import math
import re
import typing
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from pydantic import BaseModel, ValidationError

from backend.errors import SpecError
from backend.records import NAME, EnvironmentSpec, RewardTerm, RunSpec

RECIPES = Path(__file__).resolve().parents[1] / "recipes"
HALF = re.compile("[\ud800-\udfff]")
PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
LARGEST = 500_000
"""Characters of a spec."""


class Recipe(NamedTuple):
    name: str
    title: str
    about: str
    spec_text: str
    """The file as it is. Its comment at the top is the title, and the comment lines after it what it is about."""


def recipes() -> dict[str, Recipe]:
    """The shipped recipes by name: `quickstart` first, and those that need a GPU last."""
    found = [_recipe(path) for path in RECIPES.glob("*.yaml")]
    found.sort(key=lambda recipe: (recipe.name != "quickstart", _needs_a_gpu(recipe.spec_text), recipe.name))
    return {recipe.name: recipe for recipe in found}


def _needs_a_gpu(text: str) -> bool:
    return bool(yaml.safe_load(text).get("resources", {}).get("gpus"))


def _recipe(path: Path) -> Recipe:
    text = path.read_text("utf-8")
    head = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        head.append(line.lstrip("# ").strip())
    title, about = (head[0], " ".join(head[1:]).strip()) if head else (path.stem, "")
    return Recipe(path.stem, title, about, text)


def load_spec(source: str | Path) -> RunSpec:
    """From a YAML text, a path, or a recipe's name. Raises SpecError naming the first wrong field and its remedy."""
    return parse(_text_of(source))


def _text_of(source: str | Path) -> str:
    if isinstance(source, str) and ("\n" in source or ": " in source):
        return source
    path = Path(source)
    shipped = recipes()
    if isinstance(source, str) and source in shipped:
        return shipped[source].spec_text
    try:
        return path.read_text("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        near = difflib.get_close_matches(path.stem, shipped, 1)
        hint = f"did you mean the recipe {near[0]}?" if near else f"the shipped recipes are {', '.join(shipped)}"
        raise SpecError("", f"there is no file or recipe called {str(source)!r:.200}; {hint}") from None
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise SpecError("", f"{str(source)!r:.200} can't be read as a spec ({str(error)[:100]}); give a YAML file or "
                            f"one of the recipes {', '.join(shipped)}") from None


def parse(text: str) -> RunSpec:
    """Raises SpecError."""
    data = _yaml(text, "the spec")
    if not isinstance(data, dict):
        raise SpecError("", "the spec is empty or not a mapping; start from a recipe, such as quickstart, with lines "
                            "like 'model: starter:catch'")
    return from_fields(data)


def load_terms(text: str, environments: Sequence[EnvironmentSpec]) -> tuple[RewardTerm, ...]:
    """Reward terms of a YAML text: a list of them, or a spec. `environments` are those that they may apply to.

    Raises SpecError.
    """
    data = _yaml(text, "the list of reward terms")
    terms = data.get("rewards") if isinstance(data, dict) else data
    if not isinstance(terms, list) or not terms:
        raise SpecError("rewards", "there are no reward terms in it; write a list with lines such as "
                        "'- {name: win, value: 1.0 if won else 0.0}'")
    played = [asked.model_dump() for asked in environments]
    return from_fields({"model": "any", "environments": played, "rewards": terms}).rewards


def from_fields(data: dict[str, Any]) -> RunSpec:
    """A RunSpec from plain values, as a form holds them. Raises SpecError."""
    try:
        spec = RunSpec.model_validate(data)
    except ValidationError as error:
        raise _sentence(error, data) from None
    _sound(spec.model_dump(), "")
    return spec


def _yaml(text: str, what: str) -> Any:
    if len(text) > LARGEST:
        raise SpecError("", f"{what} is longer than {LARGEST} characters; shorten it")
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        line = f" at line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise SpecError("", f"{what} isn't valid YAML{line}: {error.problem or error.context}") from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise SpecError("", f"{what} isn't valid YAML: {str(error).splitlines()[0]}") from None


class _Loader(yaml.SafeLoader):
    """Refuses what a spec never needs: a field written twice, and aliases, which can make a small text huge."""

    def compose_node(self, parent, index):
        if self.check_event(yaml.AliasEvent):
            raise yaml.MarkedYAMLError(problem="aliases (*name) can't be used in a spec; write the value out",
                                       problem_mark=self.peek_event().start_mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node, deep=False):
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.MarkedYAMLError(problem="a field's name must be plain text", problem_mark=key.start_mark)
            if key.value in seen:
                raise yaml.MarkedYAMLError(problem=f"{key.value} is written twice; remove one",
                                           problem_mark=key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)

    def construct_scalar(self, node):
        """With what JSON writes as two escapes, an emoji as \\ud83c\\udfae, as the one character they stand for."""
        return PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"),
                        super().construct_scalar(node))


def _sound(value: Any, place: str) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise SpecError(place, f"must be a finite number, not {value}")
    if isinstance(value, str) and HALF.search(value):
        raise SpecError(place, "holds half of a character (a lone surrogate); write the character itself")
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else ()
    for key, inner in inside:
        _sound(inner, f"{place}.{key}" if place else str(key))


# -------------------------------------------------------------------------------- pydantic's errors as one sentence


def _sentence(error: ValidationError, data: dict) -> SpecError:
    # An unknown field is usually a misspelt one, and then explains a missing one beside it.
    problems = sorted(error.errors(), key=lambda problem: problem["type"] != "extra_forbidden")
    first, rest = problems[0], problems[1:]
    place, message = _explained(first)
    others = [other for other in dict.fromkeys(_dotted(problem["loc"]) for problem in rest)
              if not f"{place}.".startswith(f"{other}.")]
    more = f" (also wrong: {', '.join(o for o in others[:3] if o)})" if any(others) else ""
    return SpecError(place, message + more)


def _explained(problem: Any) -> tuple[str, str]:
    loc, kind, given = problem["loc"], problem["type"], problem["input"]
    limits = problem.get("ctx", {})
    place = _dotted(loc)
    match kind:
        case "union_tag_invalid":
            return f"{place}.kind", f"must be one of {limits['expected_tags']}, not {_shown(limits['tag'])}"
        case "union_tag_not_found":
            return f"{place}.kind", f"is missing; write one of {_listed([*map(repr, _kinds(loc))])}"
        case "extra_forbidden":
            known = _fields(loc[:-1])
            near = difflib.get_close_matches(str(loc[-1]), known, 1)
            return place, f"there is no such field; {f'did you mean {near[0]}?' if near else f'use {_listed(known)}'}"
        case "missing":
            field = _field(loc)
            return place, f"is missing; {_lower((field and (field.description or field.title)) or 'add it')}"
        case "value_error":
            said = problem["msg"].removeprefix("Value error, ")
            first = said.split()[0]
            if first in _fields(loc):
                return (f"{place}.{first}" if place else first), said.removeprefix(first).strip()
            return place, said
        case "string_pattern_mismatch" if limits.get("pattern") == NAME:
            return place, (f"{_shown(given)} can't be a name; use letters, digits, dash and underscore, beginning with "
                           "a letter, at most 48")
        case "string_pattern_mismatch":
            field = _field(loc)
            wanted = _lower((field and field.description) or "write something else")
            return place, f"is empty; {wanted}" if given == "" else f"{_shown(given)} doesn't fit; {wanted}"
        case "literal_error":
            return place, f"must be {limits['expected']}, not {_shown(given)}"
        case "greater_than" | "greater_than_equal" | "less_than" | "less_than_equal":
            limit = next(iter(limits.values()))
            words = {"greater_than": "above", "greater_than_equal": "at least", "less_than": "below",
                     "less_than_equal": "at most"}[kind]
            return place, f"must be {words} {limit}, not {_shown(given)}"
        case "string_type":
            return place, f"must be text, not {_shown(given)}; put it in quotes"
        case "string_too_short":
            field = _field(loc)
            return place, f"is empty; {_lower((field and field.description) or 'write something')}"
        case "too_short":
            return place, "needs at least one entry"
        case "bool_type" | "bool_parsing":
            return place, f"must be true or false, not {_shown(given)}"
    if kind.startswith("int"):
        return place, f"must be a whole number, not {_shown(given)}"
    if kind.startswith("float") or kind == "finite_number":
        return place, f"must be a number, not {_shown(given)}"
    if kind in ("tuple_type", "list_type"):
        return place, f"must be a list, not {_shown(given)}; write it as lines that begin with a dash"
    if kind in ("model_type", "dict_type", "model_attributes_type"):
        known = _fields(loc)
        return place, f"must hold fields{f' such as {_listed(known[:3])}' if known else ''}, not {_shown(given)}"
    return place, f"{problem['msg']}, not {_shown(given)}"


def _dotted(loc: tuple) -> str:
    return ".".join(str(part) for part in loc)


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, (dict, list)):
        return "a mapping" if isinstance(value, dict) else "a list"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _listed(names: typing.Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:].rstrip(".")


def _field(loc: tuple):
    record = _record(loc[:-1])
    return record.model_fields.get(str(loc[-1])) if record else None


def _fields(loc: tuple) -> list[str]:
    record = _record(loc)
    return list(record.model_fields) if record else []


def _record(loc: tuple) -> type[BaseModel] | None:
    """The record that a place in a RunSpec holds; the first of several kinds of record where none is named yet."""
    return next(iter(_possible(loc)), None)


def _possible(loc: tuple) -> list[type[BaseModel]]:
    found: list[type[BaseModel]] = [RunSpec]
    for part in loc:
        if isinstance(part, int):
            continue
        if len(found) > 1:  # pydantic names which one it took
            found = [record for record in found if _kind(record) == part]
            continue
        field = found[0].model_fields.get(part) if found else None
        found = _records(field.annotation) if field else []
    return found


def _kinds(loc: tuple) -> list[str]:
    return [_kind(record) for record in _possible(loc)]


def _kind(record: type[BaseModel]) -> str:
    return record.model_fields["kind"].default if "kind" in record.model_fields else ""


def _records(annotation: Any) -> list[type[BaseModel]]:
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        return [annotation]
    return [record for inner in typing.get_args(annotation) for record in _records(inner)]
