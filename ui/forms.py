"""A setting of a record as a labelled input. Label, help, bounds and choices are read from the record's own field.

An input says in `data-key` where its value belongs, relative to the row or form it stands in; `launch.js` collects
them. The note under it holds the help, and what is wrong with the value while something is.
"""

from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from ui.written import attribute, text

WORDS = {"vllm-colocate": "vLLM, same GPU", "vllm-server": "vLLM server", "none": "not at all"}
"""Choices whose own names don't say it."""
PLAIN = 'autocomplete="off" spellcheck="false"'


def field(record: type[BaseModel], name: str, prefix: str = "", wide: bool = False, rows: int = 0,
          placeholder: str = "", suggestions: str = "") -> str:
    """`prefix` is the record's place, such as `train.`; `rows` makes it a text area; `suggestions` names a datalist."""
    info = record.model_fields[name]
    key, kind, label = f"{prefix}{name}", kind_of(info), text(info.title or name)
    css = "o-field o-wide" if wide else "o-field"
    note = f'<p class="o-fieldnote" data-note="{key}">{text(info.description or "")}</p>'
    if kind == "bool":
        return (f'<div class="{css}"><label class="o-switch"><input type="checkbox" role="switch" data-key="{key}" '
                f'data-kind="bool"><i></i><span>{label}</span></label>{note}</div>')
    if kind == "choice":
        return f'<fieldset class="{css}"><legend>{label}</legend>{segments(key, choices(info))}{note}</fieldset>'
    hint = f' placeholder="{attribute(placeholder)}"' if placeholder else ""
    place = f'data-key="{key}" data-kind="{kind}"{empty(info)}{hint}'
    if rows:
        control = f'<textarea rows="{rows}" {place} spellcheck="false"></textarea>'
    else:
        more = f' list="{suggestions}"' if suggestions else ""
        within = f' title="{attribute(bounds(info))}"' if bounds(info) else ""
        control = f'<input type="text" {place}{typed(kind)}{within}{more} {PLAIN}>'
    return f'<div class="{css}"><label><span>{label}</span>{control}</label>{note}</div>'


def fields(record: type[BaseModel], prefix: str, *names: str) -> str:
    return "".join(field(record, name, prefix) for name in names)


def bare(record: type[BaseModel], name: str) -> str:
    """Only the input, for a cell of a table; label and help are read aloud and shown on hover."""
    info = record.model_fields[name]
    kind = kind_of(info)
    return (f'<input type="text" data-key="{name}" data-kind="{kind}"{typed(kind)} '
            f'aria-label="{attribute(info.title)}" title="{attribute(info.description)}" {PLAIN}>')


def segments(key: str, values: tuple[str, ...]) -> str:
    return '<div class="o-segments">' + "".join(
        f'<label><input type="radio" value="{value}" data-key="{key}" data-kind="choice">'
        f"<span>{WORDS.get(value, value)}</span></label>" for value in values) + "</div>"


def empty(info: FieldInfo) -> str:
    """Marks an input that may be left empty, which stands for None."""
    return " data-empty" if type(None) in get_args(info.annotation) else ""


def typed(kind: str) -> str:
    """Which keys a phone shows."""
    return {"int": ' inputmode="numeric"', "float": ' inputmode="decimal"'}.get(kind, "")


def kind_of(info: FieldInfo) -> str:
    """bool, choice, int, float, map, list or text; an optional one counts as what it holds."""
    held = _held(info.annotation)
    if get_origin(held) is Literal:
        return "choice"
    if get_origin(held) in (dict, tuple):
        return "map" if get_origin(held) is dict else "list"
    return {bool: "bool", int: "int", float: "float"}.get(held, "text")


def choices(info: FieldInfo) -> tuple[str, ...]:
    return get_args(_held(info.annotation))


def bounds(info: FieldInfo) -> str:
    """`1 to 1,000,000`, `above 0, up to 1`, `0 or more`; "" where there are none."""
    limits = {name: value for item in info.metadata for name in ("ge", "gt", "le", "lt")
              if (value := getattr(item, name, None)) is not None}
    low, above, high, below = (limits.get(name) for name in ("ge", "gt", "le", "lt"))
    if below is not None and kind_of(info) == "int":
        high = below - 1
    if low is not None and high is not None:
        return f"{low:,} to {high:,}"
    if above is not None and high is not None:
        return f"above {above:,}, up to {high:,}"
    if low is not None:
        return f"{low:,} or more"
    return f"above {above:,}" if above is not None else f"up to {high:,}" if high is not None else ""


def _held(annotation: Any) -> Any:
    if get_origin(annotation) in (Union, UnionType):
        return next(inner for inner in get_args(annotation) if inner is not type(None))
    return annotation
