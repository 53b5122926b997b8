"""The order of an episode list, and what lies before and after a place in it.

Episodes without a value come last in both directions. Ties are settled, so the order is the same each time, and in a
way that lets an index give it.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from backend.errors import SpecError

SORTABLE = {"step": "step", "total": "total", "advantage": "advantage", "status": "status", "turns": "turns",
            "tokens": "tokens", "seconds": "seconds", "environment": "environment", "group": "group_",
            "sample": "sample", "id": "id", "seq": "seq", "started": "started"}
INDEXED = {"step", "total", "advantage", "status", "id", "seq"}
NULLABLE = {"total", "advantage", "tokens", "seconds"}


class Key(NamedTuple):
    sql: str
    down: bool
    nullable: bool = False


def sort_keys(sort: str, terms: Sequence[str]) -> list[Key]:
    """Keys for a column's or a reward term's name, with - in front for the largest first. Raises SpecError."""
    name, down = sort.removeprefix("-"), sort.startswith("-")
    if name == "step":
        return [Key("step", down), Key("group_", False), Key("sample", False), Key("seq", False)]
    if name in SORTABLE:
        return [Key(SORTABLE[name], down, name in NULLABLE), Key("seq", down)]
    if name in terms and name.isprintable() and '"' not in name:  # imported terms may be called anything
        quoted = name.replace("'", "''")
        return [Key(f"""json_extract(scores, '$."{quoted}"')""", down, True), Key("seq", down)]
    raise SpecError("sort", f"episodes can't be sorted by {name!r}; use one of {', '.join((*SORTABLE, *terms))}, "
                            "with - in front for the largest first")


def order(keys: Sequence[Key], forward: bool = True) -> str:
    """For ORDER BY. SQLite takes NULL for the smallest, so only the other ways need a word."""
    parts = []
    for key in keys:
        down = key.down == forward
        nulls = "" if not key.nullable or key.down else " NULLS LAST" if forward else " NULLS FIRST"
        parts.append(f"{key.sql} {'DESC' if down else 'ASC'}{nulls}")
    return ", ".join(parts)


def past(keys: Sequence[Key], here: Sequence[Any], forward: bool) -> list[tuple[str, list[Any]]]:
    """Conditions for what comes after these keys' values, or before them, the nearest first, each with its parameters.

    Where an index gives the order, each of them is a stretch of it; elsewhere all of them are one, since each would read
    every row.
    """
    ways: list[tuple[str, list[Any]]] = []
    for place in reversed(range(len(keys))):
        ties = [f"{tie.sql} IS ?" for tie in keys[:place]]
        ways += [(" AND ".join([*ties, beyond]), [*here[:place], *values])
                 for beyond, values in _beyond(keys[place], here[place], forward)]
    if keys[0].sql in INDEXED:
        return ways
    return [(f"({' OR '.join(f'({way})' for way, _ in ways)})", [value for _, values in ways for value in values])]


def _beyond(key: Key, value: Any, forward: bool) -> list[tuple[str, list[Any]]]:
    if value is None:
        return [] if forward else [(f"{key.sql} IS NOT NULL", [])]
    if not forward:
        return [(f"{key.sql} {'>' if key.down else '<'} ?", [value])]
    return [(f"{key.sql} {'<' if key.down else '>'} ?", [value]), *([(f"{key.sql} IS NULL", [])] if key.nullable else [])]
