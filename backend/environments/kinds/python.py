"""`python:envs/hunt.py:Hunt`, `python:my_package.hunt:Hunt`: a class of the user's own, in trusted mode."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from backend.environments import Description, Source
from backend.environments.listing import from_plain
from backend.environments.own_class import PREFIX, place_of
from backend.environments.own_class.playing import OwnSource, adapter
from backend.environments.tasks import no_splits, numbers
from backend.errors import EnvironmentFailed, SpecError
from backend.records import EnvironmentSpec
from backend.trusted import refusal, trusted

SERVER = "backend.environments.servers.own_class"
LOOK_SECONDS = 60.0
"""To load its module and make one object."""


def check(spec: EnvironmentSpec) -> None:
    if not trusted():
        raise SpecError("use", refusal("a class of your own"))
    place_of(spec.use)
    no_splits(spec.tasks)
    numbers(spec.tasks.indices or ())


def settled(spec: EnvironmentSpec) -> EnvironmentSpec:
    return spec.model_copy(update={"use": PREFIX + ":".join(place_of(spec.use))})


def described(spec: EnvironmentSpec) -> Description:
    """Loads the class in a process of its own. Raises SpecError with the fix, EnvironmentFailed."""
    from backend.environments.serving import ROOT

    check(spec)
    use = settled(spec).use
    command = [sys.executable, "-m", "backend.environments.own_class", use, json.dumps(spec.options, default=str)]
    try:
        ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace", timeout=LOOK_SECONDS,
                             stdin=subprocess.DEVNULL)
        told = json.loads(ran.stdout)
    except subprocess.TimeoutExpired:
        raise EnvironmentFailed(f"{use} took more than {LOOK_SECONDS:g} s to load; let its module and its __init__ do "
                                "less, and what takes long be done in reset.") from None
    except ValueError:
        raise EnvironmentFailed(f"{use} ended the process that loaded it. Its last lines:\n"
                                f"{ran.stderr[-1000:]}") from None
    if "wrong" in told:
        raise SpecError(told["field"], told["wrong"])
    found = from_plain(told["described"])
    assert found, "what was written a moment ago can be read"
    return found


@contextmanager
def reach(spec: EnvironmentSpec, sessions: int) -> Iterator[str]:
    from backend.environments.serving import serve_module

    check(spec)
    with serve_module(SERVER, sessions, spec.use, "--use", settled(spec).use) as server:
        yield server.url


def source(spec: EnvironmentSpec, address: str) -> Source:
    return OwnSource(address, adapter(described(spec)))
