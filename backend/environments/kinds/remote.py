"""`openenv+https://…` and `space:owner/name`: an OpenEnv server that runs somewhere already.

A Space sleeps when nobody plays and takes a minute to come up, so a run waits for it; nothing else is waited for.
"""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

from backend.environments import Description, Source, discovery
from backend.environments.adapters.recognised import adapter
from backend.environments.addresses import checked, host_of_space
from backend.environments.openenv import OpenEnvSource
from backend.environments.tasks import no_splits, numbers
from backend.errors import EnvironmentFailed, SpecError
from backend.records import EnvironmentSpec

SHORTLY = 5.0
"""Seconds a person waits for what a server says of itself."""

WAKING, BETWEEN = 300.0, 5.0
"""Seconds a Space is given to come up, and between two looks."""


def address(use: str) -> str:
    """Raises SpecError."""
    if not use.startswith("space:"):
        return checked(use.removeprefix("openenv+"), "openenv+https://example.com or openenv+http://127.0.0.1:8001")
    name = use.removeprefix("space:")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise SpecError("use", f"{name!r:.100} isn't a Space; write its owner and name, such as space:openenv/echo_env")
    return f"https://{host_of_space(name)}"


def check(spec: EnvironmentSpec) -> None:
    address(spec.use)
    no_splits(spec.tasks)
    numbers(spec.tasks.indices or ())


def described(spec: EnvironmentSpec) -> Description | None:
    """None for a Space that sleeps: a run wakes it."""
    try:
        return adapter(address(spec.use), SHORTLY).description
    except discovery.NotUp:
        if spec.use.startswith("space:"):
            return None
        raise


@contextmanager
def reach(spec: EnvironmentSpec, sessions: int) -> Iterator[str]:
    there, until = address(spec.use), time.monotonic() + WAKING
    while True:
        try:
            discovery.healthy(there)
            break
        except EnvironmentFailed:
            if not spec.use.startswith("space:") or time.monotonic() > until:
                raise
            time.sleep(BETWEEN)
    yield there


def source(spec: EnvironmentSpec, address: str) -> Source:
    return OpenEnvSource(address, adapter(address))
