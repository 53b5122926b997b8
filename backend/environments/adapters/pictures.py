"""Pictures in an observation, as data: URLs.

They come as URLs, as base64 of a known format, or as rows of pixels (height x width x 3 or 4, 0 to 255).
"""

import base64
import binascii
import struct
import zlib
from itertools import chain
from typing import Any

STARTS = {"/9j/": "jpeg", "iVBORw0KGgo": "png", "R0lGOD": "gif", "UklGR": "webp"}
"""How the base64 of a format begins."""

SHORTEST = 40
"""Characters below which nothing is taken for a picture."""


def taken_out(observation: dict[str, Any]) -> tuple[tuple[str, ...], dict[str, Any]]:
    """(the pictures among its fields, the observation without them)."""
    found = {name: url for name, value in observation.items() if (url := picture(value))}
    return tuple(found.values()), {name: value for name, value in observation.items() if name not in found}


def picture(value: Any) -> str | None:
    if isinstance(value, str) and len(value) >= SHORTEST:
        if value.startswith("data:image/"):
            return value
        kind = next((kind for start, kind in STARTS.items() if value.startswith(start)), None)
        return f"data:image/{kind};base64,{value}" if kind and _is_base64(value) else None
    if isinstance(value, list) and value and isinstance(value[0], list) and value[0] and isinstance(value[0][0], list):
        return _png(value)
    return None


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _png(rows: list[list[list[int]]]) -> str | None:
    """None where it isn't a picture after all."""
    height, width, channels = len(rows), len(rows[0]), len(rows[0][0])
    if channels not in (3, 4):
        return None
    try:
        lines = b"".join(b"\0" + bytes(chain.from_iterable(row)) for row in rows)
    except (TypeError, ValueError):
        return None
    if len(lines) != height * (1 + width * channels):
        return None

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2 if channels == 3 else 6, 0, 0, 0)
    png = [b"\x89PNG\r\n\x1a\n", chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(lines, 6)), chunk(b"IEND", b"")]
    return "data:image/png;base64," + base64.b64encode(b"".join(png)).decode()
