"""An episode's facts turn by turn, read with care: they come from environments, so any value may be missing or odd."""

from backend.records import Episode, FactValue

Facts = dict[str, FactValue]


def over_time(episode: Episode) -> list[Facts]:
    """At the start and after each turn; a turn that tells none keeps those before it."""
    known = [dict(episode.start_facts)]
    for turn in episode.turns:
        known.append({**known[-1], **turn.facts})
    return known


def whole(facts: Facts, name: str) -> int | None:
    """The fact as an integer; None where it isn't one."""
    value = facts.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if value == value and abs(value) < 1e9 and value == int(value) else None


def word(facts: Facts, name: str) -> str:
    """The fact as text; "" where it isn't any."""
    value = facts.get(name)
    return value if isinstance(value, str) else ""
