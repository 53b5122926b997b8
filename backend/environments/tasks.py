"""Which tasks a selection means."""

import re
from typing import Any

from backend.environments import Task
from backend.errors import SpecError
from backend.records import TaskSelection

USUAL = 64
"""Tasks of an environment with any number of them, where the selection doesn't say how many."""

MOST = 1_000_000
"""Tasks that may be named: a range is short to write and long to hold."""

LARGEST = 2**31
"""Task numbers are below it, as seeds are."""


def numbers(indices: tuple[int | str, ...]) -> list[int]:
    """(0, "5", "50-52") -> [0, 5, 50, 51, 52], each once, in the order written. Raises SpecError."""
    found: dict[int, None] = {}
    for written in indices:
        for part in str(written).split(","):
            matched = re.fullmatch(r"\s*(\d{1,20})(?:\s*-\s*(\d{1,20}))?\s*", part)
            first, last = (int(matched[1]), int(matched[2] or matched[1])) if matched else (1, 0)
            if last < first:
                raise SpecError("tasks.indices", f"{part.strip()!r:.40} is no task number and no range; write 7, or "
                                "50-99")
            if last >= LARGEST:
                raise SpecError("tasks.indices", f"{part.strip()!r:.40} is beyond the largest task number, {LARGEST - 1}")
            if len(found) + last - first >= MOST:
                raise SpecError("tasks.indices", f"{part.strip()!r:.40} makes more than {MOST:,} tasks; name fewer")
            found.update(dict.fromkeys(range(first, last + 1)))
    return list(found)


def seeded(selection: TaskSelection, options: dict[str, Any]) -> list[Task]:
    """Tasks of an environment that makes one of any seed: task k is seed first + k."""
    no_splits(selection)
    places = numbers(selection.indices) if selection.indices else range(selection.count or USUAL)
    return [_of(selection.first_seed + place, options) for place in places]


def seeded_after(selection: TaskSelection, options: dict[str, Any], count: int) -> list[Task]:
    """`count` tasks with the seeds that follow the last one of `seeded`."""
    last = max((task.seed or 0 for task in seeded(selection, options)), default=-1)
    return [_of(seed, options) for seed in range(last + 1, last + 1 + count)]


def no_splits(selection: TaskSelection) -> None:
    if selection.split:
        raise SpecError("tasks.split", f"there is no split {selection.split!r:.40}: tasks are made from seeds here; "
                        "leave it empty")


def _of(seed: int, options: dict[str, Any]) -> Task:
    return Task(str(seed), seed, dict(options))
