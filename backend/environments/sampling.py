"""Values that fit a JSON Schema, drawn at random: what a random player sends to a tool it knows nothing of."""

import random
from typing import Any

DEEPEST = 4
LONGEST_TEXT, MOST_ITEMS = 30, 3
LETTERS = "abcdefghijklmnopqrstuvwxyz "
UNBOUNDED = 9
"""Numbers without bounds are drawn from 0 to this."""


def value(schema: Any, rng: random.Random, whole: Any = None, depth: int = 0) -> Any:
    """`whole` is the schema that `$ref` points into. What it can't make sense of becomes a short text."""
    whole = schema if whole is None else whole
    if not isinstance(schema, dict):
        return _text({}, rng)
    if "const" in schema:
        return schema["const"]
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return rng.choice(schema["enum"])
    if isinstance(schema.get("$ref"), str):
        return value(_pointed(schema["$ref"], whole), rng, whole, depth + 1) if depth < DEEPEST else {}
    for union in ("anyOf", "oneOf"):
        if isinstance(schema.get(union), list) and schema[union]:
            return value(rng.choice(schema[union]), rng, whole, depth)
    if isinstance(schema.get("allOf"), list):
        merged: dict[str, Any] = {}
        for part in schema["allOf"]:
            merged |= part if isinstance(part, dict) else {}
        return value({**merged, **{k: v for k, v in schema.items() if k != "allOf"}}, rng, whole, depth + 1)
    return _of_kind(schema, rng, whole, depth)


def arguments(parameters: Any, rng: random.Random) -> dict[str, Any]:
    """Of a tool: all that are required, and each of the others half the time."""
    drawn = _object(parameters if isinstance(parameters, dict) else {}, rng, parameters, 0)
    return drawn if isinstance(drawn, dict) else {}


def _of_kind(schema: dict[str, Any], rng: random.Random, whole: Any, depth: int) -> Any:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = rng.choice(kind) if kind else None
    match kind:
        case "integer":
            low, high = _bounds(schema)
            return rng.randint(int(low), max(int(low), int(high)))
        case "number":
            return round(rng.uniform(*_bounds(schema)), 2)
        case "boolean":
            return rng.random() < 0.5
        case "null":
            return None
        case "array":
            return _array(schema, rng, whole, depth)
        case "object":
            return _object(schema, rng, whole, depth)
        case None if "properties" in schema:
            return _object(schema, rng, whole, depth)
    return _text(schema, rng)


def _bounds(schema: dict[str, Any]) -> tuple[float, float]:
    step = 1 if schema.get("type") == "integer" else 0.01

    def limit(closed: str, open_: str, sign: int) -> float | None:
        if isinstance(schema.get(closed), int | float):
            return schema[closed]
        return schema[open_] + sign * step if isinstance(schema.get(open_), int | float) else None

    low, high = limit("minimum", "exclusiveMinimum", 1), limit("maximum", "exclusiveMaximum", -1)
    if low is None:
        low = 0 if high is None else min(0, high)
    return low, max(low, low + UNBOUNDED if high is None else high)


def _array(schema: dict[str, Any], rng: random.Random, whole: Any, depth: int) -> list[Any]:
    fewest = _whole(schema.get("minItems"), 0)
    most = min(_whole(schema.get("maxItems"), fewest + MOST_ITEMS), fewest + MOST_ITEMS)
    count = fewest if depth >= DEEPEST else rng.randint(fewest, max(fewest, most))
    return [value(schema.get("items", {}), rng, whole, depth + 1) for _ in range(count)]


def _object(schema: dict[str, Any], rng: random.Random, whole: Any, depth: int) -> dict[str, Any]:
    known = schema.get("properties")
    needed = set(schema.get("required") or ())
    return {name: value(inner, rng, whole, depth + 1)
            for name, inner in (known.items() if isinstance(known, dict) else ())
            if name in needed or (depth < DEEPEST and rng.random() < 0.5)}


def _text(schema: dict[str, Any], rng: random.Random) -> str:
    shortest = _whole(schema.get("minLength"), 1)
    longest = min(_whole(schema.get("maxLength"), shortest + LONGEST_TEXT), shortest + LONGEST_TEXT)
    return "".join(rng.choices(LETTERS, k=rng.randint(shortest, max(shortest, longest))))


def _whole(value: Any, otherwise: int) -> int:
    return value if isinstance(value, int) else otherwise


def _pointed(ref: str, whole: Any) -> Any:
    here = whole
    for part in ref.lstrip("#").strip("/").split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        here = here.get(key) if isinstance(here, dict) else None
    return here if here is not None else {}
