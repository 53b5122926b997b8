"""Turns queued runs into running trainers, one after another as there is room, and notices how they end.

`advance()` does one round. Everything it knows is in the queue's rows, so a worker that was killed is replaced by
starting another: trainers live on in sessions of their own and are known again by pid and time of birth. One worker
at a time serves a folder; others stand by.
"""

import contextlib
import threading
import time

from backend.errors import OrtamError
from backend.executors import Executor, Started, executor
from backend.records import Result
from backend.store import Place, Queue, Run, Store, alive, birth, own_name

ROUND_SECONDS = 0.5
CPU_RUNS = 1
"""Runs without a GPU that train at once: they would only share the same cores."""


class Worker:
    def __init__(self, store: Store):
        self.store = store
        self.queue = store.queue
        self.name = own_name()
        self._started: dict[str, Started] = {}
        self._trouble = ""
        """Of the last round, said once."""

    def advance(self) -> None:
        """One round: note what ended, take over what another worker left, start what there is room for."""
        for place in self.queue.places("running"):
            self._watch(place)
        for place in self.queue.places("claimed"):
            self._take_over(place)
        for place in self.queue.places("waiting"):
            self._start(place)

    def serve(self, stopped: threading.Event) -> None:
        """Rounds until `stopped`; stands by while another worker serves the folder."""
        said = False
        while not stopped.is_set():
            with self.store.worker_lock() as mine:
                if mine:
                    while not stopped.is_set():
                        self._round()
                        stopped.wait(ROUND_SECONDS)
                    return
            if not said:
                print(f"another worker serves {self.store.folder}; standing by", flush=True)
                said = True
            stopped.wait(2)

    def _round(self) -> None:
        try:
            self.advance()
            trouble = ""
        except Exception as error:  # a full disk or a broken folder now must not end the queue for good
            trouble = str(error) if isinstance(error, OrtamError) else repr(error)
        if trouble != self._trouble:
            print(f"the worker can't go on now: {trouble}" if trouble else "the worker goes on", flush=True)
        self._trouble = trouble

    def _watch(self, place: Place) -> None:
        run = self._run(place)
        started = Started(place.pid or 0, place.born)
        if run is None:  # nobody could see or stop what it does, and it would make the folder anew
            if place.pid and alive(place.pid, place.born):
                executor("local").kill(started)
            self.queue.move(place.run, "running", "ended", ended=time.time(), reason="its folder is gone")
            return
        try:
            where = executor(run.spec.resources.executor)
            going, code = where.alive(started), where.code(started)
        except OrtamError:  # a spec that was spoilt meanwhile must not hold up the queue
            going, code = alive(started.pid, started.born), None
        if not (going or run.training() or self._watched_elsewhere(place)):
            note_end(self.queue, run, code)

    def _watched_elsewhere(self, place: Place) -> bool:
        """Whether the process that started it lives and will note its end: it alone sees the exit status."""
        if not place.worker or place.worker == self.name:
            return False
        pid, _, born = place.worker.partition(":")
        return alive(int(pid), born)

    def _take_over(self, place: Place) -> None:
        """A row that a worker claimed and didn't get to start, or not to note down, before it went away."""
        if self._watched_elsewhere(place):
            return
        run = self._run(place)
        pid = run.trainer_pid() if run else None
        started = self._started.get(place.run) or (Started(pid, birth(pid)) if pid else None)
        if started:
            self.queue.move(place.run, "claimed", "running", pid=started.pid, born=started.born, started=time.time())
        else:
            self.queue.move(place.run, "claimed", "waiting", worker=None)

    def _start(self, place: Place) -> None:
        run = self._run(place)
        if run is None or run.result():
            self.queue.move(place.run, "waiting", "ended", ended=time.time())
            return
        try:
            resources = run.spec.resources
            where = executor(resources.executor)
            gpus = self._room(where, resources.gpus)
            if gpus is None or not self.queue.move(place.run, "waiting", "claimed", worker=self.name):
                return
            started = where.start(run.path, resources, gpus)
        except OrtamError as error:
            run.conclude(Result(status="failed", reason=str(error), ended=time.time()))
            for state in ("waiting", "claimed"):
                self.queue.move(place.run, state, "ended", ended=time.time(), reason=str(error))
            return
        self._started[place.run] = started
        self.queue.move(place.run, "claimed", "running", pid=started.pid, born=started.born, started=time.time(),
                        gpus=",".join(gpus))

    def _room(self, where: Executor, wanted: int) -> tuple[str, ...] | None:
        """The GPUs a run may take, none for a CPU run; None when it has to wait."""
        if not wanted:
            running = self.queue.places("running", "claimed")
            return () if sum(not place.gpus for place in running) < CPU_RUNS else None
        taken = self.queue.gpus_taken()
        free = [gpu for gpu in where.gpus() if gpu not in taken]
        return tuple(free[:wanted]) if len(free) >= wanted else None

    def _run(self, place: Place) -> Run | None:
        """None where the folder is gone."""
        with contextlib.suppress(OrtamError):
            run = self.store.run(place.run)
            return run if run.id == place.run else None
        return None


def note_end(queue: Queue, run: Run, code: int | None) -> None:
    """Write down that a trainer is gone, and why where it left no result itself."""
    reason = "" if run.result() else how_it_ended(run, code)
    queue.move(run.id, "running", "ended", ended=time.time(), code=code, reason=reason)
    if code and code > 0:
        run.conclude(Result(status="failed", reason=reason, step=run.progress().step, ended=time.time()))


def how_it_ended(run: Run, code: int | None) -> str:
    """In a sentence, for a trainer that left no result."""
    if code is not None and code < 0:
        killed = "; the system may have run out of memory" if code == -9 else ""
        return f"The trainer was killed by signal {-code}{killed}. Every episode it recorded is here."
    last = next((line for line in reversed(run.log_tail(20).splitlines()) if line.strip()), "")
    if code:
        return f"The trainer ended with exit status {code}: {last.strip()[:300] or 'it printed nothing'}"
    return "The trainer ended without saying how. Every episode it recorded is here."
