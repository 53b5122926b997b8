"""Finding episodes: words in transcripts, filters of every kind, and what the list of the Replay page says of them."""

import contextlib
import html
import json
import os
import re
import shutil
import sqlite3
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from backend.cli import main
from backend.errors import OrtamError, SpecError
from backend.records import Episode, Fault, Policy, Result, RunSpec, Turn
from backend.store import Store, indexing
from backend.store.filters import Between
from backend.store.words import HEAD, TAIL, excerpt, understood
from tests.recording import record
from ui.asked import Asked
from ui.narrowing import functions
from ui.replay import answer

ROOT = Path(__file__).parent.parent
SPEC = {"name": "sought", "model": "starter:wordle", "environments": [{"id": "wordle", "use": "wordle"}],
        "rewards": [{"name": "win", "value": "1.0 if won else 0.0"}, {"name": "partial", "value": "0.5"}]}
HOSTILE = ["<script>alert(1)</script>", "\ud800 lone", "a\0b", "\ue0ff=0123", "ışık 日本語 🎮", "‮abc", "'; DROP TABLE words; --",
           'say "hi" AND (NEAR x*', "word1 ^ word2 : {a}", "\x1b[31m"]


@pytest.fixture
def run(store):
    return store.create(RunSpec.model_validate(SPEC))


def turn(index: int = 0, **said) -> Turn:
    return Turn.model_validate({"index": index, "tool": "guess", "arguments": {"guess": "[crane]"}, "result": "G X Y X X"} | said)


def played(id: str, *turns: Turn, **changes) -> Episode:
    step, group, sample = map(int, id.split("-"))
    given = {"id": id, "step": step, "group": group, "sample": sample, "environment": "wordle", "status": "lost",
             "total": 0.0, "scores": {"win": 0.0}, "turns": turns}
    return Episode.model_validate(given | changes)


def ids(run, **asked) -> list[str]:
    return [row.id for row in run.episodes(sort="seq", **asked)]


def old(run):
    """The file as it was before words were indexed."""
    with contextlib.closing(sqlite3.connect(run.path / "run.db", isolation_level=None)) as connection:
        for table in ("words", "known"):
            connection.execute(f"DROP TABLE {table}")
        connection.execute("ALTER TABLE episodes DROP COLUMN tools")
    return run


@pytest.fixture(params=["indexed", "older"])
def told(run, request):
    """Four games, in a file with an index and in one without."""
    record(run, played("1-0-0", turn(0, thought="It may be plaid."), turn(1, said="I try slate now", result="not a word")),
           played("1-0-1", turn(0, said="Crane, then slates"), opening="Guess the hidden word."),
           played("2-0-0", turn(0, said="ışık ve İstanbul'un güzelliği", result="日本語を話す")),
           played("3-0-0", turn(0, tool="give-up", arguments="{broken", result="Ünlü", fault=Fault(
               where="model", kind="wrong_arguments", message="needs a text")),
                  prompt=[{"role": "user", "content": "hello there"}]))
    return old(run) if request.param == "older" else run


@pytest.mark.parametrize(("find", "found"), [
    ("slate", ["1-0-0"]), ("slate*", ["1-0-0", "1-0-1"]), ("PLAID slate", ["1-0-0"]), ('"try slate"', ["1-0-0"]),
    ('"slate try"', []), ("crane -slate", ["1-0-1", "2-0-0"]), ("-crane", ["3-0-0"]), ("tool:guess said:crane", ["1-0-1"]),
    ("tool:give-up", ["3-0-0"]), ("result:slate", []), ("call:crane -said:crane", ["1-0-0", "2-0-0"]),
    ("opening:hidden", ["1-0-1"]), ("opening:hello", ["3-0-0"]), ("fault:needs", ["3-0-0"]), ("thought:plaid", ["1-0-0"]),
    ("isik", ["2-0-0"]), ("IŞIK", ["2-0-0"]), ("istanbul", ["2-0-0"]), ("İSTANBUL'UN", ["2-0-0"]), ("guzelligi", ["2-0-0"]),
    ("日本", ["2-0-0"]), ("本語", ["2-0-0"]), ("語本", []), ("unlu", ["3-0-0"]), ('"plaid try"', []), ("nowhere", []),
    ('"now not"', []), ("or", []), ("", ["1-0-0", "1-0-1", "2-0-0", "3-0-0"])])
