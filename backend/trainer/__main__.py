"""`python -m backend.trainer RUN_FOLDER`: trains what spec.yaml asks for, or plays its match; result.json says how it ended.

SIGTERM, or a stop asked for on the page, ends it after the step, or the games, under way. With several processes
(accelerate launch) the first serves the environments, records and holds the run's lock.
"""

import argparse
import contextlib
import os
import signal
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

from backend.errors import EnvironmentError_, OrtamError
from backend.records import Event, Fault, Result
from backend.store import Run, RunWriter, Store


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m backend.trainer", description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="the run's folder, holding spec.yaml")
    folder = parser.parse_args(argv).folder.resolve()
    run = Store(folder.parent).run(folder.name)
    stop = StopAsked(run)
    with contextlib.redirect_stdout(Unbroken(sys.stdout)), contextlib.redirect_stderr(Unbroken(sys.stderr)):
        if int(os.environ.get("RANK", "0")):  # accelerate's name for the process's place; 0 or absent is the first
            return _guarded(run, None, stop)
        with contextlib.closing(run.writer()) as writer, writer.hold_lock():
            return _guarded(run, writer, stop)


class Unbroken:
    """A log whose disk is full must not end a run: what it can't take is lost."""

    def __init__(self, log: Any):
        self._log = log

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            self._log.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._log.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)


class StopAsked:
    """Whether the run should end after this step: SIGTERM came, or the page asked."""

    def __init__(self, run: Run):
        self.run, self.signalled = run, False
        signal.signal(signal.SIGTERM, self._note)

    def _note(self, *_):
        self.signalled = True

    def __call__(self) -> bool:
        return self.signalled or self.run.stop_asked()


def _guarded(run: Run, writer: RunWriter | None, stop: StopAsked) -> int:
    """Trains, or plays a match. However it ends, a result says so; exit 0 when it finished or was asked to stop."""
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    warnings.filterwarnings("ignore", category=FutureWarning)  # of libraries to each other; the log is for the person
    try:
        if writer and run.spec.match:
            from backend.trainer.match import play_match

            ended = play_match(run, writer, stop)
        else:
            from backend.trainer.train import train

            ended = train(run, writer, stop)
    except OrtamError as error:
        print(error, file=sys.stderr)
        ended = _failed(error)
    except BaseException as error:
        traceback.print_exc()
        ended = _failed(error)
    if writer:
        ended = ended.model_copy(update={"ended": time.time(), "step": ended.step or run.progress().step})
        level = "error" if ended.status == "failed" else "info"
        writer.event(Event(at=time.time(), kind="end", text=f"{ended.status}: {ended.reason}", level=level, fault=ended.fault))
        writer.finish(ended)
    return 1 if ended.status == "failed" else 0


def _failed(error: BaseException) -> Result:
    if isinstance(error, OrtamError):
        reason = str(error)
    elif "out of memory" in str(error):
        reason = "the GPU ran out of memory: lower train.micro_batch or train.max_completion_tokens, or take a smaller model"
    else:
        reason = f"{type(error).__name__}: {error}"
    where = "environment" if isinstance(error, EnvironmentError_) else "trainer"
    return Result(status="failed", reason=reason, fault=Fault(where=where, kind=type(error).__name__, message=str(error),
                                                              traceback=traceback.format_exc()))


if __name__ == "__main__":
    sys.exit(main())
