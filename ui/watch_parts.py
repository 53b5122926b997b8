"""What Watch shows, as HTML: which run, what is wrong, how healthy it is, the newest episodes, a step's episodes."""

import re
from collections.abc import Sequence
from html import escape

from backend.play.keeping import BY
from backend.records import ENDED, UNSCORED, Episode, Result, RunSpec
from backend.signal import CAUSES, Alarm, Group, Health
from ui import shell
from ui.share_button import button
from ui.viewers import viewer
from ui.written import as_json, attribute, counted, number, query, text

NOTES = 4
"""Alarms that show before anyone asks for more."""
LIVE = {"running", "preparing", "stopping"}
LETTERS = shell.CHIPS
REMEDIES = (
    ("out of memory", "Lower micro_batch or the token budget, or choose a smaller model, and launch it again."),
    ("no space left", "Free some disk space and launch it again; every recorded episode is kept."),
    ("environment", "See the log for what the environment's server printed, then launch it again."),
    ("killed", "Often the machine ran out of memory; lower micro_batch or the token budget."),
)


def address(page: str, **asked) -> str:
    return escape(f"/{page}?{query(asked)}")


def origin(spec: RunSpec) -> str:
    """How its episodes came about where no trainer of this machine played them; "" for a run that was launched."""
    if spec.imported:
        return "imported"
    return "played by hand and by scripts" if spec.model == BY else ""


def head(run: str, spec: RunSpec, status: str, may_stop: bool, has_episodes: bool) -> str:
    came = origin(spec)
    there = address("arena", environment=f"run:{run}:{spec.environments[0].id}")
    arena = "" if came == "imported" else f'<a class="o-button" href="{there}">Arena</a>'
    replay = (
        f'<a class="o-button" href="{address("compare", runs=run)}">Compare</a>'
        f"{arena}"
        f'<a class="o-button" href="{address("reprice", run=run)}">Re-price</a>'
        f'<a class="o-button o-primary" href="{address("episode", run=run)}">Replay episodes</a>'
        if has_episodes
        else ""
    )
    act = _act(run, status) if not came and (may_stop or status in ENDED) else ""
    environments = " + ".join(environment.id for environment in spec.environments)
    group = f"{counted(spec.train.episodes_per_step, 'episode')} a step in groups of {spec.train.group_size}"
    said = f"{spec.model} plays {environments} · {group}"
    if came:
        said = " · ".join(dict.fromkeys([environments, came] if spec.model == BY else [came, spec.model, environments]))
    return f"""
<div class="o-top">
  <div class="o-watch-name">
    <div class="o-row"><h1 class="o-title">{text(spec.name)}</h1>{_chip(status)}</div>
    <p class="o-lede o-small">{text(said)} · <span class="o-mono">{text(run)}</span></p>
  </div>
  <div class="o-row">{act}{button(run=run) if has_episodes else ""}{replay}</div>
</div>"""


def _act(run: str, status: str) -> str:
    """What can be done to a run as it is; what can't be undone asks once."""
    if status in ENDED:
        return f'<a class="o-button" href="{address("launch", **{"from": run})}">Launch again</a>'
    if status == "queued":
        return _asking("stop", "Cancel", "Cancel this run?", "Cancel it", "Keep it")
    if status in ("preparing", "running"):
        return _asking("stop", "Stop after this step", "Stop when this step is done?", "Stop", "Keep running")
    said = '<span class="o-muted">Stopping after this step</span>' if status == "stopping" else ""
    return said + _asking("end", "End now", "End it in the middle of this step?", "End it", "Let it finish")


def _asking(call: str, words: str, sure: str, yes: str, no: str) -> str:
    return (
        f'<button class="o-button" type="button" data-do="ask" data-call="{call}" data-sure="{sure}" data-yes="{yes}" '
        f'data-no="{no}">{words}</button>'
    )


def progress(status: str, told) -> str:
    """`told` as Run.progress() gives it."""
    share = min(1.0, told.step / told.steps) if told.steps else 0.0
    return f"""
<div class="o-watch-progress">
  <div class="o-row"><b class="o-num">step {told.step:,}</b><span class="o-muted o-num">of {told.steps:,}</span>
    <span class="o-watch-doing">{_doing(status, told)}</span>
    <span class="o-watch-clocks o-muted o-num">{_clocks(status, told)}</span>
  </div>
  <div class="o-bar" role="progressbar" aria-valuemin="0" aria-valuemax="{told.steps}" aria-valuenow="{told.step}"
    aria-label="Steps done"><i class="o-{escape(status)}" style="width:{100 * share:.2f}%"></i></div>
</div>"""


