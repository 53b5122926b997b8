"""The list of a run's episodes: what the address asks for, the filters, the rows, the pages; and the group as a strip.

All of it is links and one plain form, so that every row opens in a new tab and every view can be sent to someone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args
from urllib.parse import parse_qsl, urlencode

from backend.errors import OrtamError, SpecError
from backend.records import Episode, EpisodeStatus, RunSpec
from ui import shell
from ui.badges import advantage, purity
from ui.written import attribute, counted, named, number, text

PER_PAGE = 50
NEWEST = "-step"


@dataclass(frozen=True)
class Asked:
    """The address of a Replay page, read; made new by `to`."""

    run: str = ""
    id: str = ""
    turn: int | None = None
    where: str = ""
    sort: str = NEWEST
    page: int = 1
    step: int | None = None
    group: int | None = None
    environment: str = ""
    status: str = ""
    phase: str = ""

    @classmethod
    def read(cls, search: str) -> "Asked":
        """From `?run=…&id=…`; unknown parameters are dropped. Raises SpecError naming the one that is wrong."""
        given: dict[str, Any] = {}
        for name, value in parse_qsl(search.removeprefix("?")):
            if name in ("turn", "page", "step", "group"):
                given[name] = _whole_number(name, value.strip())
            elif name in cls.__dataclass_fields__:
                given[name] = value
        return cls(**{**given, "page": max(given.get("page") or 1, 1)})

    @classmethod
    def only_run(cls, search: str) -> "Asked":
        return cls(run=dict(parse_qsl(search.removeprefix("?"))).get("run", ""))

    def to(self, **changes: Any) -> str:
        """The address of the same view with something changed; what is at its default is left out."""
        asked = replace(self, **changes)
        usual = Asked()
        parts = {name: value for name, value in vars(asked).items() if value not in (None, getattr(usual, name))}
        return f"/episode?{urlencode(parts, errors='replace')}"

    def filters(self) -> dict[str, Any]:
        """As `Run.episodes` takes them."""
        wanted = {"where": self.where or None, "step": self.step, "group": self.group,
                  "environment": self.environment or None, "status": self.status or None, "phase": self.phase or None}
        return {name: value for name, value in wanted.items() if value is not None}

    def clear(self) -> "Asked":
        return Asked(run=self.run, id=self.id)


def _whole_number(name: str, value: str) -> int | None:
    if not value:
        return None
    if not value.removeprefix("-").isdecimal() or len(value) > 12:
        raise SpecError(name, f"{value!r} isn't a whole number; write one, or leave it out")
    return int(value)


def episodes(run, spec: RunSpec, asked: Asked) -> str:
    """The whole section; a filter that can't be used is one sentence above no rows."""
    problem, rows, found = "", [], 0
    try:
        found = run.count_episodes(**asked.filters())
        rows = run.episodes(sort=asked.sort, limit=PER_PAGE, offset=(asked.page - 1) * PER_PAGE, **asked.filters())
    except OrtamError as error:
        problem = shell.problem(str(error))
    body = problem or (_table(rows, spec, asked) if rows else _nothing(run, asked))
    return (f'<section class="o-episodes" aria-label="Episodes"><div class="o-episodes-head">'
            f'<h2 class="o-h2">Episodes</h2><span class="o-muted o-num">{_span(asked, found)}</span></div>'
            f"{_form(spec, asked)}{body}{_pages(asked, found)}</section>")


def _span(asked: Asked, found: int) -> str:
    first = (asked.page - 1) * PER_PAGE + 1
    return f"{first:,}–{min(first + PER_PAGE - 1, found):,} of {found:,}" if 0 < first <= found else f"{found:,}"


def _nothing(run, asked: Asked) -> str:
    if asked.filters() or asked.page > 1:
        return shell.empty("No episode matches", "Change a filter or clear them all.",
                           ("Clear filters", asked.clear().to()))
    return shell.empty("No episode yet", "The first ones arrive when the first step has been played.",
                       ("Watch the run", f"/run?{urlencode({'id': run.id})}"))


# ---------------------------------------------------------------------------------------------------------- filters


