"""A check in a process of its own: the command line looks, and what it finds arrives here line by line."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Any

HOME = Path(__file__).resolve().parents[2]
"""Where `python -m backend` is found."""


class Child:
    """Starts at once. `findings` grows; `ended` is set when no more will come."""

    def __init__(self, spec: str):
        """`spec` is YAML."""
        self.findings: list[dict[str, Any]] = []
        self.doing = "starting"
        """What is being looked at now."""
        self.ended = threading.Event()
        self._said: deque[str] = deque(maxlen=20)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "backend", "check", "-", "--json"], cwd=HOME, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONUTF8": "1", "TOKENIZERS_PARALLELISM": "false"})
        assert self._process.stdin
        with suppress(BrokenPipeError):
            self._process.stdin.write(spec)
            self._process.stdin.close()
        self._readers = [threading.Thread(target=read, daemon=True) for read in (self._read, self._listen)]
        for reader in self._readers:
            reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def problem(self) -> str:
        """Why it came to no end of its own; "" while it goes on, and where it did."""
        if not self.ended.is_set() or self._process.poll() in (0, 1):
            return ""
        return self._said[-1] if self._said else "the check was ended"

    def stop(self) -> None:
        """Ends it and what it started; as often as you like."""
        if self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(10)

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            with suppress(ValueError):
                found = json.loads(line.strip().lstrip(","))
                if isinstance(found, dict) and "check" in found:
                    self.findings.append(found)
        self._process.wait()
        self._readers[1].join(5)
        self.ended.set()

    def _listen(self) -> None:
        assert self._process.stderr
        for line in self._process.stderr:
            if line.strip():
                self.doing = line.strip()
                self._said.append(self.doing)
