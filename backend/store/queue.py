"""studio.db: which runs wait, which are being trained, and by which process. Rows are claimed by compare-and-set."""

import time
from pathlib import Path
from typing import NamedTuple

from backend.store.studio import Studio
from backend.store.tables import STUDIO

_COLUMNS = ", ".join(STUDIO["queue"])


class Place(NamedTuple):
    """A run's row in the queue."""

    run: str
    state: str
    """waiting, claimed, running or ended."""
    asked: float
    worker: str | None
    pid: int | None
    born: str | None
    """When the process started, as the system counts it: tells a reused pid from ours."""
    started: float | None
    ended: float | None
    code: int | None
    """Exit status; negative for a signal, None when nobody saw it end."""
    reason: str | None
    """Why it ended, where the run's folder doesn't say."""
    gpus: str | None
    """Those it was given, with commas between."""


class Queue:
    def __init__(self, folder: Path):
        self._studio = Studio(folder)

    def add(self, run: str, state: str = "waiting", **values) -> None:
        row = {"run": run, "state": state, "asked": time.time(), **values}
        self._studio.write((f"INSERT OR REPLACE INTO queue ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
                            tuple(row.values())))

    def places(self, *states: str) -> list[Place]:
        """Oldest first; all of them where no state is named."""
        return self._places(f"WHERE state IN ({', '.join('?' * len(states))})" if states else "", states)

    def place(self, run: str) -> Place | None:
        return next(iter(self._places("WHERE run = ?", (run,))), None)

    def _places(self, condition: str, values: tuple[str, ...]) -> list[Place]:
        rows = self._studio.rows(f"SELECT {_COLUMNS} FROM queue {condition} ORDER BY asked, run", values)
        return [Place(*row) for row in rows]

    def gpus_taken(self) -> set[str]:
        return {gpu for place in self.places("running", "claimed") for gpu in (place.gpus or "").split(",") if gpu}

    def move(self, run: str, state: str, to: str, **values) -> bool:
        """Change a row only if it is still in `state`; False when somebody else was first."""
        sets = "".join(f", {name} = ?" for name in values)
        return self._studio.write((f"UPDATE queue SET state = ?{sets} WHERE run = ? AND state = ?",
                                   (to, *values.values(), run, state))) == 1
