"""The parts of the Group page as HTML: what is sure of the group, where it parts, and a card an episode."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlencode

from backend.exchange.weighing import counted_by
from backend.records import UNSCORED, Episode, RewardTerm
from backend.rewards import applies
from backend.signal.one_group import parted, said
from backend.signal.parting import Branch, Parting, parting
from backend.store.counting import cause
from ui import shell
from ui.badges import advantage, purity
from ui.in_step import how_it_ended
from ui.share_button import button
from ui.timeline import Mark, transport
from ui.viewers import viewer
from ui.written import attribute, counted, named, number, query, text

ORDERS = {"total": "Total", "advantage": "Advantage", "sample": "Sample", "turns": "Turns"}
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
BRANCHES = 8
"""Branches that are listed where a group parts."""


@dataclass(frozen=True)
class Shown:
    """A group and what its run knows about it."""

    run: str
    name: str
    episodes: tuple[Episode, ...]
    """The best total first."""
    all_: int
    """How many it has, perhaps more than are shown."""
    terms: Sequence[RewardTerm]
    viewer: str
    previous: str | None
    following: str | None
    """Addresses of the neighbours in the step."""
    place: tuple[int, int]
    """Which of how many groups of the step, from 1."""

    @cached_property
    def last(self) -> int:
        return max(len(episode.turns) for episode in self.episodes)

    @cached_property
    def longest(self) -> int:
        """Turns played in the longest episode; `last` counts what wasn't played too, for the scrubber."""
        return max(episode.turns_played for episode in self.episodes)

    @cached_property
    def played(self) -> tuple[Episode, ...]:
        """Those that say something about the policy."""
        return tuple(episode for episode in self.episodes if episode.status not in UNSCORED)

    @cached_property
    def parting(self) -> Parting | None:
        """None where there are fewer than two to part."""
        return parting(self.played) if len(self.played) > 1 else None

    @cached_property
    def letters(self) -> dict[str, str]:
        """Episode id -> the letter of its branch."""
        branches = self.parting.branches if self.parting else ()
        return {self.played[place].id: LETTERS[n] if n < BRANCHES else "…"
                for n, branch in enumerate(branches) for place in branch.members}


def page(shown: Shown) -> str:
    cards = "".join(card(episode, shown) for episode in shown.episodes)
    return (f"{_head(shown)}{_told(shown)}{_controls(shown)}"
            f'<div class="o-group-cards" role="list" aria-label="Episodes of the group">{cards}</div>'
            f'<div data-slot="pair"></div>{transport(_marks(shown), shown.last)}')


def dead_end(sentence: str, link: tuple[str, str]) -> str:
    return (f'<div class="o-dead-end"><h1 class="o-title">Group</h1>{shell.problem(sentence)}'
            f'<p><a class="o-link" href="{attribute(link[0])}">{link[1]}</a></p></div>')


# ------------------------------------------------------------------------------------------------------------- head


def _head(shown: Shown) -> str:
    first = shown.episodes[0]
    step = f"{'evaluation at step' if first.phase == 'eval' else 'played' if first.phase == 'play' else 'step'}"
    step += "" if first.phase == "play" else f" {first.step:,}"
    replay = {"run": shown.run, "step": first.step} | ({} if first.phase == "train" else {"phase": first.phase})
    crumbs = [(shown.name, f"/run?{urlencode({'id': shown.run})}"), (step, f"/episode?{urlencode(replay)}")]
    links = "".join(f'<a href="{attribute(address)}">{text(words)}</a><i aria-hidden="true">›</i>'
                    for words, address in crumbs)
    mine = f"/episode?{urlencode({**replay, 'group': first.group})}"
    share = button(small=True, run=shown.run, step=first.step, group=first.group, phase=first.phase, attempt=first.attempt)
    return (f'<header class="o-group-head"><nav class="o-crumbs" aria-label="Where this group belongs">{links}'
            f'<h1 class="o-crumb" aria-current="page">group {first.group}</h1></nav>'
            f'<div class="o-row">{_counts(shown)}{purity(shown.episodes)}{_task(first)}</div>'
            f'<div class="o-neighbours"><div data-slot="share">{share}</div>'
            f'<a class="o-button o-small" href="{attribute(mine)}">Episode list</a>'
            f'{_neighbour(shown.previous, "Previous group", "▲ prev", "prev")}'
            f'<span class="o-muted o-small o-num">{shown.place[0]} of {counted(shown.place[1], "group")}</span>'
            f'{_neighbour(shown.following, "Next group", "next ▼", "next")}'
            f"{shell.HELP}</div></header>")


