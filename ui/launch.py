"""Launch: a spec is chosen, changed and understood, and becomes a run with one button.

The whole form is drawn once from the records. `launch.js` keeps the draft in the browser, as the form's values or as
YAML, whichever was touched last, and asks `look` at every change: the answer says what the run will do and what is
wrong with it.
"""

import json
import re
from pathlib import Path
from typing import Any

import yaml

from backend import launcher as launching
from backend.environments.catalog import CATALOG
from backend.errors import ModelError, OrtamError, RewardError, RunNotFound, SpecError
from backend.launcher.spec_text import parse
from backend.records import RunSpec
from backend.rewards import applies, check_alone, check_term
from backend.store.shelf import Shelf
from ui import check, shell, terms, trial
from ui.launch_choices import choices, for_use
from ui.launch_form import page
from ui.outlook import outlook, pace

HERE = Path(__file__).parent
CSS = [HERE / "launch.css", *terms.CSS, *trial.CSS, *check.CSS]
JS = [*terms.JS, *trial.JS, *check.JS, HERE / "launch.js"]

READ_ONLY = "This site only shows runs; start it without --read-only to launch one."

Problem = dict[str, str]
"""`field`, dotted, "" for the whole spec, and `message`; `way`, where there is a page that helps, its address."""


def build(store, launcher) -> None:
    def begin(asked: dict[str, str]) -> dict[str, Any]:
        """The spec to start from: `from` a run, perhaps with other `rewards`, a `recipe`, an environment to `use`, or
        the first recipe."""
        return started(store, asked)

    def saved(asked: dict[str, str]) -> dict[str, Any]:
        """Environments to choose besides those of the catalog."""
        return choices(Shelf(store.folder))

    def look(asked: dict[str, Any]) -> dict[str, Any]:
        return looked(store, asked)

    def launch(asked: dict[str, Any]) -> dict[str, Any]:
        return launched(launcher, asked)

    form = page(launching.recipes(), launching.starters(), read_only=launcher is None)
    checks = check.functions(read, problem, allowed=launcher is not None)
    editing = [*terms.functions(store, launcher is not None),
               trial.function(store, read, wrong_terms, problem, allowed=launcher is not None)]
    shell.html(form, ["ortamLaunch"], server_functions=[begin, saved, look, launch, *editing, *checks])


def started(store, asked: dict[str, str]) -> dict[str, Any]:
    """Where what was asked for isn't there, `problems` say so beside the first recipe."""
    try:
        if asked.get("from"):
            return {"spec": forked(store.run(asked["from"]).spec, asked.get("rewards", ""))}
        if asked.get("use"):
            return for_use(asked, launching.recipes(), lambda spec: not foreseen(spec))
        shipped = launching.recipes()
        name = asked.get("recipe") or next(iter(shipped))
        if name not in shipped:
            raise SpecError("", f"there is no recipe called {name:.60}; choose one of those below")
        return {"spec": launching.load_spec(name).model_dump(mode="json"), "recipe": name}
    except OrtamError as error:
        return {**started(store, {}), "problems": [problem(error)]}


def forked(spec: RunSpec, rewards: str) -> dict[str, Any]:
    """A run's spec, with the terms that the address holds as JSON in place of its own. Raises SpecError."""
    fields = spec.model_dump(mode="json")
    if not rewards:
        return fields
    try:
        fields["rewards"] = json.loads(rewards)
    except ValueError:
        raise SpecError("rewards", "the address of this page holds reward terms that can't be read; open it from "
                                   "Re-price again") from None
    return launching.from_fields(fields).model_dump(mode="json")


def looked(store, asked: dict[str, Any]) -> dict[str, Any]:
    """`asked` holds `spec`, a form's values, or `yaml`, a text. The answer holds `problems` and, as far as they can be
    told, `outlook`, `yaml` (for a form) and `spec` (for a text)."""
    answer: dict[str, Any] = {}
    if "spec" in asked:
        answer["yaml"] = yaml.safe_dump(unfolded(asked["spec"]), sort_keys=False, allow_unicode=True, width=120)
    try:
        spec = read(asked)
    except SpecError as error:
        return {**answer, "problems": [problem(error)]}
    problems = foreseen(spec)
    if not any(found["field"].startswith("environments") for found in problems):
        answer["outlook"] = outlook(spec, pace(store, spec))
    if "spec" in asked:
        answer["yaml"] = launching.to_yaml(spec)
    else:
        answer["spec"] = spec.model_dump(mode="json")
    return {**answer, "problems": problems}


def launched(launcher, asked: dict[str, Any]) -> dict[str, Any]:
    """`run`, or `problems`."""
    if launcher is None:
        return {"problems": [{"field": "", "message": READ_ONLY}]}
    try:
        spec = read(asked)
        if problems := foreseen(spec):
            return {"problems": problems}
        return {"run": launcher.launch(spec)}
    except OrtamError as error:
        return {"problems": [problem(error)]}


def read(asked: dict[str, Any]) -> RunSpec:
    """Raises SpecError."""
    return parse(asked["yaml"]) if "yaml" in asked else launching.from_fields(unfolded(asked["spec"]))


def unfolded(draft: dict[str, Any]) -> dict[str, Any]:
    """A form writes maps as text. Texts that are YAML become what they say; others stay, for the record to refuse."""
    def unfold(holder: Any, key: str) -> None:
        if isinstance(holder, dict) and isinstance(holder.get(key), str):
            try:
                value = yaml.safe_load(holder[key])
            except yaml.YAMLError:
                return
            holder[key] = {} if value is None else value

    unfold(draft.get("train"), "extra")
    for environment in draft.get("environments") or ():
        unfold(environment, "options")
    return draft


def foreseen(spec: RunSpec) -> list[Problem]:
    """What would keep it from working, all terms at once. Only whether the model can be loaded is left for the launch:
    to know, the Hub has to be asked."""
    if wrong := wrong_terms(spec):
        return wrong
    try:
        launching.validate(spec.model_copy(update={"model": "starter:"}))
    except ModelError:
        pass
    except OrtamError as error:
        return [problem(error)]
    return []


def wrong_terms(spec: RunSpec) -> list[Problem]:
    """Facts of an environment elsewhere are known only once it is asked: there, a term is looked at by itself."""
    problems = []
    for index, term in enumerate(spec.rewards):
        try:
            check_alone(term)
            for environment in spec.environments:
                if environment.use in CATALOG and applies(term, environment.id):
                    check_term(term, launching.facts_of(environment.use))
        except RewardError as error:
            problems.append({"field": f"rewards.{index}.value", "message": str(error)})
    return problems


def problem(error: OrtamError) -> Problem:
    """With its field apart, wherever its sentence says it."""
    field = "model" if isinstance(error, ModelError) else error.field
    message = str(error).removeprefix(f"{field}: ")
    if isinstance(error, RewardError) and (named := re.match(r"(rewards\.\d+\.\w+)[^:]*: ", message)):
        field, message = named[1], message[named.end():]
    return {"field": field, "message": message} | ({"way": shell.RUNS[1]} if isinstance(error, RunNotFound) else {})
