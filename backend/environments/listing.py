"""What there is to train on: those that ship here, and those known of elsewhere (`elsewhere.yaml`).

To add one that lives elsewhere: write it into `elsewhere.yaml`, whose first lines say how.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import yaml

from backend.environments import Description, Tool
from backend.environments.adapters import text_game
from backend.environments.addresses import is_this_machine
from backend.environments.catalog import CATALOG
from backend.environments.text_games import GAMES

Status = Literal["built in", "on this machine", "needs network", "needs docker", "not run here"]
STATUSES: dict[Status, str] = {
    "built in": "ships here and is served for a run",
    "on this machine": "a folder, a class or a server of this machine",
    "needs network": "a server elsewhere, or a download first",
    "needs docker": "an image that Docker runs",
    "not run here": "known from what is published; it wants more than was at hand to try it",
}
"""Status -> what it means."""

WAYS: dict[str, tuple[Status, str]] = {
    "space:": ("needs network", "a Space on the Hub"),
    "openenv+": ("needs network", "an OpenEnv server"),
    "docker:": ("needs docker", "an image, run with Docker"),
    "folder:": ("on this machine", "a folder, served here"),
    "ors+": ("needs network", "an Open Reward Standard server"),
    "ors:": ("needs network", "the OpenReward platform"),
    "textarena:": ("built in", "a game of TextArena's, served here"),
    "python:": ("on this machine", "a class of your own, in trusted mode"),
}
"""Prefix of `use:` -> status, and how it is run."""

SERVED = "served here"
NOTHING_TO_FETCH = "nothing to fetch"
WORD_LISTS = "less than 3 MB of word lists"
ELSEWHERE = Path(__file__).parent / "elsewhere.yaml"


@dataclass(frozen=True)
class Listed:
    use: str
    """Empty where it can't be played before it was fetched."""
    title: str
    about: str
    status: Status
    run: str
    """How it is run, in a few words."""
    description: Description | None = None
    """None: it is known only when it is asked."""
    tools: tuple[str, ...] = ()
    """Where there is no description: its tools as far as its published classes tell."""
    facts: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    size: str = ""
    """Empty: unknown. So is the licence."""
    licence: str = ""
    page: str = ""
    """Where it is published."""
    first: str = ""
    """What has to be done before it can be played."""
    note: str = ""

    @property
    def words(self) -> str:
        """All that a search looks at, in lower case."""
        told = self.description
        tools = [word for tool in told.tools for word in (tool.name, tool.description)] if told else self.tools
        return " ".join([self.title, self.use, self.about, self.status, self.run, self.licence, self.note, *tools,
                         *(told.facts if told else self.facts)]).lower()


def listing() -> list[Listed]:
    return [*built_in(), *elsewhere()]


def built_in() -> list[Listed]:
    own = [Listed(entry.name, entry.title, entry.about, "built in", SERVED, entry.description, size=NOTHING_TO_FETCH,
                  licence="this project's", note=entry.description.notice) for entry in CATALOG.values()]
    return [*own, *text_games()]


def text_games() -> list[Listed]:
    """TextArena's, the versions of a game in one."""
    listed = []
    for name, game in GAMES.items():
        if not name.endswith("-v0"):
            continue
        told = text_game.adapter(game).description
        others = [other for other in GAMES if other.startswith(f"{name}-") and not GAMES[other].refused]
        versions = f"Also as {', '.join(f'textarena:{other}' for other in others)}." if others else ""
        listed.append(Listed(
            f"textarena:{name}", game.title, told.about, "not run here" if game.refused else "built in",
            WAYS["textarena:"][1], told, licence="MIT", page="https://pypi.org/project/textarena",
            size="" if game.refused else WORD_LISTS if game.fetches else NOTHING_TO_FETCH,
            first=f"Fetch its word lists: {game.fetching}" if game.fetches else "",
            note=" ".join(filter(None, (f"It {game.refused}." if game.refused else "", told.notice, versions)))))
    return listed


@cache
def elsewhere() -> tuple[Listed, ...]:
    return tuple(map(_listed, yaml.safe_load(ELSEWHERE.read_text("utf-8"))))


def way(use: str) -> tuple[Status, str]:
    """The status of what a `use:` names, and how it is run."""
    prefix = next((prefix for prefix in WAYS if use.startswith(prefix)), None)
    if prefix is None:
        return "built in", SERVED
    status, run = WAYS[prefix]
    if prefix in ("openenv+", "ors+") and is_this_machine(use.removeprefix(prefix)):
        status = "on this machine"
    return status, run


def found(use: str, listed: Iterable[Listed] | None = None) -> Listed | None:
    return next((one for one in (listing() if listed is None else listed) if one.use == use), None)


def to_plain(description: Description) -> dict[str, Any]:
    """As JSON."""
    return asdict(description)


def from_plain(kept: Any) -> Description | None:
    """None for what this version can't read."""
    if not isinstance(kept, Mapping):
        return None
    try:
        known = {name: value for name, value in kept.items() if name in Description.__dataclass_fields__}
        return Description(**{**known, "tools": tuple(Tool(**tool) for tool in kept["tools"]),
                              "rewards": tuple((name, value) for name, value in kept.get("rewards") or ())})
    except (KeyError, TypeError, ValueError):
        return None


def _listed(written: dict[str, Any]) -> Listed:
    status, run = way(written["use"])
    known: Description | None = None
    if "tools_of" in written:
        module, name = written["tools_of"].split(".")
        known = getattr(import_module(f"backend.environments.adapters.{module}"), name)
    return Listed(written["use"], written["title"], written["about"], written.get("status", status), run, known,
                  tuple(written.get("tools", ())), tuple(written.get("facts", ())),
                  **{name: written.get(name, "") for name in ("size", "licence", "page", "first", "note")})
