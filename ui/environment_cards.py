"""An environment as a card among others, and on a page of its own."""

import json
from typing import Any, NamedTuple
from urllib.parse import urlencode

import yaml

from backend.environments import EPISODE_FACTS, Description, Tool
from backend.environments.listing import STATUSES, Listed, Status
from backend.environments.sample import sample
from backend.records import Episode
from backend.store.shelf import SavedEnvironment
from ui.launch_choices import slug
from ui.viewers import viewer
from ui.written import attribute, counted, named, text

SIGNS = {"built in": ("✓", "won"), "on this machine": ("M", "won"), "needs network": ("N", "running"),
         "needs docker": ("D", "running"), "not run here": ("–", "unscored")}
"""Status -> letter, and the chip's colour."""

PICTURES = {
    "built in": "M4 7.5 12 3l8 4.5v9L12 21l-8-4.5zM4 7.5l8 4.5 8-4.5M12 12v9",
    "on this machine": "M3.5 6.5a1 1 0 0 1 1-1h5l2 2.5h8a1 1 0 0 1 1 1v9a1 1 0 0 1-1 1h-15a1 1 0 0 1-1-1z",
    "needs network": "M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17M3.5 12h17M12 3.5c5 5 5 12 0 17c-5-5-5-12 0-17",
    "needs docker": "M3 12.5h18c0 4-3 7-8.5 7C7 19.5 3 17 3 12.5M6 9.5h3v3H6zM9 9.5h3v3H9zM12 9.5h3v3h-3zM9 6.5h3v3H9z",
    "not run here": "M4.5 19.5h15M6 19.5V9l6-4.5L18 9v10.5M10 19.5v-5h4v5",
}
MOST_FRAMES = 13
NAMED = 3
"""Tools and facts that a card names; the rest is behind its folds."""


class Shown(NamedTuple):
    listed: Listed
    query: str
    """What follows /environments? to see it alone."""
    group: str
    saved: SavedEnvironment | None = None
    repository: str = ""
    """Of one that was imported."""


def card(shown: Shown, read_only: bool = False) -> str:
    one = shown.listed
    about = text(one.about) or "It says nothing of itself."
    return (f'<article class="o-env" data-key="{attribute(shown.query)}" data-status="{attribute(one.status)}" '
            f'data-words="{attribute(words(shown))}"><div class="o-env-lead">'
            f'<div class="o-env-stage">{small(one)}</div><div><div class="o-env-head">'
            f'<h3><a href="/environments?{attribute(shown.query)}" data-open>{text(one.title)}</a></h3>'
            f'{chip(one.status)}</div><p class="o-env-about">{about}</p></div></div>'
            f"{particulars(one)}{folds(one)}{hints(shown)}"
            f'<div class="o-env-foot">{use_button(one)}{buttons(shown, read_only)}</div></article>')


def words(shown: Shown) -> str:
    return f"{shown.listed.words} {shown.saved.note.lower() if shown.saved else ''} {shown.group.lower()}"[:6000]


def chip(status: Status) -> str:
    sign, colour = SIGNS[status]
    return (f'<span class="o-chip o-{colour}" title="{attribute(STATUSES[status])}"><i aria-hidden="true">{sign}</i>'
            f"{text(status)}</span>")


def particulars(one: Listed) -> str:
    told = one.description
    turns = f"up to {counted(told.max_turns, 'turn')}" if told else unknown("known once it is asked")
    listed = (("Run", text(one.run)), ("Shown as", text(seen_as(told))), ("Length", turns),
              ("Size", text(one.size) or unknown()), ("Licence", text(one.licence) or unknown()))
    return '<dl class="o-env-what">' + "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>"
                                              for name, value in listed) + "</dl>"


def unknown(why: str = "nobody has said") -> str:
    return f'<span class="o-faint" title="{attribute(why)}">unknown</span>'


def seen_as(told: Description | None) -> str:
    kinds = {"transcript": "transcript", "text_board": "text board", "screen": "pictures of the screen",
             "terminal": "terminal session"}
    return kinds.get(told.viewer, f"{told.viewer.replace('_', ' ').capitalize()} board") if told else "transcript"


