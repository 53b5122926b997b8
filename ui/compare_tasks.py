"""The tasks that two runs both played, as a table: who won which more often, and whether that could be chance."""

from collections.abc import Sequence

from backend.comparing import Duel, SharedEnvironment, Sign, Task
from ui.compare_chosen import Chosen
from ui.episodes import Asked
from ui.written import attribute, counted, text

SHOWN = 40
WHICH = (("all", "All training episodes"), ("late", "Second half of training"), ("eval", "Evaluations"))
FIELDS = {"options": "options", "max_turns": "allowed turns", "prompt": "prompt", "system": "system prompt"}


def alone() -> str:
    return '<p class="o-muted">Add a second run to see on which tasks they differ.</p>'


def nothing_shared(first: str, second: str) -> str:
    return (f'<p class="o-muted">{text(first)} and {text(second)} play different environments, so they have no tasks in '
            "common.</p>")


def table(group: Chosen, pair: tuple[int, int], shared: Sequence[SharedEnvironment], place: int, which: str,
          found: Duel) -> str:
    environment = shared[place]
    choices = _select("environment", "Environment", [(str(k), one.first.id if one.first.id == one.second.id else
                                                      f"{one.first.id} / {one.second.id}")
                                                     for k, one in enumerate(shared)], str(place)) if len(shared) > 1 else ""
    names = [group.labels[run] for run in pair]
    body = "".join(f'<p class="o-compare-said">{sentence}</p>' for sentence in _said(names, environment, found))
    if found.tasks and found.decided:
        body += _table(group, pair, environment, which, found)
    return f'<div class="o-curve-bar">{choices}{_select("which", "Episodes", WHICH, which)}</div>{body}'


def _select(name: str, label: str, options: Sequence[tuple[str, str]], chosen: str) -> str:
    drawn = "".join(f'<option value="{attribute(value)}"{" selected" * (value == chosen)}>{text(words)}</option>'
                    for value, words in options)
    return f'<label><span>{label}</span><select data-tasks="{name}">{drawn}</select></label>'


def _said(names: Sequence[str], environment: SharedEnvironment, found: Duel) -> list[str]:
    first, second = (f"<b>{text(name)}</b>" for name in names)
    told = [f"{counted(len(found.tasks), 'task')} of {text(environment.first.use)} "
            f"{'was' if len(found.tasks) == 1 else 'were'} played by both{_alone(found)}. A is {first}, B is {second}."]
    if found.torn:
        told.append(f"{counted(found.torn, 'task')} left out: the same seed or number, but the environment showed "
                    "different things.")
    if environment.differs:
        differs = ", ".join(FIELDS[field] for field in environment.differs)
        told.append(f"The two set this environment up differently ({differs}), so a task may be harder in one of them.")
    if found.tasks and not found.decided:
        told.append("This environment knows no winning, so there is nothing to count here.")
    elif found.tasks and found.sign.p is None:
        told.append("Both won each of them equally often.")
    elif found.tasks:
        told.append(f"B won more often in {found.sign.second:,}, A in {found.sign.first:,}, and {found.sign.even:,} "
                    f"{'is' if found.sign.even == 1 else 'are'} even. {chance(found.sign)}")
    return told


def _alone(found: Duel) -> str:
    if not found.only_first and not found.only_second:
        return ""
    return f", {found.only_first:,} only by A and {found.only_second:,} only by B"


def chance(sign: Sign) -> str:
    """The p-value in words."""
    if sign.p is None:
        return ""
    p = f"p = {sign.p:.2f}" if sign.p >= 0.095 else f"p = {sign.p:.1g}" if sign.p >= 1e-4 else "p < 0.0001"
    words = "This could be chance" if sign.p >= 0.05 else "This is unlikely to be chance" if sign.p >= 0.01 else \
        "This is hardly chance"
    return f'<span title="Exact two-sided sign test over the tasks that aren\'t even">{words} ({p}).</span>'


def _table(group: Chosen, pair: tuple[int, int], environment: SharedEnvironment, which: str, found: Duel) -> str:
    ids = [group.runs[run].id for run in pair]
    specs = [environment.first.id, environment.second.id]
    rows = "".join(_row(ids, specs, which, task) for task in found.tasks[:SHOWN])
    heads = "".join(f'<th scope="col" class="o-right" title="{attribute(group.labels[run])}">{letter}: won of played</th>'
                    for letter, run in zip("AB", pair, strict=True))
    more = (f'<p class="o-muted o-small">The {SHOWN} largest differences of {counted(len(found.tasks), "task")}.</p>'
            if len(found.tasks) > SHOWN else "")
    return ('<div class="o-card o-flush o-scroll"><table class="o-table o-compare-table"><thead><tr><th scope="col">Task</th>'
            f'{heads}<th scope="col" class="o-right" title="Win share of B minus that of A">B − A</th><th scope="col">'
            f'<span class="o-sr">Which won more</span></th></tr></thead><tbody>{rows}</tbody></table></div>{more}')


def _row(ids: Sequence[str], environments: Sequence[str], which: str, task: Task) -> str:
    cells = "".join(
        f'<td class="o-right"><a class="o-link" href="{attribute(_episodes(run, environment, which, task))}" '
        f'title="See these episodes">{won:,} of {played:,}</a> <span class="o-muted">{won / played:.0%}</span></td>'
        for run, environment, won, played in zip(ids, environments, task.won, task.played, strict=True))
    points = task.difference * 100
    sign = "+" if points > 0 else "−" if points < 0 else ""
    better = "even" if not points else "B better" if points > 0 else "A better"
    side = "b" if points > 0 else "a"
    bar = (f'<span class="o-compare-bar" aria-hidden="true"><i class="o-{side}" style="width:{abs(points) / 2:.1f}%"></i>'
           "</span>")
    return (f'<tr><th scope="row">{_called(task)}</th>{cells}<td class="o-right">{sign}{abs(points):.0f} points</td>'
            f'<td class="o-compare-better">{bar}{better}</td></tr>')


def _called(task: Task) -> str:
    if task.seed is not None:
        return f"seed {task.seed}"
    whole = str(task.task if task.task is not None else task.fingerprint)
    return f'<span title="{attribute(whole[:2000])}">{text(whole[:60])}{"…" if len(whole) > 60 else ""}</span>'


def _episodes(run: str, environment: str, which: str, task: Task) -> str:
    """Replay's list of them; what the environment itself calls the task is surer than a seed."""
    if task.fingerprint is not None:
        where = f"fingerprint == {task.fingerprint!r}"
    elif task.seed is not None:
        where = f"seed == {task.seed}"
    else:
        where = ""
    return Asked(run=run, where=where, environment=environment, phase="eval" if which == "eval" else "train").to()