def test_words_are_found(told, find, found):
    assert ids(told, find=find) == found
    assert told.count_episodes(find=find) == len(found)


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_that_was_written_and_nothing_that_is_asked_is_an_error(run, text):
    record(run, played("1-0-0", turn(said=f"{text} needle", thought=text, result=text, tool=text, arguments={text: text})))
    assert ids(run, find="needle") == ["1-0-0"]
    for find in (text, f'"{text}', f"said:{text}", f"-{text} needle", f"{text}*"):
        try:
            assert ids(run, find=find) in (["1-0-0"], [])
        except SpecError as error:
            assert error.field == "find"


@pytest.mark.parametrize("find", ["!!!", "🎮", '""', "a" * 400, " ".join(["word"] * 30)])
def test_what_cant_be_looked_for_is_one_sentence(run, find):
    with pytest.raises(SpecError, match="^find: "):
        understood(find)


def test_words_of_two_turns_are_no_phrase_and_an_emoji_between_is_none_either(run):
    record(run, played("1-0-0", turn(0, said="first end"), turn(1, said="start second")), played("1-0-1", turn(said="a 🎮 b")))
    assert ids(run, find='"end start"') == [] and ids(run, find='"a b"') == ["1-0-1"]


def test_of_a_very_long_result_the_head_and_the_tail_are_found_and_recording_it_stays_quick(run):
    long = f"headword {'x y z ' * 900_000} middleword {'x y z ' * 900_000} tailword"
    record(run, played("1-0-0", turn(result=long)))
    assert len(long) > 10_000_000 and HEAD + TAIL < 30_000
    assert ids(run, find="headword tailword") == ["1-0-0"] and ids(run, find="middleword") == []
    assert (run.path / "run.db").stat().st_size < 300_000
    found = run.excerpts(run.episodes(), "tailword")["1-0-0"]
    assert found.pieces[-1] == ("tailword", True)


def test_an_episode_recorded_again_is_found_by_its_new_words_only(run):
    writer = run.writer()
    writer.record([played("1-0-0", turn(said="before"))])
    writer.record([played("1-0-0", turn(said="after"))])
    assert (ids(run, find="before"), ids(run, find="after"), ids(run, find="-before")) == ([], ["1-0-0"], ["1-0-0"])
    writer.close()


def test_a_resumed_older_run_gets_an_index_for_what_it_has(run):
    record(run, played("1-0-0", turn(said="early")))
    old(run)
    assert not run.indexed()
    record(run, played("2-0-0", turn(said="late early", tool="ask")))
    assert run.indexed() and ids(run, find="early") == ["1-0-0", "2-0-0"]
    assert run.known("tool") == ["ask", "guess"]
    assert (ids(run, tool="guess"), ids(run, tool="ask")) == (["1-0-0"], ["2-0-0"])


def test_a_python_without_fts5_records_and_searches_all_the_same(run, monkeypatch):
    monkeypatch.setattr(indexing, "_MAKE", "CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts17(said)")
    record(run, played("1-0-0", turn(said="needle")))
    assert not run.indexed() and ids(run, find="needle") == ["1-0-0"]


def test_the_recorded_demos_are_searched_where_nothing_can_be_written(tmp_path):
    shutil.copytree(ROOT / "runs" / "demo-wordle", tmp_path / "demo-wordle")
    for path in (*tmp_path.rglob("*"), tmp_path):
        os.chmod(path, 0o500 if path.is_dir() else 0o400)
    run = Store(tmp_path).run("demo-wordle")
    found = run.episodes(find='guess "guesses left"', limit=5)
    assert len(found) == 5 and len(run.excerpts(found, '"guesses left"')) == 5
    assert run.known("tool") and "guess" in run.known("tool")


