"""All that is being played in this process. A sitting is known by a random id that only its browser has; an environment
is started once and shared by all who play it.

Connections belong to one event loop, so all of it runs on a thread of its own. What is asked for waits for its answer.
"""

import asyncio
import atexit
import contextlib
import json
import secrets
import threading
import time
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from backend.environments import Source, Task, repeating
from backend.environments.sources import reach, source
from backend.environments.tasks import USUAL, numbers
from backend.errors import OrtamError, SpecError
from backend.play.baseline import Baseline
from backend.play.choosing import Chosen, task_of
from backend.play.forking import Fork
from backend.play.keeping import Kept, keep
from backend.play.sitting import Sitting
from backend.records import EnvironmentSpec
from backend.store import Store

MOST = 16
"""Episodes being played at once, of all browsers together."""

MOST_GAMES = 200
"""Of each player in a baseline."""

IDLE = 15 * 60.0
"""Seconds after which an episode that nobody plays on is ended."""

UNUSED = 5 * 60.0
"""Seconds after which an environment that nobody plays is stopped."""

SWEEP = 20.0

Answer = TypeVar("Answer")


@dataclass
class Place:
    """An environment that is up."""

    address: str
    open_things: contextlib.ExitStack
    used: float = field(default_factory=time.monotonic)


@dataclass
class Seat:
    """Who plays what, and since when not."""

    sitting: Sitting
    place: str
    used: float = field(default_factory=time.monotonic)
    kept: Kept | None = None
    """Where its episode is, once it has ended."""
    keeping: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass
class Series:
    baseline: Baseline
    place: str
    work: asyncio.Task
    used: float = field(default_factory=time.monotonic)
    problem: str = ""
    run: str = ""
    """Where its episodes are, once they are kept."""


