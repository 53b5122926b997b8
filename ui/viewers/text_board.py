"""A board that an environment draws with characters, such as TextArena's games: the last one it showed, in monospace.

Reads the fact `board`, a text of several lines; lines that this turn changed are marked.
"""

from difflib import SequenceMatcher

from backend.records import Episode
from ui.viewers import facts
from ui.written import attribute, counted, text

TALLEST, WIDEST = 60, 160
"""Lines and characters shown of a larger board; the transcript has it whole."""

SMALL_ROWS, SMALL_COLUMNS = 9, 26


def draws(episode: Episode) -> bool:
    return any(lines_of(moment) for moment in facts.over_time(episode))


def frames(episode: Episode) -> list[str]:
    moments = facts.over_time(episode)
    drawn, before = [], None
    for k, moment in enumerate(moments):
        lines = lines_of(moment)
        verdict = _verdict(episode) if k == len(moments) - 1 else ""
        drawn.append(f'<div class="o-text-board">{_board(lines, before)}{verdict}</div>')
        before = lines
    return drawn


def thumbnail(episode: Episode) -> str:
    lines = lines_of(facts.over_time(episode)[-1])
    if not lines:
        return '<div class="o-mini-words" role="img" aria-label="Board not known"><em>no board</em></div>'
    rows = "".join(f"<span>{text(line[:SMALL_COLUMNS])}</span>" for line in _middle(lines))
    return f'<div class="o-mini-board" role="img" aria-label="{_spoken(lines)}">{rows}</div>'


def lines_of(moment: facts.Facts) -> list[str]:
    """Without blank lines at the ends; empty where the fact is no board."""
    lines = facts.word(moment, "board").expandtabs(4).rstrip().split("\n")
    while lines and not lines[0].strip():
        del lines[0]
    return [line.rstrip() for line in lines] if len(lines) > 1 else []


def _board(lines: list[str], before: list[str] | None) -> str:
    if not lines:
        return '<div class="o-text-lines" role="img" aria-label="No board yet"><span>no board yet</span></div>'
    changed = _changed(before, lines) if before else set()
    rows = "".join(f'<span{" class=o-changed" if row in changed else ""}>{text(line[:WIDEST]) or " "}</span>'
                   for row, line in enumerate(lines[:TALLEST]))
    more = f"<em>{counted(len(lines) - TALLEST, 'more line')}</em>" if len(lines) > TALLEST else ""
    return f'<div class="o-text-lines" role="img" aria-label="{_spoken(lines)}">{rows}{more}</div>'


def _changed(before: list[str], after: list[str]) -> set[int]:
    """Rows of `after` that `before` has not; a board that was there whole is moved, not changed."""
    matched = SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
    same = {row for block in matched for row in range(block.b, block.b + block.size)}
    return set(range(len(after))) - same


def _middle(lines: list[str]) -> list[str]:
    """The rows of a small drawing: the longest run of lines without a blank one, which is the board itself."""
    runs: list[list[str]] = [[]]
    for line in lines:
        runs.append([]) if not line.strip() else runs[-1].append(line)
    return max(runs, key=len)[:SMALL_ROWS]


def _verdict(episode: Episode) -> str:
    won = episode.facts.get("won")
    if not isinstance(won, bool) or not episode.facts.get("done"):
        return ""
    return '<p class="o-verdict o-won">Won</p>' if won else '<p class="o-verdict">Not won</p>'


def _spoken(lines: list[str]) -> str:
    return attribute("Board: " + " / ".join(" ".join(line.split()) for line in lines[:TALLEST])[:1000])
