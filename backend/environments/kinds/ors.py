"""`ors+https://host#environment` and `ors:Org/Name`: environments on servers that speak the Open Reward Standard."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from backend.environments import Description, Source
from backend.environments.kinds.remote import BETWEEN, WAKING
from backend.environments.ors.asking import find, now, settle
from backend.environments.ors.places import place_of
from backend.environments.ors.playing import OrsSource, description_of
from backend.environments.tasks import numbers
from backend.errors import EnvironmentFailed
from backend.records import EnvironmentSpec


def check(spec: EnvironmentSpec) -> None:
    place_of(spec)
    numbers(spec.tasks.indices or ())


def described(spec: EnvironmentSpec) -> Description:
    return description_of(now(find(place_of(spec), spec.tasks, thorough=False)))


@contextmanager
def reach(spec: EnvironmentSpec, sessions: int) -> Iterator[str]:
    place, until = place_of(spec), time.monotonic() + WAKING
    while True:
        try:
            now(settle(place))
            break
        except EnvironmentFailed:
            if not place.url.endswith(".hf.space") or time.monotonic() > until:
                raise
            time.sleep(BETWEEN)  # a Space sleeps when nobody plays
    yield place.url


def source(spec: EnvironmentSpec, address: str) -> Source:
    return OrsSource(place_of(spec), spec.tasks)
