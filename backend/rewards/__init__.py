"""Reward terms: an episode's facts in, a number or None out.

A term is an expression such as `1.0 + 0.5 * (1 - guesses / 6) if won else 0.0`. Names are facts; min, max, abs, round
and len are the functions. A fact that isn't known is None, and None is never 0: arithmetic and order with it make the
whole term None. As a condition it counts as not true, and `x is None` asks for it.
"""

from collections.abc import Collection, Mapping, Sequence

from backend.errors import RewardError
from backend.records import Fault, RewardTerm
from backend.rewards.expression import Expression, NotANumber

__all__ = ["Terms", "check"]

Facts = Mapping[str, object]


def check(expression: str, facts: Collection[str]) -> None:
    """Raises RewardError where the expression doesn't parse or names something that isn't in `facts`."""
    Expression(expression).must_know(facts)


class Terms:
    """A run's reward terms, ready to score.

    `facts_known`: every fact an episode may have. Raises RewardError, naming the term, where one can't be used.
    """

    def __init__(self, terms: Sequence[RewardTerm], facts_known: Collection[str] | None = None):
        self.terms = tuple(terms)
        self._expressions = {}
        for term in self.terms:
            try:
                expression = Expression(term.value)
                if facts_known is not None:
                    expression.must_know(facts_known)
            except RewardError as error:
                raise RewardError(f"reward term {term.name}: {error}") from None
            self._expressions[term.name] = expression

    def score(self, facts: Facts, environment: str | None = None) -> dict[str, float | None]:
        """Raw value of each term before its weight; None where it doesn't apply, isn't known or isn't a number."""
        return {term.name: self._value(term, facts, environment)[0] for term in self.terms}

    def total(self, scores: Mapping[str, float | None]) -> float | None:
        """Weighted sum of the scores that are not None; None when all are."""
        parts = [term.weight * score for term in self.terms if (score := scores.get(term.name)) is not None]
        return sum(parts) if parts else None

    def faults(self, facts: Facts, environment: str | None = None) -> list[Fault]:
        """What went wrong in terms that gave None for a reason other than an unknown fact, such as a division by 0."""
        found = []
        for term in self.terms:
            problem = self._value(term, facts, environment)[1]
            if problem is not None:
                found.append(Fault(where="reward", kind=problem.kind, message=f"reward term {term.name}: {problem}"))
        return found

    def _value(self, term: RewardTerm, facts: Facts, environment: str | None) -> tuple[float | None, NotANumber | None]:
        if term.environments and environment is not None and environment not in term.environments:
            return None, None
        try:
            return self._expressions[term.name].value(facts), None
        except NotANumber as problem:
            return None, problem
