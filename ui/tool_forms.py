"""Tools as forms, made from their JSON Schema: what a person plays with in a model's place.

A tool with nothing to choose is a button, and one whose only argument is chosen from a few is a row of them. Others get a
field for each argument: text, number, yes or no, a choice, and JSON for whatever is nested. `play.js` collects them; what
is sent is judged by the environment alone, as it is for a model.
"""

import json
from collections.abc import Iterable
from typing import Any

from backend.environments import Tool
from ui.written import attribute, named, text

MOST_BUTTONS, MOST_OPEN = 12, 3
LONG = 200
"""A text that may be longer is written in several lines."""


def tool_forms(tools: Iterable[Tool]) -> str:
    """Buttons first; many forms are folded."""
    listed = list(tools)
    pressed = [tool for tool in listed if _is_buttons(tool)]
    filled = [tool for tool in listed if not _is_buttons(tool)]
    forms = [_form(tool, len(listed) == 1) for tool in filled]
    if len(forms) > MOST_OPEN:
        forms = [f'<details class="o-tool-fold"><summary><b class="o-mono">{text(tool.name)}</b><span>'
                 f"{text(tool.description.strip().partition(chr(10))[0][:120])}</span></summary>{form}</details>"
                 for tool, form in zip(filled, forms, strict=True)]
    return "".join([*map(_buttons, pressed), *forms])


def _is_buttons(tool: Tool) -> bool:
    known = _arguments(tool)
    if not known:
        return not tool.parameters.get("additionalProperties", True) or not tool.parameters.get("required")
    return len(known) == 1 and 0 < len(_choices(next(iter(known.values())))) <= MOST_BUTTONS


def _arguments(tool: Tool) -> dict[str, Any]:
    known = tool.parameters.get("properties")
    return known if isinstance(known, dict) else {}


def _choices(schema: Any) -> list[Any]:
    if not isinstance(schema, dict):
        return []
    if "const" in schema:
        return [schema["const"]]
    return schema["enum"] if isinstance(schema.get("enum"), list) else []


def _buttons(tool: Tool) -> str:
    calls: list[tuple[str, dict[str, Any]]] = [(tool.name, {})]
    for name, schema in _arguments(tool).items():
        calls = [(_spelt(value), {name: value}) for value in _choices(schema)]
    drawn = "".join(f'<button type="button" class="o-button" data-call="{named(tool.name)}" '
                    f'data-arguments="{named(json.dumps(sent))}">{text(words[:60])}</button>' for words, sent in calls)
    label = f'<span class="o-tool-name o-mono">{text(tool.name)}</span>' if _arguments(tool) else ""
    return (f'<div class="o-tool-form o-tool-buttons" role="group" aria-label="{attribute(tool.name)}" '
            f'title="{attribute(tool.description)}">{label}{drawn}</div>')


def _form(tool: Tool, alone: bool) -> str:
    needed = tool.parameters.get("required") or ()
    fields = "".join(_field(name, _plain(schema, tool.parameters, name in needed), name in needed)
                     for name, schema in _arguments(tool).items())
    if not fields:
        fields = _json("", "Arguments as JSON", "{}", "", True)
    about = f'<p class="o-fieldnote">{text(tool.description)}</p>' if tool.description else ""
    return (f'<form class="o-tool-form" data-tool="{named(tool.name)}" autocomplete="off"><header><b class="o-mono">'
            f"{text(tool.name)}</b>{about}</header>"
            f'<div class="o-tool-fields">{fields}<button type="submit" class="o-button{" o-primary" * alone}">'
            f"{text(tool.name[:40])}</button></div></form>")


def _plain(schema: Any, whole: dict[str, Any], needed: bool, depth: int = 0) -> dict[str, Any]:
    """With `$ref` followed and, where it may be left out, without the null it may be."""
    if not isinstance(schema, dict) or depth > 4:
        return {}
    if isinstance(schema.get("$ref"), str):
        found: Any = whole
        for part in schema["$ref"].lstrip("#").strip("/").split("/"):
            found = found.get(part) if isinstance(found, dict) else None
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return _plain({**found, **rest} if isinstance(found, dict) else rest, whole, needed, depth + 1)
    if needed:
        return schema
    if isinstance(kinds := schema.get("type"), list) and len(left := [kind for kind in kinds if kind != "null"]) == 1:
        return {**schema, "type": left[0]}
    for union in ("anyOf", "oneOf"):
        options = [each for each in schema.get(union) or () if isinstance(each, dict) and each.get("type") != "null"]
        if len(options) == 1:
            rest = {key: value for key, value in schema.items() if key != union}
            return _plain({**rest, **options[0]}, whole, needed, depth + 1)
    return schema


