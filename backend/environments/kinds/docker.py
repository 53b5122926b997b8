"""`docker:image[:tag]`: an OpenEnv image, run for the run."""

import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from backend.environments import Source
from backend.environments.adapters.recognised import adapter
from backend.environments.openenv import OpenEnvSource
from backend.environments.tasks import no_splits, numbers
from backend.errors import SpecError
from backend.records import EnvironmentSpec

START_SECONDS = 1800.0
"""An image may have to be fetched first."""

IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,250}")


def image(spec: EnvironmentSpec) -> str:
    name = spec.use.removeprefix("docker:").strip()
    if not IMAGE.fullmatch(name):
        raise SpecError("use", f"{name!r:.100} isn't an image; write one such as "
                               "docker:registry.hf.space/openenv-echo-env:latest")
    return name


def check(spec: EnvironmentSpec) -> None:
    image(spec)
    no_splits(spec.tasks)
    numbers(spec.tasks.indices or ())
    if shutil.which("docker") is None:
        raise SpecError("use", "docker: needs Docker, and there is no docker command on this machine; install Docker, "
                               "or run the image elsewhere and use openenv+http://its-address")


def described(spec: EnvironmentSpec) -> None:
    """Only the running image can tell."""


@contextmanager
def reach(spec: EnvironmentSpec, sessions: int) -> Iterator[str]:
    from backend.environments.serving import Server

    command = [sys.executable, "-m", "backend.environments.servers.container", "--image", image(spec), "--sessions",
               str(sessions), "--with-parent", str(os.getpid())]
    with Server(command, image(spec), START_SECONDS) as server:
        yield server.url


def source(spec: EnvironmentSpec, address: str) -> Source:
    return OpenEnvSource(address, adapter(address))