# ------------------------------------------------------------------------------------------------------- where it stands


def test_an_excerpt_names_the_turn_that_holds_most_of_it(told):
    rows = told.episodes(sort="seq")
    found = told.excerpts(rows, "plaid slate")
    assert (found["1-0-0"].turn, found["1-0-0"].part) == (1, "thought")
    found = told.excerpts(rows, "word slate")
    assert (found["1-0-0"].turn, [hit for piece, hit in found["1-0-0"].pieces if hit]) == (2, [True])
    found = told.excerpts(rows, "日本 istanbul")["2-0-0"]
    assert found.turn == 1 and [piece for piece, hit in found.pieces if hit] == ["İstanbul"]
    assert told.excerpts(rows, "hidden")["1-0-1"].turn == 0


def test_beside_words_a_tool_is_only_a_condition(told):
    rows = told.episodes(sort="seq")
    found = told.excerpts(rows, "slate tool:guess")["1-0-0"]
    assert (found.turn, found.part) == (2, "said") and ("slate", True) in found.pieces
    assert told.excerpts(rows, "tool:guess")["1-0-0"].part == "tool"


def test_an_excerpt_marks_only_what_was_looked_for():
    found = excerpt(3, "said", "x " * 100 + "the Crane and cranes of CRANE-land" + " y" * 100, understood("crane").wanted)
    assert [piece for piece, hit in found.pieces if hit] == ["Crane", "CRANE"]
    assert found.pieces[0][0].startswith("…") and found.pieces[-1][0].endswith("…")


# ------------------------------------------------------------------------------------------------------------- filters


@pytest.fixture
def many(run):
    return record(
        run, played("1-0-0", turn(), status="won", total=1.5, advantage=1.0, scores={"win": 1.0, "partial": None}, seed=7),
        played("5-0-1", turn(tool="give_up", arguments=None), total=0.0, advantage=-1.0, seed=17,
               scores={"win": 0.0, "partial": 0.5}, task={"text": "the hidden task"},
               policy=Policy(kind="checkpoint", name="step-50")),
        played("15-0-0", turn(fault=Fault(where="model", kind="unknown_tool", message="no")), total=-0.5, advantage=None,
               scores={"win": 0.0, "partial": 0.25}, fingerprint="f00"),
        played("30-0-0", total=None, status="env_lost", scores={"win": None, "partial": None},
               fault=Fault(where="environment", kind="SessionLost", message="gone")))


@pytest.mark.parametrize(("asked", "found"), [
    ({"step": Between(5, 20)}, ["5-0-1", "15-0-0"]), ({"total": Between.read("total", "> 0")}, ["1-0-0"]),
    ({"total": Between.read("total", "-0.5..0")}, ["5-0-1", "15-0-0"]), ({"advantage": Between.read("a", "< 0")}, ["5-0-1"]),
    ({"terms": {"partial": Between.read("partial", "0.2-0.3")}}, ["15-0-0"]), ({"tool": "give_up"}, ["5-0-1"]),
    ({"tool": "give"}, []), ({"trouble": "any"}, ["15-0-0", "30-0-0"]), ({"trouble": "unknown_tool"}, ["15-0-0"]),
    ({"trouble": "SessionLost"}, ["30-0-0"]), ({"task_or_seed": "7"}, ["1-0-0"]), ({"task_or_seed": "hidden task"}, ["5-0-1"]),
    ({"task_or_seed": "f00"}, ["15-0-0"]), ({"policy": "step-50"}, ["5-0-1"]),
    ({"step": Between(5, 20), "find": "crane"}, ["15-0-0"])])
