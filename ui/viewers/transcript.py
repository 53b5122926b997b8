"""Words only, for any environment: no board, and a thumbnail of the last calls."""

from backend.records import Episode
from ui.written import attribute, counted, text

NAMED = 4


def draws(episode: Episode) -> bool:
    return True


def frames(episode: Episode) -> list[str]:
    return []


def thumbnail(episode: Episode) -> str:
    calls = [(turn.tool, turn.fault) for turn in episode.turns if turn.tool is not None]
    rows = "".join(f"<span{' class=o-bad' if fault else ''}>{text(tool[:14])}</span>" for tool, fault in calls[-NAMED:])
    before = len(calls) - NAMED
    more = f"<em>{before} before</em>" if before > 0 else ""
    spoken = attribute(f"{counted(len(episode.turns), 'turn')}, {counted(len(calls), 'tool call')}")
    return f'<div class="o-mini-words" role="img" aria-label="{spoken}">{more}{rows or "<em>no call</em>"}</div>'
