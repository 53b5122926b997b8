"""Playing an episode's turns again, up to some turn, in a fresh session of its environment: where a fork begins.

Every answer is held against the record. An environment that doesn't repeat is a `CannotRepeat` that says what differed, so
that a fork never starts from a game that only looks like its parent's.
"""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from backend.environments import Source, Task
from backend.environments.playthrough import Playthrough
from backend.errors import CannotRepeat, OrtamError
from backend.records import NEVER_PLAYED, SEEDS, EnvironmentSpec, Episode, TaskSelection, Turn

LISTED = re.compile(r"(?P<split>.+?)/(?P<index>\d{1,10})(?: .*)?", re.DOTALL)
"""The key of a task that stands in a list, such as `train/5 two sum`."""

REFUSED = ("unknown_tool", "wrong_arguments")

QUOTED = 80


async def repeat(play: Playthrough, episode: Episode, turns: int) -> None:
    """Begins `play`, which hasn't begun, on the episode's task and plays its first `turns` turns again.

    Afterwards `play.turns` holds those turns with what was said and thought in them, and the next call goes on from
    there. Raises CannotRepeat, with the session closed, where the environment can't be begun or something comes out
    differently than recorded. `play` must be of the environment as the episode's run had it, options included.
    """
    if why := unrepeatable(episode, turns):
        raise CannotRepeat(why)
    try:
        await play.begin(task_of(play.source, play.environment, episode))
        _compare_start(play, episode)
        for turn in episode.turns[:turns]:
            if turn.tool is None:
                play.turns.append(turn)
                continue
            if turn.fault and turn.fault.kind == "too_many_calls":
                await play.leave_out(turn.tool, turn.arguments, turn.fault)
            else:
                await play.call(turn.tool, turn.arguments)
            _compare_turn(play.turns[-1], turn, len(play.turns))
            play.turns[-1] = play.turns[-1].model_copy(update={
                "said": turn.said, "thought": turn.thought, "tokens": turn.tokens, "model_seconds": turn.model_seconds})
        if len(play.turns) >= play.max_turns:
            raise CannotRepeat(f"no turn is left after turn {turns}: {play.max_turns} are allowed; fork at an earlier one")
    except OrtamError as error:
        await play.end()
        raise error if isinstance(error, CannotRepeat) else CannotRepeat(str(error)) from error


def unrepeatable(episode: Episode, turns: int) -> str:
    """Why the first `turns` turns can't be played again, as far as the record alone tells; "" where they may be."""
    if not 0 <= turns <= len(episode.turns):
        return f"there is no turn {turns}: the episode has {len(episode.turns)}"
    if episode.policy.kind == "import":
        return "it was imported, so its environment isn't known; fork an episode that was played here"
    if episode.seed is None and episode.task is None:
        return "neither its seed nor its task was recorded, so the same game can't be begun again"
    if episode.seed is not None and not 0 <= episode.seed < SEEDS:
        return f"its seed {episode.seed} isn't one that a spec can name (0 to {SEEDS - 1})"
    for k, turn in enumerate(episode.turns[:turns], 1):
        if turn.done or (turn.fault and turn.fault.kind in NEVER_PLAYED):
            return f"the episode is over at turn {k}; fork it before that"
        if turn.fault and turn.fault.where != "model" and turn.result is None:
            return f"the {turn.fault.where} failed in turn {k}, so what came of it can't be repeated; fork it before that"
    if turns and episode.turns[turns - 1].tool is None:
        return f"no tool was called in turn {turns}, so there is nothing to repeat in it; fork it before that"
    return ""


def selection_of(episode: Episode) -> TaskSelection | None:
    """Of its task alone; None where neither a seed nor a number of a list names it."""
    if episode.seed is not None:
        return TaskSelection(count=1, first_seed=episode.seed)
    listed = LISTED.fullmatch(str(episode.task))
    return TaskSelection(split=listed["split"], indices=(int(listed["index"]),)) if listed else None


def task_of(source: Source, asked: EnvironmentSpec, episode: Episode) -> Task:
    """The task an episode played, as its environment gives it now. Raises CannotRepeat, and OrtamError of the source."""
    key = str(episode.task) if episode.task is not None else None
    named = selection_of(episode)
    tasks = source.tasks(named or asked.tasks, asked.options)
    found = next((task for task in tasks if key is None or task.key == key), None)
    if found is None:
        there = f"; in its place stands {_quoted(tasks[0].key)}" if named and tasks else ""
        raise CannotRepeat(f"the environment has no task {_quoted(key)} any more{there}, so the game can't be begun again")
    return found


# --------------------------------------------------------------------------------------------------- is it the same


def _compare_start(play: Playthrough, episode: Episode) -> None:
    if play.fault:
        raise CannotRepeat(f"the environment couldn't be begun: {play.fault.message}")
    now = play.fingerprint
    if None not in (now, episode.fingerprint) and now != episode.fingerprint:
        raise CannotRepeat("the environment gave another task than the one that was played, for the same seed or number")
    if (play.opening or "") != episode.opening:
        raise CannotRepeat(f"the game opened differently: {_quoted(play.opening or '')} instead of "
                           f"{_quoted(episode.opening)}")
    for said in _differing(play.start_facts, episode.start_facts):
        raise CannotRepeat(f"the game opened differently: {said}")


def _compare_turn(again: Turn, recorded: Turn, k: int) -> None:
    for said in _changes(again, recorded):
        raise CannotRepeat(f"turn {k} {said}, so the environment doesn't repeat")


def _changes(again: Turn, recorded: Turn) -> Iterator[str]:
    now, then = (turn.fault.kind if turn.fault else None for turn in (again, recorded))
    if now != then:
        if now and again.fault.where == "environment":  # type: ignore[union-attr]
            yield f"failed this time ({again.fault.message:.300})"  # type: ignore[union-attr]
        yield "was refused this time" if now in REFUSED else "went through this time" if then in REFUSED else \
            f"came to {_quoted(now or 'no fault')} instead of {_quoted(then or 'no fault')}"
    if recorded.result is not None and again.result != recorded.result:
        yield f"answered differently: {_around(again.result or '', recorded.result)}"
    if again.done != recorded.done:
        yield "ended the game this time" if again.done else "didn't end the game this time"
    if recorded.reward is not None and again.reward != recorded.reward:
        yield f"gave the reward {again.reward} instead of {recorded.reward}"
    yield from (f"left other facts: {said}" for said in _differing(again.facts, recorded.facts))


def _differing(now: Mapping[str, Any], then: Mapping[str, Any]) -> Iterator[str]:
    """Of the facts that both tell of: a newer adapter may know more."""
    for name in then:
        if name in now and not _same(now[name], then[name]):
            yield f"{name} is {_quoted(now[name])} instead of {_quoted(then[name])}"


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one) and math.isnan(other):
        return True
    return one == other


def _around(now: str, then: str) -> str:
    """Both from a little before where they part."""
    part = next((k for k, (a, b) in enumerate(zip(now, then, strict=False)) if a != b), min(len(now), len(then)))
    start = max(0, part - 20)
    return f"{_quoted(now[start:])} instead of {_quoted(then[start:])}"


def _quoted(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= QUOTED else f"{shown[:QUOTED]}…"