def _chip(status: str) -> str:
    made = shell.chip(status, run=True)
    return f'<span class="o-watch-live">{made}</span>' if status in LIVE else made


def _doing(status: str, progress) -> str:
    if status in ENDED:
        return ""
    if status == "queued":
        return text(f"waiting for the worker, {progress.reason}" if progress.reason else "waiting for the worker")
    return text(progress.phase or "getting ready")


def _clocks(status: str, progress) -> str:
    """The browser lets the clocks of a live run go on between two updates."""
    live = status in LIVE
    said = []
    if progress.elapsed is not None:
        tick = f' data-clock="up" data-seconds="{progress.elapsed:.0f}"' if live else ""
        said.append(f"<span><span{tick}>{shell.duration(progress.elapsed)}</span>{' so far' if live else ''}</span>")
    if live and progress.left is not None:
        said.append(
            f'<span>about <span data-clock="down" data-seconds="{progress.left:.0f}">{shell.duration(progress.left)}</span>'
            " left</span>"
        )
    return " · ".join(said)


# ------------------------------------------------------------------------------------------------------ what is wrong


def alert(status: str, progress, result: Result | None, last_lines: Sequence[str]) -> str:
    """Failed, lost and stalled runs: the cause, the remedy and what the trainer printed last. `last_lines` are HTML."""
    at = f" after step {progress.step:,}" if progress.step else " before its first step"
    if status == "failed":
        cause = (result.reason if result else "") or progress.reason or "The trainer ended with an error."
        return _wrong(
            f"This run failed{at}", cause, remedy(cause, result, "Launch it again once that is cured."), last_lines
        )
    if status == "lost":
        cause = progress.reason or "The trainer is gone without a word; every episode it recorded is here."
        return _wrong(
            f"This run was lost{at}",
            cause,
            remedy(cause, result, "It was killed, or the machine went down. Launch it again from its spec."),
            last_lines,
        )
    if status == "stalled":
        return shell.problem(
            progress.reason or "The trainer is alive but has written nothing for a while.",
            "Look at the log below. If it doesn't move, stop the run.",
            "warning",
        )
    return ""


def _wrong(title: str, cause: str, what_to_do: str, last_lines: Sequence[str]) -> str:
    printed = ""
    if any(last_lines):
        printed = (
            f'<pre class="o-console" tabindex="0" aria-label="Last lines of the log">{chr(10).join(last_lines)}</pre>'
        )
    more = f'<p class="o-muted">{text(what_to_do)}</p>' if what_to_do else ""
    return (
        '<div class="o-problem o-error o-watch-wrong" role="alert"><i aria-hidden="true">!</i>'
        f"<div><b>{escape(title)}</b>"
        f"<p>{text(cause)}</p>{more}</div>{printed}</div>"
    )


def remedy(cause: str, result: Result | None, otherwise: str) -> str:
    words = cause.lower()
    if result and result.fault:
        words += f" {result.fault.where} {result.fault.kind} {result.fault.message}".lower()
    return next((advice for sign, advice in REMEDIES if sign in words), otherwise)


def unknown(asked: str) -> str:
    if asked:
        return shell.empty(
            "There is no such run",
            f"None is called {asked:.80}. It may have been moved or deleted, or the name fits several.",
            ("All runs", "/"),
        )
    return shell.empty("There is no run yet", "Launch one, and it can be watched here.", ("Launch a run", "/launch"))


# -------------------------------------------------------------------------------------------------------------- health


def health(run: str, told: Health) -> str:
    if not told.facts:
        return ""
    facts = "".join(
        f'<div class="o-vital o-level-{fact.level}" title="{escape(fact.about)}">'
        f'<dt class="o-label">{escape(fact.label)}</dt>'
        f'<dd><b class="{"o-stat" if n == 0 else "o-vital-value"} o-num">{escape(fact.value)}</b>'
        f'<span class="o-small o-muted o-num">{escape(fact.change)}</span></dd></div>'
        for n, fact in enumerate(told.facts)
    )
    notes = "".join(_note(run, note) for note in told.notes[:NOTES])
    more = "".join(_note(run, note) for note in told.notes[NOTES:])
    if more:
        n = len(told.notes) - NOTES
        more = f'<details class="o-health-more"><summary>{n} more</summary><ul>{more}</ul></details>'
    over = f'<p class="o-small o-muted o-health-over">over the {escape(told.over)}</p>' if told.over else ""
    return (
        f'<section class="o-card o-health" aria-label="Health"><div class="o-vitals"><dl>{facts}</dl>{over}</div>'
        f"{f'<ul>{notes}</ul>' if notes else ''}{more}</section>"
    )