class Sittings:
    def __init__(self, store: Store, most: int = MOST, idle: float = IDLE, unused: float = UNUSED):
        self.store, self._most, self._idle, self._unused = store, most, idle, unused
        self._seats: dict[str, Seat] = {}
        self._series: dict[str, Series] = {}
        self._beginning = 0
        self._places: dict[str, Place] = {}
        self._starting: dict[str, asyncio.Lock] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._turn = threading.Lock()

    # ------------------------------------------------------------------------------------------------------- one game

    def begin(self, asked: Chosen, player: str | None = None, instead: str | None = None, fork: Fork | None = None) -> str:
        """Starts an episode, and the environment where it isn't up; gives its id. `instead` is left for it.

        A fork begins with its parent's turns. Raises OrtamError, and CannotRepeat where they come out differently.
        """
        return self._do(self._begin(asked, player, instead, fork))

    def look(self, id: str) -> Seat:
        """Raises OrtamError for one that isn't known (any more)."""
        seat = self._seats.get(id)
        if seat is None:
            raise OrtamError(f"this game isn't known any more: one that nobody plays on for {self._idle / 60:.0f} "
                             "minutes is ended; start a new one")
        seat.used = time.monotonic()
        return seat

    def call(self, id: str, tool: str, arguments: Any) -> Seat:
        return self._do(self._then_keep(id, lambda sitting: sitting.call(tool, arguments)))

    def advance(self, id: str) -> Seat:
        """The scripted player's next call."""
        return self._do(self._then_keep(id, lambda sitting: sitting.advance()))

    def end(self, id: str) -> Seat:
        """The person stops here."""
        return self._do(self._then_keep(id, lambda sitting: sitting.end()))

    async def _begin(self, asked: Chosen, player: str | None, instead: str | None, fork: Fork | None) -> str:
        if instead in self._seats:
            await self._leave(instead)
        if sum(not seat.sitting.ended for seat in self._seats.values()) + self._beginning >= self._most:
            raise OrtamError(f"{self._most} games are being played here already; try again in a few minutes")
        self._beginning += 1  # a game that is on its way has its seat already
        try:
            return await self._seated(asked, player, fork)
        finally:
            self._beginning -= 1

    async def _seated(self, asked: Chosen, player: str | None, fork: Fork | None) -> str:
        name, there = await self._reach(asked.environment)
        task = task_of(there, asked.environment) if fork is None else repeating.task_of(there, asked.environment, fork.episode)
        sitting = Sitting(asked.environment, there, asked.terms(there.describe()), task, player, fork=fork)
        try:
            await sitting.begin()
        finally:
            if sitting.play.fault and not self._busy(name):
                await self._stop(name)  # perhaps its server is gone: the next try starts it anew
        id = secrets.token_urlsafe(16)
        self._seats[id] = Seat(sitting, name)
        await self._then_keep(id, lambda sitting: _nothing())
        return id

    async def _then_keep(self, id: str, work) -> Seat:
        seat = self.look(id)
        await work(seat.sitting)
        if place := self._places.get(seat.place):
            place.used = time.monotonic()
        async with seat.keeping:
            if seat.sitting.ended and seat.kept is None:
                seat.kept = (await asyncio.to_thread(keep, self.store, [seat.sitting]))[0]
        return seat

    async def _leave(self, id: str) -> None:
        """Nobody plays on: what was played is kept as cancelled, and nothing where nothing but a parent's turns was."""
        seat = self._seats.pop(id)
        if seat.sitting.ended:
            return
        await seat.sitting.end("left unfinished", left=True)
        if len(seat.sitting.play.turns) > (seat.sitting.fork.parent.turn if seat.sitting.fork else 0):
            await asyncio.to_thread(keep, self.store, [seat.sitting])

    # ------------------------------------------------------------------------------------------------------ baselines

    def compare(self, asked: Chosen, games: int) -> str:
        """Has each scripted player play so many tasks, from the one that is asked for on; gives an id to look with."""
        return self._do(self._compare(asked, max(1, min(games, MOST_GAMES))))

    def compared(self, id: str) -> Series:
        """As far as it has come. Raises OrtamError for one that isn't known."""
        series = self._series.get(id)
        if series is None:
            raise OrtamError("this comparison isn't known any more; start it again")
        series.used = time.monotonic()
        return series

    async def _compare(self, asked: Chosen, games: int) -> str:
        if sum(not series.work.done() for series in self._series.values()) >= 2:
            raise OrtamError("two comparisons are under way here already; try again when one has ended")
        name, there = await self._reach(asked.environment)
        tasks = _tasks_from(there, asked.environment, games)
        baseline = Baseline(asked.environment, there, asked.terms(there.describe()), tasks)
        id = secrets.token_urlsafe(16)
        self._series[id] = Series(baseline, name, asyncio.create_task(self._play_all(id, baseline)))
        return id

    async def _play_all(self, id: str, baseline: Baseline) -> None:
        try:
            await baseline.play()
            kept = await asyncio.to_thread(keep, self.store, baseline.sittings)
            self._series[id].run = kept[0].run if kept else ""
        except OrtamError as error:
            self._series[id].problem = str(error)
        except Exception as error:  # a task nobody waits for: the page that looks is told instead
            self._series[id].problem = f"{type(error).__name__}: {error}"

    # --------------------------------------------------------------------------------------------- what is up, and how

    async def _reach(self, asked: EnvironmentSpec) -> tuple[str, Source]:
        name = json.dumps([asked.use, asked.options], sort_keys=True, default=str)
        async with self._starting.setdefault(name, asyncio.Lock()):
            if name not in self._places:
                open_things = contextlib.ExitStack()
                address = await asyncio.to_thread(open_things.enter_context, reach(asked, self._most + USUAL))
                self._places[name] = Place(address, open_things)
        place = self._places[name]
        place.used = time.monotonic()
        return name, await asyncio.to_thread(source, asked, place.address)

    @property
    def up(self) -> int:
        """Environments that are started now."""
        return len(self._places)

    def sweep(self, now: float | None = None) -> None:
        """Ends what nobody plays on and stops what nobody uses. Called now and then by itself."""
        self._do(self._sweep(time.monotonic() if now is None else now))

    async def _sweep(self, now: float) -> None:
        for id, seat in list(self._seats.items()):
            if now - seat.used > self._idle:
                with contextlib.suppress(OrtamError):
                    await self._leave(id)
        for id, series in list(self._series.items()):
            if series.work.done() and now - series.used > self._idle:
                del self._series[id]
        for name, place in list(self._places.items()):
            if now - place.used > self._unused and not self._busy(name):
                await self._stop(name)

    def _busy(self, name: str) -> bool:
        return (any(seat.place == name and not seat.sitting.ended for seat in self._seats.values())
                or any(series.place == name and not series.work.done() for series in self._series.values()))

    async def _stop(self, name: str) -> None:
        if place := self._places.pop(name, None):
            await asyncio.to_thread(place.open_things.close)

    def close(self) -> None:
        """Leaves every game and stops every environment."""
        if self._loop is not None:
            with contextlib.suppress(Exception):
                self._do(self._close(), seconds=20)

    async def _close(self) -> None:
        for id in list(self._seats):
            with contextlib.suppress(OrtamError):
                await self._leave(id)
        for series in self._series.values():
            series.work.cancel()
        for name in list(self._places):
            await self._stop(name)

    def _do(self, work: Coroutine[Any, Any, Answer], seconds: float | None = None) -> Answer:
        with self._turn:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="sittings", daemon=True).start()
                asyncio.run_coroutine_threadsafe(self._sweep_now_and_then(), self._loop)
                atexit.register(self.close)
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(seconds)

    async def _sweep_now_and_then(self) -> None:
        while True:
            await asyncio.sleep(SWEEP)
            with contextlib.suppress(Exception):
                await self._sweep(time.monotonic())


def _tasks_from(source: Source, asked: EnvironmentSpec, games: int) -> list[Task]:
    """`games` tasks from the one that is asked for on; fewer where the environment's list ends."""
    chosen = asked.tasks
    if not chosen.indices:
        return source.tasks(chosen.model_copy(update={"count": games}), asked.options)[:games]
    start = numbers(chosen.indices)[0]
    try:
        span = {"indices": (f"{start}-{start + games - 1}",)}
        return source.tasks(chosen.model_copy(update=span), asked.options)
    except SpecError:
        listed = source.tasks(chosen.model_copy(update={"indices": None, "count": start + games}), asked.options)
        return listed[start:] or source.tasks(chosen, asked.options)


async def _nothing() -> None:
    pass