def folds(one: Listed) -> str:
    told = one.description
    if told:
        inside = fact_list(told.facts) if told.facts else '<p class="o-fieldnote">Read from its server.</p>'
        return (fold("tool", [tool.name for tool in told.tools], "".join(map(tool_block, told.tools)), len(told.tools))
                + fold("fact", list(told.facts), inside, len(told.facts)))
    if not one.tools and not one.facts:
        return '<p class="o-fieldnote o-env-unasked">Its tools and facts are known once it is asked.</p>'
    note = '<p class="o-fieldnote">As its published classes give them; the server is asked before a run.</p>'
    listed = "".join(f"<li><code>{text(name)}</code></li>" for name in (*one.tools, *one.facts))
    return fold("tool", [name.split("(")[0] for name in one.tools], f"<ul>{listed}</ul>{note}", len(one.tools))


def fold(noun: str, names: list[str], inside: str, count: int) -> str:
    shown = "".join(f"<code>{text(name[:28])}</code>" for name in names[:NAMED])
    more = f"<em>+{count - NAMED}</em>" if count > NAMED else ""
    title = counted(count, noun) if count else f"{noun}s"
    return (f'<details class="o-env-fold"><summary><b>{title}</b><span>{shown}{more}</span></summary>'
            f"<div>{inside}</div></details>")


def hints(shown: Shown) -> str:
    one, lines = shown.listed, []
    if one.first:
        lines.append(f"<b>First</b> {text(one.first)}")
    if shown.saved and shown.saved.note:
        lines.append(text(shown.saved.note[:300]))
    return "".join(f'<p class="o-env-hint">{line}</p>' for line in lines)


def use_button(one: Listed) -> str:
    if not one.use:
        return '<span class="o-faint o-small">no address yet</span>'
    return (f'<button type="button" class="o-env-use" data-copy="{attribute(one.use)}" title="Copy what a spec says '
            f'under use"><code>{text(one.use)}</code><span aria-hidden="true">copy</span></button>')


def buttons(shown: Shown, read_only: bool, primary: bool = False) -> str:
    one = shown.listed
    if read_only or not one.use:
        return ""
    query = attribute(urlencode({"use": one.use} | ({"options": json.dumps(one.options)} if one.options else {})))
    name = attribute(urlencode({"name": slug(one.title)}))
    size, first = ("", " o-primary") if primary else (" o-small", "")
    return (f'<span class="o-env-go"><a class="o-button{size}" href="/play?{query}">Play</a>'
            f'<a class="o-button{size}{first}" href="/launch?{query}&amp;{name}">Use in a run</a></span>')


# ----------------------------------------------------------------------------------------------------- tools and facts


def tool_block(tool: Tool, whole: bool = False) -> str:
    """`whole`: with what each argument means, which else is shown on hover."""
    written = json.dumps(tool.schema(), ensure_ascii=False, indent=2, default=str)
    about = f"<p>{text(tool.description)}</p>" if tool.description.strip() else ""
    known = arguments(tool)
    each = fact_list({name: kind(schema) for name, schema in known.items()}) if whole and known else ""
    return (f'<div class="o-env-tool"><h4><code>{signature(tool)}</code></h4>{about}{each}'
            f'<details class="o-env-schema"><summary>JSON Schema</summary><pre>{text(written)}</pre></details></div>')


def arguments(tool: Tool) -> dict[str, Any]:
    known = tool.parameters.get("properties") if isinstance(tool.parameters, dict) else None
    return known if isinstance(known, dict) else {}


def signature(tool: Tool) -> str:
    """Such as `place(row, column, value?)`; a question mark stands behind what may be left out."""
    listed = tool.parameters.get("required") if isinstance(tool.parameters, dict) else None
    needed = listed if isinstance(listed, list) else []
    shown = ", ".join(f'<span title="{attribute(kind(schema))}">{text(name)}{"" if name in needed else "?"}</span>'
                      for name, schema in arguments(tool).items())
    return f"<b>{text(tool.name)}</b>({shown})"


