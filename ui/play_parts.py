"""The parts of the Play page: the board, one's own move, what happened so far, and what it is worth after every turn."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from backend.environments import Description
from backend.play import Row, Seat, Sitting
from backend.records import Episode
from ui import shell
from ui.player import worth
from ui.tool_forms import tool_forms
from ui.turns import cards, cards_after, fault_box
from ui.viewers import screen, viewer
from ui.written import attribute, block, number, query, text

KEYBOARDS = {"wordle": "guess", "catch": "arrows"}
"""Viewers whose boards are played on with keys of their own -> which."""


def drawn(seat: Seat) -> dict[str, Any]:
    """Everything on the table as `html`, and what the script needs to know."""
    sitting, episode = seat.sitting, seat.sitting.episode()
    on_stage = viewer(episode, sitting.description.viewer) is screen
    parts = {name: f'<div data-part="{name}">{html}</div>' for name, html in _parts(seat, episode).items()}
    told = cards(episode, [tool.schema() for tool in sitting.tools], len(episode.turns), on_stage, growing=True)
    html = (f'<div class="o-tabled">{parts["head"]}<div class="o-play">{parts["board"]}<div class="o-turns">'
            f'{parts["move"]}{told}</div><div class="o-play-worth">{parts["worth"]}{_after_each(sitting)}</div></div></div>')
    return {"html": html, **_state(seat, episode)}


def news(seat: Seat, known: Any) -> dict[str, Any]:
    """What came after the first `known` turns, which the page shows already: `parts` by name, `cards` and `rows`."""
    sitting, episode = seat.sitting, seat.sitting.episode()
    if type(known) is not int or not 0 <= known <= len(episode.turns):
        return drawn(seat)
    on_stage = viewer(episode, sitting.description.viewer) is screen
    came = cards_after(episode, known, len(episode.turns), on_stage, growing=True)
    return {"parts": _parts(seat, episode), "cards": "".join(came),
            "rows": _rows(sitting, known), **_state(seat, episode)}


def _parts(seat: Seat, episode: Episode) -> dict[str, str]:
    """What changes with each turn and never grows."""
    return {"head": _head(seat.sitting, episode), "board": _board(seat.sitting, episode), "move": _move(seat, episode),
            "worth": worth(episode, seat.sitting.terms.terms)}


def keyboard(description: Description) -> str:
    return KEYBOARDS.get(description.viewer, "")


def _state(seat: Seat, episode: Episode) -> dict[str, Any]:
    sitting = seat.sitting
    return {"over": sitting.ended, "script": sitting.policy.kind == "script", "turn": len(episode.turns),
            "keys": "" if sitting.ended else keyboard(sitting.description),
            "title": sitting.description.title, "replay": _replay(seat)}


def _head(sitting: Sitting, episode: Episode) -> str:
    who = f"the {sitting.policy.name} player" if sitting.policy.kind == "script" else "you"
    seed = f"seed {sitting.task.seed}" if sitting.task.seed is not None else f"task {sitting.task.key[:60]}"
    tags = [(seed, "Of the task"), (f"played by {who}", ""),
            (f"turn {len(episode.turns)} of at most {sitting.play.max_turns}", "Calls so far, and those allowed")]
    told = "".join(f'<span class="o-tag" title="{hint}">{text(words)}</span>' for words, hint in tags)
    chip = shell.chip(episode.status) if sitting.ended else ""
    return (f'<div class="o-row o-tabled-head"><h2 class="o-h2">{text(sitting.description.title)}</h2>{chip}{told}'
            f"{_parent(sitting)}</div>")


def _parent(sitting: Sitting) -> str:
    if sitting.fork is None:
        return ""
    parent = sitting.fork.parent
    address = f"/episode?{query({'run': parent.run, 'id': parent.episode, 'turn': parent.turn})}"
    return (f'<a class="o-link" href="{attribute(address)}">forked from {text(sitting.fork.name)} › '
            f"{text(parent.episode[:80])} at turn {parent.turn}</a>")


def _replay(seat: Seat) -> str:
    """The address of its episode, once it is kept."""
    return f"/episode?{urlencode({'run': seat.kept.run, 'id': seat.kept.id})}" if seat.kept else ""


def _board(sitting: Sitting, episode: Episode) -> str:
    frames = viewer(episode, sitting.description.viewer).frames(episode)
    if frames:
        return f'<div class="o-stage" data-way="on"><figure class="o-frame o-now">{frames[-1]}</figure></div>'
    return ""


def _move(seat: Seat, episode: Episode) -> str:
    sitting = seat.sitting
    if sitting.ended:
        return _over(seat, episode)
    if sitting.policy.kind == "script":
        return (f'<div class="o-move"><p class="o-muted">The {text(sitting.policy.name)} player plays.</p>'
                '<button type="button" class="o-button o-small" data-do="end">Stop here</button></div>')
    if sitting.description.viewer == "wordle" and [tool.name for tool in sitting.tools] == ["guess"]:
        forms = _guess()
    else:
        forms = f'<div class="o-tool-forms">{tool_forms(sitting.tools)}</div>'
    keys = '<span class="o-muted o-small">← → move, ↓ stays</span>' if sitting.description.viewer == "catch" else ""
    return (f'<div class="o-move"><header><h3 class="o-h2">Your move</h3>{keys}'
            '<button type="button" class="o-button o-small" data-do="end">Stop here</button></header>'
            f"{_told(sitting, episode)}{forms}</div>")


def _told(sitting: Sitting, episode: Episode) -> str:
    """What the environment said last: with a prompt at the start, as a model is told."""
    if not episode.turns:
        return "".join(f'<div class="o-told">{block(message["content"])}</div>' for message in episode.prompt)
    last = episode.turns[-1]
    said = last.shown if last.shown is not None else last.result
    return f'<div class="o-told{" o-refused" * (last.fault is not None)}" aria-live="polite">{block(said or "")}</div>'


def _guess() -> str:
    return ('<form class="o-guess" data-tool="guess" autocomplete="off"><label><span class="o-sr">Your guess</span>'
            '<input type="text" maxlength="12" data-argument="guess" data-kind="guess" data-needed spellcheck="false" '
            'autocomplete="off" autocapitalize="off" placeholder="type a word"></label>'
            '<button type="button" class="o-button" data-do="rub" aria-label="Delete a letter" title="Delete a letter">'
            '⌫</button><button type="submit" class="o-button o-primary">Guess</button></form>')


def _over(seat: Seat, episode: Episode) -> str:
    sitting = seat.sitting
    links = ""
    if address := _replay(seat):
        links = f'<a class="o-button" href="{attribute(address)}">Replay it</a>'
    total = number(episode.total) if episode.total is not None else number(None)
    fault = fault_box(episode.fault) if episode.fault else ""
    following = (f'<button type="button" class="o-button o-primary" data-do="next">Next '
                 f"{'seed' if sitting.task.seed is not None else 'task'}</button>")
    return (f'<div class="o-move o-over" role="status"><p><b>{text(episode.status.replace("_", " ").capitalize())}</b>'
            f'<span class="o-muted">{text(episode.stop)}</span></p><p class="o-stat">{total}</p>{fault}'
            f'<div class="o-row">{following}<button type="button" class="o-button" data-do="again">Same again</button>'
            f"{links}</div></div>")


def _after_each(sitting: Sitting) -> str:
    """The terms' values after every turn, the newest first; hidden by the stylesheet while there is none."""
    names = [term.name for term in sitting.terms.terms]
    if not names:
        return ""
    heads = "".join(f'<th scope="col" title="{attribute(name)}">{text(name)}</th>' for name in names)
    return (f'<section class="o-after"><h2 class="o-h2">After each turn</h2><div class="o-scroll"><table><thead><tr>'
            f'<th scope="col">turn</th>{heads}<th scope="col">total</th></tr></thead><tbody>{_rows(sitting, 0)}</tbody>'
            "</table></div></section>")


