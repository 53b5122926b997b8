"""What a model or an environment wrote, as HTML: always text, always whole, and what can't be seen made visible.

Every page passes such text through `text` (a word or a line) or `block` (lines, folded in the middle when long), and
every number that may be missing through `number`.
"""

import html
import json
import math
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from backend.records import DUST
from backend.store import codec

HEAD, TAIL = 4000, 1000
"""Characters of a long text that show before anyone asks for the middle."""

BITMAP = re.compile(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}")
"""The only pictures that are drawn: surely a bitmap, and inside the page. Whatever else a data: URL can be is text."""

_UNSEEN = re.compile(
    "([\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff"
    "\ud800-\udfff\U000e0000-\U000e007f]|(?<=[ -~])[\u200c\u200d](?=[ -~]))+")


_CONTROLS = ("NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC "
             "FS GS RS US").split()


def _named(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return _CONTROLS[code]
    return "DEL" if code == 0x7F else f"U+{code:04X}"


def _seen(unseen: re.Match) -> str:
    return f'<i class="o-ctl">{" ".join(map(_named, unseen[0]))}</i>'


def text(written: Any) -> str:
    """Escaped; control, bidi and zero-width characters and lone surrogates become visible marks."""
    plain = str(written).replace("\r\n", "\n")
    return _UNSEEN.sub(_seen, html.escape(plain, quote=True))


def attribute(written: Any) -> str:
    """For an attribute that is read by people: it can't hold marks, so what can't be seen is named in place."""
    return html.escape(_UNSEEN.sub(lambda unseen: f"[{' '.join(map(_named, unseen[0]))}]", str(written)), quote=True)


def named(id: str) -> str:
    """For an attribute that scripts compare: percent-encoded, so that every character is told apart."""
    return quote(codec.linkable(id), safe="")


def query(what: Mapping[str, Any]) -> str:
    """As it stands in an address, what isn't known left out; an episode's id stays what it is."""
    return urlencode({name: codec.linkable(value) if isinstance(value, str) else value
                      for name, value in what.items() if value is not None})


def _at_line_end(written: str, near: int, within: int) -> int:
    """The place just after a newline close before `near`, or `near` itself."""
    found = written.rfind("\n", near - within, near)
    return near if found < 0 else found + 1


def block(written: Any, head: int = HEAD, tail: int = TAIL) -> str:
    """Lines of text; a long one shows its head and tail, with the middle folded between them."""
    written = str(written)
    if len(written) <= head + 2 * tail:
        return f'<div class="o-written">{text(written)}</div>'
    start = _at_line_end(written, head, head // 2)
    end = _at_line_end(written, len(written) - tail, tail)
    end = max(end, start)
    return (f'<div class="o-written">{text(written[:start])}<details class="o-middle"><summary>Show all: '
            f'{end - start:,} more characters</summary>{text(written[start:end])}</details>{text(written[end:])}</div>')


def as_json(value: Any) -> str:
    """On one line when short, one entry a line when not; never raises."""
    try:
        line = json.dumps(value, ensure_ascii=False, default=str)
        return line if len(line) <= 88 else json.dumps(value, ensure_ascii=False, default=str, indent=2)
    except (ValueError, TypeError, RecursionError):
        return repr(value)


def number(value: float | None, signed: bool = False, digits: int = 2) -> str:
    """`1.25`, `−0.10`, `+1.42`; small values keep two figures, what rounding left of nothing is 0; None is a hatched
    'not scored', never 0."""
    if value is None:
        return '<span class="o-none">not scored</span>'
    if not math.isfinite(value):
        return "not a number" if math.isnan(value) else "∞" if value > 0 else "−∞"
    value = 0.0 if abs(value) < DUST else value
    size = abs(value)
    shown = f"{size:.{digits}f}"
    if 0 < size < 10 ** -digits:
        shown = f"{size:.2g}"
    elif size >= 1e6:
        shown = f"{size:.3g}"
    sign = "−" if value < 0 else "+" if signed and value > 0 else ""
    return sign + shown


def seconds(value: float | None) -> str:
    """`50 ms`, `0.8 s`, `2 min 5 s`, `1 h 12 min`."""
    if value is None or not math.isfinite(value):
        return "time not known"
    if value < 0.1:
        return f"{value * 1000:.0f} ms"
    if value < 60:
        return f"{value:.1f} s"
    if value < 3600:
        return f"{int(value // 60)} min {int(value % 60)} s"
    return f"{int(value // 3600)} h {int(value % 3600 // 60)} min"


def counted(count: int, noun: str) -> str:
    """`1 turn`, `6 turns`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
