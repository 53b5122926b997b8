"""An episode turn by turn as a small card shows it: a board and what was done, for pages that move many in step."""

from typing import Any

from backend.records import Episode, Turn
from backend.signal.parting import move
from ui.viewers import viewer
from ui.written import attribute, counted, text

ANSWER = 160
"""Characters of an answer that a card shows where there is no board."""


def moments(episode: Episode, named_viewer: str) -> dict[str, Any]:
    """`boards`: [first turn it shows at, HTML], `lines`: HTML of what was done in each turn, from the start on."""
    boards: list[tuple[int, str]] = []
    for k, drawn in enumerate(viewer(episode, named_viewer).frames(episode)):
        if not boards or boards[-1][1] != drawn:
            boards.append((k, drawn))
    lines = ["<span>the start</span>", *(_line(turn, not boards) for turn in episode.turns)]
    return {"boards": boards, "lines": lines, "end": how_it_ended(episode)}


def _line(turn: Turn, with_answer: bool) -> str:
    sign = ""
    if turn.fault:
        theirs = turn.fault.where != "model"
        sign = (f'<span class="o-tag o-bad" title="{attribute(turn.fault.message[:300])}">'
                f'{"failed" if theirs else "refused"}</span>')
    elif turn.cut:
        sign = '<span class="o-tag o-cut" title="Cut from the transcript by the token budget">cut</span>'
    shown = turn.shown if turn.shown is not None else turn.result
    answer = f'<span class="o-answer">{text(shown[:ANSWER])}{"…" * (len(shown) > ANSWER)}</span>' \
        if with_answer and shown else ""
    return f'<span class="o-mono">{text(move(turn).words)}</span>{sign}{answer}'


def how_it_ended(episode: Episode) -> str:
    played = episode.turns_played
    after = counted(played, "turn") if played else counted(len(episode.turns), "message")
    why = f": {text(episode.stop[:80])}" if episode.stop else ""
    return f'<span class="o-how">ended after {after}{why}</span>'


