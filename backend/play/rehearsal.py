"""Trying reward terms before training: scripted players play a few episodes once, and any terms can be scored on them.

    rehearsals.of(environment)            begins to play, or gives what was played for the same environment before
    await worth(episodes, terms, ...)     what a player's episodes come to by these terms
    judged(environment, [Worth, ...])     whether good play is worth more than random play, in a sentence with numbers
"""

import asyncio
import json
import statistics
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from backend.environments.players import players
from backend.environments.sources import check, reach, source
from backend.errors import OrtamError
from backend.play.baseline import AT_ONCE, Baseline
from backend.records import UNSCORED, EnvironmentSpec, Episode, Judged, RewardTerm
from backend.rewards import Played, Terms
from backend.store import Store

GAMES = 8
"""Of each player."""

EARLIER = 32
"""Episodes of people and of models that are looked at, and RUNS in which they are sought."""

RUNS = 40
PATIENCE = 180.0
"""Seconds for all games of an environment, once it is open."""

AT_A_TIME, KEPT = 2, 12
"""Environments being played, and remembered, at once."""

Kind = Literal["best", "random", "person", "model"]
"""Of who played."""

SAME = 1e-9
"""Worth nearer than this is the same."""


class Rehearsal:
    """One environment being played by its scripted players, in a thread of its own."""

    def __init__(self, asked: EnvironmentSpec):
        self.asked = asked
        self.players = _best_and_random(asked.use)
        self.ended = threading.Event()
        self.problem = ""
        """Why it came to no end, in a sentence."""
        self._baseline: Baseline | None = None
        threading.Thread(target=self._run, daemon=True).start()

    @property
    def played(self) -> int:
        return len(self._baseline.sittings) if self._baseline else 0

    @property
    def games(self) -> int:
        """To be played in all, as far as it is known."""
        return self._baseline.games if self._baseline else GAMES * len(players(self.asked.use))

    def episodes(self, player: str) -> list[Episode]:
        """Of the games that have ended."""
        if self._baseline is None:
            return []
        return [sitting.episode() for sitting in list(self._baseline.sittings) if sitting.policy.name == player]

    def _run(self) -> None:
        try:
            check(self.asked)
            with reach(self.asked, AT_ONCE) as address:
                there = source(self.asked, address)
                tasks = there.tasks(self.asked.tasks.model_copy(update={"count": GAMES}), self.asked.options)[:GAMES]
                self._baseline = Baseline(self.asked, there, (), tasks)
                asyncio.run(asyncio.wait_for(self._baseline.play(), PATIENCE))
        except OrtamError as error:
            self.problem = str(error)
        except TimeoutError:
            self.problem = f"its games took longer than {PATIENCE:.0f} s and were ended; try again when it is less busy"
        except Exception as error:  # a thread nobody waits for: the page that looks is told instead
            self.problem = f"{type(error).__name__}: {error}"
        finally:
            self.ended.set()


class Rehearsals:
    """Those of this process; who asks for the same environment shares one."""

    def __init__(self) -> None:
        self._known: dict[str, Rehearsal] = {}
        self._lock = threading.Lock()

    def of(self, asked: EnvironmentSpec, again: Literal["", "failed", "all"] = "") -> Rehearsal:
        """Plays anew what has ended, if it `failed`, or in `all` cases. Raises OrtamError where too many are under way."""
        name = json.dumps([asked.use, asked.options, asked.max_turns, asked.prompt, asked.tasks.model_dump()],
                          sort_keys=True, default=str)
        with self._lock:
            found = self._known.get(name)
            if found and not (found.ended.is_set() and (again == "all" or again and found.problem)):
                return found
            if sum(not one.ended.is_set() for one in self._known.values()) >= AT_A_TIME:
                raise OrtamError("Other terms are being tried here right now; try again in a moment.")
            self._known.pop(name, None)
            made = self._known[name] = Rehearsal(asked)
            for old in [name for name, one in self._known.items() if one.ended.is_set()][:-KEPT]:
                del self._known[old]
        return made


def _best_and_random(use: str) -> tuple[str, ...]:
    known = list(players(use))
    return tuple(dict.fromkeys((known[0], known[-1])))


# ------------------------------------------------------------------------------------------------------ what it comes to


class Spread(NamedTuple):
    """None where nothing was scored."""

    mean: float | None
    low: float | None
    high: float | None
    scored: int
    all: int


@dataclass(frozen=True)
class Worth:
    """What a player's episodes come to by the terms at hand."""

    who: str
    kind: Kind
    where: str
    """The run they are of; "" for episodes just played."""
    games: int
    won: float | None
    """Share, of those of which it is known."""
    terms: Mapping[str, Spread]
    totals: tuple[float, ...]
    """Of those that were scored."""
    total: Spread
    faults: tuple[str, ...] = ()
    """Why a term gave no number, other than a fact that isn't known."""


