"""From what a person wrote to a RunSpec: a YAML text, a file, or the name of a shipped recipe."""

import difflib
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from pydantic import ValidationError

from backend.errors import SpecError
from backend.records import EnvironmentSpec, RewardTerm, RunSpec
from backend.refusals import refused

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
        raise refused(error, RunSpec) from None
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
