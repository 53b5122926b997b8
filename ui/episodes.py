"""The list of a run's episodes: its rows, what is said under them, its pages; and the group as a strip.

All of it is links and one plain form, so that every row opens in a new tab and every view can be sent to someone.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode

from backend.errors import OrtamError
from backend.records import Episode, RunSpec
from backend.store import EpisodeRow, Note, SavedFilter
from backend.store.indexing import SCANNED
from backend.store.words import Excerpt, understood
from ui import narrowing, shell
from ui.asked import NEWEST, VIEWS, Asked
from ui.badges import advantage, purity
from ui.written import attribute, counted, named, number, query, text

__all__ = ["NEWEST", "Asked", "episodes", "first", "group", "group_address", "neighbours"]

PER_PAGE = 50


@dataclass(frozen=True)
class Listing:
    """A page of the list, with what is said under its rows."""

    rows: Sequence[EpisodeRow] = ()
    found: int = 0
    """All that match."""
    excerpts: Mapping[str, Excerpt] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    """Why a view lists it."""
    notes: Mapping[str, Note] = field(default_factory=dict)
    unplayed: Mapping[str, int] = field(default_factory=dict)
    """Of the turns of a row those that weren't played."""
    hint: str = ""


def episodes(run, spec: RunSpec, asked: Asked, saved: Sequence[SavedFilter] = (), may_change: bool = False) -> str:
    """The whole section; a filter that can't be used is one sentence above no rows."""
    problem, listing, marks = "", Listing(), ""
    try:
        listing = _listing(run, asked)
        asked = within(asked, listing.found)
        sought = understood(asked.find)
        marks = f' data-marks="{attribute(json.dumps(sought.marks()))}"' if sought else ""
    except OrtamError as error:
        problem = narrowing.problem(error)
    body = problem or (_table(listing, spec, asked) if listing.rows else _nothing(run, asked))
    hint = f'<p class="o-fieldnote">{text(listing.hint)}</p>' if listing.hint else ""
    return (f'<section class="o-episodes" aria-label="Episodes"{marks}><div class="o-episodes-head">'
            f'<h2 class="o-h2">Episodes</h2><span class="o-muted o-num">{_span(asked, listing)}</span>'
            f'<div data-saved>{narrowing.saved(saved, asked, may_change)}</div></div>'
            f"{narrowing.views(asked)}{narrowing.form(run, spec, asked)}{narrowing.chips(asked)}{hint}{body}"
            f"{'' if asked.view else _pages(asked, listing.found)}</section>")


def _listing(run, asked: Asked) -> Listing:
    filters, reasons, hint = asked.filters(), {}, ""
    if asked.view:
        told = run.standouts(asked.view, **filters)
        rows, found = [row for row, _ in told.entries], len(told.entries)
        reasons = {row.id: why for row, why in told.entries}
        newest = "" if asked.view == "advantage" else "newest "
        hint = f"{VIEWS[asked.view][1]}. Of the {newest}{counted(told.looked, 'episode')} that match."
    else:
        found = run.count_episodes(**filters)
        asked = within(asked, found)
        rows = run.episodes(sort=asked.sort, limit=PER_PAGE, offset=(asked.page - 1) * PER_PAGE, **filters)
    excerpts = run.excerpts(rows, asked.find) if asked.find else {}
    if asked.find and not run.indexed():
        hint = (f"This run was recorded before words were indexed, so its newest {SCANNED:,} episodes were read "
                f"through instead. {hint}")
    try:
        notes = run.notes()
    except OrtamError as error:  # a broken file of notes must not hide the episodes
        notes, hint = {}, f"Notes and tags aren't shown: {error}. {hint}"
    return Listing(rows, found, excerpts, reasons, notes, run.unplayed(rows), hint)


