"""One episode as HTML, all turns at once: head, board, turns, worth, transport. `replay.js` shows turn k of it.

Pure functions of records, so the same player serves the Replay page and a file that opens offline.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from backend.exchange.weighing import counted_by
from backend.records import Episode, RewardTerm
from ui import shell
from ui.forks import parent
from ui.timeline import marks, transport
from ui.turns import cards, fault_box
from ui.viewers import screen, viewer
from ui.written import attribute, counted, named, number, seconds, text


@dataclass(frozen=True)
class Setting:
    """What a run knows about an episode beyond the episode itself."""

    run: str
    """The run's id, for links."""
    name: str
    viewer: str = "transcript"
    terms: Sequence[RewardTerm] = ()
    tools: Sequence[Mapping[str, Any]] = ()
    """As the model was offered them, {"type": "function", "function": {...}}; empty where not known."""
    previous: str | None = None
    following: str | None = None
    """Addresses of the neighbours in the list that is being looked through."""
    links: Mapping[str, str] = field(default_factory=dict)
    """Addresses of `watch`, `step` and `group`; empty in an offline file."""
    unforkable: str = ""
    """Why nobody can go on from any of its turns; "" where someone may."""
    forked_from: str = ""
    """The name of the run whose turns a fork repeats."""


def player(episode: Episode, setting: Setting, turn: int | None = None) -> str:
    """Opens at `turn` (1 is the first), else at the start."""
    last = len(episode.turns)
    now = min(max(turn or 0, 0), last)
    drawn_by = viewer(episode, setting.viewer)
    frames = _frames(drawn_by.frames(episode), now)
    stage = f'<div class="o-stage">{frames}</div>' if frames else ""
    title = attribute(f"{setting.name}, episode {episode.id}")
    return (
        f'<article class="o-player{"" if stage else " o-boardless"}" data-run="{named(setting.run)}" '
        f'data-id="{named(episode.id)}" data-title="{title}" data-turn="{now}" data-turns="{last}" '
        f'data-view="turn">{_head(episode, setting)}{_broken(episode)}<div class="o-play">{stage}'
        f'<div class="o-turns">{_tabs(last)}{cards(episode, setting.tools, now, drawn_by is screen)}</div>'
        f"{worth(episode, setting.terms)}</div>{transport(marks(episode, setting.terms), now)}</article>")


# ------------------------------------------------------------------------------------------------------------- head


def _head(episode: Episode, setting: Setting) -> str:
    step = f"{'evaluation at step' if episode.phase == 'eval' else 'step'} {episode.step}"
    if episode.phase == "play":
        step = "imported" if episode.policy.kind == "import" else f"by {episode.policy.name or 'hand'}"
    links = setting.links
    crumbs = [_crumb(setting.name, links.get("watch")), _crumb(step, links.get("step")),
              _crumb(f"group {episode.group}", links.get("group")),
              f'<h1 class="o-crumb" aria-current="page">episode {episode.sample}</h1>']
    why = f'<span class="o-muted">{text(episode.stop)}</span>' if episode.stop else ""
    tags = "".join(f'<span class="o-tag" title="{attribute(hint)}">{text(tag)}</span>' for tag, hint in _tags(episode))
    return (
        f'<header class="o-player-head"><nav class="o-crumbs" aria-label="Where this episode belongs">'
        f'{"<i aria-hidden=true>›</i>".join(crumbs)}</nav>'
        f'<div class="o-row">{shell.chip(episode.status)}{why}{tags}{parent(episode, setting.forked_from) if links else ""}</div>'
        f'<div class="o-neighbours"><div data-slot="share"></div>{_fork(setting)}{_reprice(links.get("reprice"))}'
        f'{_neighbour(setting.previous, "Previous episode", "▲ prev", "prev")}'
        f'{_neighbour(setting.following, "Next episode", "next ▼", "next")}'
        f"{shell.HELP}</div>"
        f'<div data-slot="forks" class="o-forks"></div><div data-slot="notes"></div></header>')


def _fork(setting: Setting) -> str:
    """Where it can't work the button is grey, says why, and opens nothing but that sentence."""
    if not setting.links:
        return ""
    hint, off = "Go on from the turn on screen, by hand or by a script (f)", ""
    if why := setting.unforkable:
        hint, off = f"Can't be forked: {why}", ' aria-disabled="true"'
    return f'<button class="o-button o-small" type="button" data-do="fork"{off} title="{attribute(hint)}">Fork here</button>'


def _reprice(address: str | None) -> str:
    return (f'<a class="o-button o-small" href="{attribute(address)}" title="What this run\'s episodes would be worth by '
            f'other terms">Re-price</a>' if address else "")


def _crumb(words: str, address: str | None) -> str:
    return f'<a href="{attribute(address)}">{text(words)}</a>' if address else f"<span>{text(words)}</span>"