def _rows(sitting: Sitting, known: int) -> str:
    """Of the turns after the first `known`; the last one of those again, since judges are asked at the end."""
    rows = []
    for turn in range(len(sitting.worth) - 1, max(0, known - 1), -1):
        scores = sitting.worth[turn]
        cells = "".join(f"<td>{_cell(scores[term.name])}</td>" for term in sitting.terms.terms)
        rows.append(f'<tr data-turn="{turn}"><th scope="row">{turn}</th>{cells}<td><b>'
                    f"{_cell(sitting.terms.total(scores))}</b></td></tr>")
    return "".join(rows)


def _cell(value: float | None) -> str:
    return '<span class="o-none" title="not scored">–</span>' if value is None else number(value + 0.0)


# ------------------------------------------------------------------------------------------------- around the table


def options(known: Sequence[tuple[str, str]]) -> str:
    return "".join(f'<option value="{attribute(value)}">{text(label)}</option>' for value, label in known)


def players(names: Sequence[str]) -> str:
    """Buttons that let a script play."""
    return "<span>or watch</span>" + "".join(
        f'<button type="button" class="o-button" data-player="{attribute(name)}" title="Has the {attribute(name)} player '
        f'play this seed">{text(name)}</button>' for name in names)


def baseline(rows: Sequence[Row], terms: Sequence[str], run: str) -> str:
    heads = "".join(f'<th class="o-right">{text(name)}</th>' for name in ("games", "won", "turns", *terms, "total"))
    body = "".join(
        f'<tr><td>{text(row.player)}</td><td class="o-right">{row.games:,}</td><td class="o-right">'
        f"{'–' if row.won is None else f'{row.won:.0%}'}</td><td class=\"o-right\">{_mean(row.turns, 1)}</td>"
        + "".join(f'<td class="o-right">{_mean(row.terms.get(name))}</td>' for name in terms)
        + f'<td class="o-right"><b>{_mean(row.total)}</b></td></tr>' for row in rows)
    more = ""
    if run:
        address = f"/episode?{urlencode({'run': run})}"
        more = f'<p><a class="o-link" href="{attribute(address)}">Replay their games</a></p>'
    return (f'<div class="o-scroll"><table class="o-table"><thead><tr><th>player</th>{heads}</tr></thead>'
            f"<tbody>{body}</tbody></table></div>{more}")


def _mean(value: float | None, digits: int = 2) -> str:
    if value is None:
        return '<span class="o-faint" title="Nothing scored yet">–</span>'
    return number(value + 0.0, digits=digits)