def _field(name: str, schema: dict[str, Any], needed: bool) -> str:
    told = str(schema.get("description") or "")
    kind = schema.get("type")
    start = "" if schema.get("default") is None else _spelt(schema["default"])
    if choices := _choices(schema):
        return _label(name, told, needed, _select(name, choices, needed, schema.get("default")))
    if kind == "boolean":
        on = " checked" if schema.get("default") is True else ""
        return (f'<label class="o-switch" title="{attribute(told)}"><input type="checkbox" role="switch" '
                f'{_place(name, "boolean", needed)}{on}><i></i><span>{text(name)}</span></label>')
    if kind in ("integer", "number"):
        keys = "numeric" if kind == "integer" else "decimal"
        return _label(name, told, needed, f'<input type="text" inputmode="{keys}" value="{attribute(start)}" '
                                          f'placeholder="{attribute(_bounds(schema))}" {_place(name, kind, needed)}>')
    if kind == "string":
        if (schema.get("maxLength") or 0) > LONG or any(word in name.lower() for word in ("text", "code", "message")):
            return _label(name, told, needed, f'<textarea rows="2" {_place(name, "string", needed)}>{text(start)}'
                                              "</textarea>")
        return _label(name, told, needed, f'<input type="text" value="{attribute(start)}" '
                                          f'{_place(name, "string", needed)}>')
    return _json(name, told, _example(schema), start, needed)


def _label(name: str, told: str, needed: bool, control: str) -> str:
    return (f'<label class="o-tool-field" title="{attribute(told)}"><span>{text(name)}'
            f'{"" if needed else " <small>optional</small>"}</span>{control}</label>')


def _json(name: str, told: str, example: str, start: str, needed: bool) -> str:
    label = f"{text(name)} <small>JSON{'' if needed else ', optional'}</small>" if name else text(told)
    return (f'<label class="o-tool-field o-wide" title="{attribute(told)}"><span>{label}</span><textarea rows="2" '
            f'class="o-mono" placeholder="{attribute(example)}" {_place(name, "json", needed)}>{text(start)}</textarea>'
            "</label>")


def _select(name: str, choices: list[Any], needed: bool, start: Any) -> str:
    empty = "" if needed else '<option value="">leave out</option>'
    options = "".join(f'<option value="{named(json.dumps(value))}"{" selected" * (value == start)}>'
                      f"{text(_spelt(value)[:80])}</option>" for value in choices)
    return f'<select {_place(name, "choice", needed)}>{empty}{options}</select>'


def _place(name: str, kind: str, needed: bool) -> str:
    return (f'data-argument="{named(name)}" data-kind="{kind}" spellcheck="false" autocomplete="off"'
            f'{" data-needed" * needed}')


def _spelt(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _bounds(schema: dict[str, Any]) -> str:
    low, high = (next((schema[key] for key in keys if isinstance(schema.get(key), int | float)), None)
                 for keys in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")))
    if low is not None and high is not None:
        return f"{low:g} to {high:g}"
    return f"{low:g} or more" if low is not None else f"up to {high:g}" if high is not None else ""


def _example(schema: dict[str, Any]) -> str:
    """What it should look like, in a few characters."""
    kind = schema.get("type")
    if kind == "array":
        items = schema.get("items")
        return '["…"]' if isinstance(items, dict) and items.get("type") == "string" else "[…]"
    known = schema.get("properties")
    if kind == "object" and isinstance(known, dict):
        return "{" + ", ".join(f'"{name}": …' for name in list(known)[:3]) + "}"
    return "{…}" if kind == "object" else '"text", 1, true, null, […] or {…}'
