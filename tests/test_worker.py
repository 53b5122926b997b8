"""The queue: runs start one after another, and live on when the worker doesn't."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from backend.launcher import Launcher, load_spec
from backend.store import Store, alive
from backend.worker import Worker

ROOT = Path(__file__).parent.parent

SPEC = """
name: trial
model: {model}
environments:
  - {{id: catch, use: catch}}
train: {{steps: 3, group_size: 4, episodes_per_step: 8}}
"""
"""Its model is a folder that looks whole and isn't, so a real trainer fails with it after some seconds of loading."""


@pytest.fixture
def launch(store, tmp_path):
    model = tmp_path / "model"
    model.mkdir()
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        (model / name).write_text("{}")
    yield lambda: Launcher(store).launch(load_spec(SPEC.format(model=model)))
    for place in store.queue.places():
        if place.pid:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(place.pid, signal.SIGKILL)


def until(condition, seconds=60):
    """Other processes tell us nothing, so look again and again."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it didn't happen in time"
        time.sleep(0.05)


def state(store, run):
    return store.queue.place(run).state


def ended(store, worker, run):
    def looked():
        worker.advance()
        return state(store, run) == "ended"

    return looked


def test_runs_on_the_cpu_start_one_after_another_and_a_killed_one_is_lost(store, launch):
    first, second = launch(), launch()
    worker = Worker(store)
    worker.advance()
    worker.advance()
    assert (state(store, first), state(store, second)) == ("running", "waiting")
    assert store.run(first).status() == "preparing"
    assert store.run(second).status() == "queued"
    os.kill(store.queue.place(first).pid, signal.SIGKILL)
    until(ended(store, worker, first))
    assert store.run(first).status() == "lost"
    assert "signal 9" in store.run(first).progress().reason
    worker.advance()
    assert state(store, second) == "running"


def test_a_trainer_that_fails_says_why(store, launch):
    run = launch()
    worker = Worker(store)
    until(ended(store, worker, run))
    assert store.run(run).status() == "failed"
    assert "can't be loaded" in store.run(run).progress().reason
    assert store.queue.place(run).code == 1


def test_a_trainer_that_cannot_even_begin_is_failed_with_its_last_words(store, launch):
    run = launch()
    (store.run(run).path / "run.db").write_bytes(b"this is no database" * 1000)
    worker = Worker(store)
    until(ended(store, worker, run))
    assert store.run(run).status() == "failed"
    assert "exit status 1: sqlite3.DatabaseError" in store.run(run).progress().reason


@contextlib.contextmanager
def serving(store):
    process = subprocess.Popen([sys.executable, "-m", "backend", "worker", "--runs", str(store.folder)], cwd=ROOT,
                               stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_killed_worker_loses_no_run_and_the_next_one_goes_on(store, launch):
    first, second = launch(), launch()
    with serving(store) as worker:
        until(lambda: state(store, first) == "running")
        assert store.worker_alive()
        worker.kill()
    pid = store.queue.place(first).pid
    assert not store.worker_alive()
    assert store.run(first).status() == "preparing"
    os.kill(pid, 0)
    with serving(store):
        until(lambda: state(store, first) == "ended" and state(store, second) == "running")
    assert store.run(first).status() == "failed"
    assert "can't be loaded" in store.run(first).progress().reason


def test_a_second_worker_stands_by_and_takes_over(store, launch):
    with serving(store) as first:
        until(store.worker_alive)
        with serving(store) as second:
            assert "standing by" in second.stdout.readline()
            first.kill()
            first.wait()
            run = launch()
            until(lambda: state(store, run) == "running")


def test_a_row_whose_worker_died_before_starting_it_waits_again(store, launch):
    run = launch()
    gone = subprocess.run([sys.executable, "-c", "from backend.store import own_name; print(own_name())"], cwd=ROOT,
                          capture_output=True, text=True).stdout.strip()
    assert store.queue.move(run, "waiting", "claimed", worker=gone)
    Worker(store).advance()
    assert state(store, run) == "running"


def test_a_row_of_a_living_worker_is_left_alone(store, launch):
    run = launch()
    with serving(store) as other:
        name = f"{other.pid}:{Path(f'/proc/{other.pid}/stat').read_text().rpartition(')')[2].split()[19]}"
        until(lambda: state(store, run) == "running")
        assert store.queue.place(run).worker == name
        worker = Worker(store)
        os.kill(store.queue.place(run).pid, signal.SIGKILL)
        worker.advance()
        until(lambda: state(store, run) == "ended")
    assert "signal 9" in store.queue.place(run).reason


def test_a_deleted_folder_does_not_stop_the_queue(store, launch, tmp_path):
    first, second = launch(), launch()
    (store.folder / first).rename(tmp_path / "away")
    worker = Worker(store)
    worker.advance()
    assert (state(store, first), state(store, second)) == ("ended", "running")


def test_a_spoilt_spec_does_not_stop_the_queue(store, launch):
    first, second = launch(), launch()
    (store.folder / first / "spec.yaml").write_text("name: [")
    Worker(store).advance()
    assert (state(store, first), state(store, second)) == ("ended", "running")
    assert store.run(first).status() == "failed"
    assert "spec.yaml" in store.run(first).result().reason


def test_a_spec_spoilt_while_its_run_goes_on_does_not_hold_up_the_queue(store, launch):
    first, second = launch(), launch()
    worker = Worker(store)
    worker.advance()
    (store.folder / first / "spec.yaml").write_text("name: [")
    os.killpg(store.queue.place(first).pid, signal.SIGKILL)
    until(ended(store, worker, first))
    worker.advance()
    assert state(store, second) == "running"


def test_a_running_trainer_can_be_ended_at_once(store, launch):
    run = launch()
    worker = Worker(store)
    worker.advance()
    pid = store.queue.place(run).pid
    assert "was ended" in Launcher(store).kill(run)
    assert store.run(run).status() == "stopped"
    worker.advance()
    assert state(store, run) == "ended"
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_run_whose_folder_is_deleted_is_ended(store, launch):
    worker, run = Worker(store), launch()
    worker.advance()
    place = store.queue.place(run)
    shutil.rmtree(store.folder / run)
    worker.advance()
    assert state(store, run) == "ended" and store.queue.place(run).reason == "its folder is gone"
    until(lambda: not alive(place.pid, place.born))


class ThreeRounds(threading.Event):
    """An event that comes after three waits, without the waiting."""

    waits = 0

    def wait(self, timeout=None):
        self.waits += 1
        if self.waits == 3:
            self.set()
        return self.is_set()


def test_a_worker_that_cannot_go_on_says_so_once(tmp_path, capsys):
    (tmp_path / "studio.db").write_text("not a database, though it is called one")
    Worker(Store(tmp_path)).serve(ThreeRounds())
    assert capsys.readouterr().out.count("the worker can't go on now") == 1