def within(asked: Asked, found: int) -> Asked:
    """On the last page where there aren't so many."""
    return replace(asked, page=max(1, min(asked.page, -(-found // PER_PAGE))))


def first(run, asked: Asked) -> tuple[str, int | None] | None:
    """(id, turn) of the episode at the top of a list that was asked for; None where it is empty, or where none was
    asked for. Raises OrtamError."""
    if asked.view:
        entries = run.standouts(asked.view, **asked.filters()).entries
        return (entries[0][0].id, None) if entries else None
    if not asked.find:
        return None
    rows = run.episodes(sort=asked.sort, limit=1, **asked.filters())
    return (rows[0].id, _turns(run, rows, asked).get(rows[0].id)) if rows else None


def neighbours(run, asked: Asked, id: str) -> tuple[str | None, str | None]:
    """Addresses of the episodes before and after this one in the list; None at its ends. Raises OrtamError."""
    if asked.view:
        ids = [row.id for row, _ in run.standouts(asked.view, **asked.filters()).entries]
        place = ids.index(id) if id in ids else None
        around = (None, None) if place is None else (ids[place - 1] if place else None,
                                                     ids[place + 1] if place + 1 < len(ids) else None)
    else:
        around = run.neighbours(id, sort=asked.sort, **asked.filters())
    beside = [one for one in around if one is not None]
    turns = _turns(run, run.episodes(id=beside, limit=2), asked) if asked.find and beside else {}
    before, after = (None if one is None else asked.to(id=one, turn=turns.get(one)) for one in around)
    return before, after


def _turns(run, rows: Sequence[EpisodeRow], asked: Asked) -> dict[str, int]:
    return {id: found.turn for id, found in run.excerpts(rows, asked.find).items()}


def _span(asked: Asked, listing: Listing) -> str:
    found, start = listing.found, (asked.page - 1) * PER_PAGE + 1
    if asked.view or not 0 < start <= found:
        return f"{found:,}"
    return f"{start:,}–{min(start + PER_PAGE - 1, found):,} of {found:,}"


NOTHING = {"advantage": "No episode has an advantage yet", "surprising": "Nothing surprising here",
           "suspects": "Nothing looks like reward hacking here",
           "unscored": "Every episode was scored, and nothing failed", "longest": "No episode yet"}


def _nothing(run, asked: Asked) -> str:
    if asked.active():
        return shell.empty("No episode matches", "Change a filter or clear them all.",
                           ("Clear filters", asked.clear().to(view=asked.view)))
    if asked.view:
        return shell.empty(NOTHING[asked.view], "Look at another view, or at all of them.",
                           ("See all episodes", asked.to(view="")))
    return shell.empty("No episode yet", "The first ones arrive when the first step has been played.",
                       ("Watch the run", f"/run?{urlencode({'id': run.id})}"))


# ------------------------------------------------------------------------------------------------------------- rows

COLUMNS = (("status", "Status", ""), ("id", "Episode", ""), ("step", "Step", "o-right o-col-m"),
           ("group", "Group", "o-right o-col-m"), ("turns", "Turns", "o-right o-col-m"),
           ("tokens", "Tokens", "o-right o-col-m"), (None, "Terms", "o-col-l"), ("total", "Total", "o-right"),
           ("advantage", "Advantage", "o-right"))
"""(what to sort by, heading, css); `o-col-m` columns are left out on a phone, `o-col-l` on a tablet too."""


def _table(listing: Listing, spec: RunSpec, asked: Asked) -> str:
    mixed = len(spec.environments) > 1
    heads = "".join(_head(name, label, css, asked) for name, label, css in COLUMNS)
    rows = "".join(_row(row, mixed, asked, listing) for row in listing.rows)
    return (f'<div class="o-card o-flush o-scroll"><table class="o-table"><thead><tr>{heads}</tr></thead><tbody>{rows}'
            "</tbody></table></div>")


def _head(name: str | None, label: str, css: str, asked: Asked) -> str:
    if name is None:
        return f'<th class="{css}">{label}</th>'
    now = asked.sort.removeprefix("-") == name and not asked.view
    down = asked.sort.startswith("-")
    smallest_first = down if now else name in ("status", "id")
    following = name if smallest_first else f"-{name}"
    order = f' aria-sort="{"descending" if down else "ascending"}"' if now else ""
    arrow = ("↓" if down else "↑") if now else ""
    return (f'<th class="{css}"{order}><a href="{attribute(asked.to(sort=following, page=1, view=""))}">{label}'
            f'<i aria-hidden="true">{arrow}</i></a></th>')


def _row(row: EpisodeRow, mixed: bool, asked: Asked, listing: Listing) -> str:
    excerpt = listing.excerpts.get(row.id)
    address = attribute(asked.to(id=row.id, turn=excerpt.turn if excerpt else None))
    here = ' aria-current="true"' if row.id == asked.id else ""
    environment = f'<span class="o-tag">{text(row.environment[:40])}</span>' if mixed else ""
    phase = f'<span class="o-tag">{text(row.phase)}</span>' if row.phase != "train" else ""
    fault = f'<span class="o-tag o-bad" title="{attribute(row.fault[:500])}">fault</span>' if row.fault else ""
    terms = "".join(_badge(name, score) for name, score in row.scores.items())
    tokens = "" if row.tokens is None else f"{row.tokens:,}"
    cells = (
        shell.chip(row.status),
        f'<a class="o-link o-mono" href="{address}" data-go="row">{text(row.id[:80])}</a> {phase}{environment}{fault}'
        f"{_said_of(listing.notes.get(row.id))}",
        f"{row.step:,}", _group_link(row, asked), _turns_played(row, listing.unplayed.get(row.id, 0)), tokens,
        f'<div class="o-badges">{terms}</div>',
        number(row.total), advantage(row.advantage))
    drawn = "".join(f'<td class="{css}">{cell}</td>' for (_, _, css), cell in zip(COLUMNS, cells, strict=True))
    under = _under(address, listing.reasons.get(row.id, ""), excerpt)
    return f'<tr data-id="{named(row.id)}"{here}{" class=o-above" * bool(under)}>{drawn}</tr>{under}'


def _turns_played(row: EpisodeRow, unplayed: int) -> str:
    """As the limit counts them; the messages and calls besides stand apart."""
    if not unplayed:
        return f"{row.turns:,}"
    told = "1 message or call more wasn't played" if unplayed == 1 else f"{unplayed:,} messages or calls more weren't played"
    return f'{row.turns - unplayed:,} <small class="o-muted" title="{told}">+{unplayed:,}</small>'


def _said_of(note: Note | None) -> str:
    if note is None:
        return ""
    tags = "".join(f'<span class="o-tag o-by-hand">{text(tag)}</span>' for tag in note.tags)
    mark = f'<span class="o-tag o-by-hand" title="{attribute(note.text[:500])}">note</span>' if note.text else ""
    return f"{tags}{mark}"


PARTS = {"said": "said", "thought": "thought", "tool": "called", "call": "called with", "result": "result",
         "opening": "opening", "fault": "fault"}


def _under(address: str, why: str, excerpt: Excerpt | None) -> str:
    """A row of its own below: why a view lists the episode, and where it holds the words."""
    if not why and not excerpt:
        return ""
    told = f"<span>{text(why)}</span>" if why else ""
    if excerpt:
        place = f"turn {excerpt.turn}, {PARTS[excerpt.part]}" if excerpt.turn else "start"
        pieces = "".join(f"<mark>{text(piece)}</mark>" if hit else text(piece) for piece, hit in excerpt.pieces)
        told += f'<a href="{address}" data-go="row"><b>{place}</b> <q>{pieces}</q></a>'
    return f'<tr class="o-under"><td colspan="{len(COLUMNS)}"><div>{told}</div></td></tr>'


def _group_link(row, asked: Asked) -> str:
    return (f'<a class="o-link" href="{attribute(group_address(asked.run, row))}" title="The group side by side">'
            f"{row.group:,}</a>")


def _badge(name: str, score: float | None) -> str:
    said = attribute(f"{name}: {'not scored' if score is None else score}")
    if score is None:
        return f'<span class="o-badge" title="{said}">{text(name)} <b class="o-hatched"></b></span>'
    return f'<span class="o-badge{" o-zero" * (score == 0)}" title="{said}">{text(name)} <b>{number(score)}</b></span>'


def _pages(asked: Asked, found: int) -> str:
    last = max(1, -(-found // PER_PAGE))
    if last == 1:
        return ""
    near = sorted({1, last, *range(max(1, asked.page - 1), min(last, asked.page + 1) + 1)})
    links, before = [], 0
    for page in near:
        if page > before + 1:
            links.append('<span class="o-muted">…</span>')
        here = ' aria-current="page"' if page == asked.page else ""
        links.append(f'<a href="{attribute(asked.to(page=page))}"{here}>{page}</a>')
        before = page
    return f'<nav class="o-pages" aria-label="Pages of the list">{"".join(links)}</nav>'


# ------------------------------------------------------------------------------------------------------------ group


def group_address(run: str, episode: Any) -> str:
    """Of the page that shows an episode's group side by side; takes an Episode or a row of the list."""
    place = {"run": run, "step": episode.step, "group": episode.group}
    place |= {"phase": episode.phase} if episode.phase != "train" else {}
    place |= {"attempt": episode.attempt} if episode.attempt != 1 else {}
    return f"/group?{query(place)}"


def group(played: Sequence[tuple[Episode, str]], now: str, asked: Asked) -> str:
    """All episodes of one group as small boards, best total first; `played` pairs an episode with its drawing."""
    if len(played) < 2:
        return ""
    episodes_ = [episode for episode, _ in played]
    scored = [episode.total for episode in episodes_ if episode.total is not None]
    won = sum(episode.status == "won" for episode in episodes_)
    notes = [counted(len(episodes_), "episode"), f"{won} won"] + (
        [f"mean total {number(sum(scored) / len(scored))}"] if scored else [])
    cells = "".join(_mini(episode, drawn, now, asked) for episode, drawn in played)
    whole = group_address(asked.run, episodes_[0])
    return (f'<section class="o-peers" aria-label="The group"><div class="o-episodes-head"><h2 class="o-h2"><a '
            f'class="o-link" href="{attribute(whole)}" data-go="group" title="The group side by side (g)">Group '
            f'{episodes_[0].group}</a></h2><span class="o-muted o-num">{" · ".join(notes)}</span>{purity(episodes_)}</div>'
            f'<div class="o-strip">{cells}</div></section>')


def _mini(episode: Episode, drawn: str, now: str, asked: Asked) -> str:
    here = ' aria-current="true"' if episode.id == now else ""
    address = attribute(asked.to(id=episode.id, turn=None))
    total = number(episode.total) if episode.total is not None else '<span class="o-none">not scored</span>'
    title = attribute(f"{episode.id}: {episode.status.replace('_', ' ')}")
    return (f'<a class="o-mini" href="{address}" data-go="row" data-id="{named(episode.id)}"{here} title="{title}">'
            f'{drawn}<span class="o-mini-foot"><b>{total}</b>{advantage(episode.advantage)}</span></a>')
