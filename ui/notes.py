"""What people say about an episode, in the head of its Replay page: tags as chips, and a note. All of it is text."""

import html
import time
from collections.abc import Callable
from typing import Any

from backend.errors import EpisodeNotFound, OrtamError
from backend.store import Note
from backend.store.codec import linked
from backend.store.notes import LONGEST_NOTE, LONGEST_TAG, Notes
from ui.written import attribute, block, text

READ_ONLY = "This site only shows runs; start it without --read-only to write notes and tags."
SUGGESTED = 40


def functions(store, may_change: bool) -> list:
    """What the panel's script may ask; each answers the panel, or a sentence."""

    def notes(asked: dict[str, Any]) -> dict[str, str]:
        return answered(asked, lambda notebook, id: "", reads=True)

    def write_note(asked: dict[str, Any]) -> dict[str, str]:
        """Writes over the version the page has seen; where there is a newer one, both are shown."""
        said = str(asked.get("text", ""))
        seen = asked.get("seen")

        def write(notebook: Notes, id: str) -> str:
            done, now = notebook.write(id, said, seen if isinstance(seen, int) else -1)
            return "" if done else conflict(now)

        return answered(asked, write)

    def tag(asked: dict[str, Any]) -> dict[str, str]:
        def add(notebook: Notes, id: str) -> str:
            notebook.tag(id, str(asked.get("tag", "")))
            return ""

        return answered(asked, add)

    def untag(asked: dict[str, Any]) -> dict[str, str]:
        def take(notebook: Notes, id: str) -> str:
            notebook.untag(id, str(asked.get("tag", "")))
            return ""

        return answered(asked, take)

    def answered(asked: dict[str, Any], act: Callable[[Notes, str], str], reads: bool = False) -> dict[str, str]:
        try:
            if not (may_change or reads):
                raise OrtamError(READ_ONLY)
            run, id = store.run(str(asked.get("run", ""))), str(asked.get("id", ""))
            id = id if run.count_episodes(id=id) else linked(id)
            if not run.count_episodes(id=id):
                raise EpisodeNotFound(f"{run.id} has no episode {id!r:.80} any more; load the page again")
            more = act(run.notebook, id)
            suggested = [*dict.fromkeys([*run.tags(), *(store.tags() if may_change else ())])][:SUGGESTED]
            return {"html": panel(run.notebook.of(id), suggested, may_change), **({"conflict": more} if more else {})}
        except OrtamError as error:
            return {"problem": str(error)}

    return [notes, write_note, tag, untag]


def panel(note: Note, suggested: list[str], may_change: bool) -> str:
    """Tags and note; empty on a site that only shows, where there is nothing to show."""
    if not may_change and not note.text and not note.tags:
        return ""
    chips = "".join(
        f'<span class="o-tag o-by-hand">{text(tag)}' + (
            f'<button type="button" data-untag="{attribute(tag)}" aria-label="Take away the tag {attribute(tag)}" '
            f'title="Take away">×</button>' if may_change else "") + "</span>" for tag in note.tags)
    when = f' title="Written {_when(note.at)}"' if note.at else ""
    if not may_change:
        said = f'<div class="o-note-text"{when}>{block(note.text)}</div>' if note.text else ""
        return (f'<section class="o-notes" aria-label="Notes and tags"><div class="o-note-tags">{chips}</div>{said}'
                "</section>")
    options = "".join(f'<option value="{attribute(tag)}">' for tag in suggested if tag not in note.tags)
    said = f'<div class="o-note-text" data-note-edit{when}>{block(note.text)}</div>' if note.text else ""
    return (
        f'<section class="o-notes" aria-label="Notes and tags" data-version="{note.version}"><div class="o-note-tags">'
        f'{chips}<input data-tag list="o-tags" maxlength="{LONGEST_TAG}" aria-label="Add a tag" placeholder="+ tag" '
        f'autocomplete="off" title="A word or two; Enter adds it"><datalist id="o-tags">{options}</datalist>'
        f'<button type="button" class="o-note-open" data-note-edit title="Note (n)">'
        f'{"Edit note" if note.text else "+ note"}</button></div>{said}'
        f'<div class="o-note-form" hidden><textarea rows="3" maxlength="{LONGEST_NOTE}" '
        f'aria-label="Note on this episode" placeholder="What is worth knowing about this episode?" spellcheck="true">'
        f'{text_area(note.text)}</textarea><div class="o-row"><button type="button" class="o-button o-small o-primary" '
        f'data-note-save title="Save (Ctrl Enter)">Save note</button><button type="button" class="o-button o-small" '
        f'data-note-cancel title="Escape">Cancel</button></div></div><div data-note-conflict></div>'
        f'<p class="o-fieldnote o-wrong" role="alert" data-note-problem></p></section>')


def conflict(now: Note) -> str:
    """Somebody was faster: theirs, and a choice."""
    theirs = block(now.text) if now.text else '<p class="o-muted">They emptied it.</p>'
    return (f'<div class="o-problem o-warning" role="alert"><i aria-hidden="true">!</i><span>Somebody changed this '
            f'note {_when(now.at)}, after you opened it. Theirs is:</span><div>{theirs}<div class="o-row">'
            f'<button type="button" class="o-button o-small" data-note-mine>Save mine instead</button><button type="button" '
            f'class="o-button o-small" data-note-both>Put mine below theirs</button><button type="button" '
            f'class="o-button o-small" data-note-theirs>Keep theirs</button></div></div></div>')


def text_area(written: str) -> str:
    """A textarea's content as it is: escaped, with a newline in front that HTML takes away."""
    return "\n" + html.escape(written.encode("utf-8", "replace").decode())


def _when(at: float | None) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at)) if at else "just now"
