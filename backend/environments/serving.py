"""Starting an environment's server for a run, and making sure it ends with it.

The server takes a free port itself and says which, so no two servers can be given the same one. It runs in a process
group of its own and stops when its standard input closes, so a trainer that is killed leaves none behind.
"""

import os
import signal
import subprocess
import sys
import threading
from collections import deque
from contextlib import suppress
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

from backend.environments.catalog import entry
from backend.environments.servers import READY
from backend.errors import EnvironmentFailed

ROOT = Path(__file__).parents[2]
START_SECONDS, STOP_SECONDS = 60, 3


def serve(use: str, sessions: int) -> "Server":
    """Starts the catalog's server for `sessions` episodes at once; returns when it takes connections.

    Raises SpecError for an unknown name, and EnvironmentFailed with the server's last lines if it doesn't start.
    """
    return serve_module(entry(use).server, sessions, use)


def serve_module(module: str, sessions: int, name: str, *more: str) -> "Server":
    """A server of `backend.environments.servers`; `more` goes to its command line. Raises EnvironmentFailed."""
    return Server([sys.executable, "-m", module, "--port", "0", "--sessions", str(sessions),
                   "--with-parent", str(os.getpid()), *more], name)


class Server:
    """A running server. Stops on `stop`, at the end of a `with`, and when this process is gone."""

    url: str

    def __init__(self, command: list[str], name: str, start_seconds: float = START_SECONDS,
                 variables: dict[str, str] | None = None):
        """`command` prints READY and its address once it can be connected to; `variables` join its environment."""
        self.name = name
        self._lines: deque[str] = deque(maxlen=20)
        self._ready = threading.Event()
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", start_new_session=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **(variables or {})})
        assert self._process.stdin and self._process.stdout
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        in_time = self._ready.wait(start_seconds)
        if not (hasattr(self, "url") and self._healthy()):
            self.stop()
            cause = "didn't start" if in_time else f"wasn't ready after {start_seconds:g} s"
            raise EnvironmentFailed(f"The {name} server {cause}. Its last lines:\n{self.tail()}")

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_) -> None:
        self.stop()

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        return self._process.pid

    def tail(self) -> str:
        """The last lines it printed."""
        return "\n".join(self._lines) or "(none)"

    def stop(self) -> None:
        """Asks it to end, then makes it; as often as you like."""
        for how in (signal.SIGTERM, signal.SIGKILL):
            if self.alive:
                with suppress(ProcessLookupError):
                    os.killpg(self.pid, how)
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(STOP_SECONDS)
        self._reader.join(STOP_SECONDS)
        self._stdin.close()

    def _healthy(self) -> bool:
        try:
            with build_opener(ProxyHandler({})).open(f"{self.url}/health", timeout=10) as answer:
                return answer.status == 200
        except OSError as error:
            self._lines.append(f"health check of {self.url}: {error}")
            return False

    def _read(self) -> None:
        for line in self._stdout:
            if line.startswith(READY):
                self.url = line.removeprefix(READY).strip()
                self._ready.set()
            else:
                self._lines.append(line.rstrip())
        self._ready.set()
