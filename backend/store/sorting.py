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


def past(keys: Sequence[Key], here: Sequence[Any], forward: bool) -> tuple[str, list[Any]]:
    """A condition for what comes after these keys' values, or before them, and its parameters."""
    ways, parameters = [], []
    for place, (key, value) in enumerate(zip(keys, here, strict=True)):
        beyond, values = _beyond(key, value, forward)
        ties = [f"{tie.sql} IS ?" for tie in keys[:place]]
        ways.append(f"({' AND '.join([*ties, beyond])})")
        parameters += [*here[:place], *values]
    first, values = _beyond(keys[0], here[0], forward)
    # Said once more for the first key alone, this lets an index start at the place.
    return f"({first} OR {keys[0].sql} IS ?) AND ({' OR '.join(ways)})", [*values, here[0], *parameters]


def _beyond(key: Key, value: Any, forward: bool) -> tuple[str, list[Any]]:
    if value is None:
        return ("0", []) if forward else (f"{key.sql} IS NOT NULL", [])
    if not forward:
        return f"{key.sql} {'>' if key.down else '<'} ?", [value]
    larger = f"{key.sql} {'<' if key.down else '>'} ?"
    return (f"({larger} OR {key.sql} IS NULL)" if key.nullable else larger), [value]