def kind(schema: Any) -> str:
    """A parameter's type and meaning, on one line."""
    if not isinstance(schema, dict):
        return "anything"
    values, types = schema.get("enum"), schema.get("type")
    if isinstance(values, list):
        told = " or ".join(json.dumps(value, ensure_ascii=False, default=str) for value in values[:8])
    else:
        told = " or ".join(map(str, types)) if isinstance(types, list) else str(types or "as its schema says")
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        told += f" from {low} to {high}"
    meaning = schema.get("description")
    return f"{told}: {meaning}" if isinstance(meaning, str) and meaning else told


def fact_list(facts: dict[str, str]) -> str:
    return '<dl class="o-env-facts">' + "".join(f"<dt><code>{text(name)}</code></dt><dd>{text(meaning)}</dd>"
                                               for name, meaning in facts.items()) + "</dl>"


# ------------------------------------------------------------------------------------------------------------- boards


def small(one: Listed) -> str:
    """The thumbnails of a sample game, one after each turn, the last one showing; or how it is run, as a picture."""
    game = sample(one.use, one.options)
    if game is None:
        return ('<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="1.3" stroke-linejoin="round" '
                f'aria-hidden="true"><path d="{PICTURES[one.status]}"/></svg>')
    draw = viewer(game, one.description.viewer if one.description else "transcript")
    moments = [draw.thumbnail(until(game, turn)) for turn in places(len(game.turns))]
    return in_turn(moments)


def in_turn(drawn: list[str]) -> str:
    """All but the last one hidden, for the script to show."""
    return "".join(f'<div data-frame{" hidden" * (k < len(drawn) - 1)}>{one}</div>' for k, one in enumerate(drawn))


def large(one: Listed) -> str:
    """The same game as its page shows it, with a slider over its turns."""
    game = sample(one.use, one.options)
    frames = viewer(game, one.description.viewer if one.description else "").frames(game) if game else []
    if not game or not frames:
        return ""
    last = len(frames) - 1
    return ('<section class="o-card o-env-sample"><h2 class="o-h2">A sample game</h2>'
            f'<div class="o-stage">{in_turn(frames)}</div>'
            f'<label><span class="o-small o-muted" data-turn>turn {last} of {last}</span><input type="range" min="0" '
            f'max="{last}" value="{last}" aria-label="Turn of the sample game"></label><p class="o-fieldnote">Seed '
            f"{game.seed}, by the scripted player “{text(game.policy.name)}”: {text(game.status)}.</p></section>")


def until(game: Episode, turn: int) -> Episode:
    """The game as it stood after so many turns."""
    if turn >= len(game.turns):
        return game
    facts = game.turns[turn - 1].facts if turn else game.start_facts
    return game.model_copy(update={"turns": game.turns[:turn], "facts": facts})


def places(turns: int) -> list[int]:
    """0 to `turns`, thinned out evenly where there are many."""
    if turns < MOST_FRAMES:
        return list(range(turns + 1))
    return sorted({round(k * turns / (MOST_FRAMES - 1)) for k in range(MOST_FRAMES)})


# ---------------------------------------------------------------------------------------------------------- one alone


def page(shown: Shown, read_only: bool = False) -> str:
    one = shown.listed
    note = f'<p class="o-env-note">{text(one.note)}</p>' if one.note else ""
    asked = "" if one.status == "built in" or shown.saved or read_only or not one.use else (
        f'<button type="button" class="o-button" data-try="{attribute(one.use)}">Try it</button>')
    own = saved_buttons(shown.saved) if shown.saved and not read_only else ""
    return (f'<nav class="o-env-trail" aria-label="Where this is"><a href="/environments" data-back>Environments</a>'
            f'<span aria-hidden="true">›</span><span>{text(one.title)}</span></nav><header class="o-env-top"><div>'
            f'<h1 class="o-title">{text(one.title)}</h1>{chip(one.status)}</div>'
            f'<p class="o-lede">{text(one.about)}</p>{note}{hints(shown)}'
            f'<div class="o-row">{buttons(shown, read_only, True)}{asked}{own}</div></header>'
            f'<div class="o-env-columns"><div class="o-env-main">{tools(one)}{facts(one)}{told_first(one)}</div>'
            f"<aside>{large(one)}{about(shown)}</aside></div>")


