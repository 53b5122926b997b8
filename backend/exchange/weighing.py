"""What reward terms of elsewhere count in a total: worked out of totals, where these leave no choice."""

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from backend.records import Episode, RewardTerm

IMPORTED_TERM = "None"
"""What is known of an imported term is what it gave, not how it was worked out."""
MOST_TERMS = 32
"""More are not tried: the sums grow with their square."""
EXACT = 1e-9
"""Of the sum of squared totals: how much may be left over."""


def counted_by(episode: Episode, terms: Sequence[RewardTerm]) -> dict[str, float]:
    """The weight of each term where it is known; a term that the spec doesn't name counts once. Of an imported episode
    nothing, where the weights of its run don't make up its total."""
    weights = dict.fromkeys(episode.scores, 1.0) | {term.name: term.weight for term in terms}
    if not any(term.value == IMPORTED_TERM for term in terms):
        return weights
    made = sum(score * weights[name] for name, score in episode.scores.items() if score is not None)
    adds_up = episode.total is not None and math.isclose(made, episode.total, rel_tol=1e-4, abs_tol=1e-6)
    return weights if adds_up else {}


class Weighing:
    """Sums over the scored episodes, of which least squares makes weights."""

    def __init__(self) -> None:
        self._names: dict[str, None] = {}
        self._products: defaultdict[tuple[str, str], float] = defaultdict(float)
        self._with_total: defaultdict[str, float] = defaultdict(float)
        self._totals = 0.0

    def add(self, episode: Episode) -> None:
        if episode.total is None:
            return
        scores = {name: score for name, score in episode.scores.items() if score}
        self._names |= dict.fromkeys(scores)
        if len(self._names) > MOST_TERMS:
            return
        self._totals += episode.total * episode.total
        for name, score in scores.items():
            self._with_total[name] += score * episode.total
            for other, beside in scores.items():
                self._products[name, other] += score * beside

    def weights(self, known: Mapping[str, float], free: Collection[str]) -> dict[str, float]:
        """Of those of `free` that ever counted; nothing where they could be other ones, or don't make up the totals."""
        import numpy as np

        names = [name for name in self._names if name in free or name in known]
        sought = [name for name in names if name not in known]
        if not sought or len(self._names) > MOST_TERMS or len(names) < len(self._names):
            return {}
        products = np.array([[self._products[one, other] for other in names] for one in names])
        with_total = np.array([self._with_total[name] for name in names])
        if not (np.isfinite(products).all() and np.isfinite(with_total).all() and np.isfinite(self._totals)):
            return {}
        open_ = np.array([name not in known for name in names])
        weights = np.array([known.get(name, 0.0) for name in names])
        system = products[open_][:, open_]
        if np.linalg.matrix_rank(system, hermitian=True) < len(sought):
            return {}
        weights[open_] = np.linalg.solve(system, (with_total - products @ weights)[open_])
        weights = np.array([float(f"{weight:.6g}") for weight in weights])
        left = self._totals - 2 * weights @ with_total + weights @ products @ weights
        return dict(zip(sought, weights[open_].tolist(), strict=True)) if abs(left) <= EXACT * self._totals else {}
