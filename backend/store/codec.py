"""Text and values on their way into SQLite and back, with nothing lost.

SQLite cuts text at NUL and refuses lone surrogates; both are escaped as ESCAPE + four hex digits, and so is ESCAPE.
Very long text is kept once, compressed, in the table `texts`; the cell holds ESCAPE + "=" + its digest.
"""

import hashlib
import json
import math
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

ESCAPE = "\ue0ff"
LONG = 16_384
"""Characters from which a text is kept apart."""
MISSING = "[this text isn't in the folder any more]"
"""What is read where `texts` lacks one, as in a copy that was torn: never an empty text."""

_UNSAFE = re.compile(f"[\x00\ud800-\udfff{ESCAPE}]")
_ESCAPED = re.compile(f"{ESCAPE}([0-9a-f]{{4}})")
_HALF = re.compile("[\ud800-\udfff]")
_LINKED = re.compile(f"{ESCAPE}(d[89a-f][0-9a-f]{{2}})")


def escape(text: str) -> str:
    if text.isascii() and "\0" not in text:
        return text
    return _UNSAFE.sub(lambda match: f"{ESCAPE}{ord(match[0]):04x}", text)


def unescape(text: str) -> str:
    if ESCAPE not in text:
        return text
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)


def linkable(id: str) -> str:
    """An id as an address and a script can hold it: half a surrogate is escaped. `linked` is the way back."""
    return _HALF.sub(lambda half: f"{ESCAPE}{ord(half[0]):04x}", id)


def linked(id: str) -> str:
    return _LINKED.sub(lambda match: chr(int(match[1], 16)), id)


def to_json(value: Any) -> str | None:
    """ASCII JSON, so that surrogates, NUL and integers of any size survive; None becomes NULL."""
    return None if value is None else json.dumps(value, ensure_ascii=True, default=str)


def from_json(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def finite(value: Any, text: Callable[[str], str] = str) -> Any:
    """A value as JSON holds it, which has no NaN and no infinity; each of its texts through `text`."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {text(str(key)): finite(inner, text) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(inner, text) for inner in value]
    return value


def facts_to_json(facts: dict[str, Any]) -> str:
    """JSON that SQLite can look into as well: NaN becomes null and an infinity 9e999."""
    if all(math.isfinite(value) for value in facts.values() if isinstance(value, float)):
        return json.dumps(facts, default=str)
    return "{" + ", ".join(f"{json.dumps(name)}: {_fact(value)}" for name, value in facts.items()) + "}"


def facts_by_turn(all_facts: Iterable[dict[str, Any]]) -> Iterator[tuple[str, bool]]:
    """For each turn (JSON, whether it holds only what differs from the turn before)."""
    before: dict[str, Any] = {}
    for facts in all_facts:
        partly = bool(before) and before.keys() <= facts.keys()
        changed = {name: value for name, value in facts.items()
                   if name not in before or not _same(value, before[name])} if partly else facts
        yield facts_to_json(changed), partly
        before = facts


def _same(value: Any, before: Any) -> bool:
    """As they are written: 1 is not True, 1.0 is not 1, and -0.0 is not 0.0."""
    return type(value) is type(before) and value == before and (bool(value) or str(value) == str(before))


def _fact(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "null" if math.isnan(value) else "9e999" if value > 0 else "-9e999"
    return json.dumps(value, default=str)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def pack(text: str) -> bytes:
    return zlib.compress(text.encode("utf-8", "surrogatepass"), 1)


def unpack(body: bytes) -> str:
    return zlib.decompress(body).decode("utf-8", "surrogatepass")
