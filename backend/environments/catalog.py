"""The environments that ship here, by the name a spec's `use:` gives them.

To add one: a game in `games/`, a server in `servers/`, an adapter in `adapters/`, and a line below.
"""

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches

from backend.environments import Description
from backend.environments.adapters import Shipped, catch, echo, wordle
from backend.environments.games.catch import Catch
from backend.environments.games.echo import Echo
from backend.environments.games.wordle import Wordle
from backend.errors import SpecError
from backend.records import EnvironmentSpec


@dataclass(frozen=True)
class Entry:
    name: str
    adapter: Shipped
    game: Callable
    """Played in this process, without a server."""

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
    Entry("echo", echo.ADAPTER, Echo),
)}


def entry(use: str) -> Entry:
    """SpecError (field `use`) for a name that isn't in the catalog."""
    if use in CATALOG:
        return CATALOG[use]
    near = get_close_matches(use, CATALOG, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"use {', '.join(CATALOG)}."
    raise SpecError("use", f"there is no environment {use!r:.80}; {hint}")


def check(spec: EnvironmentSpec) -> Entry:
    """The entry a spec uses. SpecError with the environment's own field (`use`, `options`) if it can't be played."""
    found = entry(spec.use)
    if spec.options:
        raise SpecError("options", f"{spec.use} has no option {sorted(spec.options)[0]!r}; leave options empty.")
    return found
