"""As many sessions at once as a batch needs, and how long they take."""

import asyncio
import random
import statistics
import time
from dataclasses import dataclass

from backend.environments import Source, Task
from backend.environments.players import RandomPlayer
from backend.environments.playthrough import Playthrough
from backend.preflight.findings import Finding, Line
from backend.preflight.words import counted, seconds
from backend.records import EnvironmentSpec, Fault

PATIENCE = 60.0
"""Seconds a reset or a call may take here."""

ROUNDS = 2
"""Calls made in every open session, all at once."""

SLOW_STEP = 60.0
"""Seconds of a training step at the environment from which that is said: it is then most of a usual step."""

STRAGGLER, STRAGGLER_SECONDS = 20.0, 1.0
"""A call so many times slower than the middle one, and this slow, holds up its batch each turn."""


@dataclass(frozen=True)
class Batch:
    needed: int
    opened: int
    resets: list[float]
    """Seconds of each reset that worked, all of them under way at once."""
    opening: float
    """Seconds until the last one was open."""
    calls: list[float]
    rounds: list[float]
    """Seconds of a round of calls, one in every session."""
    fault: Fault | None
    """Of the first session that couldn't be opened."""


async def open_all(source: Source, asked: EnvironmentSpec, tasks: list[Task], needed: int, group: int) -> Batch:
    """A batch as training opens it: groups of one task, every session at once, all held until the last is open."""
    plays = [Playthrough(source, asked, pauses=(), patience=PATIENCE) for _ in range(needed)]
    resets: list[float] = []

    async def begin(place: int) -> None:
        began = time.perf_counter()
        await plays[place].begin(tasks[place // group % len(tasks)])
        if not plays[place].fault:
            resets.append(time.perf_counter() - began)

    began = time.perf_counter()
    try:
        await asyncio.gather(*map(begin, range(needed)))
        opening = time.perf_counter() - began
        opened = [play for play in plays if not play.fault]
        rounds = [await _round(opened, number) for number in range(ROUNDS)]
    finally:
        await asyncio.gather(*(play.end() for play in plays))
    calls = [turn.seconds for play in opened for turn in play.turns if turn.seconds is not None]
    return Batch(needed, len(opened), resets, opening, calls, [took for took in rounds if took is not None],
                 next((play.fault for play in plays if play.fault), None))


async def _round(plays: list[Playthrough], number: int) -> float | None:
    going = [(play, RandomPlayer(random.Random(f"{number}/{place}"))(play)) for place, play in enumerate(plays)
             if not play.done and not play.fault and play.tools]
    began = time.perf_counter()
    await asyncio.gather(*(play.call(*call) for play, call in going))
    return time.perf_counter() - began if going else None


def sessions(asked: EnvironmentSpec, batch: Batch, group: int) -> Finding:
    line = Line("Sessions", asked.id, needed=batch.needed, available=batch.opened)
    if batch.opened == batch.needed:
        return line.green(f"{batch.opened} of {counted(batch.needed, 'session')} opened at once, in "
                          f"{seconds(batch.opening)}")
    said = batch.fault.message if batch.fault else "no reason given"
    fits = batch.opened // group * group
    lower = f"or set train.episodes_per_step to {fits}" if fits else "or play fewer episodes in a step"
    return line.red(f"{batch.opened} of {batch.needed} sessions opened; the others failed: {said}",
                    f"Give the environment {batch.needed} sessions, {lower}.")


def pace(asked: EnvironmentSpec, batch: Batch, turns: float) -> Finding:
    """`turns`: calls of an episode, on average."""
    if not batch.resets or not batch.calls or not turns:
        return Line("Time", asked.id).amber("no call could be timed", "See the lines above.")
    reset, call = statistics.median(batch.resets), statistics.median(batch.calls)
    slowest_reset, slowest_call = max(batch.resets), max(batch.calls)
    step = batch.opening + turns * statistics.fmean(batch.rounds)
    line = Line("Time", asked.id, reset_median=reset, reset_worst=slowest_reset, call_median=call,
                call_worst=slowest_call, step=step, turns=turns)
    seen = (f"reset {seconds(reset)}, at worst {seconds(slowest_reset)}; call {seconds(call)}, at worst "
            f"{seconds(slowest_call)}; a step of {batch.needed} episodes with {turns:.1f} turns spends about "
            f"{seconds(step)} here")
    if step > SLOW_STEP:
        return line.amber(seen, "Give the environment more cores or machines, or play fewer episodes or turns.")
    if slowest_call > max(STRAGGLER_SECONDS, STRAGGLER * call):
        return line.amber(seen, "Single slow calls hold up the whole batch: see what the environment does in them.")
    return line.green(seen)
