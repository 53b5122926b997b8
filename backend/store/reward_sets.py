"""Reward terms under a name, in studio.db: a set is saved once and used in many runs.

Runs don't refer to it: each keeps its own terms in its spec.
"""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import yaml
from pydantic import ValidationError

from backend.errors import RewardError
from backend.records import RewardTerm
from backend.store import codec
from backend.store.spec_file import refuse_secrets_in
from backend.store.studio import Studio

LONGEST_NAME = 80


class RewardSet(NamedTuple):
    name: str
    terms: tuple[RewardTerm, ...]
    saved: float
    """Unix time."""


class RewardSets:
    def __init__(self, folder: Path):
        self._studio = Studio(folder)

    def all(self) -> list[RewardSet]:
        """By name; a set that a newer version wrote and this one can't read is left out."""
        found = []
        for name, terms, saved in self._studio.rows(
                "SELECT name, terms, saved FROM reward_sets ORDER BY name COLLATE NOCASE"):
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
        self._studio.write(("INSERT OR REPLACE INTO reward_sets (name, terms, saved) VALUES (?, ?, ?)", row))

    def delete(self, name: str) -> bool:
        """Whether there was one."""
        return self._studio.write(("DELETE FROM reward_sets WHERE name = ?", (codec.escape(name),))) > 0


def terms_to_yaml(terms: Sequence[RewardTerm]) -> str:
    """A list as it stands under `rewards:` of a spec, without what is a default anyway."""
    listed = [term.model_dump(mode="json", exclude_defaults=True) for term in terms]
    return yaml.safe_dump(listed, sort_keys=False, allow_unicode=True, width=120)
