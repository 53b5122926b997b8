"""What boards are drawn on: the colours of style.css, letters, rounded boxes. Drawn SCALE times as large and made smaller, since
Pillow's boxes have rough edges."""

import re
from functools import lru_cache
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

SCALE = 3
STYLE = Path(__file__).parents[2] / "style.css"
LETTERS = {"plain": "DejaVuSans.ttf", "bold": "DejaVuSans-Bold.ttf", "mono": "DejaVuSansMono.ttf"}
"""Where the system has them; Pillow's own font stands in."""


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
        self._draw.text((x * SCALE, y * SCALE), seen(words), self.tokens[colour], font(round(size * SCALE), kind), anchor)

    def done(self) -> Image.Image:
        return self.image.resize((self.image.width // SCALE, self.image.height // SCALE), Image.Resampling.LANCZOS)


def seen(words: str) -> str:
    """One line without what can't be drawn."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff]", "\ufffd", words)