def _note(run: str, note: Alarm) -> str:
    return (
        f'<li class="o-level-{note.level}"><i aria-hidden="true">{_sign(note.level)}</i><span>{text(note.text)} '
        f'<span class="o-muted">{text(note.remedy)}</span></span>{_see(run, note.look)}</li>'
    )


def _sign(level: str) -> str:
    return {"good": "✓", "plain": "i"}.get(level, "!")


def _see(run: str, look: dict[str, str]) -> str:
    return f'<a class="o-link" href="{address("episode", run=run, **look)}">see them</a>' if look else ""


# ------------------------------------------------------------------------------------------------------------ episodes


def card(run: str, episode: Episode, named: str = "transcript") -> str:
    """One episode, small: how it ended, what it was worth, where it belongs."""
    shown = viewer(episode, named).thumbnail(episode)
    by = "imported" if episode.policy.kind == "import" else episode.policy.name or "by hand"
    place = f"step {episode.step:,}" if episode.phase == "train" else by if episode.phase == "play" else "held-out"
    worth = "–" if episode.total is None else number(episode.total)
    words = {"env_error": "env failed", "env_lost": "env lost"}.get(episode.status, episode.status.replace("_", " "))
    total = "not scored" if episode.total is None else f"total {episode.total:.3g}"
    title = f"Episode {episode.id}: {total}. {episode.stop}"
    return (
        f'<a class="o-watch-episode o-{episode.status}" href="{address("episode", run=run, id=episode.id)}" '
        f'title="{attribute(title)}"><span class="o-watch-episode-board" aria-hidden="true">{shown}</span>'
        f'<span class="o-chip o-{episode.status}"><i aria-hidden="true">{LETTERS.get(episode.status, "?")}</i>'
        f"{words}</span>"
        f'<span class="o-watch-episode-line"><b class="o-num">{worth}</b>'
        f'<span class="o-small o-muted o-num">{place}</span></span></a>'
    )


def waiting(status: str, spec: RunSpec, phase: str) -> str:
    """Instead of curves and episodes, while there are none."""
    tiny = spec.model.startswith("starter:")
    if status == "queued":
        return shell.empty(
            "Waiting to start", "The worker takes it up in a second or two, unless other runs hold the machine."
        )
    if status in ENDED:
        return shell.empty("No episodes", "This run ended before its first episode was recorded.", None)
    if "model" in phase:
        return shell.empty(
            "Loading the model",
            "About 20 seconds for a starter policy."
            if tiny
            else "Some minutes the first time, while the weights are fetched; then it depends on the model's size.",
        )
    if "environment" in phase or "session" in phase:
        return shell.empty("Starting the environments", "A few seconds for those that ship here.")
    if "warm" in phase:
        return shell.empty(
            "Warming up", "The policy imitates scripted games before it plays its own; the log shows how far it is."
        )
    return shell.empty(
        "The first episodes are being played" if re.search("play|open", phase) else "Getting ready",
        f"Episodes appear here together, when all {spec.train.episodes_per_step} of the first step have ended"
        + (": usually within a minute." if tiny else "."),
    )


def step_panel(
    run: str,
    step: int,
    groups: Sequence[Group],
    rows: Sequence,
    nearest: tuple[int | None, int | None],
    episodes: int | None = None,
    places: tuple[int, int, int] = (0, 0, 0),
) -> str:
    """The episodes of one step, a row a group, the best first. `rows` are EpisodeRows of the groups that are shown,
    `episodes` how many the step has, `places` (first group shown, groups on a page, all groups)."""
    by_group: dict[int, list] = {}
    for row in rows:
        by_group.setdefault(row.group, []).append(row)
    told = {group.group: group for group in groups}
    if not by_group:
        return (
            f'<div class="o-card o-watch-step">{_step_bar(run, step, 0, nearest)}'
            '<p class="o-muted">No episodes were recorded at this step.</p></div>'
        )
    body = "".join(_group(run, number_, by_group[number_], told.get(number_)) for number_ in sorted(by_group))
    bar = _step_bar(run, step, len(rows) if episodes is None else episodes, nearest)
    return (
        f'<div class="o-card o-watch-step">{bar}<div class="o-watch-groups">{body}</div>{_pages(step, *places)}</div>'
    )


