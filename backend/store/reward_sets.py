"""Reward terms under a name, in studio.db: a set is saved once and used in many runs.

Runs don't refer to it: each keeps its own terms in its spec.
"""

import json
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import yaml
from pydantic import ValidationError

from backend.errors import OrtamError, RewardError
from backend.records import RewardTerm
from backend.store import codec
from backend.store.spec_file import refuse_secrets_in
from backend.store.tables import STUDIO, STUDIO_KEYS, make_tables, open_for_writing, reading

LONGEST_NAME = 80


class RewardSet(NamedTuple):
    name: str
    terms: tuple[RewardTerm, ...]
    saved: float
    """Unix time."""


class RewardSets:
    def __init__(self, folder: Path):
        self.path = folder / "studio.db"

    def all(self) -> list[RewardSet]:
        """By name; a set that a newer version wrote and this one can't read is left out."""
        if not self.path.exists():
            return []
        try:
            with reading(self.path) as connection:
                rows = connection.execute(
                    "SELECT name, terms, saved FROM reward_sets ORDER BY name COLLATE NOCASE").fetchall()
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):
                return []
            raise
        found = []
        for name, terms, saved in rows:
            try:
                kept = tuple(RewardTerm.model_validate(term) for term in json.loads(terms))
                found.append(RewardSet(codec.unescape(name), kept, saved))
            except (ValidationError, ValueError):
                continue
        return found

    def save(self, name: str, terms: Sequence[RewardTerm]) -> None:
        """Replaces what was saved under this name. Raises RewardError, and SpecError for what looks like a secret."""
        name = name.strip()
        if not name or len(name) > LONGEST_NAME or not name.isprintable():
            raise RewardError(f"{name!r:.100} can't be the name of a reward set; use 1 to {LONGEST_NAME} letters, "
                              "digits or spaces")
        if not terms:
            raise RewardError(f"the reward set {name} has no terms; add one before it is saved")
        names = [term.name for term in terms]
        if twice := sorted({one for one in names if names.count(one) > 1}):
            raise RewardError(f"two reward terms are called {twice[0]}; give each its own name")
        refuse_secrets_in({"rewards": [term.model_dump() for term in terms]})
        row = (codec.escape(name), json.dumps([term.model_dump() for term in terms]), time.time())
        self._write("INSERT OR REPLACE INTO reward_sets (name, terms, saved) VALUES (?, ?, ?)", row)

    def delete(self, name: str) -> bool:
        """Whether there was one."""
        return self._write("DELETE FROM reward_sets WHERE name = ?", (codec.escape(name),)) > 0

    def _write(self, sql: str, values: tuple) -> int:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            connection, _ = open_for_writing(self.path)
            try:
                make_tables(connection, STUDIO, STUDIO_KEYS)
                return connection.execute(sql, values).rowcount
            finally:
                connection.close()
        except (sqlite3.Error, OSError) as error:
            raise OrtamError(f"{self.path} can't be written ({error}); free space or allow writing there") from None


def terms_to_yaml(terms: Sequence[RewardTerm]) -> str:
    """A list as it stands under `rewards:` of a spec, without what is a default anyway."""
    listed = [term.model_dump(mode="json", exclude_defaults=True) for term in terms]
    return yaml.safe_dump(listed, sort_keys=False, allow_unicode=True, width=120)
