"""An OpenEnv catalog snapshot: what `openenv catalog build` writes, read as environments to list.

A snapshot names source folders at a revision of a repository, and no server: an environment of it can be played once
its repository was cloned. The answers of `openenv discover --json` and `openenv catalog inspect` are read too. Nothing
that a file names is fetched or run. The format is openenv's discovery profile 0.1-draft.
"""

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from backend.environments.listing import Listed
from backend.errors import OrtamError

LARGEST = 16 * 1024 * 1024
"""Bytes; openenv writes no larger one."""

MOST = 5000
"""Entries that are read of one file."""

CARD = "application/vnd.openenv.environment-card+json"
UNKNOWN = ("unknown", "other")


@dataclass(frozen=True)
class Card:
    """One environment of a snapshot."""

    name: str
    about: str
    repository: str
    """https address without `.git`."""
    path: str
    """Of its folder in the repository."""
    revision: str
    licence: str = ""
    tools: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The same for another revision of it."""
        return f"{self.repository}#{self.path}"

    @property
    def page(self) -> str:
        return f"{self.repository}/tree/{self.revision}/{self.path}".rstrip("/.")

    def listed(self, checkout: str = "") -> Listed:
        """`checkout` is the folder its repository was cloned to; without one it can't be played yet."""
        folder = "" if self.path == "." else f"/{self.path}"
        first = "" if checkout else f"git clone {self.repository}, and say above the cards where it is"
        return Listed(f"folder:{checkout.rstrip('/')}{folder}" if checkout else "", self.name, self.about,
                      "on this machine" if checkout else "not run here", "a folder, served here", tools=self.tools,
                      licence=self.licence, page=self.page, first=first,
                      note=f"As of revision {self.revision[:12]}." if self.revision else "")


@dataclass(frozen=True)
class Snapshot:
    cards: tuple[Card, ...]
    skipped: tuple[str, ...]
    """For each entry that couldn't be read: its number, its name where it has one, and why."""
    notices: tuple[str, ...] = ()


def read(data: bytes) -> Snapshot:
    """Raises OrtamError where it is no catalog at all; odd entries are skipped and named."""
    if len(data) > LARGEST:
        raise OrtamError(f"The file is larger than {LARGEST // 2**20} MiB, which no OpenEnv catalog is.")
    try:
        whole = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise OrtamError("The file isn't JSON; import what openenv catalog build --output wrote.") from None
    entries = _entries(whole)
    if entries is None:
        raise OrtamError("The file holds no catalog entries; import what openenv catalog build --output wrote.")
    cards: dict[str, Card] = {}
    skipped: list[str] = []
    for number, entry in enumerate(entries[:MOST], 1):
        try:
            card = _card(entry)
            if card.id in cards:
                raise ValueError("it describes the same folder as an entry before it")
            cards[card.id] = card
        except ValueError as error:
            name = _text(entry, "displayName") if isinstance(entry, dict) else ""
            skipped.append(f"Entry {number}{f' ({name[:60]})' if name else ''}: {error}.")
    return Snapshot(tuple(cards.values()), tuple(skipped), tuple(_notices(whole, entries)))


def _entries(whole: Any) -> list[Any] | None:
    if isinstance(whole, list):
        return whole
    if not isinstance(whole, dict):
        return None
    if "identifier" in whole and "data" in whole:
        return [whole]
    return next((whole[name] for name in ("entries", "results") if isinstance(whole.get(name), list)), None)


def _notices(whole: Any, entries: list[Any]) -> list[str]:
    told = []
    if len(entries) > MOST:
        told.append(f"It has {len(entries):,} entries; the first {MOST:,} were read.")
    if not isinstance(whole, dict):
        return told
    if whole.get("complete") is False:
        told.append("Its makers say that it is incomplete.")
    told += [f"{_text(issue, 'path')}: {_text(issue, 'message')}"[:300] for issue in _list(whole.get("issues"))[:20]
             if isinstance(issue, dict)]
    if isinstance(whole.get("digest"), str) and whole["digest"] != _digest(whole):
        told.append("Its content doesn't match its digest: it was changed after openenv wrote it.")
    return told


def _digest(whole: dict[str, Any]) -> str:
    """As openenv works it out: of the canonical JSON of all else."""
    rest = {name: value for name, value in whole.items() if name != "digest"}
    written = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()


def _card(entry: Any) -> Card:
    """ValueError: why it can't be used."""
    if not isinstance(entry, dict):
        raise ValueError("it is no object")
    if (kind := entry.get("type", CARD)) != CARD:
        raise ValueError(f"it is a {str(kind)[:80]}, not an OpenEnv environment")
    card = entry.get("data")
    if not isinstance(card, dict):
        raise ValueError("it has no data")
    name = _text(entry, "displayName") or _text(card, "name")
    if not name:
        raise ValueError("it has no name")
    source = card.get("source")
    if not isinstance(source, dict):
        raise ValueError("it has no source, so nothing says where it is")
    about, licence = _text(card, "description") or _text(entry, "description"), _text(card, "license")
    return Card(name[:120], about[:2000], _repository(_text(source, "uri")), _path(_text(source, "path")),
                _revision(_text(source, "revision")), "" if licence in UNKNOWN else licence[:80],
                _names(entry.get("capabilities")), _names(entry.get("tags")))


def _repository(uri: str) -> str:
    try:
        parts = urlsplit(uri)
    except ValueError:
        parts = urlsplit("")
    good = parts.scheme == "https" and parts.hostname and "@" not in parts.netloc
    if not good or not re.fullmatch(r"[\w./~+-]+", parts.path):
        raise ValueError(f"its source {uri[:80]!r} is no https address of a repository")
    return uri.removesuffix("/").removesuffix(".git")


def _path(path: str) -> str:
    parts = path.split("/")
    if path != "." and (not path or "\\" in path or not path.isprintable() or {"", ".", ".."} & set(parts)):
        raise ValueError(f"its path {path[:80]!r} leads nowhere in a repository")
    return path


def _revision(revision: str) -> str:
    if revision and not re.fullmatch(r"[0-9a-f]{7,64}", revision):
        raise ValueError(f"its revision {revision[:80]!r} is none of git's")
    return revision


def _names(listed: Any) -> tuple[str, ...]:
    return tuple(name[:80] for name in _list(listed)[:64] if isinstance(name, str))


def _text(holder: dict[str, Any], name: str) -> str:
    value = holder.get(name)
    return " ".join(value.split()) if isinstance(value, str) else ""


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
