"""What a browser or a camera showed: the latest picture at each turn, the opening's at the start, large.

Reads the pictures of the episode and of its turns, of which only what is surely a bitmap is drawn, and the facts `url`,
for the line over a browser's page, and `won`.
"""

import base64
import io
from collections.abc import Sequence
from functools import lru_cache

from backend.records import Episode
from ui.viewers import facts
from ui.written import BITMAP, attribute, counted, text

SMALL = (160, 120)
"""Pixels of a small drawing, at most."""

LIGHT = 24_000
"""Characters of a picture that lists show as it is; a heavier one is made smaller for them."""

LARGEST = 40_000_000
"""Pixels that are unpacked to make one smaller."""


def draws(episode: Episode) -> bool:
    return any(last_bitmap(shown) for shown in (episode.images, *(turn.images for turn in episode.turns)))


def frames(episode: Episode) -> list[str]:
    moments = facts.over_time(episode)
    seen, drawn = None, []
    for k, shown in enumerate((episode.images, *(turn.images for turn in episode.turns))):
        seen = last_bitmap(shown) or seen
        address = facts.word(moments[k], "url")
        bar = f'<p class="o-address" title="{attribute(address[:500])}">{text(address[:200])}</p>' if address else ""
        verdict = _verdict(episode) if k == len(episode.turns) else ""
        drawn.append(f'<div class="o-screen">{bar}{_picture(seen, address)}{verdict}</div>')
    return drawn


def thumbnail(episode: Episode) -> str:
    pictures = (last_bitmap(turn.images) for turn in reversed(episode.turns))
    last = next((url for url in pictures if url), None) or last_bitmap(episode.images)
    small = last and _smaller(last)
    spoken = attribute(f"The last picture of {counted(len(episode.turns), 'turn')}")
    if not small:
        return f'<div class="o-mini-words" role="img" aria-label="{spoken}"><em>no picture</em></div>'
    return f'<div class="o-mini-screen"><img src="{small}" alt="{spoken}"></div>'


def last_bitmap(images: Sequence[str]) -> str | None:
    """The one a frame draws, of those that came with an answer."""
    return next((url for url in reversed(images) if BITMAP.fullmatch(url)), None)


def _picture(url: str | None, address: str) -> str:
    if url is None:
        return '<div class="o-screen-none" role="img" aria-label="No picture yet">no picture yet</div>'
    spoken = attribute(f"What was on the screen {address[:100]}".strip())
    return f'<img src="{url}" alt="{spoken}" aria-label="{spoken}">'


def _verdict(episode: Episode) -> str:
    won = episode.facts.get("won")
    if not isinstance(won, bool) or not episode.facts.get("done"):
        return ""
    return '<p class="o-verdict o-won">Goal reached</p>' if won else '<p class="o-verdict">Goal not reached</p>'


@lru_cache(256)
def _smaller(url: str) -> str | None:
    """A JPEG for lists, which show dozens; None where it can't be made."""
    if len(url) <= LIGHT:
        return url
    try:
        from PIL import Image

        with Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2])), formats=("PNG", "JPEG", "GIF", "WEBP")) as whole:
            if whole.width * whole.height > LARGEST:
                return None
            whole.draft("RGB", (SMALL[0] * 2, SMALL[1] * 2))
            small = whole.convert("RGB")
        small.thumbnail(SMALL)
        packed = io.BytesIO()
        small.save(packed, "JPEG", quality=70)
    except Exception:  # a picture from anywhere may be broken in any way; no library is no picture
        return None
    return f"data:image/jpeg;base64,{base64.b64encode(packed.getvalue()).decode()}"