async def worth(who: str, kind: Kind, episodes: Sequence[Episode],
                terms: Sequence[RewardTerm], environment: str, answers: dict[str, Judged], where: str = "",
                ask: bool = True) -> Worth:
    """`environment` is the id that the terms know it by. Judges and Python functions are asked only if `ask`; what
    judges said is kept in `answers`. Raises RewardError."""
    scored = [episode for episode in episodes if episode.status not in UNSCORED]
    held = Terms(terms)
    seen = [Played(each.facts, environment, each.prompt, each.turns) for each in scored]
    if ask:
        held.load(answers)
        verdicts = await held.score_all(seen)
        answers |= held.answers
        scores = [verdict.scores for verdict in verdicts]
        faults = tuple(dict.fromkeys(fault.message for verdict in verdicts for fault in verdict.faults))
    else:
        scores, faults = [held.score(each.facts, environment, each.turns) for each in seen], ()
    totals = [held.total(one) for one in scores]
    known = [status for episode in scored if (status := episode.facts.get("won")) is not None]
    return Worth(who, kind, where, len(scored), statistics.fmean(map(bool, known)) if known else None,
                 {term.name: spread([one[term.name] for one in scores]) for term in terms},
                 tuple(total for total in totals if total is not None), spread(totals), faults)


def spread(values: Sequence[float | None]) -> Spread:
    known = [value for value in values if value is not None]
    if not known:
        return Spread(None, None, None, 0, len(values))
    return Spread(statistics.fmean(known), min(known), max(known), len(known), len(values))


def earlier(store: Store, use: str) -> list[tuple[Kind, str, str, list[Episode]]]:
    """(kind, who, run, episodes) of the newest run that a person played in this environment, and of the newest that a
    model did, where there are such."""
    found: dict[str, tuple] = {}
    for summary in store.runs()[:RUNS]:
        try:
            run = store.run(summary.id)
            ids = [asked.id for asked in run.spec.environments if asked.use == use]
            wanted: tuple[tuple[str, str, dict[str, Any]], ...] = (
                ("person", "by hand", {"phase": "play", "policy": "human"}), ("model", summary.model, {"phase": "train"}))
            for kind, who, filters in wanted if ids else ():
                if kind not in found and (rows := run.episodes(sort="-step", limit=EARLIER, environment=ids, **filters)):
                    found[kind] = (kind, who, run.id, [run.episode(row.id) for row in rows])
        except OrtamError:  # one broken folder must not hide the others
            continue
        if len(found) == 2:
            break
    return [found[kind] for kind in ("person", "model") if kind in found]


class Judgement(NamedTuple):
    level: Literal["green", "amber", "red"]
    text: str
    remedy: str


def judged(played: Sequence[Worth]) -> Judgement:
    """Does a good player earn more than a random one? Where no scripted player is good, a person or a model stands in
    for one."""
    poor = next(one for one in played if one.kind == "random")
    good = next((one for kind in ("best", "person", "model") for one in played if one.kind == kind and one.totals), None)
    if not poor.totals:
        return Judgement("red", "No episode of the random player was scored by these terms.",
                         next(iter(poor.faults), "They need facts that are never known here; use others."))
    if good is None and any(one.kind == "best" for one in played):
        best = next(one for one in played if one.kind == "best")
        return Judgement("red", f"No episode of the {best.who} player was scored by these terms.",
                         next(iter(best.faults), "They need facts that are never known here; use others."))
    flat = len(poor.totals) > 1 and max(poor.totals) - min(poor.totals) < SAME
    blind = ("All random episodes earn the same: a model that starts from nothing would see no difference within a "
             "group. Add a term with partial credit, or warm up first.")
    if good is None:
        return Judgement("amber", f"A random player earns {_said(poor)}; no better player is known here to compare with.",
                         blind if flat else "Play a few episodes yourself, and try again.")
    above = sum(a > b + SAME for a in good.totals for b in poor.totals)
    pairs = len(good.totals) * len(poor.totals)
    name = {"best": f"the {good.who} player", "person": "a person", "model": f"the model {good.who}"}[good.kind]
    numbers = (f"{name} earns {_said(good)}, the random player {_said(poor)}; the better one is ahead in {above} of "
               f"{pairs} pairs of episodes.")
    if statistics.fmean(good.totals) <= statistics.fmean(poor.totals) + SAME:
        return Judgement("amber" if good.kind == "model" else "red", f"Good play isn't worth more: {numbers}",
                         "Change the terms or their weights, unless something else than winning is meant.")
    if flat:
        return Judgement("amber", f"Good play is worth more: {numbers}", blind)
    return Judgement("green", f"Good play is worth more: {numbers}", "")


def _said(one: Worth) -> str:
    """`1.25 (0.90 to 1.40)`."""
    mean, low, high = one.total.mean, one.total.low, one.total.high
    if mean is None or low is None or high is None:
        return "nothing that was scored"
    return _plain(mean) + (f" ({_plain(low)} to {_plain(high)})" if high - low > SAME else "")


def _plain(value: float) -> str:
    return f"{value:.2f}".replace("-", "−") if abs(value) >= 0.005 or not value else f"{value:.2g}".replace("-", "−")
