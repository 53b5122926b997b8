"""Processes by their pid and when they were born, since a pid is used again."""

import os
from pathlib import Path


def alive(pid: int, born: str | None) -> bool:
    """Whether the process runs and is the one that was born then."""
    now = birth(pid)
    return now is not None and born in (None, now)


def birth(pid: int) -> str | None:
    """When a process started, in the system's ticks; None when there is no such process or it is a zombie."""
    fields = _fields(pid)
    return None if not fields or fields[0] in "ZX" else fields[19]


def descendants(pid: int) -> list[int]:
    """Children of a process, and theirs."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := _fields(int(entry.name))):
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found = [pid]
    for parent in found:
        found += children.get(parent, [])
    return found[1:]


def own_name() -> str:
    """Names this process for good: its pid and when it was born."""
    return f"{os.getpid()}:{birth(os.getpid())}"


def _fields(pid: int) -> list[str]:
    """Of /proc/PID/stat, from the state on; [] when there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return []
