"""Which episodes of a run go into a file that can't hold all of them, and why each."""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from backend.errors import OrtamError
from backend.exchange import Choice
from backend.records import Episode
from backend.store import Run

MOST = 20


class Chosen(NamedTuple):
    episode: Episode
    why: str
    """In a few words; "" where they were asked for by name."""


def chosen(choice: Choice) -> list[Chosen]:
    """Those that were asked for, at most MOST; where nothing was said, those that show most of the run."""
    if choice.where or choice.sort or choice.group or choice.id is not None:
        limited = replace(choice, sort=choice.sort or ("-total" if choice.group else None),
                          limit=min(choice.limit or MOST, MOST))
        return [Chosen(episode, "") for episode in limited.episodes()]
    return _telling(choice.run, min(choice.limit or MOST, MOST))


def _telling(run: Run, most: int) -> list[Chosen]:
    found: dict[str, str] = {}
    for why, ids in _kinds(run):
        for id in ids:
            if len(found) < most:
                found.setdefault(id, why)
    return [Chosen(run.episode(id), why) for id, why in found.items()]


def _kinds(run: Run) -> Iterator[tuple[str, list[str]]]:
    def ids(sort: str, limit: int, **filters) -> list[str]:
        try:
            return [row.id for row in run.episodes(sort=sort, limit=limit, **filters)]
        except OrtamError:  # a column or a fact this run hasn't got
            return []

    last = run.episodes(sort="-step", limit=1, phase="train")
    if last:
        step = last[0].step
        yield "largest advantage of the last step", ids("-advantage", 3, phase="train", step=step)
        yield "smallest advantage of the last step", ids("advantage", 2, phase="train", step=step)
        yield "largest total", ids("-total", 3, phase="train")
        yield "smallest total", ids("total", 2, phase="train")
        yield "most turns", ids("-turns", 1, phase="train")
        yield "from the first step", ids("step", 3, phase="train")
    yield "a fault", ids("-seq", 2, where="fault is not None")
    yield "newest evaluation", ids("-seq", 3, phase="eval")
    yield "played", ids("-seq", MOST, phase="play")