@pytest.mark.parametrize("older", [False, True])
def test_episodes_are_narrowed(many, asked, found, older):
    if older:
        old(many)
    assert ids(many, **asked) == found and many.count_episodes(**asked) == len(found)


def test_what_a_run_knows_to_be_narrowed_to(many):
    assert many.known("tool") == ["give_up", "guess"] and many.known("policy") == ["model", "step-50"]
    assert many.known("fault") == ["SessionLost", "unknown_tool"]


@pytest.mark.parametrize("text", ["3", "10-20", "-1..0.5", "> 0.5", "<= 3", "0 to 1", "..2", "5..", "−1", "1e3"])
def test_a_range_is_read_as_people_write_it(text):
    low, high = Between.read("total", text)[:2]
    assert low is not None or high is not None


@pytest.mark.parametrize("text", ["much", "1-2-3", "> many", "..", "1e999", "0x10", ""])
def test_a_range_that_is_none_is_one_sentence(text):
    with pytest.raises(SpecError, match="^total: "):
        Between.read("total", text)


def test_the_address_carries_every_filter():
    asked = Asked(run="r", id="1", find='a "b c"', view="suspects", step="10-20", tool="x", trouble="any", task="7",
                  policy="p", tag="t&u", total="> 1", advantage="< 0", term="win", value="0..1", where="won")
    assert Asked.read(asked.to().partition("?")[2]) == asked
    assert {name for name, _, _ in asked.active()} >= {"words", "step", "called", "fault", "tag", "win"} - {"called"}


# ------------------------------------------------------------------------------------------------------- the list's page


def seen(run, **asked) -> str:
    return answer(Store(run.path.parent), "&".join(["run=" + run.id, *(f"{name}={value}" for name, value in asked.items())]),
                  may_change=True)["list"]


def test_a_row_opens_at_the_turn_that_holds_the_words(told):
    page = seen(told, find="slate")
    link = re.search('<a class="o-link o-mono" href="([^"]*)"', page)[1]
    assert parse_qs(urlsplit(html.unescape(link)).query)["turn"] == ["2"]
    assert "<mark>slate</mark>" in page and "turn 2, said" in page
    assert ("recorded before words were indexed" in page) is not told.indexed()
    assert json.loads(html.unescape(re.search('data-marks="([^"]*)"', page)[1])) == [{"words": ["slate"], "begins": False}]


def test_what_is_found_is_text(run):
    record(run, played("1-0-0", turn(said="<img src=x onerror=alert(1)> needle <b>")))
    page = seen(run, find="needle")
    assert "&lt;img" in page and "<img" not in page and "<b>" not in page.split("<q>")[1].split("</q>")[0]


def test_a_mistyped_step_is_said_beside_the_filters_and_the_episode_stays(many):
    page = answer(Store(many.path.parent), f"run={many.id}&id=1-0-0&step=5-x")
    assert "1-0-0" in page["player"] and "o-dead-end" not in page["player"]
    assert "a step such as 7, or a range such as 10-20" in page["list"] and 'name="step" placeholder' in page["list"]
    assert 'value="5-x"' in page["list"]
    assert "15-0-0" in (from_five := seen(many, step="5-")) and "1-0-0" not in from_five  # as Total and Its value take it


def test_a_page_too_far_is_the_last(many):
    page = seen(many, page=99)
    assert "30-0-0" in page and "No episode matches" not in page


def test_each_filter_is_a_chip_with_a_way_to_take_it_away(many):
    page = seen(many, step="5-20", tool="give_up", total="0..1")
    chips = [html.unescape(href) for href in re.findall('class="o-filter-chip" href="([^"]*)"', page)]
    assert len(chips) == 3 and all(len(parse_qs(urlsplit(chip).query)) == 4 for chip in chips)
    assert "5-0-1" in page and "1–1 of 1" in page


