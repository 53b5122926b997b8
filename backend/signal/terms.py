"""Alarms about reward terms: which of them decide, and which work against each other.

Only differences inside a group move a policy, so terms are compared by how far each episode lies from its group.
"""

from collections.abc import Iterator
from math import sqrt

from backend.signal.evidence import Evidence
from backend.signal.saying import Alarm, seen
from backend.signal.thresholds import limit
from backend.signal.words import listed, percent


def dominates(told: Evidence) -> Iterator[Alarm]:
    """One term decides alone, although others vary too. A term that never varied has nothing to be drowned."""
    weights = _weights(told)
    sums: dict[str, list[float]] = {}
    for tally in told.lately:
        for name, more in tally.spreads.get("alone", {}).items():
            sums[name] = [a + b for a, b in zip(sums.get(name, [0, 0.0]), more, strict=True)]
    parts = {name: weights[name] ** 2 * squares for name, (n, squares) in sums.items()
             if weights.get(name) and n >= limit("spread") and squares > 0}
    if len(parts) < 2:
        return
    first, *others = sorted(parts, key=parts.__getitem__, reverse=True)
    whole = sum(parts.values())
    if parts[first] < limit("dominates") * whole:
        return
    yield Alarm("term_dominates", "plain",
                f"the term {first} makes {percent(parts[first], whole)} of what sets the episodes of a group apart; "
                f"{listed(others)} hardly {'counts' if len(others) == 1 else 'count'}.",
                "Raise the weight of what should count, or drop it.",
                seen(told, "group_signal == 'signal'", sort=f"-{first}"))


def apart(told: Evidence) -> Iterator[Alarm]:
    """The pair that works against each other most."""
    weights = _weights(told)
    sums: dict[tuple[str, str], list[float]] = {}
    for tally in told.lately:
        for name, other, *more in tally.spreads.get("pairs", []):
            sums[name, other] = [a + b for a, b in zip(sums.get((name, other), [0.0] * 4), more, strict=True)]
    found = []
    for (name, other), (n, squares, others, products) in sums.items():
        if not (weights.get(name) and weights.get(other)) or n < limit("spread") or squares <= 0 or others <= 0:
            continue
        sides = sorted((abs(weights[name]) * sqrt(squares), abs(weights[other]) * sqrt(others)))
        correlation = products / sqrt(squares * others) * (1 if weights[name] * weights[other] > 0 else -1)
        if correlation <= limit("apart") and sides[0] >= limit("equals") * sides[1]:
            found.append((correlation, name, other))
    if found:
        correlation, name, other = min(found)
        words = f"{correlation:.2f}".replace("-", "−")
        yield Alarm("terms_apart", "warn",
                    f"the terms {name} and {other} pull apart (correlation {words} inside groups): what one gives the other "
                    "takes.",
                    "Decide which is to win and give it more weight, or make one term of both.",
                    seen(told, "group_signal == 'signal'", sort=f"-{name}"))


def _weights(told: Evidence) -> dict[str, float]:
    here = set(told.environments)
    return {term.name: term.weight for term in told.terms if not term.environments or here & set(term.environments)}
