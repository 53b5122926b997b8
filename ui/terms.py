"""The editor of reward terms, as the Launch and the Re-price page share it: rows, facts to use, presets, saved sets.

`editor()` is its HTML. `terms.js` keeps the rows, completes what is typed, and asks `functions(...)`.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from backend import launcher as launching
from backend.environments import EPISODE_FACTS, Description
from backend.errors import OrtamError, RewardError
from backend.launcher.known import known, shipped
from backend.records import EnvironmentSpec, JudgeSettings, RewardTerm
from backend.rewards import FUNCTIONS
from backend.store import terms_to_yaml
from backend.store.shelf import Shelf
from backend.trusted import trusted
from ui.forms import PLAIN, bare, field
from ui.written import attribute

HERE = Path(__file__).parent
CSS = [HERE / "terms.css"]
JS = [HERE / "terms.js"]

READ_ONLY = "This site only shows runs; start it without --read-only to save a reward set."
CROSS = ('<svg viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" '
         'aria-hidden="true"><path d="M4 4l8 8M12 4l-8 8"/></svg>')
KINDS = {"expression": "expression", "environment": "environment's own reward", "python": "Python function",
         "judge": "judged by a model"}
SCOPES = {"end": "at the end", "turn": "every turn, summed"}
OWN = {"last": "the last one it gave", "sum": "all it gave, summed"}
MEANINGS = {"min": "the smallest of several numbers", "max": "the largest of several numbers",
            "abs": "a number without its sign", "round": "to the nearest whole number, or to so many digits",
            "len": "how many characters a text has"}
"""What each of FUNCTIONS gives."""
LONGEST_FACT = 60


def editor(buttons: str = "") -> str:
    """`buttons` stand beside "Add term"."""
    functions = [{"name": name, "meaning": MEANINGS.get(name, "")} for name in FUNCTIONS]
    return f"""
<div class="o-terms" data-terms data-functions="{attribute(json.dumps(functions))}">
  <div class="o-presets" data-presets data-aside></div>
  <div class="o-terms-head" aria-hidden="true"><span>Name</span><span>Value</span><span>Weight</span></div>
  <div data-rows="rewards"></div>
  <p class="o-fieldnote o-noterms">None yet: the environment's own terms are used.</p>
  <p class="o-fieldnote" data-note="rewards"></p>
  <div class="o-row">
    <button type="button" class="o-button o-small" data-do="add-term">Add term</button>{buttons}
    <button type="button" class="o-button o-small o-quiet" data-do="sets" aria-expanded="false">Saved sets</button>
  </div>
  <div class="o-sets" data-sets data-aside hidden>
    <ul data-sets-list></ul>
    <div class="o-sets-save">
      <input type="text" data-sets-name aria-label="Name of the set" placeholder="Save these terms as…" maxlength="80"
        {PLAIN}>
      <button type="button" class="o-button o-small" data-do="set-save">Save</button>
      <button type="button" class="o-button o-small" data-do="set-copy">Copy as YAML</button>
    </div>
    <p class="o-fieldnote" data-sets-note aria-live="polite"></p>
  </div>
  <details class="o-facts"><summary class="o-label">Facts you can use, <span data-facts-when>and what they
    mean</span></summary><div data-facts></div></details>
  <template data-template="rewards">{_row()}</template>
</div>"""


def _row() -> str:
    value = RewardTerm.model_fields["value"]
    notes = "".join(f'<p class="o-fieldnote" data-note="{name}"></p>' for name in ("name", "value", "weight", "scope"))
    judge = "".join(field(JudgeSettings, name, "judge.") for name in JudgeSettings.model_fields)
    return f"""
<div class="o-term" data-row>
  {bare(RewardTerm, "name")}
  <div class="o-term-value">
    <textarea rows="1" data-key="value" data-kind="text" aria-label="{attribute(value.title)}" role="combobox"
      aria-autocomplete="list" aria-expanded="false" title="{attribute(value.description)}" {PLAIN}></textarea>
    {_select("own", OWN, "Which of its rewards", own=True)}
    <ul class="o-complete" role="listbox" hidden></ul>
  </div>
  {bare(RewardTerm, "weight")}
  <button type="button" class="o-icon" data-do="remove" aria-label="Remove this term" title="Remove">{CROSS}</button>
  <div class="o-term-how">{_select("kind", KINDS, "Kind")}{_select("scope", SCOPES, "When")}
    <div class="o-applies" data-applies></div></div>
  <div class="o-fields o-two o-term-judge">{judge}</div>
  {notes}
</div>"""


def _select(name: str, choices: Mapping[str, str], label: str, own: bool = False) -> str:
    options = "".join(
        f'<option value="{value}"{" disabled" if value == "python" and not trusted() else ""}>{words}'
        f'{" (trusted mode only)" if value == "python" and not trusted() else ""}</option>'
        for value, words in choices.items())
    key = "data-own" if own else f'data-key="{name}" data-kind="text"'
    return f'<select {key} aria-label="{label}">{options}</select>'


# ------------------------------------------------------------------------------------------------------ what it asks


def functions(store, may_save: bool) -> list[Callable]:
    """What the editor's script can ask the server."""

    def term_facts(asked: dict[str, Any]) -> dict[str, Any]:
        return facts(store, environments(asked), str(asked.get("run") or ""))

    def term_presets(asked: dict[str, Any]) -> dict[str, Any]:
        return presets(store, environments(asked))

    def term_sets(asked: dict[str, Any]) -> dict[str, Any]:
        return {"sets": sets(store)}

    def set_save(asked: dict[str, Any]) -> dict[str, Any]:
        return saved(store, asked) if may_save else {"problem": READ_ONLY}

    def set_delete(asked: dict[str, Any]) -> dict[str, Any]:
        if not may_save:
            return {"problem": READ_ONLY}
        store.delete_reward_set(str(asked.get("name", "")))
        return {"sets": sets(store)}

    def terms_yaml(asked: dict[str, Any]) -> dict[str, Any]:
        try:
            return {"yaml": terms_to_yaml(terms_of(asked))}
        except OrtamError as error:
            return {"problem": told(error, asked)}

    return [term_facts, term_presets, term_sets, set_save, set_delete, terms_yaml]


