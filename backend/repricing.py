"""What a stored run's episodes would have been worth by other reward terms. Nothing is written back.

    reprice(run, terms) -> Repricing      raises RewardError for terms that can't be used, OrtamError for an empty run
    Repricing.told()                      the same as plain values, for JSON

All training episodes are read once, as columns; expressions are worked out with numpy. What a term gives comes from

    facts     an expression, or the environment's own reward: worked out anew from what was stored with each episode
    turns     an expression of every turn: from the facts stored with each turn
    stored    the run's own term with the same value (judge, Python or turns): its stored scores are used as they are
    nothing   a judge or a Python function that this run never asked: it can't be re-priced, says why, and is left out

Totals and advantages are those that the run's settings would give (`scale_rewards`, `multi_objective_aggregation`).
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from backend.errors import OrtamError, RewardError
from backend.records import RewardTerm, RunSpec
from backend.rewards import Terms
from backend.rewards.advantages import advantages, totals
from backend.rewards.columns import values
from backend.rewards.expression import Expression
from backend.rewards.terms import OWN
from backend.store import CurvePoint, Run
from backend.store.columns import EpisodeColumns

DIGITS = 9
"""Totals that agree to so many decimals are the same total."""
MOVED = 20
"""Episodes told of by default."""
EXAMPLES = 10


class Numbers(NamedTuple):
    """Of all training episodes; None where nothing was scored."""

    mean: float | None
    low: float | None
    """10 % quantile."""
    high: float | None
    """90 % quantile."""
    scored: int
    all: int


@dataclass(frozen=True)
class Priced:
    """One term by the new prices."""

    name: str
    kind: str
    weight: float
    source: Literal["facts", "turns", "stored", "nothing"]
    problem: str
    """Why it can't be re-priced, in a sentence; "" where it could."""
    before: Numbers | None
    """The stored scores of the run's term of this name; None where it has none."""
    after: Numbers


