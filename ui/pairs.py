"""Two episodes side by side, turn by turn: what they did alike once, then both, with the first difference marked."""

from collections.abc import Sequence

from backend.records import Episode, Turn
from backend.signal.parting import first_difference, move
from ui import shell
from ui.badges import advantage
from ui.turns import brief
from ui.viewers import facts
from ui.written import attribute, counted, number, query, text

SHOWN = 60
"""Turns laid out; a longer pair is shown from a few turns before its first difference."""
BEFORE = 3

WHAT = {"done": "the first difference: what was done", "answered": "the first difference: how the same call was answered"}


def pair(run: str, one: Episode, other: Episode) -> str:
    found = first_difference(one, other)
    longest = max(len(one.turns), len(other.turns))
    start = 0 if longest <= SHOWN or found is None else max(0, found[0] - 1 - BEFORE)
    both = [(one, facts.over_time(one)), (other, facts.over_time(other))]
    rows = "".join(_row(k, both, found) for k in range(start, min(longest, start + SHOWN)))
    left = longest - start - SHOWN
    before = f'<p class="o-muted">{counted(start, "turn")} before that are the same.</p>' if start else ""
    after = f'<p class="o-muted">{counted(left, "more turn")} follow; open the episodes to read them.</p>' if left > 0 else ""
    where = (f"They first differ at turn {found[0]}, in {'what was done' if found[1] == 'done' else 'how it was answered'}."
             if found else "They did the same, and got the same answers, to the end.")
    heads = "".join(_head(run, episode) for episode in (one, other))
    return (f'<section class="o-versus" aria-label="Two episodes side by side"><header class="o-row"><h2 class="o-h2">Side by '
            f'side</h2><span class="o-muted">{where}</span><button type="button" class="o-icon" data-do="unpair" '
            f'aria-label="Close" title="Close">×</button></header><div class="o-versus-heads">{heads}</div>{before}'
            f'<div class="o-versus-rows">{rows}</div>{after}</section>')


def _head(run: str, episode: Episode) -> str:
    address = f"/episode?{query({'run': run, 'id': episode.id})}"
    return (f'<div class="o-row"><a class="o-link" href="{attribute(address)}"><b>episode {episode.sample}</b></a>'
            f'{shell.chip(episode.status)}<span class="o-num">total {number(episode.total)}</span>'
            f'<span class="o-num o-muted">advantage {advantage(episode.advantage)}</span></div>')


def _row(k: int, both: Sequence[tuple[Episode, list[facts.Facts]]], found: tuple[int, str] | None) -> str:
    turns = [episode.turns[k] if k < len(episode.turns) else None for episode, _ in both]
    here = found is not None and found[0] == k + 1
    sign = f'<p class="o-first-difference"><i aria-hidden="true">≠</i>Turn {k + 1}: {WHAT[found[1]]}</p>' \
        if here and found else ""
    if found is None or k + 1 < found[0]:
        episode, moments = both[0]
        return f'<div class="o-versus-row o-alike" data-turn="{k + 1}">{_cell(k, turns[0], moments, "both")}</div>'
    cells = "".join(_cell(k, turn, moments) for turn, (_, moments) in zip(turns, both, strict=True))
    return f'{sign}<div class="o-versus-row{" o-first" * here}" data-turn="{k + 1}">{cells}</div>'


def _cell(k: int, turn: Turn | None, moments: list[facts.Facts], who: str = "") -> str:
    if turn is None:
        return '<div class="o-versus-cell"><p class="o-muted">It had ended.</p></div>'
    whose = f' <span class="o-muted">{who}</span>' if who else ""
    return (f'<div class="o-versus-cell"><h3>Turn {k + 1}{whose}</h3>'
            f'<p class="o-sr">{text(move(turn).words)}</p>{brief(turn, moments[k], moments[k + 1])}</div>')
