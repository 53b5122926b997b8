"""html: one file that opens offline, of an episode, a group, or a run with the episodes that show most of it."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from backend.errors import OrtamError
from backend.exchange import Choice
from backend.records import UNSCORED, Episode, RunSpec
from backend.signal.one_group import parted, said
from backend.signal.parting import parting
from backend.store import Run, Store, curves
from backend.store.counting import cause
from ui import badges, shell
from ui.in_step import moments
from ui.player import Setting, player
from ui.replay import viewer_of
from ui.share.chosen import MOST, Chosen, chosen
from ui.share.curve import figure
from ui.share.document import document
from ui.viewers import viewer
from ui.written import attribute, counted, number, text

SUFFIX = ".html"
FOR = "one file that opens offline: a run, a group or an episode"
MOST_CURVES = 12
MOST_BOARDS = 600


def write(choice: Choice, path: Path, told: Callable[[int], None]) -> int:
    shown = chosen(choice)
    path.write_text(page(choice, shown), "utf-8", errors="replace")
    told(len(shown))
    return len(shown)


def page(choice: Choice, shown: Sequence[Chosen] | None = None) -> str:
    """Raises EpisodeNotFound, and OrtamError where the group that was asked for isn't there."""
    shown = chosen(choice) if shown is None else shown
    run, spec = choice.run, choice.run.spec
    players = _players(run, spec, [one.episode for one in shown])
    if choice.id is not None:
        return document(f"{spec.name}, episode {choice.id}", _shared(run), players)
    if choice.group is not None:
        if not shown:
            raise OrtamError(f"{run.id} has no group {choice.group[1]} in step {choice.group[0]}")
        head = _group_head(choice, spec, [one.episode for one in shown]) + _side_by_side(spec, shown)
        return document(f"{spec.name}, step {choice.group[0]}, group {choice.group[1]}", head, players)
    return document(spec.name, _run_head(run, spec) + _curves(run, spec) + _run_strip(choice, spec, shown), players,
                    _settings(run))


def _players(run: Run, spec: RunSpec, episodes: Sequence[Episode]) -> list[str]:
    last = len(episodes) - 1
    return [player(episode, Setting(
        run=run.id, name=spec.name, viewer=viewer_of(spec, episode.environment), terms=spec.rewards,
        previous=f"#{n - 1}" if n else None, following=f"#{n + 1}" if n < last else None))
        for n, episode in enumerate(episodes)]


def _shared(run: Run) -> str:
    made = datetime.now(UTC)
    return f'<p class="o-shared-note">From the run <span class="o-mono">{text(run.id)}</span>, {made:%d %B %Y}</p>'


# ------------------------------------------------------------------------------------------------------------ a group


def _group_head(choice: Choice, spec: RunSpec, episodes: Sequence[Episode]) -> str:
    step, group = choice.group or (0, 0)
    scored = [episode.total for episode in episodes if episode.total is not None]
    told = [counted(len(episodes), "episode"), f"{sum(episode.status == 'won' for episode in episodes)} won"]
    told += [f"mean total {number(sum(scored) / len(scored))}"] if scored else ["none scored"]
    if unscored := sum(episode.status in UNSCORED for episode in episodes):
        told.append(f"{unscored} unscored")
    return (f'<div class="o-shared-head"><h1 class="o-title">{text(spec.name)}, step {step}, group {group}</h1>'
            f'<p class="o-lede o-num">{" · ".join(told)} {badges.purity(episodes)}</p><p class="o-lede">'
            f"{text(_lesson(episodes))}</p>{_shared(choice.run)}</div>")


def _lesson(episodes: Sequence[Episode]) -> str:
    """What is sure of the group, and where it parts."""
    scored = [episode for episode in episodes if episode.total is not None]
    why: Any = cause([episode.status for episode in scored], [episode.total for episode in scored if episode.total is not None])
    played = [episode for episode in episodes if episode.status not in UNSCORED]
    told = [said(episodes, why, learnt=episodes[0].phase == "train")]
    if len(played) > 1:
        told.append(parted(parting(played), len(played)))
    return " ".join(told)


# -------------------------------------------------------------------------------------------------------------- a run