@dataclass(frozen=True)
class Groups:
    """Groups of training episodes on one task."""

    all: int
    signal_before: int
    """With totals that differ, so that something can be learned."""
    signal_after: int
    gained: int
    """Without signal before, with signal now."""
    lost: int
    order_changed: int
    """In which one episode was better than another and is now worse."""
    examples: dict[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    """(step, group) of the first few, under gained, lost and order_changed."""


@dataclass(frozen=True)
class Moved:
    """An episode and how its worth changed; None stands for not scored."""

    id: str
    step: int
    group: int
    sample: int
    environment: str
    status: str
    total_before: float | None
    total_after: float | None
    advantage_before: float | None
    advantage_after: float | None


@dataclass(frozen=True)
class Repricing:
    run: str
    episodes: int
    scale_rewards: str
    aggregation: str
    terms: tuple[Priced, ...]
    total_before: Numbers
    """As the trainer used it."""
    total_after: Numbers
    curves: tuple[CurvePoint, ...]
    """As `Run.term_curves` gives them: by step, for the total, then for each term; in a mix also by environment."""
    groups: Groups
    moved: tuple[Moved, ...]
    """Those whose advantage changed most, most first; none that didn't move."""
    seq: np.ndarray
    """Of each training episode; the two below go with it, NaN for not scored."""
    totals: np.ndarray
    advantages: np.ndarray

    @property
    def left_out(self) -> tuple[str, ...]:
        """A sentence for each term that totals are without."""
        return tuple(f"{term.name} is left out of the totals: {term.problem}" for term in self.terms if term.problem)

    def told(self) -> dict[str, Any]:
        whole = {name: getattr(self, name) for name in ("run", "episodes", "scale_rewards", "aggregation")}
        return {**whole, "left_out": list(self.left_out), "groups": asdict(self.groups),
                "total": {"before": self.total_before._asdict(), "after": self.total_after._asdict()},
                "terms": [{**asdict(term), "after": term.after._asdict(),
                           "before": term.before and term.before._asdict()} for term in self.terms],
                "moved": [asdict(one) for one in self.moved], "curves": [point._asdict() for point in self.curves]}


def reprice(run: Run, terms: Sequence[RewardTerm], most_moved: int = MOVED) -> Repricing:
    """Raises RewardError, naming the term, where one can't be used on this run; OrtamError where it has no episodes."""
    spec, known = run.spec, run.known_facts()
    if not terms:
        raise RewardError("there are no reward terms to re-price with; give at least one")
    if not run.count_episodes(phase="train"):
        raise OrtamError(f"{run.id} has no training episodes yet; re-price it once it has played a step")
    parsed = _checked(terms, known)
    sources = {term.name: _source(term, spec) for term in terms}
    facts = sorted({name for term in terms if sources[term.name][0] == "facts" for name in _reads(term, parsed)})
    own = [term.name for term in spec.rewards]
    asked = sorted({*own, *(was for _, was, _ in sources.values() if was)})
    episodes = run.columns(facts, asked)
    gone, environment = np.array(episodes.gone, bool), np.array(episodes.environment)
    scores = np.full((len(gone), len(terms)), np.nan)
    for place, term in enumerate(terms):
        source, was, _ = sources[term.name]
        if source == "facts":
            scores[:, place] = _from_facts(term, parsed, episodes)
        elif source == "turns":
            scores[:, place] = _from_turns(run, parsed[term.name], episodes)
        elif was:
            scores[:, place] = _floats(episodes.scores[was])
        elsewhere = gone | ~_applies(term, episodes.environments)[environment]
        scores[elsewhere, place] = np.nan
    return _worked_out(run, spec, terms, sources, scores, episodes, most_moved)


def _worked_out(run: Run, spec: RunSpec, terms: Sequence[RewardTerm], sources: dict, scores: np.ndarray,
                episodes: EpisodeColumns, most_moved: int) -> Repricing:
    scale = spec.train.scale_rewards
    aggregation = spec.train.extra.get("multi_objective_aggregation", "sum_then_normalize")
    step, group = np.array(episodes.step), np.array(episodes.group)
    attempt = np.array(episodes.attempt)
    batch = _numbered(attempt, step)
    group_number = _numbered(batch, group)
    weights = np.array([term.weight for term in terms])
    worth = totals(scores, weights)
    gains = advantages(scores, weights, group_number, batch, scale, aggregation)
    before, gains_before = _floats(episodes.total), _floats(episodes.advantage)
    own = {term.name for term in spec.rewards}
    priced = tuple(Priced(term.name, term.kind, term.weight, sources[term.name][0], sources[term.name][2],
                          _numbers(_floats(episodes.scores[term.name])) if term.name in own else None,
                          _numbers(scores[:, place])) for place, term in enumerate(terms))
    curves = _curves([("total", worth), *((term.name, scores[:, place]) for place, term in enumerate(terms))], step,
                     episodes)
    moved = _moved(run, episodes, before, worth, gains_before, gains, most_moved)
    return Repricing(run.id, len(step), scale, aggregation, priced, _numbers(before), _numbers(worth), curves,
                     _groups(before, worth, group_number, step, group), moved, np.array(episodes.seq), worth, gains)


# ------------------------------------------------------------------------------------------------- what each term gives


def _checked(terms: Sequence[RewardTerm], known: Sequence[str]) -> dict[str, Expression]:
    names = [term.name for term in terms]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise RewardError(f"two reward terms are called {twice[0]}; give each its own name")
    if wild := next((term.name for term in terms if not np.isfinite(term.weight)), None):
        raise RewardError(f"the weight of reward term {wild} isn't a finite number; correct it")
    Terms([term for term in terms if term.kind == "expression"], known)
    return {term.name: Expression(term.value) for term in terms if term.kind == "expression"}


def _source(term: RewardTerm, spec: RunSpec) -> tuple[str, str | None, str]:
    """(source, name of the run's own term whose scores are used, why there is none)."""
    if term.scope == "end" and term.kind in ("expression", "environment"):
        return "facts", None, ""
    everywhere = [asked.id for asked in spec.environments]
    same = [was for was in spec.rewards
            if (was.kind, was.value, was.scope, was.judge) == (term.kind, term.value, term.scope, term.judge)]
    for was in same:
        if set(term.environments or everywhere) <= set(was.environments or everywhere):
            return "stored", was.name, ""
    if term.kind == "expression":
        return "turns", None, ""
    what = "a judge" if term.kind == "judge" else "a Python function"
    if same:
        where = ", ".join(same[0].environments or ())
        return "nothing", None, f"{what} is asked while a run is played, and this run asked it about {where} only"
    return "nothing", None, f"{what} is asked while a run is played, and this run never asked it this"


def _reads(term: RewardTerm, parsed: dict[str, Expression]) -> set[str]:
    return {OWN[term.value]} if term.kind == "environment" else parsed[term.name].names


def _from_facts(term: RewardTerm, parsed: dict[str, Expression], episodes: EpisodeColumns) -> np.ndarray:
    if term.kind == "expression":
        return values(parsed[term.name], episodes.facts, len(episodes.seq))
    return values(Expression(OWN[term.value]), episodes.facts, len(episodes.seq))


def _from_turns(run: Run, expression: Expression, episodes: EpisodeColumns) -> np.ndarray:
    """Sum over the turns that reached the environment and gave a number."""
    told = run.turn_columns(sorted({*expression.names, "turns"}))
    made = np.full(len(episodes.seq), np.nan)
    if not len(told.episode):
        return made
    place = np.searchsorted(np.array(episodes.seq), np.array(told.episode))
    reached = _floats(told.facts["turns"])
    reached[np.isnan(reached)] = 0
    first = place * (reached.max() + 1)  # so far apart that no episode reaches the next one's numbers
    highest = np.maximum.accumulate(first + reached)
    given = values(expression, told.facts, len(place))
    counts = (first + reached > np.maximum(first, np.r_[0, highest[:-1]])) & ~np.isnan(given)
    made[place[counts]] = 0
    np.add.at(made, place[counts], given[counts])
    return np.where(np.isfinite(made), made, np.nan)


def _applies(term: RewardTerm, environments: Sequence[str]) -> np.ndarray:
    return np.array([not term.environments or name in term.environments for name in environments])


def _floats(given: Sequence[Any]) -> np.ndarray:
    made = np.array(given, float)
    made[~np.isfinite(made)] = np.nan
    return made


# ------------------------------------------------------------------------------------------------- what that changes


def _numbered(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The pairs, numbered from 0 in their order."""
    return np.unique(first.astype(np.int64) * (int(second.max()) + 1) + second, return_inverse=True)[1]


def _numbers(worth: np.ndarray) -> Numbers:
    scored = worth[~np.isnan(worth)]
    if not len(scored):
        return Numbers(None, None, None, 0, len(worth))
    low, high = np.quantile(scored, (0.1, 0.9))
    return Numbers(float(scored.mean()), float(low), float(high), len(scored), len(worth))


def _curves(named: Sequence[tuple[str, np.ndarray]], step: np.ndarray,
            episodes: EpisodeColumns) -> tuple[CurvePoint, ...]:
    environment = np.array(episodes.environment)
    parts: list[tuple[str | None, np.ndarray]] = [(None, np.arange(len(step)))]
    if len(episodes.environments) > 1:
        parts += [(name, np.flatnonzero(environment == place)) for place, name in enumerate(episodes.environments)]
    return tuple(point for name, worth in named for where, rows in parts
                 for point in _curve(name, worth[rows], step[rows], where))


def _curve(name: str, worth: np.ndarray, step: np.ndarray, environment: str | None) -> list[CurvePoint]:
    steps, number = np.unique(step, return_inverse=True)
    every = np.bincount(number, minlength=len(steps))
    there = ~np.isnan(worth)
    order = np.lexsort((worth[there], number[there]))
    ordered = worth[there][order]
    scored = np.bincount(number[there], minlength=len(steps))
    start = np.cumsum(scored) - scored
    with np.errstate(all="ignore"):
        mean = np.bincount(number[there], worth[there], len(steps)) / scored
    low, high = (_quantile(ordered, start, scored, share) for share in (0.1, 0.9))
    made = zip(steps.tolist(), mean.tolist(), low.tolist(), high.tolist(), scored.tolist(), every.tolist(), strict=True)
    return [CurvePoint(at, name, m if n else None, a if n else None, b if n else None, n, of, environment)
            for at, m, a, b, n, of in made]


def _quantile(ordered: np.ndarray, start: np.ndarray, count: np.ndarray, share: float) -> np.ndarray:
    """Of each part of `ordered`, linear between the two nearest values; anything for an empty part."""
    if not len(ordered):
        return np.zeros(len(count))
    place = share * np.maximum(count - 1, 0)
    below = np.floor(place).astype(int)
    last = len(ordered) - 1
    a = ordered[np.minimum(start + below, last)]
    b = ordered[np.minimum(start + np.minimum(below + 1, np.maximum(count - 1, 0)), last)]
    return a + (b - a) * (place - below)


def _groups(before: np.ndarray, after: np.ndarray, group: np.ndarray, step: np.ndarray, name: np.ndarray) -> Groups:
    count = int(group.max()) + 1
    had, has = _signal(before, group, count), _signal(after, group, count)
    turned = _turned(before, after, group, count)
    found = {"gained": has & ~had, "lost": had & ~has, "order_changed": turned}
    first = np.unique(group, return_index=True)[1]
    examples = {what: tuple((int(step[first[g]]), int(name[first[g]])) for g in np.flatnonzero(which)[:EXAMPLES])
                for what, which in found.items()}
    return Groups(count, int(had.sum()), int(has.sum()), examples=examples,
                  **{what: int(which.sum()) for what, which in found.items()})


def _signal(worth: np.ndarray, group: np.ndarray, count: int) -> np.ndarray:
    """Whether a group's totals differ."""
    there = ~np.isnan(worth)
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(low, group[there], worth[there])
    np.maximum.at(high, group[there], worth[there])
    return high - low > 10.0 ** -DIGITS


def _turned(before: np.ndarray, after: np.ndarray, group: np.ndarray, count: int) -> np.ndarray:
    """Whether some pair of a group changed places: sorted by what they were, ties by what they are, two neighbours are
    out of order."""
    there = ~(np.isnan(before) | np.isnan(after))
    was, now, of = np.round(before[there], DIGITS), np.round(after[there], DIGITS), group[there]
    order = np.lexsort((now, was, of))
    now, of = now[order], of[order]
    turned = np.zeros(count, bool)
    turned[of[1:][(of[1:] == of[:-1]) & (now[1:] < now[:-1])]] = True
    return turned


def _moved(run: Run, episodes: EpisodeColumns, before: np.ndarray, after: np.ndarray, gains_before: np.ndarray,
           gains: np.ndarray, most: int) -> tuple[Moved, ...]:
    # An episode without a score pulls the policy nowhere, so for the pull, and only for it, none is 0.
    change = np.abs(np.nan_to_num(gains) - np.nan_to_num(gains_before))
    places = [place for place in np.argsort(-change, kind="stable")[:most] if change[place] > 1e-3]
    found = run.episodes(limit=None, seq=[episodes.seq[place] for place in places]) if places else []
    rows = {row.seq: row for row in found}
    worth = {episodes.seq[place]: [_told(column[place]) for column in (before, after, gains_before, gains)]
             for place in places}
    return tuple(Moved(row.id, row.step, row.group, row.sample, row.environment, row.status, *told)
                 for seq, told in worth.items() if (row := rows.get(seq)))


def _told(number: float) -> float | None:
    return None if np.isnan(number) else float(number)
