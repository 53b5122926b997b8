"""Ortam's web application: builds store, launcher and pages, starts the worker, and serves.

    python app.py [--host 127.0.0.1] [--port 7860] [--runs DIR] [--no-worker] [--read-only] [--trusted]
"""

import argparse
import contextlib
import gc
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from backend.errors import OrtamError, PortTaken
from backend.trusted import trust

HERE = Path(__file__).resolve().parent
PAUSE = 2.0
"""Seconds between a worker that ended and the next."""


def main(argv: list[str] | None = None) -> int:
    asked = read(argv)
    try:
        listening = listen(asked.host, asked.port)
    except OrtamError as error:
        print(error, file=sys.stderr)
        return 1
    folder = asked.runs.resolve()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        print(f"{folder} can't be used for runs ({error}); choose another folder with --runs DIR", file=sys.stderr)
        return 1
    if asked.trusted:
        trust()
    work = working(folder) if asked.worker and not asked.read_only else contextlib.nullcontext()
    with contextlib.suppress(KeyboardInterrupt), work:
        serve(folder, listening, asked)
    return 0


def read(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python app.py", description="Serve Ortam's pages and start its worker.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on; 0.0.0.0 for all of this machine's")
    parser.add_argument("--port", type=int, default=7860)
    parser.add_argument("--runs", type=Path, default=Path(os.environ.get("ORTAM_RUNS") or HERE / "runs"), metavar="DIR",
                        help="folder of the runs")
    parser.add_argument("--no-worker", dest="worker", action="store_false",
                        help="start no worker; queued runs wait for one")
    parser.add_argument("--read-only", action="store_true", help="show runs, but neither start nor stop any")
    parser.add_argument("--trusted", action="store_true", help="let classes and functions of your own Python files run")
    return parser.parse_args(argv)


def listen(host: str, port: int) -> socket.socket:
    """A bound socket. Raises PortTaken, or OrtamError for an address that isn't this machine's."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(128)
    except (OSError, OverflowError) as error:
        listening.close()
        if isinstance(error, OverflowError):
            raise OrtamError(f"--port {port} isn't a port; use one from 1 to 65535, such as --port 7860") from None
        if isinstance(error, PermissionError):
            raise OrtamError(f"Port {port} may only be used by the administrator; choose another with --port N, such "
                             "as --port 7860") from None
        if isinstance(error, socket.gaierror) or error.errno == 99:
            raise OrtamError(f"--host {host} isn't an address of this machine; use 127.0.0.1 or 0.0.0.0") from None
        raise PortTaken(f"Port {port} is already in use; stop what listens there or choose another with --port N, such "
                        f"as --port {port + 1}") from None
    return listening


@contextlib.contextmanager
def working(folder: Path) -> Iterator[None]:
    """The worker as a process of its own that ends with this one, however this one ends. Trainers go on: they are in
    sessions of their own. A worker that ends before is followed by another."""
    over = threading.Event()
    keeper = threading.Thread(target=keep_working, args=(folder, over), name="worker's keeper", daemon=True)
    keeper.start()
    try:
        yield
    finally:
        over.set()
        keeper.join(10)


def keep_working(folder: Path, over: threading.Event) -> None:
    # One thread for all of it: a worker is told that its parent is gone when the thread that started it is.
    while not over.is_set():
        worker = subprocess.Popen([sys.executable, "-m", "backend", "worker", "--runs", str(folder)], cwd=HERE,
                                  stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=ending_with_parent())
        while worker.poll() is None and not over.wait(0.5):
            pass
        if worker.poll() is not None and not over.is_set():
            print(f"The worker ended with exit status {worker.returncode}; starting another.", flush=True)
            over.wait(PAUSE)
    worker.terminate()
    try:
        worker.wait(5)
    except subprocess.TimeoutExpired:
        worker.kill()


def ending_with_parent() -> Callable[[], None] | None:
    """For a child process, on Linux: SIGTERM when its parent is gone."""
    if sys.platform != "linux":
        return None
    import ctypes

    system, tell_when_parent_dies = ctypes.CDLL(None), 1
    parent = os.getpid()

    def ask() -> None:
        system.prctl(tell_when_parent_dies, signal.SIGTERM)
        if os.getppid() != parent:  # it has gone already, and nothing would tell
            os._exit(0)

    return ask


def serve(folder: Path, listening: socket.socket, asked: argparse.Namespace) -> None:
    os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    import uvicorn

    from backend.launcher import Launcher
    from backend.store import Store
    from ui import web

    store = Store(folder)
    site = web(store, None if asked.read_only else Launcher(store))
    gc.freeze()  # what stands by now stays: looking through it for garbage would stop every answer for 0.2 s now and then
    server = uvicorn.Server(uvicorn.Config(site, log_level="warning", timeout_graceful_shutdown=1, proxy_headers=True))
    shown = "127.0.0.1" if asked.host in ("0.0.0.0", "::") else f"[{asked.host}]" if ":" in asked.host else asked.host
    print(f"Ortam is at http://{shown}:{listening.getsockname()[1]}   runs: {folder}", flush=True)
    server.run(sockets=[listening])


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    sys.exit(main())
