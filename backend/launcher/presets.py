"""Sets of reward terms to start from, for one environment: its own proposal first, then what fits any."""

from typing import NamedTuple

from backend.environments import Description
from backend.environments.catalog import CATALOG
from backend.environments.sources import described
from backend.errors import OrtamError
from backend.records import EnvironmentSpec, RewardTerm

OWN = (("env_reward", "env_reward"),)
"""What a Description proposes that proposes nothing."""


class Preset(NamedTuple):
    title: str
    about: str
    terms: tuple[RewardTerm, ...]


def presets(asked: EnvironmentSpec, alone: bool = True) -> tuple[Preset, ...]:
    """At least the environment's own reward. A server elsewhere is asked what it is, for a few seconds at most.

    Unless the environment is `alone` in its run, the terms apply to it only, and their names start with its id.
    """
    found = _description(asked)
    made = []
    if found and found.rewards and found.rewards != OWN:
        made.append(Preset(found.title, "The terms that the environment proposes for itself.",
                           _terms(asked, alone, *({"name": name, "value": value} for name, value in found.rewards))))
    if asked.use.startswith("ors"):
        made.append(Preset("Outcome", "What the environment gave when it finished; 0 for an episode that didn't.",
                           _terms(asked, alone, {"name": "outcome", "value": "env_reward if finished else 0.0"})))
    if found and "won" in found.facts:
        made.append(Preset("Won or lost", "1 for a win, 0 for anything else.",
                           _terms(asked, alone, {"name": "win", "value": "1.0 if won else 0.0"})))
    made.append(Preset("Its own last reward", "What the environment gave last; nothing where it never gave any.",
                       _terms(asked, alone, {"name": "own", "kind": "environment", "value": "last"})))
    made.append(Preset("Its own rewards, summed", "All that the environment gave on the way.",
                       _terms(asked, alone, {"name": "own", "kind": "environment", "value": "sum"})))
    return tuple(made)


def _terms(asked: EnvironmentSpec, alone: bool, *terms: dict) -> tuple[RewardTerm, ...]:
    if alone:
        return tuple(RewardTerm(**term) for term in terms)
    return tuple(RewardTerm(**{**term, "name": f"{asked.id}-{term['name']}"[:48], "environments": (asked.id,)})
                 for term in terms)


def _description(asked: EnvironmentSpec) -> Description | None:
    try:
        return CATALOG[asked.use].description if asked.use in CATALOG else described(asked)
    except OrtamError:
        return None
