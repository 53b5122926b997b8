"""`folder:path`: an OpenEnv environment's folder, served for the run. Its code runs; its manifest is only read."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from backend.environments import Source, manifest
from backend.environments.adapters.recognised import adapter
from backend.environments.openenv import OpenEnvSource
from backend.environments.tasks import no_splits, numbers
from backend.errors import SpecError
from backend.records import EnvironmentSpec

START_SECONDS = 180.0
"""An environment may load data first."""


def folder(spec: EnvironmentSpec) -> Path:
    written = spec.use.removeprefix("folder:").strip()
    if not written:
        raise SpecError("use", "folder: needs a path, such as folder:envs/echo_env")
    return Path(written).expanduser().resolve()


def check(spec: EnvironmentSpec) -> None:
    manifest.read(folder(spec))
    no_splits(spec.tasks)
    numbers(spec.tasks.indices or ())


def settled(spec: EnvironmentSpec) -> EnvironmentSpec:
    return spec.model_copy(update={"use": f"folder:{folder(spec)}"})


def described(spec: EnvironmentSpec) -> None:
    """Only the served environment can tell."""


@contextmanager
def reach(spec: EnvironmentSpec, sessions: int) -> Iterator[str]:
    from backend.environments.serving import Server

    place = folder(spec)
    found = manifest.read(place)
    for warning in found.warnings:
        print(f"{place / 'openenv.yaml'}: {warning}", flush=True)
    command = [sys.executable, "-m", "backend.environments.servers.hosted", "--app", found.app, "--root",
               str(found.root), "--folder", str(place), "--port", "0", "--sessions", str(sessions), "--with-parent",
               str(os.getpid())]
    with Server(command, found.name, START_SECONDS, {"MAX_CONCURRENT_ENVS": str(sessions)}) as server:
        yield server.url


def source(spec: EnvironmentSpec, address: str) -> Source:
    return OpenEnvSource(address, adapter(address))