def _run_head(run: Run, spec: RunSpec) -> str:
    summary = Store(run.path.parent).summary(run)
    environments = ", ".join(summary.environments)
    outcomes = [(status, run.count_episodes(status=status)) for status in ("won", "lost", "finished")]
    rest = summary.episodes - sum(count for _, count in outcomes)
    figures = [("mean total of the last step", number(summary.reward)), ("steps", f"{summary.step:,}"),
               ("episodes", f"{summary.episodes:,}"), *((status, f"{count:,}") for status, count in outcomes if count)]
    if rest:
        figures.append(("ended otherwise", f"{rest:,}"))
    told = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in figures)
    took = f" · took {shell.duration(summary.seconds)}" if summary.seconds is not None else ""
    return (f'<div class="o-shared-head"><div class="o-row"><h1 class="o-title">{text(spec.name)}</h1>'
            f"{shell.chip(summary.status, run=True)}</div>"
            f'<p class="o-lede">{text(summary.model)} on {text(environments)}{took}</p>{_shared(run)}</div>'
            f'<dl class="o-figures">{told}</dl>')


def _curves(run: Run, spec: RunSpec) -> str:
    known_first = ["total", *(term.name for term in spec.rewards)]
    told = curves.rewards(run.path)
    drawn = [figure("total reward" if name == "total" else name, *told[name])
             for name in dict.fromkeys([*known_first, *told]) if name in told]
    known = [one for one in drawn if one][:MOST_CURVES]
    return f'<section class="o-drawn" aria-label="Reward curves">{"".join(known)}</section>' if known else ""


def _run_strip(choice: Choice, spec: RunSpec, shown: Sequence[Chosen]) -> str:
    if not shown:
        return shell.empty("No episode here", "The run hadn't recorded one that was asked for when this file was made.")
    of = choice.run.count_episodes()
    which = (f"matching {choice.where}" if choice.where else "that show most of it") if len(shown) < of else "it has"
    order = f", sorted by {choice.sort}" if choice.sort else ""
    words = f"{counted(len(shown), 'episode')} of {of:,} {text(which)}{text(order)}"
    more = f"; a file holds {MOST} at most" if len(shown) == MOST < of else ""
    return (f'<section class="o-chosen" aria-label="Episodes"><div class="o-episodes-head"><h2 class="o-h2">Episodes</h2>'
            f'<span class="o-muted o-num">{words}{more}</span></div>{_minis(spec, shown)}</section>')


def _side_by_side(spec: RunSpec, shown: Sequence[Chosen]) -> str:
    """Boards that go in step with the player; small ones at their end where they would be too many."""
    boards = [moments(one.episode, viewer_of(spec, one.episode.environment))["boards"] for one in shown]
    if not any(boards) or sum(map(len, boards)) > MOST_BOARDS:
        return f'<section class="o-chosen" aria-label="Episodes">{_minis(spec, shown)}</section>'
    cards = "".join(_card(n, one.episode, drawn) for n, (one, drawn) in enumerate(zip(shown, boards, strict=True)))
    return f'<section class="o-group-cards" aria-label="Episodes, side by side and in step">{cards}</section>'


def _card(n: int, episode: Episode, boards: Sequence[tuple[int, str]]) -> str:
    frames = "".join(f'<figure class="o-frame{" o-now" * (k == 0)}" data-from="{k}">{drawn}</figure>' for k, drawn in boards)
    return (f'<a class="o-group-card o-side" href="#{n}" data-n="{n}" data-length="{len(episode.turns)}"><header>'
            f"<b>episode {episode.sample}</b>{shell.chip(episode.status)}</header>"
            f'<div class="o-group-board">{frames}</div><span class="o-mini-foot"><b>{number(episode.total)}</b>'
            f"{badges.advantage(episode.advantage)}</span></a>")


def _minis(spec: RunSpec, shown: Sequence[Chosen]) -> str:
    return f'<div class="o-strip">{"".join(_mini(n, one, spec) for n, one in enumerate(shown))}</div>'


def _mini(n: int, one: Chosen, spec: RunSpec) -> str:
    episode = one.episode
    drawn = viewer(episode, viewer_of(spec, episode.environment)).thumbnail(episode)
    why = f"<small>{text(one.why)}</small>" if one.why else ""
    title = attribute(f"{episode.id}: {episode.status.replace('_', ' ')}")
    return (f'<a class="o-mini" href="#{n}" data-n="{n}" title="{title}">{why}{drawn}<span class="o-mini-foot">'
            f"<b>{number(episode.total)}</b>{badges.advantage(episode.advantage)}</span></a>")


def _settings(run: Run) -> str:
    return (f'<details class="o-settings"><summary>Settings</summary><pre tabindex="0">{text(run.spec_text)}</pre>'
            "</details>")
