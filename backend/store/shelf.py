"""Environments of one's own, in studio.db: those saved under a name, and those a catalog file was imported for."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError, field_validator

from backend.errors import SpecError
from backend.records import Asked, EnvironmentSpec, Kept
from backend.store import codec
from backend.store.spec_file import refuse_secrets_in
from backend.store.studio import Studio

LONGEST_NAME = 60


class SavedEnvironment(Asked):
    name: str = Field(min_length=1, max_length=LONGEST_NAME, title="Name", description="How its card and the launch "
                      "form call it.")
    use: str = Field(min_length=1, max_length=1000, title="Address", description="What a spec says under use.")
    options: dict[str, Any] = Field({}, title="Options", description="Passed to the environment's reset.")
    note: str = Field("", max_length=2000, title="Note", description="For yourself.")
    told: dict[str, Any] | None = Field(None, description="What it said of itself when it was tried; None: it wasn't.")
    saved: float = 0.0

    @field_validator("name", "use", "note", mode="before")
    @classmethod
    def without_space_around(cls, value):
        return value.strip() if isinstance(value, str) else value

    @field_validator("name")
    @classmethod
    def can_be_read(cls, name):
        if not name.isprintable():
            raise ValueError("can't hold line breaks or characters that aren't seen")
        return name

    def spec(self, id: str = "environment") -> EnvironmentSpec:
        return EnvironmentSpec(id=id, use=self.use, options=self.options)


class ImportedEnvironment(Kept):
    id: str
    """The same for a later revision of it, which replaces it."""
    repository: str
    checkout: str = ""
    """The folder its repository was cloned to; empty: nobody said."""
    card: dict[str, Any]
    imported: float = 0.0


class Shelf:
    def __init__(self, folder: Path):
        self._studio = Studio(folder)

    # --------------------------------------------------------------------------------------------------------- saved

    def saved(self) -> list[SavedEnvironment]:
        """By name; what this version can't read is left out."""
        found = []
        for name, use, options, note, told, saved in self._studio.rows(
                "SELECT name, use_, options, note, told, saved FROM saved_environments ORDER BY name COLLATE NOCASE"):
            try:
                found.append(SavedEnvironment(name=codec.unescape(name), use=codec.unescape(use), saved=saved,
                                              options=codec.from_json(options) or {}, note=codec.unescape(note),
                                              told=codec.from_json(told)))
            except (ValidationError, ValueError, TypeError):
                continue
        return found

    def get(self, name: str) -> SavedEnvironment | None:
        return next((one for one in self.saved() if one.name == name), None)

    def save(self, one: SavedEnvironment, instead_of: str = "") -> None:
        """Replaces the one called `instead_of`. Raises SpecError: the name is taken, or a value looks like a secret."""
        refuse_secrets_in({"use": one.use, "options": one.options, "note": one.note})
        if one.name != instead_of and self.get(one.name):
            raise SpecError("name", f"{one.name} is taken; choose another, or change that one")
        row = (codec.escape(one.name), codec.escape(one.use), codec.to_json(one.options), codec.escape(one.note),
               codec.to_json(one.told), time.time())
        changes: list[tuple[str, tuple]] = [
            ("INSERT OR REPLACE INTO saved_environments (name, use_, options, note, told, saved) "
             "VALUES (?, ?, ?, ?, ?, ?)", row)]
        if instead_of and instead_of != one.name:
            changes.append(("DELETE FROM saved_environments WHERE name = ?", (codec.escape(instead_of),)))
        self._studio.write(*changes)

    def delete(self, name: str) -> bool:
        """Whether there was one."""
        return self._studio.write(("DELETE FROM saved_environments WHERE name = ?", (codec.escape(name),))) > 0

    # ------------------------------------------------------------------------------------------------------ imported

    def imported(self) -> list[ImportedEnvironment]:
        found = []
        for id, repository, checkout, card, at in self._studio.rows(
                "SELECT id, repository, checkout, card, imported FROM imported_environments ORDER BY repository, id"):
            try:
                found.append(ImportedEnvironment(id=codec.unescape(id), repository=codec.unescape(repository),
                                                 checkout=codec.unescape(checkout), card=json.loads(card), imported=at))
            except (ValidationError, ValueError, TypeError):
                continue
        return found

    def add(self, several: Sequence[ImportedEnvironment]) -> None:
        """All or none; a later import of the same replaces it, and what was known of its checkout stays."""
        known = {one.repository: one.checkout for one in self.imported()}
        rows = [(codec.escape(one.id), codec.escape(one.repository),
                 codec.escape(one.checkout or known.get(one.repository, "")), codec.to_json(one.card), time.time())
                for one in several]
        self._studio.write(*(("INSERT OR REPLACE INTO imported_environments (id, repository, checkout, card, imported) "
                              "VALUES (?, ?, ?, ?, ?)", row) for row in rows))

    def check_out(self, repository: str, checkout: str) -> int:
        """Say where a repository was cloned to; gives how many of its environments are listed."""
        return self._studio.write(("UPDATE imported_environments SET checkout = ? WHERE repository = ?",
                                   (codec.escape(checkout.strip()), codec.escape(repository))))

    def forget(self, repository: str) -> int:
        """How many of its environments were listed."""
        return self._studio.write(("DELETE FROM imported_environments WHERE repository = ?", (codec.escape(repository),)))
