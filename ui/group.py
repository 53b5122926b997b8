"""Group: all episodes of one prompt side by side, in step; where they part, what they were worth, and what that teaches.

The page gets the cards with their last boards at once; the boards of all turns are asked for a few episodes at a time, as
their cards come into sight, and kept in the browser.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

from backend.errors import OrtamError, SpecError
from ui import group_parts, in_step, shell
from ui.group_parts import ORDERS, Shown
from ui.pairs import pair
from ui.replay import viewer_of
from ui.written import named, query

HERE = Path(__file__).parent
CSS = [HERE / "group.css"]
JS = [HERE / "group.js"]

MOST = 256
"""Episodes of a group that are shown, the best first."""
AT_ONCE = 16
"""Episodes whose boards are asked for at a time."""

KEYS = (("← →", "turn"), ("Space", "play or pause"), ("Home End", "start, end"), ("P", "where they part"),
        ("↑ ↓", "group"), ("S", "next order"), ("C", "compare the best with the worst"), ("?", "this help"))


@dataclass(frozen=True)
class Asked:
    """The address of a group, read."""

    run: str = ""
    step: int | None = None
    group: int | None = None
    phase: str = "train"
    attempt: int | None = None
    """None: the newest."""

    @classmethod
    def read(cls, search: str) -> "Asked":
        """From `?run=…&step=…&group=…`; what isn't known is dropped. Raises SpecError naming what is wrong."""
        given: dict[str, Any] = {}
        for name, value in parse_qsl(search.removeprefix("?")):
            if name in ("step", "group", "attempt") and value.strip():
                if not value.strip().removeprefix("-").isdecimal() or len(value) > 12:
                    raise SpecError(name, f"{value!r:.40} isn't a whole number; correct the address")
                given[name] = int(value)
            elif name in ("run", "phase") and value:
                given[name] = value
        return cls(**given)

    def to(self, **changes: Any) -> str:
        asked = replace(self, **changes)
        parts = {name: value for name, value in vars(asked).items() if value not in (None, "")}
        if asked.phase == "train":
            del parts["phase"]
        return f"/group?{query(parts)}"


def build(store, launcher) -> None:
    def look(asked: dict[str, Any]) -> dict[str, Any]:
        return answer(store, str(asked.get("search", "")))

    def boards(asked: dict[str, Any]) -> dict[str, Any]:
        return moments(store, str(asked.get("run", "")), [str(id) for id in list(asked.get("ids") or ())[:AT_ONCE]])

    def compare(asked: dict[str, Any]) -> dict[str, Any]:
        return compared(store, *(str(asked.get(name, "")) for name in ("run", "one", "other")))

    shell.html(f'<div class="o-group-page"><div data-slot="group">{shell.skeleton(4, tall=True)}</div>'
               f'{shell.keys(KEYS)}</div>', ["ortamGroup"], server_functions=[look, boards, compare])


def answer(store, search: str) -> dict[str, Any]:
    """The page at an address as `html`, and what its script needs to know; without `ids` there is no group to show."""
    try:
        asked = Asked.read(search)
        run, shown = _found(store, asked)
    except OrtamError as error:
        return {"html": _dead_end(str(error), search)}
    best = [shown.episodes[0], shown.episodes[-1]]
    return {
        "html": group_parts.page(shown), "last": shown.last, "parting": shown.parting.turn if shown.parting else None,
        "run": run.id, "ids": [named(episode.id) for episode in shown.episodes], "orders": list(ORDERS),
        "pair": [named(episode.id) for episode in best] if len(shown.episodes) > 1 else [],
        "title": f"{shown.name}, step {shown.episodes[0].step}, group {shown.episodes[0].group}",
    }


def moments(store, run: str, ids: Sequence[str]) -> dict[str, Any]:
    """Boards and words of all turns of some episodes, by id."""
    try:
        found = store.run(run)
        spec = found.spec
        played = [found.episode(id) for id in ids]
    except OrtamError as error:
        return {"problem": str(error)}
    return {named(episode.id): in_step.moments(episode, viewer_of(spec, episode.environment)) for episode in played}


def compared(store, run: str, one: str, other: str) -> dict[str, Any]:
    try:
        found = store.run(run)
        return {"html": pair(found.id, found.episode(one), found.episode(other))}
    except OrtamError as error:
        sentence = str(error)
        return {"html": shell.problem(sentence[:1].upper() + sentence[1:])}


def _found(store, asked: Asked) -> tuple[Any, Shown]:
    """Raises OrtamError with the remedy."""
    if asked.step is None or asked.group is None:
        missing = [name for name, given in (("the step", asked.step), ("the group", asked.group)) if given is None]
        raise SpecError("", f"{' and '.join(missing)} {'are' if missing[1:] else 'is'} missing in this address; open a "
                            "group from an episode or from a step of its run")
    run = store.run(asked.run or "latest")
    where = {"step": asked.step, "group": asked.group, "phase": asked.phase}
    if asked.attempt is None:
        newest = run.episodes(sort="-seq", limit=1, **where)
        asked = replace(asked, attempt=newest[0].attempt if newest else 1)
    rows = run.episodes(sort="-total", limit=MOST, attempt=asked.attempt, **where)
    if not rows:
        attempt = asked.attempt or 1
        known = run.groups(asked.step, asked.phase, attempt)
        told = f"its groups are {known[0]} to {known[-1]}" if known else "no episode was recorded at that step"
        raise SpecError("", f"the run {run.id} has no group {asked.group} at step {asked.step}"
                        f"{'' if asked.phase == 'train' else f' of the phase {asked.phase}'}; {told}")
    total = run.count_episodes(attempt=asked.attempt, **where)
    episodes = sorted((run.episode(row.id) for row in rows),
                      key=lambda one: (one.total is None, -(one.total or 0), one.sample))
    groups = run.groups(asked.step, asked.phase, asked.attempt or 1)
    place = groups.index(asked.group) if asked.group in groups else 0
    spec = run.spec
    return run, Shown(
        run=run.id, name=spec.name, episodes=tuple(episodes), all_=total, terms=spec.rewards,
        viewer=viewer_of(spec, episodes[0].environment),
        previous=asked.to(run=run.id, group=groups[place - 1]) if place else None,
        following=asked.to(run=run.id, group=groups[place + 1]) if place + 1 < len(groups) else None,
        place=(place + 1, len(groups)))


def _dead_end(sentence: str, search: str) -> str:
    run = dict(parse_qsl(search.removeprefix("?"))).get("run", "")
    link = (f"/episode?{urlencode({'run': run})}", "See the run's episodes") if run and "no run" not in sentence else \
        ("/", "See all runs")
    return group_parts.dead_end(sentence[:1].upper() + sentence[1:], link)
