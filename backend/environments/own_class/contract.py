"""What TRL's contract asks of a class, and what a class that follows it looks like from outside.

TRL finds out that a tool has no docstring or no type hint when the first batch is tokenised, with the model loaded; here
it is said before anything starts, with the lines that would be right.
"""

import inspect
import json
import re
import typing
from collections.abc import Callable
from typing import Any

from backend.environments import EPISODE_FACTS, Description, Tool
from backend.environments.adapters.discovered import USUAL_TURNS
from backend.errors import SpecError

OWN = ("reset", "get_reward")
"""Public methods that aren't tools."""

NEVER_A_TOOL = {"close", "cleanup", "shutdown", "teardown", "setup", "render", "seed"}
"""Names of methods without arguments that no player is meant to call."""

RESERVED = ("seed", "task", "episode_id")
"""What reset is given by others than the spec's options."""

LONGEST = 200
"""Characters of a text attribute that are kept as a fact."""


def described(cls: type, options: dict[str, Any]) -> Description:
    """Makes one object to see its attributes. Raises SpecError with the fix for the first thing that is wrong."""
    _check_making(cls)
    _check_reset(cls, options)
    tools = tuple(_tool(cls, name, function) for name, function in _public(cls).items() if name not in OWN)
    if not tools:
        raise _wrong(cls, "has no public method besides reset, so the player can't do anything; add one",
                     _lines("act", {"move": "str"}))
    facts = {name: "an attribute of the object" for name in attributes(made(cls)) if name not in EPISODE_FACTS}
    about = inspect.cleandoc(vars(cls).get("__doc__") or "")
    names = " or ".join(f"`{tool.name}`" for tool in tools)
    how = f"Use the tool {names}." if len(tools) == 1 else f"Use the tools {names}, one call at a time."
    turns = getattr(cls, "max_turns", None)
    return Description(
        title=cls.__name__, about=about.split("\n\n")[0] or f"A class of your own, {cls.__name__}.", tools=tools,
        facts=facts, prompt=f"{about}\n\n{how}".strip(),
        max_turns=turns if isinstance(turns, int) and turns > 0 else USUAL_TURNS, rewards=_rewards(cls, facts))


def made(cls: type) -> Any:
    """Raises SpecError."""
    try:
        return cls()
    except BaseException as error:
        raise SpecError("use", f"{cls.__name__}() fails with {type(error).__name__}: {error}; an object is made for "
                               "each episode, without arguments") from error


def attributes(made: Any) -> dict[str, Any]:
    """Its public attributes with plain values; None too, which a later value takes the place of."""
    return {name: value[:LONGEST] if isinstance(value, str) else value
            for name, value in vars(made).items()
            if not name.startswith("_") and isinstance(value, bool | int | float | str | None)}


def _public(cls: type) -> dict[str, Callable]:
    """The methods that TRL would find, in the order they are written."""
    found = {name: function for name, function in inspect.getmembers(cls, predicate=inspect.isfunction)
             if not name.startswith("_")}
    order = [name for base in reversed(cls.__mro__) for name in vars(base)]
    return dict(sorted(found.items(), key=lambda item: order.index(item[0])))


def _rewards(cls: type, facts: dict[str, str]) -> tuple[tuple[str, str], ...]:
    if hasattr(cls, "get_reward"):
        return (("env_reward", "env_reward"),)
    if "reward" in facts:
        return (("reward", "reward"),)
    if "won" in facts:
        return (("won", "1.0 if won else 0.0"),)
    if facts:
        return ()
    raise _wrong(cls, "has neither get_reward nor a public attribute, so nothing tells what an episode was worth; add",
                 "    def get_reward(self) -> float:\n        return ...")


