"""`textarena:2048-v0`: any of TextArena's games for one player, served here."""

from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches

from backend.environments import Description, Source
from backend.environments.adapters.text_game import adapter
from backend.environments.catalog import check_options
from backend.environments.openenv import OpenEnvSource
from backend.environments.tasks import no_splits, numbers
from backend.environments.text_games import GAMES, TextGame
from backend.errors import SpecError
from backend.records import EnvironmentSpec

PREFIX = "textarena:"
SERVER = "backend.environments.servers.textarena"


def game(use: str) -> TextGame:
    """Raises SpecError for a game that isn't there or can't be played here."""
    name = use.removeprefix(PREFIX)
    if name not in GAMES:
        lower = {known.lower(): known for known in GAMES}
        near = get_close_matches(name.lower(), lower, n=1, cutoff=0.6)
        hint = f"did you mean {PREFIX}{lower[near[0]]}?" if near else f"one is {PREFIX}2048-v0"
        raise SpecError("use", f"TextArena has no game {name!r:.60} for one player; {hint}")
    found = GAMES[name]
    if found.refused:
        raise SpecError("use", f"{name} {found.refused}; choose another, such as {PREFIX}2048-v0")
    if not all(map(_on_this_machine, found.fetches)):
        raise SpecError("use", f"{name} needs word lists of NLTK that aren't on this machine; fetch them, less than 3 MB, "
                        f"with: {found.fetching}")
    return found


def check(spec: EnvironmentSpec) -> None:
    game(spec.use)
    check_options(spec.use, spec.options, {})
    no_splits(spec.tasks)
    numbers(spec.tasks.indices or ())


def described(spec: EnvironmentSpec) -> Description:
    return adapter(game(spec.use)).description


@contextmanager
def reach(spec: EnvironmentSpec, sessions: int) -> Iterator[str]:
    from backend.environments.serving import serve_module

    with serve_module(SERVER, sessions, spec.use, "--game", game(spec.use).name) as server:
        yield server.url


def source(spec: EnvironmentSpec, address: str) -> Source:
    return OpenEnvSource(address, adapter(game(spec.use)))


def _on_this_machine(place: str) -> bool:
    import nltk

    try:
        return bool(nltk.data.find(place))
    except LookupError:
        return False
