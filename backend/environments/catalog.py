"""The environments that ship here, by the name a spec's `use:` gives them.

To add one: a game in `games/`, a server in `servers/`, an adapter in `adapters/`, and a line below.
"""

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from backend.environments import Description
from backend.environments.adapters import Shipped, catch, echo, sudoku, wordle
from backend.environments.games.catch import Catch
from backend.environments.games.echo import Echo
from backend.environments.games.sudoku import Sudoku
from backend.environments.games.wordle import Wordle
from backend.errors import SpecError
from backend.records import EnvironmentSpec


@dataclass(frozen=True)
class Entry:
    name: str
    adapter: Shipped
    game: Callable
    """Played in this process, without a server."""
    fitted: Callable[[dict[str, Any]], Shipped] | None = None
    """Where options change tools or prompt: its adapter for them. Raises SpecError."""

    def adapter_for(self, options: dict[str, Any]) -> Shipped:
        return self.fitted(options) if self.fitted else self.adapter

    @property
    def description(self) -> Description:
        return self.adapter.description

    @property
    def title(self) -> str:
        return self.description.title

    @property
    def about(self) -> str:
        return self.description.about

    @property
    def server(self) -> str:
        """The module that serves it: `python -m …`."""
        return f"backend.environments.servers.{self.name}"


CATALOG = {entry.name: entry for entry in (
    Entry("catch", catch.ADAPTER, Catch),
    Entry("wordle", wordle.ADAPTER, Wordle),
    Entry("sudoku", sudoku.adapter({}), Sudoku, sudoku.adapter),
    Entry("echo", echo.ADAPTER, Echo),
)}


def entry(use: str) -> Entry:
    """SpecError (field `use`) for a name that isn't in the catalog."""
    if use in CATALOG:
        return CATALOG[use]
    near = get_close_matches(use, CATALOG, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"use {', '.join(CATALOG)}."
    if use.startswith(("http://", "https://")):
        hint = "for a server write openenv+ or ors+ in front of its address."
    raise SpecError("use", f"there is no environment {use!r:.80}; {hint}")


def check(spec: EnvironmentSpec) -> Entry:
    """The entry a spec uses. SpecError with the environment's own field (`use`, `options`) if it can't be played."""
    found = entry(spec.use)
    check_options(spec.use, spec.options, found.description.options)
    found.adapter_for(spec.options)
    return found


def check_options(use: str, options: dict[str, Any], known: dict[str, Any]) -> None:
    """Raises SpecError for an option that isn't `known` (JSON Schema by name) or a value that doesn't fit it."""
    from jsonschema import Draft202012Validator

    for name, value in options.items():
        if name not in known:
            near = get_close_matches(name, known, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]}?" if near else f"it has {' and '.join(known) or 'none'}; leave it out"
            raise SpecError("options", f"{use} has no option {name!r:.60}; {hint}")
        if wrong := next(Draft202012Validator(known[name]).iter_errors(value), None):
            raise SpecError(f"options.{name}", f"{wrong.message:.120}. {known[name].get('description', '')}".strip())