def _check_making(cls: type) -> None:
    needed = [name for name, one in inspect.signature(cls).parameters.items()
              if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    if needed:
        raise _wrong(cls, f"takes arguments when it is made ({', '.join(needed)}), and nobody gives it any; set what it "
                     "needs in the module, or give defaults", "    def __init__(self):")


def _check_reset(cls: type, options: dict[str, Any]) -> None:
    right = "    def reset(self, **kwargs) -> str | None:"
    reset = getattr(cls, "reset", None)
    if not inspect.isfunction(reset):
        raise _wrong(cls, "has no method reset, which begins an episode; add", right)
    if inspect.iscoroutinefunction(reset) or inspect.isasyncgenfunction(reset):
        raise _wrong(cls, "has an async reset, and TRL takes the coroutine itself for the first observation; write",
                     right)
    taken = dict(list(inspect.signature(reset).parameters.items())[1:])
    if not any(one.kind == one.VAR_KEYWORD for one in taken.values()):
        raise _wrong(cls, "has a reset without **kwargs, and each column of the dataset is handed to it; write", right)
    if clash := [name for name in RESERVED if name in options]:
        raise SpecError("options", f"{clash[0]} is what reset is given anyway; give the option another name")
    needed = [name for name, one in taken.items() if one.default is one.empty and one.kind in (
        one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY) and name not in (*RESERVED, *options)]
    if needed:
        raise SpecError("options", f"{cls.__name__}.reset needs {needed[0]}; give it here, such as "
                                   f"options: {{{needed[0]}: ...}}")


def _tool(cls: type, name: str, function: Callable) -> Tool:
    parameters = {one: known for one, known in inspect.signature(function).parameters.items()}
    if not isinstance(inspect.getattr_static(cls, name), staticmethod):
        parameters.pop(next(iter(parameters)), None)
    if name in NEVER_A_TOOL and not parameters:
        raise _wrong(cls, f"has a public method {name}, and so the player could call it; name it", f"    def _{name}(self):")
    hints = _hints(cls, name, function)
    right = _lines(name, {one: _written(known.annotation) for one, known in parameters.items()})
    for one, known in parameters.items():
        if known.kind in (known.VAR_POSITIONAL, known.VAR_KEYWORD, known.POSITIONAL_ONLY):
            raise _wrong(cls, f"{name} takes {known}, and a player has to know each argument by its name; write",
                         right.replace(f"{one}: ", f"{one.strip('*')}: "))
        if one not in hints:
            raise _wrong(cls, f"{name} has no type hint for {one}, and the player isn't told what it may be; write",
                         right)
    told, of_arguments = documented(inspect.getdoc(function) or "")
    if not told:
        raise _wrong(cls, f"{name} has no docstring, and as a public method it is a tool whose description that is; "
                     f"write one, or name it _{name} if no player is to call it", right)
    for one in parameters:
        if one not in of_arguments:
            raise _wrong(cls, f"the docstring of {name} says nothing of {one} under Args:, where its description is "
                         "taken from; write", right)
    return Tool(name, told, _schema(cls, name, parameters, hints, of_arguments))


def _hints(cls: type, name: str, function: Callable) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except Exception as error:
        raise _wrong(cls, f"a type hint of {name} can't be read: {error}; import what it names", "") from error


def _schema(cls: type, name: str, parameters: dict[str, inspect.Parameter], hints: dict[str, Any],
            told: dict[str, str]) -> dict[str, Any]:
    """As pydantic writes it, without the titles it makes up. `(choices: ["a", "b"])` in a description is an enum."""
    from pydantic import Field, create_model
    from pydantic.errors import PydanticUserError

    fields: dict[str, Any] = {}
    for number, (one, known) in enumerate(parameters.items()):
        default = ... if known.default is known.empty else known.default
        fields[f"a{number}"] = (hints[one], Field(default, alias=one, description=_without_choices(told[one])))
    try:
        schema = _untitled(create_model("Arguments", **fields).model_json_schema())
    except (PydanticUserError, TypeError, ValueError) as error:
        first = str(error).splitlines()[0]
        raise _wrong(cls, f"a type hint of {name} has no JSON Schema ({first[:120]}); use str, int, float, bool, list, "
                     "dict, Literal, a dataclass, or one of them | None", "") from error
    for one, description in told.items():
        if one in parameters and (choices := _choices(description)) is not None:
            schema["properties"][one]["enum"] = choices
    return {"type": "object", "properties": {}, **schema, "additionalProperties": False}


def documented(docstring: str) -> tuple[str, dict[str, str]]:
    """(what stands before Args:, argument -> description), as Google writes docstrings."""
    told, _, rest = re.sub(r"(?m)^(Args|Arguments):\s*$", "\0", docstring, count=1).partition("\0")
    told = re.split(r"(?m)^(?:Returns|Raises|Yields|Examples?):\s*$", told)[0]
    arguments: dict[str, str] = {}
    current, depth = "", None
    for line in re.split(r"(?m)^\S", rest)[0].splitlines():
        indent = len(line) - len(line.lstrip())
        begins = re.match(r"\s+\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)", line)
        if begins and (depth is None or indent <= depth):
            current, depth = begins[1], indent
            arguments[current] = begins[2]
        elif current and line.strip():
            arguments[current] += f" {line.strip()}"
    return told.strip(), {name: text.strip() for name, text in arguments.items() if text.strip()}


def _choices(description: str) -> list[Any] | None:
    found = re.search(r"\(choices:\s*(\[.*\])\s*\)\s*$", description)
    try:
        return json.loads(found[1]) if found else None
    except ValueError:
        return None


def _without_choices(description: str) -> str:
    return description if _choices(description) is None else re.sub(r"\s*\(choices:.*$", "", description)


def _untitled(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_untitled(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {}
    for key, value in schema.items():
        if key in ("properties", "$defs"):
            kept[key] = {name: _untitled(inner) for name, inner in value.items()}
        elif key in ("default", "enum", "const", "examples"):
            kept[key] = value
        elif key != "title":
            kept[key] = _untitled(value)
    return kept


def _written(annotation: Any) -> str:
    if annotation is inspect.Parameter.empty:
        return "str"
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _lines(name: str, arguments: dict[str, str]) -> str:
    taken = "".join(f", {one}: {kind}" for one, kind in arguments.items())
    of_arguments = "".join(f"            {one}: What it is.\n" for one in arguments)
    return (f"    def {name}(self{taken}) -> str:\n        \"\"\"What it does.\n"
            + (f"\n        Args:\n{of_arguments}" if arguments else "") + '        """')


def _wrong(cls: type, what: str, right: str) -> SpecError:
    return SpecError("use", f"{cls.__name__} {what}" + (f"\n\n{right}" if right else ""))
