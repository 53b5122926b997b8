"""From a spec's environment to a source of sessions.

To add a kind of `use:`, write a module and name its prefix in `KINDS`. The module has

    check(spec)             raises SpecError for what is wrong with the way it is written; asks nobody
    described(spec)         its Description before a run, or None where it is known only once it has been started. May
                            ask a server, for a few seconds at most. Raises SpecError, EnvironmentFailed
    reach(spec, sessions)   a context manager that gives an address (text; "" where there is none). Starts what has to
                            be started for `sessions` episodes at once, and stops it at the end. EnvironmentFailed
    settled(spec)           if it has one: the spec as it is kept with a run, its relative paths made absolute
    source(spec, address)   a Source that plays there, in this process or any other of the run. Finds out what there is
                            to find out, so that its `describe()` never changes. Raises SpecError, EnvironmentFailed
"""

from contextlib import AbstractContextManager
from importlib import import_module
from typing import Any

from backend.environments import Description, Source
from backend.records import EnvironmentSpec

SHIPPED = "backend.environments.kinds.shipped"
"""The kind of a name without a prefix."""

SPARE = 1.25
"""Sessions asked for, for each episode played at once: a server frees a closed one a moment later."""

KINDS = {
    "openenv+": "backend.environments.kinds.remote",
    "space:": "backend.environments.kinds.remote",
    "docker:": "backend.environments.kinds.docker",
    "folder:": "backend.environments.kinds.folder",
    "textarena:": "backend.environments.kinds.textarena",
    "python:": "backend.environments.kinds.python",
    "ors+": "backend.environments.kinds.ors",
    "ors:": "backend.environments.kinds.ors",
}
"""Prefix -> module."""


def check(spec: EnvironmentSpec) -> None:
    _kind(spec).check(spec)


def described(spec: EnvironmentSpec) -> Description | None:
    _kind(spec).check(spec)
    return _kind(spec).described(spec)


def settled(spec: EnvironmentSpec) -> EnvironmentSpec:
    kind = _kind(spec)
    return kind.settled(spec) if hasattr(kind, "settled") else spec


def reach(spec: EnvironmentSpec, sessions: int) -> AbstractContextManager[str]:
    _kind(spec).check(spec)
    return _kind(spec).reach(spec, sessions)


def sessions_for(episodes: int) -> int:
    """How many sessions to `reach` for so many episodes at once; a check asks for what training will."""
    return int(episodes * SPARE) + 2


def source(spec: EnvironmentSpec, address: str) -> Source:
    return _kind(spec).source(spec, address)


def in_process(spec: EnvironmentSpec) -> Source | None:
    """Plays a catalog entry in this process, without a server; None for what can't be played so."""
    from backend.environments.catalog import CATALOG
    from backend.environments.in_process import InProcess

    check(spec)
    entry = CATALOG.get(spec.use)
    return InProcess(entry.game, entry.adapter_for(spec.options)) if entry else None


def _kind(spec: EnvironmentSpec) -> Any:
    return import_module(next((module for prefix, module in KINDS.items() if spec.use.startswith(prefix)), SHIPPED))
