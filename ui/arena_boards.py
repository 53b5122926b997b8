"""The boards of a match: a row a task, a cell a player, each with all its frames, so that all go in step in the browser."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from backend.errors import OrtamError
from backend.records import Episode
from backend.standings import different
from backend.store import Game, Run
from ui import shell
from ui.viewers import viewer
from ui.written import as_json, attribute, counted, named, number, query, text

TALLEST = 200_000
"""Characters of a cell; a game with more is drawn as it ended, and replayed on its own page."""
LONGEST = 120
"""Characters of a call or an answer, where an environment has no board."""

VERDICTS = {"fixed": ("↑", "fixed", "lost by the first of the pair, won by the second"),
            "broken": ("↓", "broken", "won by the first of the pair, lost by the second"),
            "both_won": ("=", "both won", "won by both of the pair"),
            "both_lost": ("=", "both lost", "lost by both of the pair"),
            "unscored": ("?", "not scored", "one of the pair has no score here, which says nothing about how it plays"),
            "other": ("≠", "different task", "the pair didn't play the same task here, so it isn't compared"),
            "unplayed": ("·", "not played", "not played by both of the pair")}
BY_TOTAL = {"fixed": ("↑", "better", "a higher total for the second of the pair"),
            "broken": ("↓", "worse", "a lower total for the second of the pair"),
            "both_won": ("=", "same", "the same total for both of the pair")}


@dataclass(frozen=True)
class Column:
    """Whose games stand under each other."""

    key: str
    """A player's place in the match, `by-hand`, or `parent`."""
    label: str
    kind: str
    name: str
    """Who it is, in full."""
    games: dict[int, Game] = field(default_factory=dict)
    """By the task's place."""
    runs: dict[int, Run] = field(default_factory=dict)
    """Where each game is kept."""


@dataclass(frozen=True)
class Row:
    group: int
    mark: str
    html: str


def row(columns: Sequence[Column], group: int, verdict: str, by_total: bool, viewer_name: str, play: str, open_: bool,
        known: str = "") -> Row:
    """`known` is the mark of what the browser has; nothing is drawn for it again. `play` is where to play the task oneself;
    `open_` says that games are still to come."""
    told = [(column.key, column.label, game.id, game.seq) if (game := column.games.get(group)) else (column.key, "", open_)
            for column in columns]
    mark = hashlib.sha256(repr((told, verdict, by_total, play)).encode()).hexdigest()[:12]
    if mark == known:
        return Row(group, mark, "")
    cells = "".join(_cell(column, group, viewer_name, open_) for column in columns)
    head = _head(columns, group, verdict, by_total, play)
    return Row(group, mark, f'<section class="o-bout" data-group="{group}" data-mark="{mark}" style="--n:{len(columns)}">'
                            f'{head}<div class="o-bout-seats">{cells}</div></section>')


def _head(columns: Sequence[Column], group: int, verdict: str, by_total: bool, play: str) -> str:
    games = [column.games[group] for column in columns if group in column.games]
    tags = ""
    if games:
        first = games[0]
        what = f"seed {first.seed}" if first.seed is not None else f"task {str(first.task)[:60]}"
        tags = f'<span class="o-tag" title="{attribute(str(first.task)[:400])}">{text(what)}</span>'
    if different(game.fingerprint for game in games):
        tags += ('<span class="o-tag o-differs" title="The fingerprints of these games differ, so they aren\'t compared">'
                 "≠ not one task</span>")
    if verdict:
        sign, word, hint = (BY_TOTAL if by_total else {}).get(verdict) or VERDICTS[verdict]
        tags += f'<span class="o-tag o-{verdict}" title="{attribute(hint)}"><i aria-hidden="true">{sign}</i> {word}</span>'
    link = f'<a class="o-link o-small" href="{attribute(play)}">Play it yourself</a>' if play else ""
    return f'<header><h3 class="o-h2">Task {group + 1}</h3>{tags}{link}</header>'


