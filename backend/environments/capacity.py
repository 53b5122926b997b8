"""How many sessions an environment really holds at once, against how many a run will open."""

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass

from backend.environments import Session, Source, Task
from backend.errors import EnvironmentError_, ServerFull

PATIENCE = 120.0
"""Seconds in which all of them have to be open."""


@dataclass(frozen=True)
class Capacity:
    needed: int
    held: int
    """Sessions that were open, and reset, at the same time."""
    limit: int | None
    """How many the server says it has; None where it has enough or doesn't say."""
    reason: str
    """Why no more could be opened; "" where all were."""
    seconds: float
    """Until all were open or refused."""

    @property
    def enough(self) -> bool:
        return self.held >= self.needed


async def capacity(source: Source, task: Task, needed: int) -> Capacity:
    """Opens `needed` sessions at once, each on `task`, and closes them again."""
    sessions: list[Session] = []

    async def one() -> Exception | None:
        try:
            session = await source.open()
            sessions.append(session)
            await session.reset(task)
        except EnvironmentError_ as error:
            return error
        return None

    began = time.perf_counter()
    try:
        asked = [asyncio.create_task(one()) for _ in range(needed)]
        done, late = await asyncio.wait(asked, timeout=PATIENCE)
        for waiting in late:
            waiting.cancel()
        took = time.perf_counter() - began
        errors = [error for each in done if (error := each.result())]
        full = next((error for error in errors if isinstance(error, ServerFull)), None)
        reason = str(full or next(iter(errors), "")) or (f"no answer within {PATIENCE:g} s" if late else "")
        return Capacity(needed, needed - len(errors) - len(late), full.sessions if full else None, reason, took)
    finally:
        for session in sessions:
            with suppress(EnvironmentError_):
                await session.close()
