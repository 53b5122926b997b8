"""What is drawn and taken away: an episode, a group or a run as one HTML file that opens offline, a board as PNG or GIF.

The same shape as backend.exchange's formats, and one table with them. To add one: a module with `SUFFIX`, `FOR` and
`write`, named below.
"""

from pathlib import Path

from backend.exchange import FORMATS as WRITTEN
from backend.exchange import Format
from ui.share import gif, html, png

HERE = Path(__file__).parent
CSS = [HERE / "share.css"]
JS = [HERE / "share.js", HERE / "importing.js"]
"""For every page: wherever a run, a group or an episode is, it can be shared."""

FORMATS: dict[str, Format] = {**WRITTEN, "html": html, "png": png, "gif": gif}


def format_of(name: str) -> str | None:
    """The format a file's name asks for; None where it says nothing."""
    found = [(len(format.SUFFIX), key) for key, format in FORMATS.items() if name.lower().endswith(format.SUFFIX)]
    return max(found)[1] if found else None