def _form(spec: RunSpec, asked: Asked) -> str:
    environments = [environment.id for environment in spec.environments]
    kept = f'<input type="hidden" name="run" value="{attribute(asked.run)}">'
    if asked.sort != NEWEST:
        kept += f'<input type="hidden" name="sort" value="{attribute(asked.sort)}">'
    clear = asked.clear().to(sort=asked.sort)
    undo = f'<a class="o-link" href="{attribute(clear)}">Clear</a>' if asked.filters() else ""
    return (
        f'<form class="o-filters" method="get" action="/episode" role="search">{kept}'
        f'<label class="o-search"><span class="o-label">Where</span><input name="where" type="search" '
        f'autocomplete="off" spellcheck="false" placeholder="won and guesses &lt;= 3" value="{attribute(asked.where)}" '
        f'title="An expression over facts, reward terms and columns such as total, advantage or turns (/)"></label>'
        + _select("status", "Status", list(get_args(EpisodeStatus)), asked.status)
        + (_select("environment", "Environment", environments, asked.environment) if len(environments) > 1 else "")
        + _select("phase", "Phase", ["train", "eval", "play"], asked.phase)
        + _whole("step", "Step", asked.step) + _whole("group", "Group", asked.group)
        + f'<button class="o-button" type="submit">Filter</button>{undo}</form>')


def _select(name: str, label: str, choices: Sequence[str], chosen: str) -> str:
    options = "".join(f'<option value="{attribute(choice)}"{" selected" * (choice == chosen)}>'
                      f'{text(choice.replace("env_", "environment ").replace("_", " "))}</option>'
                      for choice in dict.fromkeys([*choices, *([chosen] if chosen else [])]))
    return (f'<label><span class="o-label">{label}</span><select name="{name}"><option value="">Any</option>'
            f"{options}</select></label>")


def _whole(name: str, label: str, value: int | None) -> str:
    return (f'<label class="o-whole"><span class="o-label">{label}</span><input name="{name}" inputmode="numeric" '
            f'placeholder="Any" value="{"" if value is None else value}"></label>')


# ------------------------------------------------------------------------------------------------------------- rows

COLUMNS = (("status", "Status", ""), ("id", "Episode", ""), ("step", "Step", "o-right o-col-m"),
           ("group", "Group", "o-right o-col-m"), ("turns", "Turns", "o-right o-col-m"),
           ("tokens", "Tokens", "o-right o-col-m"), (None, "Terms", "o-col-l"), ("total", "Total", "o-right"),
           ("advantage", "Advantage", "o-right"))
"""(what to sort by, heading, css); `o-col-m` columns are left out on a phone, `o-col-l` on a tablet too."""


def _table(rows, spec: RunSpec, asked: Asked) -> str:
    mixed = len(spec.environments) > 1
    heads = "".join(_head(name, label, css, asked) for name, label, css in COLUMNS)
    return (f'<div class="o-card o-flush o-scroll"><table class="o-table"><thead><tr>{heads}</tr></thead><tbody>'
            f'{"".join(_row(row, mixed, asked) for row in rows)}</tbody></table></div>')


def _head(name: str | None, label: str, css: str, asked: Asked) -> str:
    if name is None:
        return f'<th class="{css}">{label}</th>'
    now = asked.sort.removeprefix("-") == name
    down = asked.sort.startswith("-")
    smallest_first = down if now else name in ("status", "id")
    following = name if smallest_first else f"-{name}"
    order = f' aria-sort="{"descending" if down else "ascending"}"' if now else ""
    arrow = ("↓" if down else "↑") if now else ""
    return (f'<th class="{css}"{order}><a href="{attribute(asked.to(sort=following, page=1))}">{label}'
            f'<i aria-hidden="true">{arrow}</i></a></th>')


def _row(row, mixed: bool, asked: Asked) -> str:
    address = attribute(asked.to(id=row.id, turn=None))
    here = ' aria-current="true"' if row.id == asked.id else ""
    environment = f'<span class="o-tag">{text(row.environment[:40])}</span>' if mixed else ""
    phase = f'<span class="o-tag">{text(row.phase)}</span>' if row.phase != "train" else ""
    fault = f'<span class="o-tag o-bad" title="{attribute(row.fault[:500])}">fault</span>' if row.fault else ""
    terms = "".join(_badge(name, score) for name, score in row.scores.items())
    tokens = "" if row.tokens is None else f"{row.tokens:,}"
    cells = (
        shell.chip(row.status),
        f'<a class="o-link o-mono" href="{address}" data-go="row">{text(row.id[:80])}</a> {phase}{environment}{fault}',
        f"{row.step:,}", _group_link(row, asked), f"{row.turns:,}", tokens, f'<div class="o-badges">{terms}</div>',
        number(row.total), advantage(row.advantage))
    drawn = "".join(f'<td class="{css}">{cell}</td>' for (_, _, css), cell in zip(COLUMNS, cells, strict=True))
    return f'<tr data-id="{named(row.id)}"{here}>{drawn}</tr>'


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
    return f"/group?{urlencode(place, errors='replace')}"


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
