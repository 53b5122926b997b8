"""Processes by their pid and when they were born, since a pid is used again."""

import os
from pathlib import Path


def alive(pid: int, born: str | None) -> bool:
    """Whether the process runs and is the one that was born then."""
    return birth(pid) is not None and (born is None or birth(pid) == born)


def birth(pid: int) -> str | None:
    """When a process started, in the system's ticks; None when there is no such process or it is a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]


def own_name() -> str:
    """Names this process for good: its pid and when it was born."""
    return f"{os.getpid()}:{birth(os.getpid())}"
