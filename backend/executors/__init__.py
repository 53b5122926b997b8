"""Where trainers run. To add a place: write a module with an `Executor` class, and name it below.

An executor starts `python -m backend.trainer RUN_FOLDER` by command line and never imports it. What it started lives on
when the executor's own process ends; a worker that comes later knows it by its pid and time of birth.
"""

import functools
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, Protocol

from backend.records import Resources

EXECUTORS = {"local": "backend.executors.local"}


class Started(NamedTuple):
    pid: int
    born: str | None
    """When the process started, as the system counts it; with the pid it names one process for good."""


class Executor(Protocol):
    def gpus(self) -> tuple[str, ...]:
        """What CUDA_VISIBLE_DEVICES would call the GPUs of this place."""
        ...

    def start(self, folder: Path, resources: Resources, gpus: tuple[str, ...]) -> Started:
        """Start a trainer on these GPUs, in a session of its own. Raises OrtamError where it can't be started."""
        ...

    def alive(self, started: Started) -> bool: ...

    def code(self, started: Started) -> int | None:
        """Exit status, negative for a signal; None while it runs, or where this process didn't start it."""
        ...

    def kill(self, started: Started) -> None:
        """End it and its children at once."""
        ...


@functools.cache
def executor(name: str) -> Executor:
    """One for each place and process, as it remembers the children it started."""
    return import_module(EXECUTORS[name]).Executor()
