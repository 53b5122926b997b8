"""What is drawn and taken away: an episode, a group or a run as one HTML file that opens offline, a board as PNG or GIF.

The same shape as backend.exchange's formats, and one table with them. To add one: a module with `SUFFIX`, `FOR` and
`write`, named below.
"""

from backend.exchange import FORMATS as WRITTEN
from backend.exchange import Format
from ui.share import gif, html, png

FORMATS: dict[str, Format] = {**WRITTEN, "html": html, "png": png, "gif": gif}


def suffixes(name: str) -> str | None:
    """The format a file's name asks for; None where it says nothing."""
    found = [(len(format.SUFFIX), key) for key, format in FORMATS.items() if name.lower().endswith(format.SUFFIX)]
    return max(found)[1] if found else None
