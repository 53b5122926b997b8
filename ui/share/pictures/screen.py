"""What a browser or a camera showed, itself: the latest picture at each turn. One that can't be read is left out."""

import base64
import io
from functools import lru_cache

from PIL import Image

from backend.records import Episode
from ui.share.pictures.paper import Paper
from ui.viewers import screen

LARGEST = 960
PIXELS = 40_000_000
"""Of a picture that is opened at all."""


def frames(episode: Episode, dark: bool = False) -> list[Image.Image]:
    told = [screen.last_bitmap(shown) for shown in (episode.images, *(turn.images for turn in episode.turns))]
    latest, drawn = None, []
    for url in told:
        latest = (url and _opened(url)) or latest
        drawn.append(latest)
    width = max([picture.width for picture in drawn if picture] or [320])
    height = max([picture.height for picture in drawn if picture] or [240])
    return [_on_paper(picture, width, height, dark) for picture in drawn]


@lru_cache(maxsize=64)
def _opened(url: str) -> Image.Image | None:
    try:
        with Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2])), formats=("PNG", "JPEG", "GIF", "WEBP")) as whole:
            if whole.width * whole.height > PIXELS:
                return None
            picture = whole.convert("RGB")
    except Exception:  # what an environment sent may be broken in any way
        return None
    picture.thumbnail((LARGEST, LARGEST))
    return picture


def _on_paper(picture: Image.Image | None, width: int, height: int, dark: bool) -> Image.Image:
    sheet = Image.new("RGB", (width, height), Paper(1, 1, dark).tokens["surface-2"])
    if picture:
        sheet.paste(picture, ((width - picture.width) // 2, (height - picture.height) // 2))
    return sheet