def _pages(step: int, first: int, page: int, all_: int) -> str:
    """Where a step has more groups than are shown at once."""
    if all_ <= page:
        return ""
    buttons = "".join(
        f'<button class="o-button o-small" type="button" data-step="{step}" data-first="{to}"'
        f"{'' if 0 <= to < all_ else ' disabled'}>{words}</button>"
        for to, words in ((first - page, "Groups before"), (first + page, "Groups after"))
    )
    return (
        f'<div class="o-row"><span class="o-small o-muted o-num">groups {first + 1:,} to '
        f"{min(first + page, all_):,} of {all_:,}</span>{buttons}</div>"
    )


def _step_bar(run: str, step: int, episodes: int, nearest: tuple[int | None, int | None]) -> str:
    before, after = (
        f'<button class="o-icon" type="button" data-step="{other}" aria-label="Step {other}">{sign}</button>'
        if other is not None
        else f'<button class="o-icon" type="button" disabled aria-hidden="true">{sign}</button>'
        for other, sign in zip(nearest, "‹›", strict=True)
    )
    link = (
        f'<a class="o-link" href="{address("episode", run=run, step=step)}">open them in Replay</a>' if episodes else ""
    )
    return (
        f'<div class="o-watch-step-bar"><div class="o-row"><h2 class="o-h2 o-num">Step {step:,}</h2>{before}{after}'
        f'<span class="o-muted">{counted(episodes, "episode")}</span></div><div class="o-row">{link}'
        '<button class="o-icon" type="button" data-do="close-step" aria-label="Close">×</button></div></div>'
    )


def _group(run: str, number_: int, rows: list, told: Group | None) -> str:
    ordered = sorted(rows, key=lambda row: (row.total is None, -(row.total or 0), row.sample))
    pills = "".join(
        f'<a class="o-watch-pill o-{attribute(row.status)}" href="{address("episode", run=run, id=row.id)}" '
        f'title="{_pill_title(row)}"><i aria-hidden="true">{LETTERS.get(row.status, "?")}</i>'
        f'<span class="o-num">{"–" if row.total is None else number(row.total)}</span></a>'
        for row in ordered
    )
    said = f'<span class="o-small o-muted" title="{escape(CAUSES[told.cause])}">{_verdict(told)}</span>' if told else ""
    task = ""
    if rows[0].task is not None:
        words = rows[0].task if isinstance(rows[0].task, str) else as_json(rows[0].task)
        task = f'<span class="o-small o-muted o-watch-task" title="{attribute(words[:2000])}">task {text(words)}</span>'
    name = f'<a class="o-link" href="{address("group", run=run, step=rows[0].step, group=number_)}">Group {text(number_)}</a>'
    return (
        f'<div class="o-watch-group"><div class="o-watch-group-name"><b>{name}</b>{task}{said}</div>'
        f'<div class="o-watch-pills">{pills}</div></div>'
    )


def _pill_title(row) -> str:
    total = "not scored" if row.status in UNSCORED or row.total is None else f"total {row.total:.3g}"
    return attribute(f"Episode {row.id}: {row.status.replace('_', ' ')}, {total}. {row.stop}".strip())


def _verdict(group: Group) -> str:
    if group.cause == "signal":
        return f"totals {number(group.low)} to {number(group.high)}"
    return {
        "all truncated": "all cut short: no gradient",
        "same total": "all the same: no gradient",
        "unscored": "not scored",
    }.get(group.cause, f"{group.cause}: no gradient")


# ---------------------------------------------------------------------------------------------------------------- spec


def spec_panel(run: str, yaml: str) -> str:
    return (
        '<div class="o-watch-spec"><div class="o-row">'
        '<button class="o-button o-small" type="button" data-do="copy">Copy</button>'
        f'<a class="o-button o-small" href="{address("launch", **{"from": run})}">Launch again with changes</a></div>'
        f'<pre class="o-yaml" tabindex="0">{coloured_yaml(yaml)}</pre></div>'
    )


def coloured_yaml(yaml: str) -> str:
    """Escaped, with keys and comments marked."""
    shown = []
    for line in yaml.rstrip("\n").split("\n"):
        key = re.match(r"^(\s*(?:- )?\{?)([\w.-]+)(:)(?=\s|$)(.*)$", line)
        if line.lstrip().startswith("#"):
            shown.append(f'<span class="o-yaml-comment">{text(line)}</span>')
        elif key:
            shown.append(f'{text(key[1])}<span class="o-yaml-key">{text(key[2])}</span>:{text(key[4])}')
        else:
            shown.append(text(line))
    return "\n".join(shown)