def tools(one: Listed) -> str:
    told = one.description
    if told:
        inside = "".join(tool_block(tool, whole=True) for tool in told.tools) or (
            '<p class="o-fieldnote">It has no tools.</p>')
    elif one.tools:
        inside = "".join(f"<p><code>{text(name)}</code></p>" for name in one.tools) + (
            '<p class="o-fieldnote">As its published classes give them. Try it to see them as the model will.</p>')
    else:
        inside = '<p class="o-fieldnote">Known once it is asked.</p>'
    return f'<section class="o-card"><h2 class="o-h2">Tools, as the model sees them</h2>{inside}</section>'


def facts(one: Listed) -> str:
    told = one.description
    if told and told.facts:
        own = fact_list(told.facts)
    elif one.facts:
        own = (f'<p>{" ".join(f"<code>{text(name)}</code>" for name in one.facts)}</p><p class="o-fieldnote">As its '
               "published classes give them.</p>")
    else:
        own = '<p class="o-fieldnote">Its own are known once it is asked.</p>'
    every = (f'<details class="o-env-fold"><summary><b>And those of every episode</b></summary><div>'
             f"{fact_list(EPISODE_FACTS)}</div></details>")
    return (f'<section class="o-card"><h2 class="o-h2">Facts that reward terms may use</h2>{own}{every}{terms(told)}'
            "</section>")


def terms(told: Description | None) -> str:
    if not told:
        return ""
    rows = "".join(f"<dt>{text(name)}</dt><dd><code>{text(value)}</code></dd>" for name, value in told.rewards)
    return f'<h3 class="o-label">Reward terms it proposes</h3><dl class="o-env-facts">{rows}</dl>'


def told_first(one: Listed) -> str:
    told = one.description
    if not told:
        return ""
    options = ""
    if told.options:
        rows = "".join(f"<dt><code>{text(name)}</code></dt><dd>{text(kind(schema))}</dd>"
                       for name, schema in told.options.items())
        options = ('<section class="o-card"><h2 class="o-h2">Options of its reset</h2>'
                   f'<dl class="o-env-facts">{rows}</dl></section>')
    return (f'{options}<section class="o-card"><h2 class="o-h2">What the model is told first</h2>'
            f'<div class="o-env-prompt">{text(told.prompt)}</div></section>')


def about(shown: Shown) -> str:
    one = shown.listed
    place = ""
    if one.page.startswith("https://"):
        place = (f'<p class="o-fieldnote">Published at <a class="o-link" href="{attribute(one.page)}" target="_blank" '
                 f'rel="noopener noreferrer">{text(one.page.removeprefix("https://"))}</a></p>')
    meaning = f"{one.status[0].upper()}{one.status[1:]}: {STATUSES[one.status]}."
    return (f'<section class="o-card o-env-card"><h2 class="o-h2">About</h2>{particulars(one)}'
            f'<p class="o-fieldnote">{text(meaning)}</p>{place}{in_a_spec(one)}</section>')


def in_a_spec(one: Listed) -> str:
    if not one.use:
        return ""
    asked: dict[str, Any] = {"id": slug(one.title), "use": one.use} | ({"options": one.options} if one.options else {})
    written = yaml.safe_dump({"environments": [asked]}, sort_keys=False, allow_unicode=True, width=60)
    return f'<h3 class="o-label">In a spec</h3><pre class="o-env-spec">{text(written)}</pre>{use_button(one)}'


def saved_buttons(saved: SavedEnvironment) -> str:
    return (f'<button type="button" class="o-button" data-edit="{named(saved.name)}">Change</button>'
            f'<button type="button" class="o-button" data-delete="{named(saved.name)}">Delete</button>')
