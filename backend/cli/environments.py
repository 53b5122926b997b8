"""The catalog in a terminal, and the import of an OpenEnv catalog snapshot."""

from pathlib import Path

from backend.cli import printing
from backend.environments.listing import to_plain
from backend.errors import OrtamError
from backend.launcher.known import Known, bring, known
from backend.store import Store
from backend.store.shelf import Shelf


def show(store: Store, words: str, as_json: bool) -> None:
    wanted = words.lower().split()
    found = [one for one in known(Shelf(store.folder)) if all(word in one.listed.words for word in wanted)]
    if as_json:
        return printing.json_line([plain(one) for one in found])
    if not found:
        return print("no environment matches; leave the words out to see all")
    printing.table(("use", "status", "title", "what it teaches"), [
        (one.listed.use or "-", one.listed.status, one.listed.title, one.listed.about[:80]) for one in found])


def plain(one: Known) -> dict:
    listed = one.listed
    return {"use": listed.use, "title": listed.title, "about": listed.about, "status": listed.status, "run": listed.run,
            "size": listed.size or None, "licence": listed.licence or None, "page": listed.page or None,
            "options": listed.options, "first": listed.first, "note": listed.note,
            "saved": one.saved.name if one.saved else None,
            "described": to_plain(listed.description) if listed.description else None}


def bring_file(store: Store, file: Path, checkout: str, as_json: bool) -> None:
    """Raises OrtamError."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise OrtamError(f"{file} can't be read: {error.strerror}") from None
    snapshot = bring(Shelf(store.folder), data, checkout)
    if as_json:
        return printing.json_line({"imported": [card.name for card in snapshot.cards], "skipped": snapshot.skipped,
                                   "notices": snapshot.notices})
    print(f"{len(snapshot.cards)} imported, {len(snapshot.skipped)} skipped")
    for line in (*snapshot.notices, *snapshot.skipped):
        print(f"  {printing.plain(line)}")
