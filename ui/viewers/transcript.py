"""Words only, for any environment: no board, and a thumbnail of the last calls."""

from backend.records import Episode
from ui.written import attribute, counted, text

NAMED = 4


def draws(episode: Episode) -> bool:
    return True


def frames(episode: Episode) -> list[str]:
    return []


def thumbnail(episode: Episode) -> str:
    calls = [turn for turn in episode.turns if turn.tool is not None]
    rows = "".join(f'<span{" class=o-bad" * bool(turn.fault)}>{text(turn.tool[:14])}</span>' for turn in calls[-NAMED:])
    before = len(calls) - NAMED
    more = f"<em>{before} before</em>" if before > 0 else ""
    spoken = attribute(f"{counted(len(episode.turns), 'turn')}, {counted(len(calls), 'tool call')}")
    return f'<div class="o-mini-words" role="img" aria-label="{spoken}">{more}{rows or "<em>no call</em>"}</div>'
