"""From a spec to a queued run: read it, check it before anything starts, make its folder, and let the worker know."""

import contextlib
import time

from backend.errors import OrtamError
from backend.executors import Started, executor
from backend.launcher import matches
from backend.launcher.checks import default_terms, facts_of, resolve, validate
from backend.launcher.models import folder_of, starters
from backend.launcher.presets import Preset, presets
from backend.launcher.spec_text import Recipe, from_fields, load_spec, load_terms, recipes
from backend.records import ENDED, Result, RunSpec
from backend.store import Run, Store, birth, own_name, to_yaml

__all__ = ["Launcher", "Preset", "Recipe", "default_terms", "facts_of", "folder_of", "from_fields", "load_spec",
           "load_terms", "matches", "presets", "recipes", "resolve", "starters", "to_yaml", "validate"]


class Launcher:
    def __init__(self, store: Store):
        self.store = store

    def launch(self, spec: RunSpec) -> str:
        """Queue a run and give its id. Raises SpecError, RewardError or ModelError, and then nothing was made."""
        run = self.prepare(spec)
        self.store.queue.add(run.id)
        return run.id

    def prepare(self, spec: RunSpec) -> Run:
        """Check the spec and make its folder, without queueing it."""
        if spec.match:
            spec = matches.settled(self.store, spec)
        validate(spec, ask=True)
        return self.store.create(resolve(spec))

    def start(self, run: Run) -> Started:
        """Start a run now, ahead of the queue; a worker adopts it if this process goes away."""
        resources = run.spec.resources
        place = executor(resources.executor)
        taken = self.store.queue.gpus_taken()
        gpus = tuple(gpu for gpu in place.gpus() if gpu not in taken)[:resources.gpus]
        if len(gpus) < resources.gpus:
            reason = f"{resources.gpus} GPUs are needed, {len(gpus)} are free; launch it instead, and it waits its turn"
            run.conclude(Result(status="failed", reason=reason, ended=time.time()))
            raise OrtamError(f"{run.id}: {reason}")
        started = place.start(run.path, resources, gpus)
        try:
            self.store.queue.add(run.id, state="running", worker=own_name(), pid=started.pid, born=started.born,
                                 started=time.time(), gpus=",".join(gpus))
        except OrtamError:  # nobody would know of it, and so nobody could stop it
            place.kill(started)
            raise
        return started

    def stop(self, ref: str) -> str:
        """Ask a run to stop after the step under way, and say what will happen. Raises RunNotFound.

        One that still waits is taken out of the queue.
        """
        run = self.store.run(ref)
        if (status := run.status()) in ENDED:
            return f"{run.id} has already ended: {status}."
        run.ask_to_stop()
        if status == "queued" and self.store.queue.move(run.id, "waiting", "ended", ended=time.time()) or (
                status == "queued" and self.store.queue.place(run.id) is None):
            run.conclude(Result(status="stopped", reason="taken out of the queue before it started", ended=time.time()))
            return f"{run.id} was taken out of the queue."
        return f"{run.id} stops after the step under way."

    def kill(self, ref: str) -> str:
        """End a run at once, whatever it is doing. Its recorded episodes stay. Raises RunNotFound, OrtamError."""
        run = self.store.run(ref)
        if run.status() in ENDED or run.status() == "queued":
            return self.stop(ref)
        place = self.store.queue.place(run.id)
        processes = [Started(place.pid, place.born)] if place and place.pid else []
        if holder := run.trainer_pid():
            processes.append(Started(holder, birth(holder)))
        if not processes:
            raise OrtamError(f"{run.id} has no process on this machine to end")
        with contextlib.suppress(OrtamError):  # a full disk takes no note, and must not keep a run going
            run.ask_to_stop()
        for process in processes:
            executor(run.spec.resources.executor).kill(process)
        step = run.progress().step
        with contextlib.suppress(OrtamError):
            run.conclude(Result(status="stopped", reason="ended at once by request", step=step, ended=time.time()))
        return f"{run.id} was ended."
