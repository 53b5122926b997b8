"""What Compare shows besides curves, as HTML: the chosen runs and their lines, outcomes, settings."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from backend.comparing import LAST, Outcome, Setting
from ui import shell
from ui.compare_chosen import Chosen, spelled
from ui.compare_curves import COLOURS, DASHES, Drawn
from ui.written import attribute, counted, named, number, seconds, text

SHORT = 40
LONG = 72
"""Characters of a setting's value that show before it is opened."""
STROKES = {"solid": "", "dash": "7 4", "dot": "2 3", "dashdot": "7 3 2 3", "longdash": "11 4"}


def look_of(place: int) -> dict[str, str]:
    return {"colour": COLOURS[place % len(COLOURS)], "dash": DASHES[place % len(DASHES)]}


def sample(place: int) -> str:
    """A piece of a run's line."""
    look = look_of(place)
    return (f'<svg class="o-compare-line" width="26" height="10" viewBox="0 0 26 10" aria-hidden="true"><path d="M1 5h24" '
            f'stroke="var(--o-{look["colour"]})" stroke-dasharray="{STROKES[look["dash"]]}"/></svg>')


def called(group: Chosen, place: int) -> str:
    """A run's label of which the end that tells it apart stays in sight."""
    name, tail = group.names[place]
    return (f'<span class="o-compare-name"><span>{text(name)}</span>' + (f"<span>· {text(tail)}</span>" if tail else "")
            + "</span>")


def short(group: Chosen, line: Drawn) -> str:
    """What a line is called beside its value under the pointer."""
    if line.kind == "difference":
        return "B − A"
    if len(line.label) <= SHORT:
        return line.label
    name, tail = group.names[line.members[0]] if line.kind == "run" else (line.label, "")
    return f"{name[:max(6, SHORT - len(tail) - 2)]}… {tail}".strip()


def problems(sentences: Sequence[str], link: tuple[str, str] | None = None) -> str:
    return "".join(shell.problem(sentence, kind="warning", link=link) for sentence in sentences)


# ------------------------------------------------------------------------------------------------------ chosen runs


def chosen_runs(group: Chosen, drawn: Sequence[Drawn]) -> str:
    line_of = {run: place for place, line in enumerate(drawn) for run in line.members if line.kind != "difference"}
    return "".join(_chosen(group, place, line_of.get(place)) for place in range(len(group.runs)))


def _chosen(group: Chosen, place: int, line: int | None) -> str:
    run, label = group.runs[place], group.labels[place]
    progress = run.progress()
    match = group.specs[place].match is not None
    drawn = "" if line is None or match else sample(line)
    told = ('<span class="o-muted o-small">a match: it has no curves</span>' if match else
            f'<span class="o-muted o-small o-num">step {progress.step:,} of {progress.steps:,}</span>')
    return (f'<li data-run="{named(run.id)}">{drawn}<a href="/{"arena" if match else "run"}?id={attribute(run.id)}" '
            f'title="{attribute(run.id)}">{called(group, place)}</a>{shell.chip(run.status(), run=True)}'
            f"{told}"
            f'<button type="button" class="o-icon" data-do="remove" aria-label="Leave out {attribute(label)}" '
            'title="Leave out">×</button></li>')


def choices(runs: Sequence[Any], search: str) -> str:
    """Runs that can be added."""
    if not runs:
        said = f"No other run is called “{search.strip()}”." if search.strip() else "There is no other run."
        return f'<p class="o-muted o-small o-compare-none">{text(said)}</p>'
    return "".join(
        f'<button type="button" role="option" data-add="{named(run.id)}"><b>{text(run.name)}</b>'
        f'<span class="o-muted o-small">{text(run.id)} · {text(run.model)} · {text(", ".join(run.environments))}</span>'
        f"{shell.chip(run.status, run=True)}</button>" for run in runs)


def groupings(group: Chosen, by: str) -> str:
    offered = [("", "One line a run"), *group.groupings()]
    if len(group.runs) > 1:
        offered.append(("difference", "Difference of two"))
    return "".join(f'<option value="{attribute(value)}"{" selected" * (value == by)}>{text(words)}</option>'
                   for value, words in offered)


def pair(group: Chosen, asked: str) -> str:
    """Which run is subtracted from which; "" where there are no two."""
    if (two := group.pair(asked)) is None:
        return ""

    def select(name: str, label: str, mine: int, other: int) -> str:
        options = "".join(
            f'<option value="{attribute(run.id)}"{" selected" * (place == mine)}>{text(called)}</option>'
            for place, (run, called) in enumerate(zip(group.runs, group.labels, strict=True)) if place != other)
        return f'<label><span>{label}</span><select data-pair="{name}">{options}</select></label>'

    return select("a", "A", two[0], two[1]) + select("b", "B", two[1], two[0])


