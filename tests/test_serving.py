"""Environment servers start, say when they can't, and never outlive the one who asked for them."""

import asyncio
import os
import signal
import socket
import subprocess
import sys

import pytest
import websockets

from backend.environments.catalog import CATALOG
from backend.environments.serving import ROOT, Server, serve
from backend.errors import EnvironmentFailed, SpecError

GONE = (OSError, websockets.InvalidHandshake)


async def opened(url: str):
    return await websockets.connect(f"{url.replace('http', 'ws')}/ws", ping_interval=None)


def parent_of_a_server(code: str) -> tuple[subprocess.Popen, str]:
    parent = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True)
    return parent, parent.stdout.readline().strip()


def test_servers_take_different_ports_and_stop_when_asked():
    with serve("catch", sessions=2) as one, serve("wordle", sessions=2) as other:
        assert one.url != other.url and one.alive and other.alive
        assert os.getpgid(one.pid) == one.pid != os.getpgid(0)
    assert not one.alive and not other.alive
    one.stop()
    with pytest.raises(GONE):
        asyncio.run(opened(one.url))


def test_an_unknown_environment_is_named_before_anything_starts():
    with pytest.raises(SpecError, match="there is no environment 'chess'"):
        serve("chess", sessions=2)


def test_a_server_that_cannot_start_says_why():
    with pytest.raises(EnvironmentFailed, match="catch server didn't start. Its last lines:(.|\n)*--sessions"):
        serve("catch", sessions="many")


def test_a_server_that_says_nothing_is_stopped():
    with pytest.raises(EnvironmentFailed, match="wasn't ready after 0.2 s. Its last lines:\n") as failed:
        Server([sys.executable, "-c", "print('thinking', flush=True); input()"], "slow", start_seconds=0.2)
    assert "slow server" in str(failed.value)


def test_a_server_that_is_not_healthy_is_stopped():
    with pytest.raises(EnvironmentFailed, match="health check"):
        Server([sys.executable, "-c", "print('ready http://127.0.0.1:9', flush=True); input()"], "sick")


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_parent_leaves_no_server(how):
    code = "from backend.environments.serving import serve; print(serve('catch', 2).url, flush=True); input()"
    parent, url = parent_of_a_server(code)

    async def kill_and_wait():
        socket = await opened(url)
        parent.send_signal(how)
        await asyncio.wait_for(socket.wait_closed(), 20)

    asyncio.run(kill_and_wait())
    parent.wait()
    parent.stdin.close()
    parent.stdout.close()
    with pytest.raises(GONE):
        asyncio.run(opened(url))


def test_a_server_outlives_neither_its_parent_nor_a_child_that_holds_the_pipe():
    """A fork of the trainer (a data loader's worker) inherits the server's standard input."""
    code = ("import os, sys\nfrom backend.environments.serving import serve\nserver = serve('catch', 2)\n"
            "if os.fork() == 0:\n    sys.stdin.read()\n    os._exit(0)\n"
            "print(server.url, flush=True)\nsys.stdin.read()")
    parent, url = parent_of_a_server(code)

    async def kill_and_wait():
        socket = await opened(url)
        parent.kill()
        await asyncio.wait_for(socket.wait_closed(), 20)

    asyncio.run(kill_and_wait())
    parent.stdin.close()
    parent.stdout.close()
    parent.wait()


@pytest.mark.parametrize("use", CATALOG)
def test_a_server_started_by_hand_names_a_port_that_is_taken(use):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ended = subprocess.run([sys.executable, "-m", CATALOG[use].server, "--port", str(port)], cwd=ROOT,
                               capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1
    assert ended.stderr.strip() == f"can't listen on 127.0.0.1:{port}: Address already in use; name another port"
