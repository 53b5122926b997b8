"""Every environment there is to choose from here: saved, built in, known of elsewhere, and imported from a catalog."""

import dataclasses
from pathlib import Path
from typing import Any, NamedTuple

from backend.environments import Description
from backend.environments.catalog import CATALOG
from backend.environments.listing import Listed, built_in, elsewhere, from_plain, way
from backend.environments.snapshot import Card, Snapshot, read
from backend.errors import OrtamError
from backend.records import EnvironmentSpec
from backend.store.shelf import ImportedEnvironment, SavedEnvironment, Shelf


class Known(NamedTuple):
    listed: Listed
    saved: SavedEnvironment | None = None
    imported: ImportedEnvironment | None = None


def known(shelf: Shelf) -> list[Known]:
    """Those of one's own first."""
    listed = [*built_in(), *elsewhere()]
    by_use = {one.use: one for one in listed}
    return [*(Known(_saved(one, by_use), saved=one) for one in shelf.saved()), *map(Known, listed),
            *(Known(card.listed(one.checkout), imported=one) for one in shelf.imported() if (card := _card(one)))]


def bring(shelf: Shelf, data: bytes, checkout: str = "") -> Snapshot:
    """Imports what a catalog file holds. `checkout` is where its repository was cloned to, if it was.

    Raises OrtamError, and then nothing was imported; odd entries are skipped and named.
    """
    snapshot = read(data)
    place = whole(checkout)
    shelf.add([ImportedEnvironment(id=card.id, repository=card.repository, checkout=place,
                                   card=dataclasses.asdict(card)) for card in snapshot.cards])
    return snapshot


def shipped(spec: EnvironmentSpec) -> Description | None:
    """Of a built-in environment, as its options make it; None for any other, and for options it doesn't have."""
    try:
        return CATALOG[spec.use].adapter_for(spec.options).description if spec.use in CATALOG else None
    except OrtamError:
        return None


def whole(folder: str) -> str:
    """A folder as it is named from anywhere; "" stays."""
    return str(Path(folder.strip()).expanduser().absolute()) if folder.strip() else ""


def _saved(one: SavedEnvironment, by_use: dict[str, Listed]) -> Listed:
    """As it was told when it was tried; what is known of its address else."""
    status, run = way(one.use)
    like = by_use.get(one.use, Listed(one.use, one.name, "", status, run))
    told = shipped(one.spec()) or from_plain(one.told) or like.description
    return dataclasses.replace(like, title=one.name, about=told.about if told else like.about, description=told,
                               options=one.options, note=told.notice if told else like.note)


def _card(one: ImportedEnvironment) -> Card | None:
    """None for what this version can't read."""
    names = {field.name for field in dataclasses.fields(Card)}
    kept: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in one.card.items()
                            if name in names}
    try:
        return Card(**kept)
    except TypeError:
        return None
