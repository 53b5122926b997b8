"""`run`: a trainer in a session of its own, watched from here. Closing the terminal leaves it running."""

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any

from backend.cli import printing
from backend.errors import OrtamError
from backend.executors import executor
from backend.launcher import Launcher
from backend.store import Run
from backend.worker import note_end

LOOK_SECONDS = 0.5


def train(launcher: Launcher, run: Run, as_json: bool) -> int:
    """Exit status: 0 when the run finished."""
    print(run.id, file=sys.stderr, flush=True)
    with _interrupts() as interrupts:
        started = launcher.start(run)
        place = executor(run.spec.resources.executor)
        with _Shown(run, quiet=as_json) as shown:
            answered = 0
            while place.alive(started):
                if interrupts.count > answered:
                    answered = interrupts.count
                    shown.say(launcher.stop(run.id) + " Ctrl-C again ends it at once." if answered == 1 else
                              launcher.kill(run.id))
                with contextlib.suppress(OrtamError):  # what can't be shown now must not leave the trainer alone
                    shown.advance()
                interrupts.arrived.wait(LOOK_SECONDS)
                interrupts.arrived.clear()
            shown.advance()
    with contextlib.suppress(OrtamError):  # a full disk takes no note; what the folder says still holds
        note_end(launcher.store.queue, run, place.code(started))
    status, progress = run.status(), run.progress()
    if as_json:
        printing.json_line({"id": run.id, "status": status, "step": progress.step, "reason": progress.reason})
    else:
        print(printing.plain(f"{status}{f': {progress.reason}' if progress.reason else ''}"),
              file=sys.stdout if status == "finished" else sys.stderr)
    return 0 if status == "finished" else 1


class _Interrupts:
    def __init__(self) -> None:
        self.count = 0
        self.arrived = threading.Event()

    def note(self, *_: object) -> None:
        self.count += 1
        self.arrived.set()


@contextlib.contextmanager
def _interrupts() -> Iterator[_Interrupts]:
    noted = _Interrupts()
    before = signal.signal(signal.SIGINT, noted.note)
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, before)


class _Shown:
    """A progress bar on a terminal; elsewhere a line for each step."""

    def __init__(self, run: Run, quiet: bool):
        self.run, self.quiet = run, quiet
        self.bar: Any = None
        self.printed = 0
        self.phase = ""

    def __enter__(self) -> "_Shown":
        if not self.quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

            self.bar = Progress(TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(),
                                TextColumn("{task.fields[reward]}", markup=False), TimeElapsedColumn(),
                                TextColumn("{task.fields[left]}", markup=False), console=Console(stderr=True),
                                refresh_per_second=2)
            self.bar.start()
            self.task = self.bar.add_task("starting", total=self.run.spec.train.steps, reward="", left="")
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar:
            self.bar.stop()

    def say(self, text: str) -> None:
        if self.bar:
            self.bar.console.print(text, markup=False)
        elif not self.quiet:
            print(text, file=sys.stderr, flush=True)

    def advance(self) -> None:
        if self.quiet:
            return
        progress = self.run.progress()
        points = self.run.term_curves(after_step=self.printed)
        totals = {point.step: point.mean for point in points if point.name == "total"}
        left = "" if progress.left is None else f"{printing.duration(progress.left)} left"
        if self.bar:
            reward = totals.get(progress.step)
            shown = {} if not totals else {"reward": f"reward {printing.number(reward)}"}
            self.bar.update(self.task, completed=progress.step, left=left,
                            description=printing.plain(progress.phase or "starting")[:40], **shown)
        else:
            if progress.phase != self.phase:
                self.phase = progress.phase
                print(printing.plain(progress.phase), file=sys.stderr, flush=True)
            for step, reward in totals.items():
                line = f"step {step}/{progress.steps}   reward {printing.number(reward)}   {left}"
                print(line.rstrip(), file=sys.stderr, flush=True)
        self.printed = max([self.printed, *totals])
