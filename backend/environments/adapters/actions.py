"""From an action class's JSON Schema to tools: one a class, its parameters exactly as they are written.

A class that stands for several (pydantic's unions, at the top or as the only field) gives one tool each; what tells
them apart on the wire, such as {"type": "move"}, is sent along and not asked of the model.
"""

import inspect
import json
import re
from dataclasses import dataclass
from typing import Any

from backend.environments import Tool

BASE = "metadata"
"""A field every OpenEnv action and observation has, not meant for the player."""

Schema = dict[str, Any]


@dataclass(frozen=True)
class Way:
    """One way to act."""

    tool: Tool
    fixed: dict[str, Any]
    """Sent with every call of it."""
    inside: str | None = None
    """The field its arguments travel in; None: they are the action."""

    def action(self, arguments: dict[str, Any]) -> dict[str, Any]:
        whole = {**arguments, **self.fixed}
        return whole if self.inside is None else {self.inside: whole}


def ways(schema: Schema) -> dict[str, Way]:
    """By tool name."""
    inside, classes, marker = _classes(schema)
    found: dict[str, Way] = {}
    for one in classes:
        fixed = {name: field["const"] for name, field in _fields(one).items() if "const" in field}
        name = _name(one, fixed.get(marker or ""), found)
        found[name] = Way(_tool(name, one, set(fixed), schema), fixed, inside)
    return found


def resolved(schema: Schema, root: Schema) -> Schema:
    """Follows `#/…` references, as long as they lead somewhere."""
    for _ in range(20):
        place = schema.get("$ref")
        if not isinstance(place, str) or not place.startswith("#/"):
            return schema
        found: Any = root
        for step in place[2:].split("/"):
            step = step.replace("~1", "/").replace("~0", "~")
            found = found.get(step) if isinstance(found, dict) else None
        if not isinstance(found, dict):
            return {}
        schema = {**found, **{key: value for key, value in schema.items() if key != "$ref"}}
    return {}


def alternatives(schema: Schema, root: Schema) -> list[Schema]:
    """What it may be, null left out."""
    listed = schema.get("oneOf") or schema.get("anyOf")
    if not isinstance(listed, list):
        return [schema]
    kinds = [resolved(one, root) for one in listed if isinstance(one, dict)]
    return [kind for kind in kinds if kind.get("type") != "null"]


def _classes(schema: Schema) -> tuple[str | None, list[Schema], str | None]:
    """(field they travel in, the classes, field that tells them apart)."""
    top = resolved(schema, schema)
    several = alternatives(top, schema)
    if len(several) > 1 and all(_is_class(one) for one in several):
        return None, several, _marker(top, several)
    names = [name for name in _fields(top) if name != BASE]
    if len(names) == 1:
        field = resolved(_fields(top)[names[0]], schema)
        several = alternatives(field, schema)
        if len(several) > 1 and all(_is_class(one) for one in several):
            return names[0], several, _marker(field, several)
    return None, [top], None


def _marker(union: Schema, classes: list[Schema]) -> str | None:
    named = (union.get("discriminator") or {}).get("propertyName")
    if named:
        return named
    shared = set.intersection(*(set(_fields(one)) for one in classes))
    return next((name for name in sorted(shared) if all("const" in _fields(one)[name] for one in classes)), None)


def _is_class(schema: Schema) -> bool:
    return isinstance(schema.get("properties"), dict) or schema.get("type") == "object"


def _fields(schema: Schema) -> dict[str, Schema]:
    fields = schema.get("properties")
    if not isinstance(fields, dict):
        return {}
    return {name: field for name, field in fields.items() if isinstance(field, dict)}


def _tool(name: str, one: Schema, fixed: set[str], root: Schema) -> Tool:
    left_out = fixed | {BASE}
    parameters = {key: value for key, value in one.items() if key not in ("title", "description", "$defs", "$schema")}
    parameters |= {"type": "object", "properties": {field: asked for field, asked in _fields(one).items()
                                                    if field not in left_out}}
    if "required" in parameters:
        parameters["required"] = [field for field in parameters["required"] if field not in left_out]
    for where in ("$defs", "definitions"):
        if needed := _needed(parameters, root.get(where) or {}, where):
            parameters[where] = needed
    about = inspect.cleandoc(str(one.get("description") or "")) or f"Take the action {name}."
    return Tool(name, about, parameters)


def _needed(schema: Any, kept: dict[str, Schema], where: str) -> dict[str, Schema]:
    """The definitions that `schema` speaks of, and those that these speak of."""
    found: dict[str, Schema] = {}
    todo = [schema]
    while todo:
        for name in re.findall(rf'"#/{re.escape(where)}/([^"/]+)', json.dumps(todo.pop())):
            if name in kept and name not in found:
                found[name] = kept[name]
                todo.append(kept[name])
    return {name: kept[name] for name in kept if name in found}


def _name(one: Schema, marked: Any, taken: dict[str, Way]) -> str:
    title = re.sub(r"Action$", "", str(one.get("title") or ""))
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", title).lower()
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", marked if isinstance(marked, str) else snake).strip("_")[:60] or "act"
    number = 2
    while name in taken:
        name, number = f"{name.rstrip('0123456789')}{number}", number + 1
    return name
