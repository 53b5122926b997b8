"""What an ORS server has: environments, splits, tasks, and the tools of each task."""

import asyncio
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from backend.environments import Task, Tool
from backend.environments.ors.clients import asking, keyed, session_of
from backend.environments.ors.places import Place
from backend.environments.ors.reading import key_of, terminal_tool_of, tool_of
from backend.environments.tasks import numbers
from backend.errors import EnvironmentFailed, SpecError
from backend.records import TaskSelection

AT_ONCE = 8
"""Questions under way at the same time."""

FEW = 64
"""Tasks that are looked at where not all have to be."""

GLANCE = 8
"""Tasks whose tools are asked for first; only where those differ, the others are asked too."""

MOST_ASKED = 512
"""A task beyond these tells its own tools when it begins."""

RANGE = 500
"""Tasks in one answer."""


@dataclass(frozen=True)
class Found:
    """What a spec's tasks and tools are."""

    place: Place
    splits: tuple[str, ...]
    split: str
    size: int
    """Tasks in the split."""
    tasks: tuple[Task, ...]
    tools: tuple[tuple[Tool, ...], ...]
    """Of each task that was asked, the terminal tool last."""
    terminal: Tool | None


def now(asked: Coroutine[Any, Any, Any]) -> Any:
    """Its result, whether or not a loop already runs here."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, asked).result()


async def settle(place: Place) -> Place:
    """With the environment's own name on the server. SpecError (field `use`) where there is none, or more than one."""
    listed = None if place.of_catalog else await _listed(place)
    if listed is None:
        return place
    by_name = {name.lower(): name for name in listed}
    wanted = place.environment.lower() if place.environment else next(iter(by_name)) if len(by_name) == 1 else None
    if wanted in by_name:
        return replace(place, environment=by_name[wanted])
    near = get_close_matches(wanted or "", by_name, n=1, cutoff=0.5) or list(by_name) or ["environment"]
    wrong = (f"there is no environment {place.environment!r:.80}" if wanted else
             "the server has several environments, and none is chosen")
    raise SpecError("use", f"{wrong}; {place.url} has {', '.join(listed) or 'none'}. Write, for one, "
                           f"ors+{place.url}#{by_name.get(near[0], near[0])}")


async def find(place: Place, selection: TaskSelection, thorough: bool) -> Found:
    """Fetches no task but those selected; unless `thorough`, only a few of them."""
    place = await settle(place)
    async with asking(place, "say what tasks and tools it has") as environment:
        splits = tuple(await environment.list_splits())
        split = chosen_split(selection.split, splits, place)
        size = await environment.num_tasks(split)
        indices = chosen_indices(selection, split, size)
        tasks = await fetch(environment, split, indices if thorough else indices[:FEW])
        ending = await environment.terminal_tool()
        terminal = ending and terminal_tool_of(ending.name, ending.arg, ending.description)
        tools = await _tools_of(environment, place, tasks, terminal, thorough)
    return Found(place, splits, split, size, tuple(tasks), tools, terminal)


def chosen_split(asked: str | None, splits: Sequence[str], place: Place) -> str:
    if not splits:
        raise EnvironmentFailed(f"{place.name} lists no split, so it has no tasks to play.")
    if asked is None:
        return "train" if "train" in splits else splits[0]
    if asked not in splits:
        raise SpecError("tasks.split", f"there is no split {asked!r:.40}; {place.name} has {', '.join(splits)}")
    return asked


def chosen_indices(selection: TaskSelection, split: str, size: int) -> list[int]:
    if size < 1:
        raise SpecError("tasks.split", f"the split {split} has no tasks; choose another")
    if not selection.indices:
        return list(range(min(selection.count or size, size)))
    wanted = numbers(selection.indices)
    if beyond := [index for index in wanted if index >= size]:
        raise SpecError("tasks.indices", f"there is no task {beyond[0]}; the split {split} has {size}, numbered from 0")
    return wanted


async def fetch(environment, split: str, indices: Sequence[int]) -> list[Task]:
    """Tasks in the order of `indices`; neighbours share an answer."""
    few = asyncio.Semaphore(AT_ONCE)

    async def part(first: int, last: int) -> list:
        async with few:
            if first == last:
                return [await environment.get_task(split, first)]
            return await environment.get_task_range(split, first, last + 1)

    runs = _runs(sorted(indices))
    found: dict[int, Any] = {}
    for (first, last), tasks in zip(runs, await asyncio.gather(*(part(*run) for run in runs)), strict=True):
        if len(tasks) != last - first + 1:
            raise ValueError(f"{len(tasks)} tasks came for {first} to {last} of {split}")
        found.update(zip(range(first, last + 1), tasks, strict=True))
    return [_task(found[index], split, index) for index in indices]


async def tools_here(session, terminal: Tool | None) -> tuple[Tool, ...]:
    """Of the task that an SDK session plays, the terminal tool last."""
    listed = [tool_of(tool.name, tool.description, tool.input_schema) for tool in await session.list_tools()]
    return (*listed, terminal) if terminal else tuple(listed)


async def _listed(place: Place) -> list[str] | None:
    """None where the server doesn't tell."""
    async with asking(place, "say which environments it has") as environment:
        async with environment.client.get("/list_environments", headers=keyed(place)) as answer:
            if answer.status in (404, 405):
                return None
            answer.raise_for_status()
            return [str(name) for name in await answer.json(content_type=None)]


async def _tools_of(environment, place: Place, tasks: Sequence[Task], terminal: Tool | None,
                    thorough: bool) -> tuple[tuple[Tool, ...], ...]:
    few = asyncio.Semaphore(AT_ONCE)
    failures: list[Exception] = []

    async def ask(task: Task) -> tuple[Tool, ...] | None:
        async with few:
            try:
                async with session_of(environment, place, task) as session:
                    return await tools_here(session, terminal)
            except Exception as error:  # a task that can't be opened says so when it is played
                failures.append(error)
                return None

    glance = _spread(tasks, GLANCE if thorough else 2)
    found = [tools for tools in await asyncio.gather(*map(ask, glance)) if tools is not None]
    if thorough and any(tools != found[0] for tools in found):
        rest = [task for task in tasks[:MOST_ASKED] if task not in glance]
        found += [tools for tools in await asyncio.gather(*map(ask, rest)) if tools is not None]
    if not found:
        raise failures[0]
    return tuple(found)


def _spread(tasks: Sequence[Task], count: int) -> list[Task]:
    """At most `count`, from the first to the last."""
    if len(tasks) <= count:
        return list(tasks)
    return [tasks[k * (len(tasks) - 1) // (count - 1)] for k in range(count)]


def _task(found, split: str, index: int) -> Task:
    spec = dict(found.task_spec)
    options = {"environment": found.environment_name, "split": split, "index": index, "task": spec}
    return Task(key_of(split, index, spec), None, options)


def _runs(indices: Sequence[int]) -> list[list[int]]:
    """[first, last] of each run of neighbours, no longer than one answer."""
    runs: list[list[int]] = []
    for index in indices:
        if runs and index == runs[-1][1] + 1 and index - runs[-1][0] < RANGE:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return runs
