"""`ors+https://host#environment` and `ors:Org/Name`: environments on servers that speak the Open Reward Standard."""

from collections.abc import Iterator
from contextlib import contextmanager

from backend.environments import Description, Source
from backend.environments.ors.asking import find, now, settle
from backend.environments.ors.places import place_of
from backend.environments.ors.playing import OrsSource, description_of
from backend.environments.tasks import numbers
from backend.records import EnvironmentSpec


def check(spec: EnvironmentSpec) -> None:
    place_of(spec)
    numbers(spec.tasks.indices or ())


def described(spec: EnvironmentSpec) -> Description:
    return description_of(now(find(place_of(spec), spec.tasks, thorough=False)))


@contextmanager
def reach(spec: EnvironmentSpec, sessions: int) -> Iterator[str]:
    place = place_of(spec)
    now(settle(place))
    yield place.url


def source(spec: EnvironmentSpec, address: str) -> Source:
    return OrsSource(place_of(spec), spec.tasks)
