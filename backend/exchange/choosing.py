"""Which episodes of a run are taken, and in what order; read one after another, never all at once."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from backend.environments.catalog import CATALOG
from backend.errors import SpecError
from backend.records import Episode, RunSpec
from backend.store import Run

PAGE = 500


@dataclass(frozen=True)
class Choice:
    """Episodes of a run, as the verb `episodes` chooses them."""

    run: Run
    where: str | None = None
    sort: str | None = None
    """As `Run.episodes` takes it; None takes them as they were written."""
    limit: int | None = None
    """None: all of them."""
    id: str | None = None
    """One episode, whatever the rest says."""
    group: tuple[int, int] | None = None
    """(step, group): only that group's episodes."""
    phase: str | None = None
    """Of the group; None: training, else whatever it has."""
    attempt: int | None = None
    """Of the group; None: its newest."""

    def episodes(self) -> Iterator[Episode]:
        """Raises EpisodeNotFound for an id the run hasn't got, SpecError for a filter or an order that can't be used."""
        return (self.run.episode(id) for id in ([self.id] if self.id is not None else self._ids()))

    def won(self) -> "Choice":
        """What was won of these, as they were played."""
        return replace(self, where="status == 'won'")

    def count(self) -> int:
        if self.id is not None:
            return 1
        found = self.run.count_episodes(self.where, **self._filters())
        return found if self.limit is None else min(found, self.limit)

    def _filters(self) -> dict[str, Any]:
        if self.group is None:
            return {}
        place: dict[str, Any] = {"step": self.group[0], "group": self.group[1]}
        for phase in [self.phase] if self.phase else ["train", "eval", "play"]:
            if newest := self.run.episodes(sort="-seq", limit=1, phase=phase, attempt=self.attempt, **place):
                return place | {"phase": phase, "attempt": newest[0].attempt}
        return place | {"phase": self.phase, "attempt": self.attempt}

    def _ids(self) -> Iterator[str]:
        return itertools.islice(self._in_written_order() if self.sort is None else self._sorted(), self.limit)

    def _in_written_order(self) -> Iterator[str]:
        """By a mark that only grows, so a run that is being written gives each episode once."""
        after, filters = 0, self._filters()
        while rows := self.run.episodes(where=self.where, sort="seq", limit=PAGE, after=after, **filters):
            yield from (row.id for row in rows)
            after = rows[-1].seq

    def _sorted(self) -> Iterator[str]:
        filters, page = self._filters(), min(self.limit or PAGE, PAGE)
        for offset in itertools.count(0, page):
            rows = self.run.episodes(where=self.where, sort=self.sort or "seq", limit=page, offset=offset, **filters)
            yield from (row.id for row in rows)
            if len(rows) < page:
                return


def group_of(text: str) -> tuple[int, int]:
    """`62-3` is group 3 of step 62. Raises SpecError."""
    step, dash, group = text.partition("-")
    if not (dash and step.isdecimal() and group.isdecimal() and len(text) < 24):
        raise SpecError("group", f"{text!r} isn't a step and a group; write them like 62-3")
    return int(step), int(group)


def weights_of(spec: RunSpec) -> dict[str, float]:
    """Reward term -> what it counts in a total, where the run knows."""
    return {term.name: term.weight for term in spec.rewards}


def tools_of(spec: RunSpec) -> dict[str, Sequence[dict[str, Any]]]:
    """Environment id -> the tools a model was offered there, as chat templates take them; only of those the catalog has."""
    return {asked.id: [tool.schema() for tool in CATALOG[asked.use].description.tools]
            for asked in spec.environments if asked.use in CATALOG}
