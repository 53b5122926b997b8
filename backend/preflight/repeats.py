"""Whether a task repeats: the same seed gives the same one, other seeds give others, and no episode leaves a trace.

A fingerprint settles it where the environment tells one. Where there is only what a player is shown first, two openings
that differ are two tasks; two that agree prove nothing, so the same calls are made in both and their answers compared.
"""

import asyncio
import random
from dataclasses import dataclass
from typing import Any

from backend.environments import Source, Task
from backend.environments.players import Call, RandomPlayer
from backend.environments.playthrough import Playthrough
from backend.preflight.batch import PATIENCE
from backend.preflight.findings import Finding, Line
from backend.preflight.words import counted, fact, listed
from backend.records import EnvironmentSpec, Fault

CALLS = 3
"""Made in each episode that is compared."""

UNTOUCHED = 3
"""Episodes of the task that are opened first and left without a call: what differs only after an episode was played is
left over from it, what differs here already isn't the seed's doing."""

OTHERS = 7
"""Other tasks looked at."""


@dataclass(frozen=True)
class Seen:
    """An episode as its player met it."""

    start: tuple
    facts: dict[str, Any]
    """At the start."""
    fingerprint: str | None
    answers: tuple
    fault: Fault | None

    @property
    def named(self) -> bool:
        """Whether the environment itself says which task it was."""
        return self.fingerprint is not None and not self.fingerprint.startswith("~")


@dataclass(frozen=True)
class Repeats:
    untouched: tuple[Seen, ...]
    first: Seen
    again: Seen
    """The same task with the same calls, after an episode was played in between."""
    together: tuple[Seen, ...]
    """The same task twice at once, call by call in turn."""
    others: tuple[Seen, ...]

    @property
    def fault(self) -> Fault | None:
        """Of an episode played alone."""
        return next((seen.fault for seen in (*self.untouched, self.first, self.again) if seen.fault), None)

    @property
    def steady(self) -> bool:
        """Whether the task opened alike each time before anything was played."""
        return all(_starts_alike(self.first, seen) for seen in self.untouched)


async def repeated(source: Source, asked: EnvironmentSpec, tasks: list[Task]) -> Repeats:
    async def alone(task: Task, calls: int = CALLS) -> Seen:
        return (await _seen([Playthrough(source, asked, patience=PATIENCE)], task, calls))[0]

    untouched: list[Seen] = []
    for calls in (*[0] * UNTOUCHED, CALLS, CALLS):  # one that hangs costs a minute, so the first is the last
        untouched.append(await alone(tasks[0], calls))
        if untouched[-1].fault:
            return Repeats((), untouched[-1], untouched[-1], (), ())
    *untouched, first, again = untouched
    two = await _seen([Playthrough(source, asked, patience=PATIENCE) for _ in range(2)], tasks[0])
    others: list[Seen] = []
    for task in tasks[1:OTHERS + 1]:
        others.append(await alone(task))
        if others[-1].fault:
            break
    return Repeats(tuple(untouched), first, again, tuple(two), tuple(others))


async def _seen(plays: list[Playthrough], task: Task, calls: int = CALLS) -> list[Seen]:
    """The same calls in each of the plays, by turns."""
    try:
        await asyncio.gather(*(play.begin(task) for play in plays))
        moves = [_moves(play, calls) for play in plays]
        for number in range(calls):
            for play, planned in zip(plays, moves, strict=True):
                if number < len(planned) and not play.done and not play.fault:
                    await play.call(*planned[number])
    finally:
        await asyncio.gather(*(play.end() for play in plays))
    return [Seen((play.opening, play.images), play.start_facts, play.fingerprint,
                 tuple((turn.result if turn.result is not None else turn.shown, tuple(turn.facts.items()), turn.done)
                       for turn in play.turns), play.fault) for play in plays]


def _moves(play: Playthrough, calls: int) -> list[Call]:
    player = RandomPlayer(random.Random("the same each time"))
    return [] if play.fault or not play.tools else [player(play) for _ in range(calls)]


