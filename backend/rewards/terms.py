"""A run's reward terms, ready to score."""

import asyncio
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from backend.errors import RewardError
from backend.records import Fault, Judged, RewardTerm, Turn
from backend.rewards import functions, judge
from backend.rewards.expression import Expression, NotANumber
from backend.rewards.played import ONLY_AT_THE_END, Played

Facts = Mapping[str, object]
Worth = tuple[float | None, NotANumber | None]
"""A number or None, and what was wrong with it, if anything."""

OWN = {"last": "env_reward", "sum": "env_reward_total"}
"""What an environment term reads."""


def check(expression: str, facts: Collection[str]) -> None:
    """Raises RewardError where the expression doesn't parse or names something that isn't in `facts`."""
    Expression(expression).must_know(facts)


def check_alone(term: RewardTerm) -> None:
    """Raises RewardError where the term can't be used on any episode; runs and asks nothing."""
    if term.kind == "python":
        functions.check_function(term.value)
    if term.kind == "expression":
        expression = Expression(term.value)
        if term.scope == "turn" and (late := sorted(expression.names & ONLY_AT_THE_END)):
            raise RewardError(f"{late[0]} is known only at the end of an episode, not after every turn; leave it out, "
                              "or set the term's scope to end")


def check_term(term: RewardTerm, facts: Collection[str]) -> None:
    """Raises RewardError where the term can't be used on episodes with these facts; runs and asks nothing."""
    check_alone(term)
    if term.kind == "expression":
        Expression(term.value).must_know(facts)


@dataclass(frozen=True)
class Verdict:
    """What one episode is worth."""

    scores: dict[str, float | None]
    """Raw value of each term before its weight; None where it doesn't apply, isn't known or isn't a number."""
    faults: tuple[Fault, ...] = ()
    """Why a term gave None, where it is anything but a fact that isn't known."""
    judged: dict[str, Judged] = field(default_factory=dict)


class Terms:
    """`facts_known`: every fact an episode may have. Raises RewardError, naming the term, where one can't be used."""

    def __init__(self, terms: Sequence[RewardTerm], facts_known: Collection[str] | None = None):
        self.terms = tuple(terms)
        self.answers: dict[str, Judged] = {}
        """What judges answered so far, by digest."""
        self._expressions: dict[str, Expression] = {}
        self._functions: dict[str, Callable] = {}
        for term in self.terms:
            try:
                if term.kind == "expression":
                    self._expressions[term.name] = Expression(term.value)
                if facts_known is not None:
                    check_term(term, facts_known)
            except RewardError as error:
                raise RewardError(f"reward term {term.name}: {error}") from None

    def load(self, answers: Mapping[str, Judged] | None = None) -> None:
        """Makes Python functions and judges ready, for the process that trains. `answers` were given before.

        Raises RewardError.
        """
        self.answers |= answers or {}
        for term in self.terms:
            try:
                if term.kind == "python":
                    self._functions[term.name] = functions.load_function(term.value)
            except RewardError as error:
                raise RewardError(f"reward term {term.name}: {error}") from None
            if term.kind == "judge":
                judge.key_of(term)

    def score(self, facts: Facts, environment: str | None = None,
              turns: Sequence[Turn] = ()) -> dict[str, float | None]:
        """Raw value of each term before its weight; None where it doesn't apply, isn't known or isn't a number.

        Terms that run Python or ask a judge give None here: `score_all` is for those.
        """
        return self._told(Played(facts, environment, turns=turns)).scores

    async def score_all(self, episodes: Sequence[Played]) -> list[Verdict]:
        """A batch of episodes: judges are asked about all of them at once. Never raises for what a term did."""
        verdicts = [self._told(played) for played in episodes]
        for term in self.terms:
            places = [place for place, played in enumerate(episodes) if applies(term, played.environment)]
            if term.kind == "judge":
                answers = await judge.grade(term, [episodes[place] for place in places], self.answers)
                for place, judged in zip(places, answers, strict=True):
                    verdicts[place] = _with(verdicts[place], term, judged.score, judged.fault, judged)
            if term.name in self._functions:
                told = await asyncio.to_thread(self._called, term, [episodes[place] for place in places])
                for place, (value, problem) in zip(places, told, strict=True):
                    verdicts[place] = _with(verdicts[place], term, value, _fault(problem) if problem else None)
        return verdicts

    def total(self, scores: Mapping[str, float | None]) -> float | None:
        """Weighted sum of the scores that are not None; None when all are."""
        parts = [term.weight * score for term in self.terms if (score := scores.get(term.name)) is not None]
        return sum(parts) if parts else None

    def faults(self, facts: Facts, environment: str | None = None) -> list[Fault]:
        """What went wrong in terms that gave None for a reason other than an unknown fact, such as a division by 0."""
        return list(self._told(Played(facts, environment)).faults)

    def _told(self, played: Played) -> Verdict:
        """By the terms that are worked out from facts alone."""
        scores: dict[str, float | None] = {}
        faults = []
        for term in self.terms:
            scores[term.name] = problem = None
            if not applies(term, played.environment):
                continue
            if term.kind == "environment":
                scores[term.name], problem = _value(_finite, played.facts.get(OWN[term.value]))
            elif term.kind == "expression":
                expression = self._expressions[term.name]
                scores[term.name], problem = _over(term, played, partial(_at, expression))
            if problem is not None:
                faults.append(_said(term, _fault(problem)))
        return Verdict(scores, tuple(faults))

    def _called(self, term: RewardTerm, episodes: Sequence[Played]) -> list[Worth]:
        function = self._functions[term.name]
        return [_over(term, played, lambda at: _finite(functions.call(function, at))) for played in episodes]


def applying(terms: Sequence[RewardTerm], environment: str | None) -> tuple[RewardTerm, ...]:
    """Those that apply to one environment, or all, as terms of a run that has no other."""
    return tuple(term.model_copy(update={"environments": None}) for term in terms if applies(term, environment))


def applies(term: RewardTerm, environment: str | None) -> bool:
    return not term.environments or environment is None or environment in term.environments


def _at(expression: Expression, played: Played) -> float | None:
    return expression.value(played.facts)


def _over(term: RewardTerm, played: Played, value: Callable[[Played], float | None]) -> Worth:
    """At the end, or the sum over the turns that gave a number."""
    if term.scope == "end":
        return _value(value, played)
    told = [_value(value, moment) for moment in played.moments()]
    given = [number for number, _ in told if number is not None]
    problem = next((problem for _, problem in told if problem is not None), None)
    if not given:
        return None, problem
    number, overflow = _value(_finite, sum(given))
    return number, problem or overflow


def _value(work: Callable, given: object) -> Worth:
    try:
        return work(given), None
    except NotANumber as problem:
        return None, problem


def _finite(value: object) -> float | None:
    """Raises NotANumber for what is neither None nor a finite number."""
    if value is None:
        return None
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if isinstance(value, (str, bytes)) or not math.isfinite(number):
        raise NotANumber("NotFinite", f"{value!r:.60} isn't a finite number")
    return number


def _fault(problem: NotANumber) -> Fault:
    return Fault(where="reward", kind=problem.kind, message=str(problem))


def _said(term: RewardTerm, fault: Fault) -> Fault:
    return fault.model_copy(update={"message": f"reward term {term.name}: {fault.message}"})


def _with(verdict: Verdict, term: RewardTerm, score: float | None, fault: Fault | None,
          judged: Judged | None = None) -> Verdict:
    return Verdict({**verdict.scores, term.name: score}, (*verdict.faults, *([_said(term, fault)] if fault else [])),
                   {**verdict.judged, term.name: judged} if judged else verdict.judged)