@pytest.mark.parametrize("asked", [{"total": "much"}, {"group": "two"}, {"value": "1"}, {"find": "!!!"}, {"where": "nope > 1"}])
def test_a_filter_that_cant_be_used_is_one_sentence_above_no_rows(many, asked):
    page = seen(many, **asked)
    assert page.count('role="alert"') >= 1 and "<tbody>" not in page and "Traceback" not in page


def test_filters_are_saved_applied_to_any_run_and_deleted(store, many):
    other = store.create(RunSpec.model_validate(SPEC))
    keep, drop = functions(store, True)
    answered = keep({"search": f"?run={many.id}&id=1-0-0&status=won&sort=-total", "name": "  best <b> wins "})
    assert "best &lt;b&gt; wins" in answered["html"] and store.saved_filters()[0].asked == "sort=-total&status=won"
    assert f"/episode?run={other.id}&amp;sort=-total&amp;status=won" in answer(store, f"run={other.id}")["list"]
    assert "best" not in drop({"search": f"?run={many.id}", "name": "best <b> wins"}).get("html", "best")
    assert store.saved_filters() == []


@pytest.mark.parametrize(("search", "name"), [("?status=won", ""), ("?status=won", "x" * 99), ("", "all"), ("?turn=x", "a")])
def test_what_cant_be_saved_is_one_sentence(store, search, name):
    assert functions(store, True)[0]({"search": search, "name": name})["problem"].count("\n") == 0


def test_a_site_that_only_shows_saves_no_filter_and_says_why(store, many):
    store.save_filter("wins", "status=won")
    assert "read-only" in functions(store, False)[0]({"search": "?status=won", "name": "a"})["problem"]
    page = answer(store, f"run={many.id}&status=won")["list"]
    assert ">wins</a>" in page and "data-filter=" not in page and "without --read-only" in page


def test_neighbours_of_a_search_open_at_their_turns(told):
    page = answer(Store(told.path.parent), f"run={told.id}&id=1-0-1&find=slate*&sort=seq")["player"]
    link = html.unescape(re.search('href="([^"]*)" data-go="prev"', page)[1])
    assert (parse_qs(urlsplit(link).query)["id"], parse_qs(urlsplit(link).query)["turn"]) == (["1-0-0"], ["2"])


# ---------------------------------------------------------------------------------------------------------- the terminal


def test_words_are_found_from_the_terminal(told, capsys):
    assert main(["episodes", told.id, "--find", "slate", "--runs", str(told.path.parent)]) == 0
    out = capsys.readouterr().out
    assert "1-0-0  turn 2 said: I try slate now" in out and "2-0-0" not in out
    assert main(["episodes", told.id, "--find", "-slate", "--json", "--runs", str(told.path.parent)]) == 0
    assert [row["id"] for row in json.loads(capsys.readouterr().out)] == ["3-0-0", "2-0-0", "1-0-1"]
    assert main(["episodes", told.id, "--find", "!!!", "--runs", str(told.path.parent)]) == 2
    assert "holds no letter" in capsys.readouterr().err


# ----------------------------------------------------------------------------------------------------- a file that is gone


@pytest.mark.parametrize("how", ["finished", "lost"])
def test_a_run_that_trained_and_has_no_file_says_so(store, run, how):
    writer = run.writer()
    with writer.hold_lock():
        writer.record([played("1-0-0")])
        if how == "finished":
            writer.finish(Result(status="finished", step=1, ended=1.0))
    writer.close()
    os.remove(run.path / "run.db")
    for ask in (run.episodes, run.count_episodes, run.term_curves, lambda: run.episode("1-0-0")):
        with pytest.raises(OrtamError, match="run.db is missing; put back a whole copy"):
            ask()
    assert "run.db is missing" in run.progress().reason
    assert [one.id for one in store.runs()] == [run.id]


def test_a_run_that_never_trained_has_no_file_to_miss(run):
    run.conclude(Result(status="failed", reason="the model isn't there", ended=1.0))
    assert run.episodes() == [] and run.progress().reason == "the model isn't there"