def same_task(asked: EnvironmentSpec, repeats: Repeats) -> Finding:
    line, first, again = Line("Same seed", asked.id), repeats.first, repeats.again
    remedy = ("Have the environment's reset use the seed it is given; otherwise the episodes of a group play different "
              "tasks and their rewards can't be compared.")
    if first.named:
        prints = {seen.fingerprint for seen in (*repeats.untouched, first, again)}
        if len(prints) == 1:
            return line.green(f"the same seed gave the same task {UNTOUCHED + 2} times (fingerprint "
                              f"{first.fingerprint})")
        return line.red(f"the same seed gave {len(prints)} tasks (fingerprints {listed(sorted(map(str, prints)))})",
                        remedy)
    if any(seen.start != first.start for seen in (*repeats.untouched, again)):
        return line.red("the same seed gave two tasks: what the player is shown first differs", remedy)
    if first.answers != again.answers:
        return line.amber("the same seed opened alike, but the same calls got other answers: another task, or chance "
                          "beyond the seed", remedy)
    if repeats.others and all(_alike(first, other) for other in repeats.others):
        return line.amber("it can't be told: every seed opens alike and answers the same calls alike",
                          "Have the environment tell a fingerprint of the task in its reset's metadata.")
    return line.green(f"the same seed opened alike {UNTOUCHED + 2} times and gave the same answers to "
                      f"{counted(len(first.answers), 'call')}")


def different_tasks(asked: EnvironmentSpec, repeats: Repeats) -> Finding:
    """Other seeds, other tasks?"""
    seen = (repeats.first, *(other for other in repeats.others if not other.fault))
    by_name = all(one.named for one in seen)
    different = len({one.fingerprint if by_name else (one.start, one.answers) for one in seen})
    line = Line("Other seeds", asked.id, tasks=len(seen), different=different)
    if len(seen) == 1:
        return line.green("the run has a single task")
    if different == 1:
        return line.amber(f"{counted(len(seen), 'seed')} gave one and the same task",
                          "Every group will play it. If it should have more, see that its reset uses the seed.")
    return line.green(f"{different} different tasks among {counted(len(seen), 'seed')}")


def leaks(asked: EnvironmentSpec, repeats: Repeats) -> Finding:
    """Does an episode find traces of another?"""
    line, first, again = Line("Fresh start", asked.id), repeats.first, repeats.again
    remedy = ("Have the server make a new environment object for each session and set everything in reset: nothing may "
              "be kept in module globals or class attributes.")
    if not repeats.steady:
        return line.amber("it can't be told: the same task doesn't open alike each time, played or not",
                          "Put the line about the same seed right first.")
    if not _starts_alike(first, again):
        return line.red(f"after an episode was played, the next one of the same task {_otherwise(first, again)}",
                        remedy)
    if first.answers != again.answers:
        return line.amber("a second episode began as the first did, but the same calls got other answers",
                          "If the environment has no chance of its own, something is left over from the one before.")
    if fault := next((seen.fault for seen in repeats.together if seen.fault), None):
        return line.amber(f"a second episode begins as the first did, but two at once can't be played: {fault.message}",
                          "See the line about sessions.")
    if not all(_alike(first, other) for other in repeats.together):
        return line.red("two episodes played at once disturb each other: the same calls got other answers than alone",
                        remedy)
    return line.green("a second episode begins as the first did, and two at once don't touch each other")


def _otherwise(first: Seen, again: Seen) -> str:
    differing = sorted(name for name in first.facts.keys() | again.facts.keys()
                       if first.facts.get(name) != again.facts.get(name))
    if not differing:
        return "opened otherwise"
    name, *others = differing
    more = f"; {listed(others)} differed too" if others else ""
    return f"began with {name} {fact(again.facts.get(name))} instead of {fact(first.facts.get(name))}{more}"


def _starts_alike(one: Seen, other: Seen) -> bool:
    return (one.start, one.facts, one.fingerprint) == (other.start, other.facts, other.fingerprint)


def _alike(one: Seen, other: Seen) -> bool:
    return (one.start, one.facts, one.answers) == (other.start, other.facts, other.answers)
