"""Forks on the Replay page: who may play on from the turn on screen, whose turns an episode repeats, and its known forks."""

import json
from typing import Any
from urllib.parse import urlencode

from backend.errors import OrtamError
from backend.launcher import matches, starters
from backend.play import fork_of, forks_of, players_of
from backend.play.keeping import BY
from backend.records import CheckpointPlayer, Episode, ModelPlayer, PlayerSpec
from ui import shell
from ui.written import attribute, counted, number, query, text

SHOWN = 8
"""Known forks that are listed: the last ones."""


def fork_functions(store, launcher) -> list:
    def fork(asked: dict[str, Any]) -> str:
        return choices(store, str(asked.get("run", "")), str(asked.get("id", "")), asked.get("turn"))

    def forks(asked: dict[str, Any]) -> str:
        return known(store, str(asked.get("run", "")), str(asked.get("id", "")))

    def fork_by(asked: dict[str, Any]) -> dict[str, str]:
        return launched(launcher, *(asked.get(name) for name in ("run", "id", "turn", "player")))

    return [forks] if launcher is None else [fork, forks, fork_by]


def dialog() -> str:
    return ('<dialog class="o-dialog o-fork" aria-label="Fork"><h2 class="o-h2">Go on from here</h2><div data-slot="fork"></div>'
            '<form method="dialog"><button class="o-button">Close</button></form></dialog>')


def choices(store, run: str, id: str, turn: Any) -> str:
    """Who may play on from this turn, or why nobody can."""
    try:
        fork = fork_of(store, run, id, turn if isinstance(turn, int) else -1)
    except OrtamError as error:
        return _problem(error)
    asked = fork.asked.environment
    seed = {} if fork.episode.seed is None else {"seed": fork.episode.seed}
    place = {"use": asked.use, **seed, "fork": fork.parent.run, "episode": fork.parent.episode, "turn": fork.parent.turn}

    def to(**more: str) -> str:
        return attribute(f"/play?{query({**place, **more})}")

    scripts = "".join(f'<a class="o-button" href="{to(player=name)}">{text(name)}</a>' for name in players_of(asked.use))
    told = f"The first {counted(fork.parent.turn, 'turn')} of this episode {'is' if fork.parent.turn == 1 else 'are'}" \
        if fork.parent.turn else "The same task is"
    return (f'<p>{told} played again in a fresh session, and every answer is held against the record. What follows is kept as '
            f'an episode of its own, worth what this run\'s terms give.</p><div class="o-fork-choices">'
            f'<div><h3>By hand</h3><a class="o-button o-primary" href="{to()}">Play on</a></div>'
            f'<div><h3>By a script, to the end</h3><span class="o-row">{scripts}</span></div>'
            f"{_by_model(store, fork.parent.run, asked.use)}</div>")


def _by_model(store, run: str, use: str) -> str:
    """What its run started from and saved, and the starters made for the game; played by a process of its own."""
    parent = store.run(run)
    model = "" if parent.spec.match else parent.spec.model
    known: list[tuple[str, Any]] = [(model, ModelPlayer(model=model))] if model not in ("", BY) else []
    known += [(f"{name}, a checkpoint of this run", CheckpointPlayer(run=parent.id, checkpoint=name))
              for name in matches.checkpoints(parent)]
    known += [(f"starter:{name}", ModelPlayer(model=f"starter:{name}")) for name in starters()
              if name == use and model != f"starter:{name}"]
    if not known:
        return ""
    options = "".join(f'<option value="{attribute(player.model_dump_json())}">{text(words[:80])}</option>'
                      for words, player in known)
    return (f'<div><h3>By a model, in a process of its own</h3><span class="o-row"><select aria-label="Model">{options}</select>'
            '<button type="button" class="o-button" data-do="forkBy">Start it</button></span></div>')


def launched(launcher, run: Any, id: Any, turn: Any, player: Any) -> dict[str, str]:
    """Where the match is watched in which a model plays on, or why there is none."""
    from pydantic import TypeAdapter, ValidationError

    try:
        whom = TypeAdapter(PlayerSpec).validate_python(json.loads(str(player)))
        return {"address": f"/arena?{urlencode({'id': matches.fork(launcher, str(run), str(id), int(turn), whom)})}"}
    except (ValueError, TypeError, OverflowError, RecursionError, ValidationError):
        return {"problem": shell.problem("This isn't a player that can be asked for; choose one of the list.")}
    except OrtamError as error:
        return {"problem": _problem(error)}


def _problem(error: OrtamError) -> str:
    sentence = str(error)
    return shell.problem(f"{sentence[:1].upper()}{sentence[1:]}.".replace("..", "."), kind="warning")


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
    address = f"/episode?{query({'run': run, 'id': row.id, 'turn': turn})}"
    who = "by hand" if row.policy == "human" else f"by {row.policy[:30]}"
    return (f'<a class="o-link" href="{attribute(address)}">at turn {turn} {text(who)}</a> {shell.chip(row.status)} '
            f'<span class="o-num">{number(row.total)}</span>')


def parent(episode: Episode, run: str) -> str:
    """A link to whose turns it repeats, in the run of this name; "" where it has none."""
    if episode.parent is None:
        return ""
    whole = episode.parent
    address = f"/episode?{query({'run': whole.run, 'id': whole.episode, 'turn': whole.turn})}"
    return (f'<a class="o-link o-parent" href="{attribute(address)}" title="The first {counted(whole.turn, "turn")} repeat that '
            f'episode\'s">forked from {text(run[:80])} › {text(whole.episode[:80])} at turn {whole.turn}</a>')