def _counts(shown: Shown) -> str:
    by_status: dict[str, int] = {}
    for episode in shown.episodes:
        by_status[episode.status] = by_status.get(episode.status, 0) + 1
    chips = "".join(f'<span class="o-count">{n} {shell.chip(status)}</span>' for status, n in by_status.items())
    more = "" if shown.all_ == len(shown.episodes) else \
        f'<span class="o-tag">the best {len(shown.episodes)} of {shown.all_:,}</span>'
    return chips + more


def _task(episode: Episode) -> str:
    told = f"seed {episode.seed}" if episode.seed is not None else f"task {episode.task}" if episode.task is not None else ""
    return f'<span class="o-tag" title="Of the task that all of them were given">{text(told[:80])}</span>' if told else ""


def _neighbour(address: str | None, label: str, words: str, which: str) -> str:
    if address is None:
        return f'<span class="o-button o-small" aria-disabled="true" title="{label}: there is none">{words}</span>'
    return (f'<a class="o-button o-small" href="{attribute(address)}" data-go="{which}" aria-label="{label}" '
            f'title="{label}">{words}</a>')


# ------------------------------------------------------------------------------------------------- what is sure of it


def _told(shown: Shown) -> str:
    totals = [episode.total for episode in shown.episodes if episode.total is not None]
    ended = [episode.status for episode in shown.episodes if episode.total is not None]
    sentence = said(shown.episodes, cause(ended, totals), learnt=shown.episodes[0].phase == "train")  # type: ignore[arg-type]
    return (f'<section class="o-group-told" aria-label="What is sure of it"><p class="o-group-said">{text(sentence)}</p>'
            f"{_parting(shown)}</section>")


def _parting(shown: Shown) -> str:
    told = shown.parting
    if told is None:
        return ""
    odd = "" if told.answered_differently is None else shell.problem(
        f"At turn {told.answered_differently} the same calls were answered differently.",
        "Advantages compare luck there as well as play: the environment has chance of its own, or was given another task.",
        "warning")
    jump = "" if told.turn is None else (
        f'<button type="button" class="o-button o-small" data-turn="{told.turn}" title="Show all boards there (p)">'
        f"Go to turn {told.turn}</button>")
    branches = "".join(_branch(branch, LETTERS[n], shown) for n, branch in enumerate(told.branches[:BRANCHES]))
    left_out = len(told.branches) - BRANCHES
    branches += f'<li class="o-muted">and {counted(left_out, "more way")}, one episode or more each</li>' * (left_out > 0)
    listed = f'<ul class="o-branches" aria-label="Who did what there">{branches}</ul>' if branches else ""
    return (f'<div class="o-parting"><div class="o-row"><p>{text(parted(told, len(shown.played)))}</p>{jump}</div>'
            f"{listed}</div>{odd}")


def _branch(branch: Branch, letter: str, shown: Shown) -> str:
    members = [shown.played[place] for place in branch.members]
    totals = [episode.total for episode in members if episode.total is not None]
    won = sum(episode.status == "won" for episode in members)
    what = f'<b class="o-mono">{text(branch.move.words)}</b>' if branch.move else "<b>had ended</b>"
    mean = f"total {number(sum(totals) / len(totals))}{' on average' if len(totals) > 1 else ''}" if totals else "not scored"
    again = (f'<button type="button" class="o-link-button" data-turn="{branch.parts}">parts again at turn {branch.parts}'
             "</button>") if branch.parts else ""
    return (f'<li><i class="o-letter o-letter-{letter.lower()}" aria-label="Branch {letter}">{letter}</i>{what}'
            f'<span class="o-num">×{len(members)}</span><span class="o-muted o-num">{won} won, {mean}</span>{again}</li>')


