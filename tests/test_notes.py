"""Notes and tags on episodes: a file of their own, several people at once, and text that stays text."""

import contextlib
import os
import shutil
import sqlite3
import threading

import pytest

from backend.errors import OrtamError, SpecError
from backend.records import Episode, RunSpec
from backend.store import Note, Store
from ui.notes import functions
from ui.replay import answer

HOSTILE = ["<script>alert(1)</script>", "\ud800 lone", "a\0b", "\ue0ff=0123", "ışık 日本語 🎮", "'; DROP TABLE notes; --"]


@pytest.fixture
def run(store):
    run = store.create(RunSpec.model_validate({"model": "starter:catch", "environments": [{"id": "catch", "use": "catch"}]}))
    writer = run.writer()
    writer.record([Episode(id=f"1-0-{n}", step=1, group=0, sample=n, environment="catch", status="won", total=1.0)
                   for n in range(3)])
    writer.close()
    return run


def ask(run, verb: str, id: str = "1-0-0", may_change: bool = True, **more):
    verbs = {function.__name__: function for function in functions(Store(run.path.parent), may_change)}
    return verbs[verb]({"run": run.id, "id": id, **more})


# ------------------------------------------------------------------------------------------------------------- the file


def test_a_run_without_notes_has_no_file_of_them_and_answers_nothing(run):
    assert (run.notes(), run.tags(), run.notebook.of("1-0-0")) == ({}, {}, Note())
    assert sorted(os.listdir(run.path)) == ["run.db", "spec.yaml"]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_note_comes_back_as_it_was_written(run, text):
    done, note = run.notebook.write("1-0-0", text, 0)
    assert done and (note.text, note.version) == (text, 1) and note.at
    assert run.notes() == {"1-0-0": note}
    run.notebook.write(text, "of an odd id", 0)
    assert run.notes()[text].text == "of an odd id"


def test_columns_keep_their_types_whatever_comes_first(run):
    run.notebook.write("1-0-0", "12", 0)
    run.notebook.tag("1-0-0", "007")
    with contextlib.closing(sqlite3.connect(run.path / "notes.db", isolation_level=None)) as connection:
        assert connection.execute("SELECT typeof(text), typeof(version), typeof(at) FROM notes").fetchone() == (
            "text", "integer", "real")
    assert run.tags() == {"007": 1}


def test_who_writes_over_a_note_they_havent_seen_is_told_and_nothing_is_lost(run):
    run.notebook.write("1-0-0", "first", 0)
    done, note = run.notebook.write("1-0-0", "from an old page", 0)
    assert not done and (note.text, note.version) == ("first", 1)
    done, note = run.notebook.write("1-0-0", "second", 1)
    assert done and (note.text, note.version) == ("second", 2)
    assert run.notebook.write("1-0-0", "second", 0)[0], "the same text is no conflict"
    assert run.notebook.write("1-0-0", "", 2)[1].text == "" and run.notes() == {}
    assert run.notebook.earlier("1-0-0") == ["second", "first"]


def test_many_who_tag_and_write_at_once_lose_nothing(run):
    failed = []

    def work(who: int):
        try:
            for n in range(5):
                run.notebook.tag("1-0-0", f"tag {who}")
                note = run.notebook.of("1-0-1")
                while not (wrote := run.notebook.write("1-0-1", f"{note.text}{who}.{n} ", note.version))[0]:
                    note = wrote[1]
        except Exception as error:
            failed.append(error)

    people = [threading.Thread(target=work, args=(who,)) for who in range(4)]
    for person in people:
        person.start()
    for person in people:
        person.join()
    assert failed == []
    assert set(run.notebook.of("1-0-0").tags) == {f"tag {who}" for who in range(4)}
    assert sorted(run.notebook.of("1-0-1").text.split()) == sorted(f"{who}.{n}" for who in range(4) for n in range(5))


def test_tags_are_tidied_counted_and_taken_away(run):
    for id in ("1-0-0", "1-0-1"):
        run.notebook.tag(id, "  reward   hack ")
    run.notebook.tag("1-0-0", "lucky")
    run.notebook.tag("1-0-0", "lucky")
    assert run.tags() == {"reward hack": 2, "lucky": 1}
    assert [row.id for row in run.episodes(tag="reward hack", sort="id")] == ["1-0-0", "1-0-1"]
    assert run.count_episodes(tag="nobody gave it") == 0
    assert run.notebook.untag("1-0-0", "reward hack").tags == ("lucky",)


@pytest.mark.parametrize("tag", ["", "   ", "x" * 41, "a\0b", "a\u202eb"])
def test_what_cant_be_a_tag_is_one_sentence(run, tag):
    with pytest.raises(SpecError, match="^tag: "):
        run.notebook.tag("1-0-0", tag)