def _tags(episode: Episode) -> list[tuple[str, str]]:
    """(what it says, what that means)"""
    tags = [(episode.environment, "Environment")]
    task = "" if episode.task is None else str(episode.task)
    if episode.seed is not None:
        tags.append((f"seed {episode.seed}", f"Task {task[:400]}" if task else "Of the task"))
    elif task:
        tags.append((f"task {task[:40]}", task[:400]))
    if episode.policy.kind != "model" or episode.policy.name:
        tags.append((f"{episode.policy.kind} {episode.policy.name}".strip()[:60], "Who played"))
    if episode.attempt > 1:
        tags.append((f"attempt {episode.attempt}", "The run had been resumed"))
    if episode.tokens is not None:
        tags.append((counted(episode.tokens, "token"), "Generated by the model over all turns"))
    if episode.seconds is not None:
        tags.append((seconds(episode.seconds), "From reset to the end"))
    return tags


def _neighbour(address: str | None, label: str, words: str, which: str) -> str:
    if address is None:
        return f'<span class="o-button o-small" aria-disabled="true" title="{label}: there is none">{words}</span>'
    return (f'<a class="o-button o-small" href="{attribute(address)}" data-go="{which}" aria-label="{label}" '
            f'title="{label}">{words}</a>')


BROKEN = {
    "environment": "The environment broke this episode", "reward": "A reward term failed here",
    "trainer": "The trainer broke this episode", "engine": "Generation broke this episode",
    "model": "The model ended this episode",
}


def _broken(episode: Episode) -> str:
    """An episode that broke says nothing about the policy, and that is said before anything else."""
    if episode.fault is None:
        return ""
    unscored = "; it isn't scored and says nothing about the policy" if episode.total is None else ""
    return fault_box(episode.fault, f"{BROKEN[episode.fault.where]}{unscored}.")


# ------------------------------------------------------------------------------------------------------------ board


def _frames(frames: Sequence[str], now: int) -> str:
    """A frame that doesn't differ from the one before it is drawn once and spans several turns."""
    spans: list[tuple[int, int, str]] = []
    for k, drawn in enumerate(frames):
        first = spans.pop()[0] if spans and spans[-1][2] == drawn else k
        spans.append((first, k, drawn))
    return "".join(
        f'<figure class="o-frame{" o-now" * (first <= now <= last)}" data-from="{first}" data-to="{last}">'
        f"{drawn}</figure>" for first, last, drawn in spans)


def _tabs(turns: int) -> str:
    return (f'<div class="o-tabs" role="group" aria-label="What to read"><button type="button" data-view="turn" '
            f'aria-pressed="true" title="One turn at a time (t)">Turn</button><button type="button" '
            f'data-view="transcript" aria-pressed="false" title="All of it (t)">Transcript <span class="o-tag">{turns}'
            f"</span></button></div>")


# ------------------------------------------------------------------------------------------------------------ worth


def worth(episode: Episode, terms: Sequence[RewardTerm]) -> str:
    """Value x weight of each term."""
    known = {term.name: term for term in terms}
    weights = counted_by(episode, terms)
    rows = [(name, score, weights.get(name), known[name].value if name in known else "")
            for name, score in episode.scores.items()]
    largest = max((abs(score * weight) for _, score, weight, _ in rows if score is not None and weight is not None),
                  default=0) or 1
    body = "".join(_term(*row, largest) for row in rows)
    listed = f"<table><tbody>{body}</tbody></table>" if body else '<p class="o-muted">No reward term.</p>'
    advantage = '<span class="o-none">none</span>' if episode.advantage is None else number(episode.advantage, True)
    return (
        f'<aside class="o-worth" aria-label="What it was worth"><h2 class="o-h2">Worth</h2>{listed}<dl>'
        f'<div><dt title="Weighted sum of the terms that gave a number">Total</dt><dd class="o-stat">'
        f"{number(episode.total)}</dd></div>"
        f'<div><dt title="As the trainer used it: how far the total lies above or below its group\'s">Advantage</dt>'
        f"<dd>{advantage}</dd></div></dl></aside>")


def _term(name: str, score: float | None, weight: float | None, value: str, largest: float) -> str:
    hint = attribute(f"{name}: {value}" if value else name)
    head = f'<th scope="row">{text(name)}</th>'
    if score is None:
        return (f'<tr title="{hint}: it gave no number here">{head}<td colspan="2">{number(None)}</td></tr>'
                f'<tr class="o-share" aria-hidden="true"><td colspan="3"></td></tr>')
    if weight is None:
        return (f'<tr title="{attribute(name)}: how much it counts is not known">{head}<td>{number(score)}</td><td></td></tr>'
                f'<tr class="o-share" aria-hidden="true"><td colspan="3"></td></tr>')
    worth = score * weight
    share = 50 * min(abs(worth) / largest, 1) if abs(worth) < float("inf") else 50
    side = "left" if worth >= 0 else "right"
    return (f'<tr title="{hint}">{head}<td>{number(score)}<small> × {weight:g}</small></td>'
            f"<td>{number(worth, signed=True)}</td></tr>"
            f'<tr class="o-share{" o-minus" * (worth < 0)}" aria-hidden="true"><td colspan="3">'
            f'<i style="{side}:50%;width:{share:.1f}%"></i></td></tr>')