def legend(drawn: Sequence[Drawn]) -> str:
    """Of lines that aren't one run each."""
    if all(line.kind == "run" for line in drawn):
        return ""
    rows = "".join(f'<li data-line="{place}">{sample(place)}<span title="{attribute(line.label)}">{text(line.label)}</span>'
                   f'<span class="o-muted o-small">{_made_of(line)}</span></li>' for place, line in enumerate(drawn))
    return f'<ul class="o-compare-lines">{rows}</ul>'


def _made_of(line: Drawn) -> str:
    if line.kind == "difference":
        return "B minus A at each step where both have a value; a gap elsewhere"
    if len(line.members) == 1:
        return "one run"
    return (f"mean of {len(line.members)} runs at each step, band from the smallest to the largest"
            "<span data-fewer></span>")


# --------------------------------------------------------------------------------------------------------- outcomes


class Column(NamedTuple):
    field: str
    title: str
    about: str
    value: Callable[[Outcome], float | None]
    shown: Callable[[Outcome], str]
    best: Callable[[Sequence[float]], float] | None = None
    word: str = "best"
    same: str = ""
    """What has to be the same in all runs before one is called best."""


def _share(value: float | None) -> str:
    if value is None:
        return '<span class="o-none">not known</span>'
    return f"{value * 100:.1f} %" if value < 0.1 or value > 0.9 else f"{value * 100:.0f} %"


def _of_last(told: Outcome, value: float | None, shown: str) -> str:
    if value is None or told.last == LAST:
        return shown
    return f'{shown}<span class="o-small o-muted"> of {counted(told.last, "step")}</span>'


def _best_share(told: Outcome) -> str:
    at = "" if told.best_at is None else f'<span class="o-small o-muted"> to step {told.best_at:,}</span>'
    return _share(told.win_best) + at


def _whole(value: int | None) -> str:
    return '<span class="o-none">not known</span>' if value is None else f"{value:,}"


COLUMNS = (
    Column("step", "Steps", "The last recorded step, of those asked for", lambda told: told.step,
           lambda told: f'{told.step:,}<span class="o-small o-muted"> of {told.steps:,}</span>'),
    Column("episodes", "Episodes", "Training episodes, unscored ones included", lambda told: told.episodes,
           lambda told: _whole(told.episodes)),
    Column("win_last", f"Win share, last {LAST}", f"Won among the scored episodes of the last {LAST} recorded steps, or of "
           "all where there are fewer", lambda told: told.win_last,
           lambda told: _of_last(told, told.win_last, _share(told.win_last)), max, same="environments"),
    Column("win_best", f"Win share, best {LAST}", f"The same of the {LAST} steps in a row in which it was highest",
           lambda told: told.win_best, _best_share, max, same="environments"),
    Column("total_last", f"Mean total, last {LAST}", f"Mean total reward of the scored episodes of the last {LAST} recorded "
           "steps", lambda told: told.total_last,
           lambda told: _of_last(told, told.total_last, number(told.total_last)), max, same="rewards"),
    Column("signal", "Groups with signal", "Groups whose totals differ, of all groups of the run", lambda told: told.signal,
           lambda told: _share(told.signal), max),
    Column("unscored", "Unscored", "Episodes that say nothing about the policy, of all: the environment failed, or they "
           "were cancelled", lambda told: told.unscored, lambda told: _share(told.unscored), min, "fewest"),
    Column("seconds", "Took", "From the trainer's start to its end, or to now", lambda told: told.seconds,
           lambda told: shell.duration(told.seconds)),
    Column("pace", "A step", "Median seconds from one step to the next, of the newest 200", lambda told: told.pace,
           lambda told: seconds(told.pace), min, "fastest"),
    Column("tokens", "Tokens", "Generated by the model in scored episodes of training", lambda told: told.tokens,
           lambda told: _whole(told.tokens)),
)


