"""What the launch form offers besides the catalog: environments of one's own, and a spec for one an address names."""

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

from backend import launcher as launching
from backend.environments import Description
from backend.environments.catalog import CATALOG
from backend.environments.listing import found
from backend.errors import OrtamError, SpecError
from backend.launcher.known import known
from backend.records import NAME, EnvironmentSpec, RewardTerm, RunSpec
from backend.store.shelf import SavedEnvironment, Shelf
from ui.written import attribute, counted, text


def choices(shelf: Shelf) -> dict[str, Any]:
    """`cards` and `addresses` as HTML, and `facts` and `terms` by address, as far as they were told."""
    everything = [one for one in known(shelf) if one.listed.use]
    told = {one.listed.use: one.listed.description for one in everything if one.listed.description}
    addresses = {one.listed.use: one.listed.title for one in reversed(everything)}
    return {"cards": "".join(saved_card(one.saved, one.listed.description) for one in everything if one.saved),
            "addresses": "".join(f'<option value="{attribute(use)}">{text(title)}</option>'
                                 for use, title in addresses.items()),
            "facts": {use: description.facts for use, description in told.items()},
            "terms": {use: description.rewards for use, description in told.items()}}


def saved_card(one: SavedEnvironment, told: Description | None) -> str:
    last = counted(len(told.tools), "tool") if told else "not asked yet"
    return (f'<label class="o-pick"><input type="checkbox" data-environment="{attribute(one.use)}" '
            f'data-id="{attribute(slug(one.name))}" data-options="{attribute(json.dumps(one.options))}"><span>'
            f"<b>{text(one.name)}</b><small>{text(one.note or (told.about if told else one.use))}</small>"
            f"<em>{text(one.use[:60])} · {last}</em></span></label>")


def for_use(asked: dict[str, str], recipes: Iterable[str], works: Callable[[RunSpec], bool]) -> dict[str, Any]:
    """The spec to start from for the environment `use`, with its `options` and `name`.

    A recipe made for it where there is one that `works`; else a spec with the environment's own reward terms. Raises
    OrtamError.
    """
    options = options_of(asked)
    made = {name: launching.load_spec(name) for name in recipes} if not options else {}
    alone = {name: spec for name, spec in made.items() if [one.use for one in spec.environments] == [asked["use"]]}
    if name := next((name for name, spec in alone.items() if works(spec)), None):
        return {"spec": alone[name].model_dump(mode="json"), "recipe": name}
    id = slug(asked.get("name") or asked["use"])
    environment = EnvironmentSpec(id=id, use=asked["use"][:1000], options=options)
    spec = RunSpec(name=id, model="Qwen/Qwen3-0.6B", environments=(environment,), rewards=own_terms(environment))
    return {"spec": spec.model_dump(mode="json")}


def own_terms(environment: EnvironmentSpec) -> tuple[RewardTerm, ...]:
    """Those that it proposes, as far as that is known here: opening an address asks no server and runs no code."""
    one = found(environment.use)
    if one and one.description and not environment.options:
        return tuple(RewardTerm(name=name, value=value) for name, value in one.description.rewards)
    if environment.use not in CATALOG:
        return ()
    try:
        return launching.default_terms((environment,))
    except OrtamError:
        return ()


def options_of(asked: dict[str, str]) -> dict[str, Any]:
    try:
        options = json.loads(asked.get("options") or "{}")
    except ValueError:
        options = None
    if not isinstance(options, dict):
        raise SpecError("", "the address of this page holds options that can't be read; choose the environment below")
    return options


def slug(title: str) -> str:
    """A name that rewards and curves can use."""
    plain = re.sub(r"[^a-z0-9_]+", "-", title.lower()).strip("-")[:48]
    return plain if re.fullmatch(NAME, plain) else "environment"