def _cell(column: Column, group: int, viewer_name: str, open_: bool) -> str:
    game, run = column.games.get(group), column.runs.get(group)
    name = f'<b title="{attribute(column.name)}">{text(column.label)}</b>'
    if game is None or run is None:
        words = "not played yet" if open_ and column.key.isdigit() else "not played"
        return (f'<figure class="o-seat o-unplayed"><div class="o-seat-board"><p class="o-faint">{words}</p></div>'
                f"<figcaption>{name}</figcaption></figure>")
    try:
        episode = run.episode(game.id)
    except OrtamError as error:
        return (f'<figure class="o-seat o-unplayed"><div class="o-seat-board"><p class="o-faint">{text(error)}</p></div>'
                f"<figcaption>{name}</figcaption></figure>")
    address = f"/episode?{query({'run': run.id, 'id': game.id})}"
    last = len(episode.turns)
    fault = (f'<p class="o-seat-fault" title="{attribute(episode.fault.message[:400])}">{text(episode.fault.kind)}</p>'
             if episode.fault else "")
    said = (f"{column.label}, task {group + 1}: {game.status.replace('_', ' ')} in "
            f"{counted(episode.turns_played, 'turn')}; replay it")
    return (
        f'<figure class="o-seat" data-last="{last}" data-id="{named(game.id)}">'
        f'<a class="o-seat-board" href="{attribute(address)}" aria-label="{attribute(said)}">{_frames(episode, viewer_name)}</a>'
        f'<figcaption>{name}<span class="o-seat-end">{shell.chip(game.status)}<span class="o-num" title="Total">'
        f'{number(game.total)}</span></span><span class="o-seat-turn o-num o-muted"></span>{fault}</figcaption></figure>')


def _frames(episode: Episode, viewer_name: str) -> str:
    by = viewer(episode, viewer_name)
    drawn = by.frames(episode)
    if not drawn:
        drawn = ['<div class="o-words"><em>start</em></div>', *map(_words, episode.turns)]
    if sum(map(len, set(drawn))) > TALLEST:
        drawn = [by.thumbnail(episode) + '<p class="o-faint o-small">long: replay it</p>'] * len(drawn)
    spans: list[tuple[int, int, str]] = []
    for k, frame in enumerate(drawn):
        first = spans.pop()[0] if spans and spans[-1][2] == frame else k
        spans.append((first, k, frame))
    now = len(drawn) - 1
    return "".join(f'<div class="o-frame{" o-now" * (last == now)}" data-from="{first}" data-to="{last}">{frame}</div>'
                   for first, last, frame in spans)


def _words(turn: Any) -> str:
    """A turn where nothing can be drawn: what was called, and what was answered."""
    answer = turn.shown if turn.shown is not None else turn.result
    called = (f'<b class="o-mono">{text(turn.tool)}</b> <span class="o-mono">{text(as_json(turn.arguments)[:LONGEST])}</span>'
              if turn.tool else f"<span>{text((turn.said or 'nothing said')[:LONGEST])}</span>")
    return f'<div class="o-words"><div>{called}</div><div class="o-muted">{text((answer or "")[:LONGEST])}</div></div>'


def pager(page: int, pages: int, shown: Sequence[int], all_: int, only: str, choices: Sequence[tuple[str, str, int]],
          to: Callable[..., str]) -> str:
    """`choices` are (value, words, how many) of what the tasks can be narrowed to."""
    pills = "".join(
        f'<label><input type="radio" name="o-only" value="{value}"{" checked" * (value == only)}><span>{words} '
        f"<b class=\"o-num\">{count}</b></span></label>" for value, words, count in choices)
    where = f"{shown[0] + 1}–{shown[-1] + 1} of {all_}" if shown else f"0 of {all_}"
    back = _step("Previous tasks (p)", "◀", page - 1, page > 0)
    on = _step("More tasks (n)", "▶", page + 1, page + 1 < pages)
    return (f'<div class="o-bouts-head"><h2 class="o-h2">Boards</h2><div class="o-segments" role="radiogroup" '
            f'aria-label="Which tasks">{pills}</div><div class="o-pager">{back}<span class="o-num o-muted">{where}</span>{on}'
            "</div></div>")


def _step(label: str, sign: str, page: int, there: bool) -> str:
    return (f'<button type="button" class="o-button o-small" data-page="{page}" aria-label="{label}" title="{label}"'
            f'{"" if there else " disabled"}>{sign}</button>')
