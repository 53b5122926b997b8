"""What boards are drawn on: the colours of style.css, letters, rounded boxes. Drawn SCALE times as large and made smaller, since
Pillow's boxes have rough edges."""

import contextlib
import re
from functools import lru_cache
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

SCALE = 3
STYLE = Path(__file__).parents[2] / "style.css"
LETTERS = {"plain": "DejaVuSans.ttf", "bold": "DejaVuSans-Bold.ttf", "mono": "DejaVuSansMono.ttf"}
"""Where the system has them; Pillow's own font stands in."""
OTHERS = ("NotoSansMono-Regular.ttf", "NotoSansCJK-Regular.ttc", "wqy-zenhei.ttc", "wqy-microhei.ttc", "unifont.ttf",
          "FreeMono.ttf", "NotoSansSymbols2-Regular.ttf", "Arial Unicode.ttf", "msgothic.ttc")
"""Looked through for a character that those lack."""
MISSING = "\ufffd"
"""Stands for what no font here can draw."""


@lru_cache
def colours(dark: bool = False) -> dict[str, str]:
    """Token -> #rrggbb, as the pages have them."""
    light, _, rest = STYLE.read_text("utf-8").partition(".dark {")
    found = dict(re.findall(r"--o-([\w-]+): (#[0-9a-f]{6});", light))
    return found | dict(re.findall(r"--o-([\w-]+): (#[0-9a-f]{6});", rest.partition("}")[0])) if dark else found


@lru_cache(maxsize=64)
def font(size: int, kind: str):
    try:
        return ImageFont.truetype(LETTERS[kind], size)
    except OSError:
        return ImageFont.load_default(size)


@lru_cache(maxsize=4096)
def font_for(character: str, size: int, kind: str):
    """The usual one, or another that has the character; None where none here has it."""
    usual = font(size, kind)
    return next((one for one in (usual, *_others(size)) if _has(one, character)), None)


@lru_cache(maxsize=16)
def _others(size: int) -> tuple:
    found = []
    for name in OTHERS:
        with contextlib.suppress(OSError):
            found.append(ImageFont.truetype(name, size))
    return tuple(found)


def _has(one, character: str) -> bool:
    """A font draws all it lacks as the same box."""
    return character.isascii() or _mask(one, character) != _mask(one, "\U0010fffd")


def _mask(one, character: str) -> tuple:
    mask = one.getmask(character)
    return mask.size, bytes(mask)


class Paper:
    """A picture in the making; all measures are those of the finished one."""

    def __init__(self, width: float, height: float, dark: bool = False):
        self.tokens = colours(dark)
        self.image = Image.new("RGB", (round(width * SCALE), round(height * SCALE)), self.tokens["surface"])
        self._draw = ImageDraw.Draw(self.image)

    def box(self, x: float, y: float, width: float, height: float, fill: str | None = None, line: str | None = None,
            round_by: float = 0, thick: float = 1) -> None:
        """`fill` and `line` are tokens."""
        self._draw.rounded_rectangle(
            [x * SCALE, y * SCALE, (x + width) * SCALE - 1, (y + height) * SCALE - 1], round_by * SCALE,
            self.tokens[fill] if fill else None, self.tokens[line] if line else None, max(1, round(thick * SCALE)))

    def circle(self, x: float, y: float, radius: float, fill: str) -> None:
        self._draw.ellipse([(x - radius) * SCALE, (y - radius) * SCALE, (x + radius) * SCALE, (y + radius) * SCALE],
                           self.tokens[fill])

    def line(self, points: list[tuple[float, float]], colour: str, thick: float = 1) -> None:
        self._draw.line([(x * SCALE, y * SCALE) for x, y in points], self.tokens[colour], max(1, round(thick * SCALE)),
                        joint="curve")

    def write(self, words: str, x: float, y: float, size: float, colour: str, kind: str = "plain",
              anchor: str = "mm") -> None:
        """`anchor` as Pillow has it: mm is the middle, ls the left end of the base line."""
        size, words = round(size * SCALE), seen(words)
        usual = font(size, kind)
        alone = font_for(words, size, kind) if len(words) == 1 else None  # words are of one font, a character by itself of any
        words = "".join(character if alone or _has(usual, character) else MISSING for character in words)
        self._draw.text((x * SCALE, y * SCALE), words, self.tokens[colour], alone or usual, anchor)

    def done(self) -> Image.Image:
        return self.image.resize((self.image.width // SCALE, self.image.height // SCALE), Image.Resampling.LANCZOS)


def seen(words: str) -> str:
    """One line without what can't be drawn."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff]", "\ufffd", words)
