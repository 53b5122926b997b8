"""From an observation class's JSON Schema to facts, and from an observation to text."""

import json
import math
import re
from dataclasses import dataclass
from typing import Any

from backend.environments import EPISODE_FACTS
from backend.environments.adapters.actions import BASE, Schema, alternatives, resolved
from backend.records import FactValue

LONGEST = 200
"""Characters of a text that are kept as a fact."""

WHOLE = ("text", "observation_text", "rendered")
"""A field of this name is the observation as it is meant to be read."""

NOT_FACTS = {BASE, "done", "reward", *WHOLE}


@dataclass(frozen=True)
class Seen:
    """A field that becomes a fact."""

    name: str
    path: tuple[str, ...]
    about: str

    def value(self, observation: dict[str, Any]) -> FactValue:
        found: Any = observation
        for step in self.path:
            found = found.get(step) if isinstance(found, dict) else None
        if isinstance(found, str):
            return found[:LONGEST]
        if isinstance(found, bool | int):
            return found
        return found if isinstance(found, float) and math.isfinite(found) else None


def seen(schema: Schema, leave_out: frozenset[str] = frozenset()) -> list[Seen]:
    """Numbers, booleans and texts by name; those of an object one level down as object_field."""
    found: dict[str, Seen] = {}

    def look(fields: Any, path: tuple[str, ...]) -> None:
        for key, field in (fields or {}).items():
            if not isinstance(field, dict) or (not path and key in NOT_FACTS | leave_out):
                continue
            kinds = alternatives(resolved(field, schema), schema)
            place = (*path, key)
            if kinds and all(_plain(kind) for kind in kinds):
                name = re.sub(r"\W", "_", "_".join(place))
                name = f"env_{name}" if name in EPISODE_FACTS or name[:1].isdigit() else name
                about = " ".join(str(field.get("description") or "as the environment reports it").split())
                found.setdefault(name, Seen(name, place, about[:1].lower() + about[1:200]))
            elif not path and len(kinds) == 1:
                look(kinds[0].get("properties"), place)

    look(resolved(schema, schema).get("properties"), ())
    return list(found.values())


def _plain(schema: Schema) -> bool:
    kind = schema.get("type")
    if kind is None and "enum" in schema:
        return all(isinstance(value, str | int | float) for value in schema["enum"])
    kinds = kind if isinstance(kind, list) else [kind]
    return bool(kinds) and all(one in ("number", "integer", "boolean", "string", "null") for one in kinds)


def words(observation: dict[str, Any], metadata: dict[str, Any]) -> tuple[str, bool]:
    """(what a player reads of an observation whose pictures are taken out, whether that is all there is).

    The field that is meant to be read, or the only text there is; else all that isn't empty, as compact JSON.
    """
    left = {name: value for name, value in observation.items()
            if name not in (BASE, "done", "reward") and value not in (None, "", [], {})}
    for name in WHOLE:
        if isinstance(left.get(name), str):
            return left[name], len(left) == 1
    if not left:
        return next((metadata[name] for name in ("message", "prompt", "instruction", "text")
                     if isinstance(metadata.get(name), str)), ""), True
    if len(left) == 1 and isinstance(only := next(iter(left.values())), str):
        return only, True
    return compact(left), True


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