def test_a_note_that_is_too_long_and_a_tag_too_many_are_refused(run):
    with pytest.raises(SpecError, match="20,001 characters"):
        run.notebook.write("1-0-0", "x" * 20_001, 0)
    for n in range(20):
        run.notebook.tag("1-0-0", f"t{n}")
    with pytest.raises(SpecError, match="20 at most"):
        run.notebook.tag("1-0-0", "one more")


def test_notes_travel_with_a_copied_folder_and_are_read_where_nothing_can_be_written(run, tmp_path):
    run.notebook.write("1-0-0", "worth a look", 0)
    assert [name for name in os.listdir(run.path) if name.startswith("notes")] == ["notes.db"]
    shutil.copytree(run.path, tmp_path / "copied" / run.id)
    copied = Store(tmp_path / "copied").run(run.id)
    assert copied.notes()["1-0-0"].text == "worth a look"


def test_a_folder_that_cant_be_written_is_one_sentence(run):
    (run.path / "notes.db").mkdir()
    with pytest.raises(OrtamError, match="can't be written .*; allow writing there to keep notes"):
        run.notebook.tag("1-0-0", "a")


def test_a_broken_file_of_notes_is_one_sentence_and_suggestions_go_on(store, run):
    (run.path / "notes.db").write_bytes(b"not a database " * 100)
    with pytest.raises(OrtamError, match="put back a whole copy of it, or remove it"):
        run.notes()
    with pytest.raises(OrtamError, match="can't be written .*put back a whole copy of it, or remove it"):
        run.notebook.tag("1-0-0", "a")
    assert store.tags() == []


def test_an_episode_recorded_again_keeps_its_note(run):
    run.notebook.write("1-0-0", "kept", 0)
    writer = run.writer()
    writer.record([Episode(id="1-0-0", step=1, group=0, sample=0, environment="catch", status="lost")])
    writer.close()
    assert run.notes()["1-0-0"].text == "kept"


# ------------------------------------------------------------------------------------------------------------ the panel


def test_the_panel_writes_tags_and_shows_them_as_text(run):
    assert "data-note-save" in ask(run, "notes")["html"]
    page = ask(run, "write_note", text="<b>bold</b> & **stars**\n</textarea><script>", seen=0)["html"]
    assert "&lt;b&gt;bold&lt;/b&gt; &amp; **stars**" in page and "<script>" not in page and page.count("</textarea>") == 1
    page = ask(run, "tag", tag='"quoted" <i>')["html"]
    assert "&quot;quoted&quot; &lt;i&gt;" in page and "<i>" not in page
    assert 'data-version="1"' in page
    assert "quoted" not in ask(run, "untag", tag='"quoted" <i>')["html"]


def test_two_browsers_and_one_note(run):
    ask(run, "write_note", text="theirs <b>", seen=0)
    answered = ask(run, "write_note", text="mine", seen=0)
    assert "Somebody changed this note" in answered["conflict"] and "theirs &lt;b&gt;" in answered["conflict"]
    assert run.notes()["1-0-0"].text == "theirs <b>"
    assert "conflict" not in ask(run, "write_note", text="mine", seen=1) and run.notes()["1-0-0"].text == "mine"


def test_tags_of_other_runs_are_suggested(store, run):
    other = store.create(RunSpec.model_validate({"model": "starter:catch", "environments": [{"id": "catch", "use": "catch"}]}))
    other.notebook.tag("anything", "used elsewhere")
    run.notebook.tag("1-0-1", "used here")
    page = ask(run, "notes")["html"]
    assert page.index('value="used here"') < page.index('value="used elsewhere"')


@pytest.mark.parametrize(("verb", "more"), [
    ("write_note", {"text": "a", "seen": 0}), ("tag", {"tag": "a"}), ("untag", {"tag": "a"})])
def test_a_site_that_only_shows_shows_notes_and_writes_none(run, verb, more):
    assert ask(run, "notes", may_change=False)["html"] == ""
    run.notebook.write("1-0-0", "to be read", 0)
    assert "without --read-only" in ask(run, verb, may_change=False, **more)["problem"]
    page = ask(run, "notes", may_change=False)["html"]
    assert "to be read" in page and "textarea" not in page and "button" not in page


@pytest.mark.parametrize("more", [{"id": "9-9-9"}, {"id": ""}])
def test_a_note_on_what_isnt_there_is_one_sentence(run, more):
    assert "has no episode" in ask(run, "write_note", text="a", seen=0, **more)["problem"]


def test_the_list_shows_tags_and_can_be_narrowed_to_one(run):
    run.notebook.tag("1-0-1", "<b>odd")
    run.notebook.write("1-0-1", "why", 0)
    page = answer(Store(run.path.parent), f"run={run.id}")["list"]
    assert "&lt;b&gt;odd" in page and 'title="why">note</span>' in page
    page = answer(Store(run.path.parent), f"run={run.id}&tag=%3Cb%3Eodd")["list"]
    assert "1–1 of 1" in page and "1-0-0" not in page
