"""Catch: a ball falls through a grid, a paddle waits below.

Reads the facts `rows`, `columns`, `ball_row`, `ball_column`, `paddle_column` and `caught`.
"""

from backend.records import Episode
from ui.viewers import facts
from ui.written import attribute

CELL = 10
LARGEST = 64


def draws(episode: Episode) -> bool:
    return any(place_of(moment) for moment in facts.over_time(episode))


def frames(episode: Episode) -> list[str]:
    moments = facts.over_time(episode)
    ended = episode.facts.get("caught")
    drawn = []
    for k in range(len(moments)):
        told = moments[k].get("caught") if k < len(moments) - 1 else ended
        verdict = told if isinstance(told, bool) else None
        picture = _picture(moments[max(0, k - LARGEST):k + 1], verdict)
        drawn.append(f'<div class="o-catch">{picture}{_caption(verdict)}</div>')
    return drawn


def thumbnail(episode: Episode) -> str:
    ended = episode.facts.get("caught")
    picture = _picture(facts.over_time(episode)[-LARGEST:], ended if isinstance(ended, bool) else None)
    return f'<div class="o-mini-catch">{picture}</div>'


Place = tuple[int, int, int, int, int]


def place_of(moment: facts.Facts) -> Place | None:
    """(rows, columns, ball row, ball column, paddle column); None where one is missing or off the grid."""
    told = [facts.whole(moment, name) for name in ("rows", "columns", "ball_row", "ball_column", "paddle_column")]
    known = [value for value in told if value is not None]
    if len(known) < len(told):
        return None
    rows, columns, row, column, paddle = known
    fits = 0 <= row < rows <= LARGEST and 0 <= column < columns <= LARGEST and 0 <= paddle < columns
    return (rows, columns, row, column, paddle) if fits else None


def _middle(place: Place) -> tuple[float, float]:
    return (place[3] + 0.5) * CELL, (place[2] + 0.5) * CELL


def _picture(moments: list[facts.Facts], caught: bool | None) -> str:
    seen = [place for place in map(place_of, moments) if place]
    if not seen:
        return '<div class="o-mini-words" role="img" aria-label="Board not known"><em>no board</em></div>'
    now = seen[-1]
    before = seen[-2] if len(seen) > 1 else now
    rows, columns, _, _, paddle = now
    trail = "".join(f'<circle class="o-trail" cx="{x}" cy="{y}" r="{CELL * 0.12}"/>'
                    for x, y in dict.fromkeys(map(_middle, seen[:-1])) if (x, y) != _middle(now))
    x, y = _middle(now)
    from_x, from_y = _middle(before)
    state = "" if caught is None else " o-caught" if caught else " o-missed"
    mark = "" if caught is None else (
        f'<path d="M{x - 1.9} {y}l1.4 1.5 2.5-2.9"/>' if caught else f'<path d="M{x - 1.5} {y - 1.5}l3 3m0-3l-3 3"/>')
    lines = "".join(f"M{i * CELL} 0V{rows * CELL}" for i in range(1, columns)) + "".join(
        f"M0 {i * CELL}H{columns * CELL}" for i in range(1, rows))
    return (f'<svg class="o-catch-board{state}" viewBox="-1 -1 {columns * CELL + 2} {rows * CELL + 2}" role="img" '
            f'aria-label="{attribute(_spoken(now, caught))}"><path class="o-lines" d="{lines}"/>'
            f'<rect class="o-rim" x="-.5" y="-.5" width="{columns * CELL + 1}" height="{rows * CELL + 1}" rx="2"/>'
            f'<rect class="o-lane" x="{paddle * CELL}" y="0" width="{CELL}" height="{rows * CELL}"/>{trail}'
            f'<g class="o-paddle o-new" style="--dx:{(before[4] - paddle) * CELL}px">'
            f'<rect x="{paddle * CELL + 0.8}" y="{rows * CELL - 3}" width="{CELL - 1.6}" height="2.6" rx="1.3"/></g>'
            f'<g class="o-ball o-new" style="--dx:{from_x - x}px;--dy:{from_y - y}px">'
            f'<circle cx="{x}" cy="{y}" r="{CELL * 0.34}"/>{mark}</g></svg>')


def _caption(caught: bool | None) -> str:
    if caught is None:
        return ""
    return '<p class="o-verdict o-won">Caught</p>' if caught else '<p class="o-verdict">Missed</p>'


def _spoken(now: Place, caught: bool | None) -> str:
    rows, columns, row, column, paddle = now
    end = "" if caught is None else ", caught" if caught else ", missed"
    return (f"Ball in row {row + 1} of {rows}, column {column + 1} of {columns}; paddle in column {paddle + 1}{end}")
