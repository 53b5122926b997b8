"""Trainers as processes of this machine, each in a session of its own, printing to trainer.log."""

import contextlib
import functools
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from backend.errors import OrtamError
from backend.executors import Started
from backend.processes import alive, birth, descendants
from backend.records import Resources

HOME = Path(__file__).resolve().parents[2]
"""Where `python -m backend.trainer` is found."""


class Executor:
    def __init__(self) -> None:
        self._children: dict[int, subprocess.Popen] = {}

    def gpus(self) -> tuple[str, ...]:
        return nvidia_gpus()

    def start(self, folder: Path, resources: Resources, gpus: tuple[str, ...]) -> Started:
        environment = os.environ | {"CUDA_VISIBLE_DEVICES": ",".join(gpus), "PYTHONUNBUFFERED": "1", "PYTHONUTF8": "1",
                                    "HF_HUB_DISABLE_TELEMETRY": "1", "TOKENIZERS_PARALLELISM": "false"}
        if resources.processes > 1:
            environment.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // resources.processes)))
        try:
            with open(folder / "trainer.log", "ab") as log:
                child = subprocess.Popen(command(folder, resources), cwd=HOME, env=environment, stdout=log,
                                         stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT, start_new_session=True)
        except OSError as error:
            raise OrtamError(f"the trainer of {folder.name} couldn't be started: {error}") from None
        self._children[child.pid] = child
        return Started(child.pid, birth(child.pid))

    def alive(self, started: Started) -> bool:
        child = self._children.get(started.pid)
        if child is not None:
            return child.poll() is None
        return alive(started.pid, started.born)

    def code(self, started: Started) -> int | None:
        child = self._children.get(started.pid)
        return None if child is None else child.poll()

    def kill(self, started: Started) -> None:
        if not self.alive(started):
            return
        # With several processes each has a session of its own, so the group alone wouldn't be all of them.
        for pid in (started.pid, *descendants(started.pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if child := self._children.get(started.pid):
            child.wait(10)


def command(folder: Path, resources: Resources) -> list[str]:
    trainer = ["-m", "backend.trainer", str(folder.resolve())]
    if resources.processes == 1:
        return [sys.executable, *trainer]
    # What `accelerate launch` runs on GPUs. On CPUs that command would start a single process, and this one doesn't.
    several = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={resources.processes}"]
    return [sys.executable, *several, *trainer]


@functools.cache
def nvidia_gpus() -> tuple[str, ...]:
    """Indices of this machine's GPUs, or what CUDA_VISIBLE_DEVICES leaves of them; none where nvidia-smi is absent."""
    if not shutil.which("nvidia-smi"):
        return ()
    try:
        ran = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    listed = [line for line in ran.stdout.splitlines() if line.startswith("GPU ")]
    found = tuple(str(index) for index in range(len(listed)))
    allowed = os.environ.get("CUDA_VISIBLE_DEVICES")
    return found if allowed is None else tuple(name.strip() for name in allowed.split(",") if name.strip())
