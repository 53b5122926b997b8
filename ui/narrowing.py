"""What narrows a list of episodes: the views, the form, chips for what is asked for, and filters saved under a name."""

from collections.abc import Sequence
from typing import Any, get_args

from backend.errors import OrtamError
from backend.records import EpisodeStatus, RunSpec
from backend.store import SavedFilter
from backend.store.filters import ANY
from backend.store.words import HEAD, TAIL
from ui import shell
from ui.asked import NEWEST, VIEWS, Asked
from ui.written import attribute, text

READ_ONLY = "This site only shows runs; start it without --read-only to save a filter."
HOW_WORDS = ("Words in the transcript, all of them; \"in quotes\" next to each other, -without, begin*, or in one part: "
             "said: thought: call: tool: result: opening: fault: (/). Case and accents don't count. Of a text longer than "
             f"{HEAD + TAIL:,} characters the first {HEAD:,} and the last {TAIL:,} are looked through.")
HOW_RANGE = "A number or a range, such as 0.5, > 0.5, <= 1 or -1..0"


def functions(store, may_change: bool) -> list:
    """What the list's script may ask: saving a filter, and taking one away. Both answer the panel anew."""

    def keep_filter(asked: dict[str, Any]) -> dict[str, str]:
        return change(asked, lambda now: store.save_filter(str(asked.get("name", "")), now.kept()))

    def drop_filter(asked: dict[str, Any]) -> dict[str, str]:
        return change(asked, lambda now: store.delete_filter(str(asked.get("name", ""))))

    def change(asked: dict[str, Any], act) -> dict[str, str]:
        try:
            now = Asked.read(str(asked.get("search", "")))
            if not may_change:
                raise OrtamError(READ_ONLY)
            act(now)
            return {"html": saved(store.saved_filters(), now, may_change)}
        except OrtamError as error:
            return {"problem": str(error)}

    return [keep_filter, drop_filter]


def views(asked: Asked) -> str:
    links = [("", "All episodes", "Every episode, in the order of a column"),
             *((name, *told) for name, told in VIEWS.items())]
    drawn = "".join(
        f'<a href="{attribute(asked.to(view=name, page=1))}" title="{attribute(meaning)}"'
        f'{" aria-current=true" if name == asked.view else ""}>{label}</a>' for name, label, meaning in links)
    return f'<nav class="o-views" aria-label="What to list">{drawn}</nav>'


# ------------------------------------------------------------------------------------------------------------- the form


def form(run, spec: RunSpec, asked: Asked) -> str:
    kept = f'<input type="hidden" name="run" value="{attribute(asked.run)}">'
    if asked.sort != NEWEST:
        kept += f'<input type="hidden" name="sort" value="{attribute(asked.sort)}">'
    if asked.view:
        kept += f'<input type="hidden" name="view" value="{attribute(asked.view)}">'
    return (
        f'<form class="o-filters" method="get" action="/episode" role="search" autocomplete="off">{kept}'
        f'<label class="o-search"><span class="o-label">Words</span><input name="find" type="search" spellcheck="false"'
        f' placeholder="crane -slate tool:guess" value="{attribute(asked.find)}" title="{attribute(HOW_WORDS)}"></label>'
        + select("status", "Outcome", get_args(EpisodeStatus), asked.status)
        + _line("step", "Step", "" if asked.step is None else str(asked.step), "7 or 10-20", "One step, or a range")
        + f'<button class="o-button" type="submit">Filter</button>{_more(run, spec, asked)}</form>')


def _more(run, spec: RunSpec, asked: Asked) -> str:
    environments = [environment.id for environment in spec.environments]
    policies, faults = _known(run, "policy"), _known(run, "fault")
    tags = _tags(run)
    terms = [term.name for term in spec.rewards]
    fields = (
        f'<label class="o-expression"><span class="o-label">Where</span><input name="where" type="search" '
        f'spellcheck="false" placeholder="won and guesses &lt;= 3" value="{attribute(asked.where)}" '
        f'title="An expression over facts, reward terms and columns such as total, advantage or turns"></label>'
        + _line("total", "Total", asked.total, "any, > 0.5", HOW_RANGE)
        + _line("advantage", "Advantage", asked.advantage, "any, < 0", HOW_RANGE)
        + (select("term", "Reward term", terms, asked.term, "One of them")
           + _line("value", "Its value", asked.value, "any, 0.2..0.4", f"Raw, before its weight. {HOW_RANGE}")
           if terms else "")
        + select("tool", "Called", _known(run, "tool"), asked.tool, "Any tool")
        + select("trouble", "Fault", [ANY, *faults], asked.trouble, "With or without",
                 {ANY: "any fault", **{fault: fault.replace("_", " ") for fault in faults}})
        + (select("environment", "Environment", environments, asked.environment) if len(environments) > 1
           or asked.environment else "")
        + _line("task", "Task or seed", asked.task, "any, 8131", "A seed, a task, a part of its text, or a fingerprint")
        + (select("policy", "Played by", policies, asked.policy, "Anyone") if len(policies) > 1 or asked.policy else "")
        + select("phase", "Phase", ["train", "eval", "play"], asked.phase)
        + _line("group", "Group", "" if asked.group is None else str(asked.group), "any", "Its number within the step")
        + (select("tag", "Tag", tags, asked.tag) if tags or asked.tag else ""))
    return ('<details class="o-more"><summary>More filters</summary>'
            f'<div class="o-more-fields">{fields}</div></details>')