def environments(asked: dict[str, Any]) -> list[EnvironmentSpec]:
    """Those of a draft that can be read; the form says what is wrong with the others."""
    read = []
    for each in asked.get("environments") or ():
        try:
            options = each.get("options")
            read.append(EnvironmentSpec(id=each["id"], use=each["use"],
                                        options=options if isinstance(options, dict) else {}))
        except (ValueError, TypeError, KeyError):
            continue
    return read


def terms_of(asked: dict[str, Any]) -> tuple[RewardTerm, ...]:
    """The terms of a draft, `rewards`, over its `environments`. Raises SpecError."""
    played = [{"id": one.id, "use": one.use} for one in environments(asked)] or [{"id": "any", "use": "any"}]
    named = {one["id"] for one in played}
    for term in asked.get("rewards") or ():
        named |= {str(id) for id in (term.get("environments") or ())} if isinstance(term, dict) else set()
    played += [{"id": id, "use": "any"} for id in sorted(named - {one["id"] for one in played})]
    return launching.from_fields({"model": "any", "environments": played, "rewards": asked.get("rewards") or ()}).rewards


def described(store, asked: EnvironmentSpec) -> Description | None:
    """As far as it is known without asking anyone."""
    return shipped(asked) or next((one.listed.description for one in known(Shelf(store.folder))
                                   if one.listed.use == asked.use and one.listed.description), None)


def facts(store, played: Sequence[EnvironmentSpec], run: str = "") -> dict[str, Any]:
    """`groups` of facts: of each environment, then of every episode; each with its meaning and its value in the last
    episode, as an expression would write it ("" where there was none). With a `run`, those that its episodes have."""
    had = set(store.run(run).known_facts()) if run else None
    groups: list[dict[str, Any]] = []
    last: dict[str, Any] = {}
    for asked in {asked.use: asked for asked in played}.values():
        told = described(store, asked)
        seen = last_of(store, run, asked)
        last = last or seen
        meanings = dict(told.facts) if told else {name: "" for name in seen if name not in EPISODE_FACTS}
        groups.append(group(told.title if told else asked.use, meanings, seen))
    groups.append(group("every episode", EPISODE_FACTS, last))
    if had is not None:
        for one in groups:
            one["facts"] = [fact for fact in one["facts"] if fact["name"] in had]
    return {"groups": [one for one in groups if one["facts"]], "seen": bool(last)}


def last_of(store, run: str, asked: EnvironmentSpec) -> dict[str, Any]:
    if not run:
        return store.last_facts(asked.use)
    rows = store.run(run).episodes(sort="-seq", limit=1, environment=[asked.id])
    return dict(rows[0].facts) if rows else {}


def group(title: str, meanings: Mapping[str, str], seen: Mapping[str, Any]) -> dict[str, Any]:
    return {"title": title, "facts": [{"name": name, "meaning": meaning,
                                       "last": spelled(seen[name]) if name in seen else ""}
                                      for name, meaning in meanings.items()]}


def spelled(value: Any) -> str:
    written = f"{value:.4g}" if isinstance(value, float) else repr(value)
    return written if len(written) <= LONGEST_FACT else f"{written[:LONGEST_FACT]}…"


def presets(store, played: Sequence[EnvironmentSpec]) -> dict[str, Any]:
    """Of environments that are known here: a click on a link asks no server and runs no code."""
    alone = len(played) == 1
    return {"groups": [{"id": asked.id, "presets": [
        {"title": one.title, "about": one.about, "terms": plain(one.terms)}
        for one in (launching.presets(asked, alone) if described(store, asked) else ())]} for asked in played]}


def sets(store) -> list[dict[str, Any]]:
    return [{"name": one.name, "terms": plain(one.terms), "yaml": terms_to_yaml(one.terms)}
            for one in store.reward_sets()]


def saved(store, asked: dict[str, Any]) -> dict[str, Any]:
    try:
        store.save_reward_set(str(asked.get("name", "")), terms_of(asked))
    except OrtamError as error:
        return {"problem": told(error, asked)}
    return {"sets": sets(store)}


def plain(terms: Sequence[RewardTerm]) -> list[dict[str, Any]]:
    return [term.model_dump(mode="json") for term in terms]


def sentence(error: OrtamError) -> str:
    """With a capital and a full stop."""
    said = str(error)
    return said[:1].upper() + said[1:] + ("" if said.endswith((".", "?", "!")) else ".")


def told(error: OrtamError, asked: dict[str, Any]) -> str:
    """With the name of the term that is wrong in place of its number."""
    given = asked.get("rewards") or ()
    problem = place(error, given)
    found = re.fullmatch(r"rewards\.(\d+)\.(.+)", problem["field"])
    if not found or int(found[1]) >= len(given):
        return sentence(error)
    return f"{found[2].capitalize()} of the term {given[int(found[1])].get('name')}: {problem['message']}."


def place(error: OrtamError, terms: Sequence[dict[str, Any]]) -> dict[str, str]:
    """`field` and `message` of a problem that a term is named in."""
    if isinstance(error, RewardError):
        for index, term in enumerate(terms):
            start = f"reward term {term.get('name')}: "
            if str(error).startswith(start):
                return {"field": f"rewards.{index}.value", "message": str(error).removeprefix(start)}
    return {"field": error.field, "message": error.said}

