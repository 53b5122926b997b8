"""Where trainers run: started in a session of their own, known by pid and birth, ended with all their children."""

import os
import subprocess
import sys
import time

import pytest

from backend.executors import EXECUTORS, Executor, Started, executor
from backend.executors.local import command
from backend.processes import birth, descendants
from backend.records import Resources


@pytest.mark.parametrize("name", EXECUTORS)
def test_an_executor_starts_a_trainer_and_sees_it_end(name, tmp_path):
    place: Executor = executor(name)
    started = place.start(tmp_path, Resources(), ())
    assert place.alive(started)
    assert os.getsid(started.pid) == started.pid
    assert place.code(started) is None
    place.kill(started)
    assert not place.alive(started)
    assert place.code(started) == -9
    assert (tmp_path / "trainer.log").exists()
    place.kill(started)


@pytest.mark.parametrize("name", EXECUTORS)
def test_a_process_with_the_same_number_is_not_taken_for_ours(name):
    place = executor(name)
    assert place.alive(Started(os.getpid(), birth(os.getpid())))
    assert not place.alive(Started(os.getpid(), "1"))
    place.kill(Started(os.getpid(), "1"))


def test_children_with_sessions_of_their_own_end_too():
    parent = subprocess.Popen([sys.executable, "-c", """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "input()"], start_new_session=True, stdin=subprocess.PIPE)
print(child.pid, flush=True)
input()
"""], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    child = int(parent.stdout.readline())
    assert descendants(parent.pid) == [child]
    executor("local").kill(Started(parent.pid, birth(parent.pid)))
    parent.communicate()
    deadline = time.monotonic() + 60
    while birth(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert birth(child) is None


def test_several_processes_share_one_command(tmp_path):
    words = command(tmp_path, Resources(processes=2))
    assert "--nproc-per-node=2" in words
    assert words[-2:] == ["backend.trainer", str(tmp_path)]
    assert command(tmp_path, Resources())[1:] == ["-m", "backend.trainer", str(tmp_path)]
