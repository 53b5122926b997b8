"""`wordle`, `catch`, …: the catalog's environments, each on an OpenEnv server that is started for the run."""

from collections.abc import Iterator
from contextlib import contextmanager

from backend.environments import Description, Source, catalog
from backend.environments.openenv import OpenEnvSource
from backend.environments.tasks import no_splits, numbers
from backend.records import EnvironmentSpec


def check(spec: EnvironmentSpec) -> None:
    catalog.check(spec)
    no_splits(spec.tasks)
    numbers(spec.tasks.indices or ())


def described(spec: EnvironmentSpec) -> Description:
    return catalog.check(spec).adapter_for(spec.options).description


@contextmanager
def reach(spec: EnvironmentSpec, sessions: int) -> Iterator[str]:
    from backend.environments.serving import serve

    with serve(spec.use, sessions) as server:
        yield server.url


def source(spec: EnvironmentSpec, address: str) -> Source:
    return OpenEnvSource(address, catalog.check(spec).adapter_for(spec.options))