# ------------------------------------------------------------------------------------------------------------ cards


def _controls(shown: Shown) -> str:
    options = "".join(f'<option value="{value}">{label}</option>' for value, label in ORDERS.items())
    several = len(shown.episodes) > 1
    both = ('<button type="button" class="o-button o-small" data-do="extremes" title="Their turns side by side (c)">Compare '
            "best with worst</button>") if several else ""
    return (f'<div class="o-group-controls o-row"><h2 class="o-h2">Episodes</h2><span class="o-muted o-num">'
            f'{counted(len(shown.episodes), "episode")}, up to {counted(shown.longest, "turn")}</span>'
            f'<label class="o-order"><span class="o-label">Sorted by</span><select name="order">{options}</select></label>'
            f'{both}<span class="o-muted o-small" data-slot="picked">{"or tick two" if several else ""}</span></div>')


def card(episode: Episode, shown: Shown) -> str:
    address = f"/episode?{query({'run': shown.run, 'id': episode.id})}"
    letter = shown.letters.get(episode.id, "")
    badge = f'<i class="o-letter o-letter-{attribute(letter.lower())}" title="Its branch where they part">{letter}</i>' \
        if letter else ""
    sort = " ".join(f'data-{name}="{"" if value is None else value}"' for name, value in (
        ("total", episode.total), ("advantage", episode.advantage), ("sample", episode.sample),
        ("turns", episode.turns_played)))
    boards = viewer(episode, shown.viewer).frames(episode)
    board = boards[-1] if boards else ""
    fault = "" if episode.fault is None else (
        f'<p class="o-card-fault o-{"theirs" if episode.fault.where == "environment" else "error"}" '
        f'title="{attribute(episode.fault.message[:500])}">{text(episode.fault.kind)}: {text(episode.fault.message[:120])}</p>')
    return (
        f'<article class="o-group-card{"" if boards else " o-boardless"}" role="listitem" data-id="{named(episode.id)}" '
        f'data-length="{len(episode.turns)}" data-ended="{attribute(episode.status.replace("_", " "))}" {sort}>'
        f'<header>{badge}<a class="o-link" href="{attribute(address)}" data-replay>episode {episode.sample}</a>'
        f'{shell.chip(episode.status)}</header>'
        f'<div class="o-group-board">{board}</div><p class="o-group-line">{how_it_ended(episode)}</p>{fault}'
        f"{_worth(episode, shown.terms)}"
        f'<label class="o-group-pick"><input type="checkbox" name="pick" value="{named(episode.id)}"> compare</label></article>')


def _worth(episode: Episode, terms: Sequence[RewardTerm]) -> str:
    weights = counted_by(episode, terms)
    elsewhere = {term.name for term in terms if not applies(term, episode.environment)}
    rows = "".join(
        f'<tr title="{attribute(name)}: value{" × weight" * (name in weights)}"><th scope="row">{text(name)}</th>'
        + (f"<td>{number(score)}{_times(weights.get(name))}</td>" if score is not None else
           '<td><span class="o-none">not scored</span></td>') + "</tr>"
        for name, score in episode.scores.items() if name not in elsewhere)
    return (f'<table class="o-group-worth"><tbody>{rows}<tr class="o-sum"><th scope="row">total</th>'
            f"<td>{number(episode.total)}</td></tr><tr><th scope=\"row\">advantage</th>"
            f"<td>{advantage(episode.advantage)}</td></tr></tbody></table>")


def _times(weight: float | None) -> str:
    return "" if weight is None else f"<small> × {weight:g}</small>"


def _marks(shown: Shown) -> list[Mark]:
    parts = shown.parting.turn if shown.parting else None
    ends: dict[int, int] = {}
    for episode in shown.episodes:
        ends[len(episode.turns)] = ends.get(len(episode.turns), 0) + 1
    return [Mark("o-zero", "Start")] + [
        Mark("o-part-here" if k == parts else "", f"Turn {k}" + ": here they part" * (k == parts)
             + (f": {counted(ends[k], 'episode')} ended here" if k in ends else "")) for k in range(1, shown.last + 1)]