def _known(run, kind: str) -> list[str]:
    try:
        return run.known(kind)[:200]
    except OrtamError:  # the list below says what is wrong with the file
        return []


def _tags(run) -> list[str]:
    try:
        return list(run.tags())
    except OrtamError:
        return []


def select(name: str, label: str, choices: Sequence[str], chosen: str, none: str = "Any",
           labels: dict[str, str] | None = None) -> str:
    def said(choice: str) -> str:
        plain = choice.replace("env_", "environment ").replace("_", " ") if name == "status" else choice
        return text((labels or {}).get(choice, plain)[:80])

    options = "".join(f'<option value="{attribute(choice)}"{" selected" * (choice == chosen)}>{said(choice)}</option>'
                      for choice in dict.fromkeys([*choices, *([chosen] if chosen else [])]))
    return (f'<label><span class="o-label">{label}</span><select name="{name}"><option value="">{none}</option>'
            f"{options}</select></label>")


def _line(name: str, label: str, value: str, hint: str, title: str) -> str:
    return (f'<label class="o-whole"><span class="o-label">{label}</span><input name="{name}" '
            f'placeholder="{attribute(hint)}" value="{attribute(value)}" title="{attribute(title)}"></label>')


# ------------------------------------------------------------------------------------------------- chips, saved filters


def chips(asked: Asked) -> str:
    """What is asked for, each with a way to take it away."""
    drawn = "".join(
        f'<a class="o-filter-chip" href="{attribute(asked.to(**away, page=1))}" '
        f'aria-label="Take away the filter {attribute(name)}: {attribute(value)}" title="Take this filter away">'
        f'<span>{text(name[:60])}</span> {text(value[:80])}<i aria-hidden="true">×</i></a>'
        for name, value, away in asked.active())
    nothing = attribute(asked.clear().to(sort=asked.sort, view=asked.view))
    clear = f'<a class="o-link" href="{nothing}">Clear filters</a>' if len(asked.active()) > 1 else ""
    return f'<div class="o-chips">{drawn}{clear}</div>' if drawn else ""


def saved(kept: Sequence[SavedFilter], asked: Asked, may_change: bool) -> str:
    """A fold with those saved, as links, and a field to save what is asked for now."""
    if not kept and not (may_change and asked.kept()):
        return ""
    now = asked.kept()
    items = "".join(_saved(each, asked, now, may_change) for each in kept)
    listed = f"<ul>{items}</ul>" if items else ""
    add = ""
    if may_change and now:
        add = ('<div class="o-save-filter"><input data-filter-name maxlength="60" aria-label="Name for these filters" '
               'placeholder="Name for these filters"><button class="o-button o-small" type="button" data-filter="keep">'
               "Save</button></div>")
    elif not may_change:
        add = f'<p class="o-fieldnote">{READ_ONLY}</p>'
    count = f' <span class="o-tag">{len(kept)}</span>' if kept else ""
    return (f'<details class="o-saved"><summary>{"Saved filters" if kept else "Save filters"}{count}</summary>'
            f'<div class="o-saved-body">{listed}{add}'
            '<p class="o-fieldnote o-wrong" role="alert" data-filter-problem></p></div></details>')


def _saved(each: SavedFilter, asked: Asked, now: str, may_change: bool) -> str:
    try:
        to = Asked.read(each.asked)
        address = attribute(to.to(run=asked.run))
        meaning = "; ".join(f"{name}: {value}" for name, value, _ in to.active())
    except OrtamError:  # saved by a newer version
        return ""
    here = ' aria-current="true"' if each.asked == now else ""
    away = (f'<button class="o-icon" type="button" data-filter="drop" data-name="{attribute(each.name)}" '
            f'aria-label="Delete the saved filter {attribute(each.name)}" title="Delete">×</button>'
            if may_change else "")
    return (f'<li><a class="o-link" href="{address}" title="{attribute(meaning[:300])}"{here}>{text(each.name)}</a>'
            f"{away}</li>")


def problem(error: OrtamError) -> str:
    sentence = str(error)
    return shell.problem(sentence[:1].upper() + sentence[1:])
