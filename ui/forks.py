"""Forks on the Replay page: who may play on from the turn on screen, whose turns an episode repeats, and its known forks."""

from typing import Any
from urllib.parse import urlencode

from backend.errors import OrtamError
from backend.play import fork_of, forks_of, players_of
from backend.records import Episode
from ui import shell
from ui.written import attribute, counted, number, text

SHOWN = 8
"""Known forks that are listed: the last ones."""


def fork_functions(store, launcher) -> list:
    def fork(asked: dict[str, Any]) -> str:
        return choices(store, str(asked.get("run", "")), str(asked.get("id", "")), asked.get("turn"))

    def forks(asked: dict[str, Any]) -> str:
        return known(store, str(asked.get("run", "")), str(asked.get("id", "")))

    return [forks] if launcher is None else [fork, forks]


def dialog() -> str:
    return ('<dialog class="o-fork" aria-label="Fork"><h2 class="o-h2">Go on from here</h2><div data-slot="fork"></div>'
            '<form method="dialog"><button class="o-button">Close</button></form></dialog>')


def choices(store, run: str, id: str, turn: Any) -> str:
    """Who may play on from this turn, or why nobody can."""
    try:
        fork = fork_of(store, run, id, turn if isinstance(turn, int) else -1)
    except OrtamError as error:
        sentence = str(error)
        return shell.problem(f"{sentence[:1].upper()}{sentence[1:]}.".replace("..", "."), kind="warning")
    asked = fork.asked.environment
    seed = {} if fork.episode.seed is None else {"seed": fork.episode.seed}
    place = {"use": asked.use, **seed, "fork": fork.parent.run, "episode": fork.parent.episode, "turn": fork.parent.turn}

    def to(**more: str) -> str:
        return attribute(f"/play?{urlencode({**place, **more}, errors='replace')}")

    scripts = "".join(f'<a class="o-button" href="{to(player=name)}">{text(name)}</a>' for name in players_of(asked.use))
    told = f"The first {counted(fork.parent.turn, 'turn')} of this episode {'is' if fork.parent.turn == 1 else 'are'}" \
        if fork.parent.turn else "The same task is"
    return (f'<p>{told} played again in a fresh session, and every answer is held against the record. What follows is kept as '
            f'an episode of its own, worth what this run\'s terms give.</p><div class="o-fork-choices">'
            f'<div><h3>By hand</h3><a class="o-button o-primary" href="{to()}">Play on</a></div>'
            f'<div><h3>By a script, to the end</h3><span class="o-row">{scripts}</span></div></div>')


def known(store, run: str, id: str) -> str:
    """The forks that are kept, in the head; "" without any."""
    found = forks_of(store, run, id)
    if not found:
        return ""
    links = "".join(f"<li>{_fork(each.run, each.row, each.turn)}</li>" for each in found[-SHOWN:])
    before = len(found) - SHOWN
    more = f'<li class="o-muted">and {counted(before, "earlier one")}</li>' if before > 0 else ""
    return f'<span class="o-label">Forks</span><ul>{links}{more}</ul>'


def _fork(run: str, row: Any, turn: int) -> str:
    address = f"/episode?{urlencode({'run': run, 'id': row.id, 'turn': turn}, errors='replace')}"
    who = "by hand" if row.policy == "human" else f"by {row.policy[:30]}"
    return (f'<a class="o-link" href="{attribute(address)}">at turn {turn} {text(who)}</a> {shell.chip(row.status)} '
            f'<span class="o-num">{number(row.total)}</span>')


def parent(episode: Episode) -> str:
    """A link to whose turns it repeats; "" where it has none."""
    if episode.parent is None:
        return ""
    whole = episode.parent
    address = f"/episode?{urlencode({'run': whole.run, 'id': whole.episode, 'turn': whole.turn}, errors='replace')}"
    return (f'<a class="o-link o-parent" href="{attribute(address)}" title="The first {counted(whole.turn, "turn")} repeat that '
            f'episode\'s">forked from {text(whole.run[:80])} › {text(whole.episode[:80])} at turn {whole.turn}</a>')