def outcomes(group: Chosen, told: Sequence[Outcome | None]) -> str:
    """A row a run; None where its file couldn't be read to the end."""
    unlike = _unlike(group)
    best = {column.field: _best(column, told) for column in COLUMNS if column.same not in unlike}
    heads = "".join(
        f'<th scope="col" class="o-right" title="{attribute(column.about)}"><button type="button" '
        f'data-sort="{column.field}">{text(column.title)}<i aria-hidden="true"></i></button></th>' for column in COLUMNS)
    rows = "".join(_outcome(group, place, one, best) for place, one in enumerate(told))
    notes = "".join(f'<p class="o-muted o-small">{sentence}</p>' for sentence in unlike.values())
    return ('<div class="o-card o-flush o-scroll"><table class="o-table o-compare-table o-compare-outcome"><thead><tr>'
            '<th scope="col"><button type="button" data-sort="label">Run<i aria-hidden="true"></i></button></th>'
            '<th scope="col"><button type="button" data-sort="status">Status<i aria-hidden="true"></i></button></th>'
            f"{heads}</tr></thead><tbody>{rows}</tbody></table></div>{notes}")


def _unlike(group: Chosen) -> dict[str, str]:
    """What can't be called best across these runs, and why."""
    if len(group.specs) < 2:
        return {}
    told = {}
    if len({frozenset(one.use for one in spec.environments) for spec in group.specs}) > 1:
        told["environments"] = "These runs play different environments, so no win share is marked as the best."
    if len({tuple(sorted((term.name, term.value, term.weight) for term in spec.rewards)) for spec in group.specs}) > 1 \
            or "environments" in told:
        told["rewards"] = "These runs are rewarded differently, so no mean total is marked as the best."
    return told


def _best(column: Column, told: Sequence[Outcome | None]) -> float | None:
    values = [value for one in told if one is not None and (value := column.value(one)) is not None]
    if column.best is None or len(values) < 2:
        return None
    found = column.best(values)
    return found if 2 * values.count(found) <= len(values) else None  # what most have is nothing special


def _outcome(group: Chosen, place: int, told: Outcome | None, best: dict[str, float | None]) -> str:
    run, label = group.runs[place], group.labels[place]
    status = told.status if told else run.status()
    first = (f'<th scope="row" data-value="{attribute(label.lower())}"><a class="o-link" href="/run?id={attribute(run.id)}" '
             f'title="{attribute(run.id)}">{called(group, place)}</a></th>'
             f'<td data-value="{status}">{shell.chip(status, run=True)}</td>')
    if told is None:
        return f'<tr>{first}<td colspan="{len(COLUMNS)}" class="o-muted">Its file can\'t be read.</td></tr>'
    return f'<tr>{first}{"".join(_cell(column, told, best.get(column.field)) for column in COLUMNS)}</tr>'


def _cell(column: Column, told: Outcome, best: float | None) -> str:
    value = column.value(told)
    mark = f'<span class="o-tag o-compare-best">{column.word}</span>' if best is not None and value == best else ""
    return f'<td class="o-right" data-value="{"" if value is None else value}">{mark}{column.shown(told)}</td>'


# --------------------------------------------------------------------------------------------------------- settings


def settings_table(group: Chosen, found: Sequence[Setting], everything: bool) -> str:
    shown = [setting for setting in found
             if setting.differs or (everything and any(value is not None for value in setting.values))]
    if len(group.runs) < 2 and not everything:
        return '<p class="o-muted">Add a second run to see what was set differently.</p>'
    if not shown:
        return '<p class="o-muted">Nothing but the name was set differently in these runs.</p>'
    heads = "".join(f'<th scope="col" title="{attribute(run.id)}">{called(group, place)}</th>'
                    for place, run in enumerate(group.runs))
    rows = "".join(_setting(setting, everything) for setting in shown)
    return (f'<div class="o-card o-flush o-scroll"><table class="o-table o-compare-table"><thead><tr><th scope="col">Setting'
            f"</th>{heads}</tr></thead><tbody>{rows}</tbody></table></div>")


def _setting(setting: Setting, everything: bool) -> str:
    differs = '<span class="o-tag" title="Not the same in all runs">differs</span>' * (everything and setting.differs)
    cells = "".join(f"<td>{_value(value, there, setting.whole)}</td>"
                    for value, there in zip(setting.values, setting.there, strict=True))
    return (f'<tr><th scope="row" title="{attribute(setting.path)}">{text(setting.title)} {differs}'
            f'<span class="o-mono o-muted">{text(setting.path)}</span></th>{cells}</tr>')


def _value(value: Any, there: bool, whole: bool) -> str:
    if value is None:
        return f'<span class="o-compare-unset">{"not in this run" if whole else "not set" if there else "–"}</span>'
    said = spelled(value, most=1_000_000)
    if len(said) <= LONG:
        return text(said)
    return (f'<details class="o-compare-long"><summary>{text(said[:LONG])}…</summary>'
            f'<div class="o-written">{text(said)}</div></details>')
