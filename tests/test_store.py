"""Run folders: what goes in comes out, whoever died in between."""

import contextlib
import math
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from backend.errors import EpisodeNotFound, OrtamError, RunNotFound, SpecError
from backend.records import Episode, Event, Fault, Judged, Parent, Policy, Result, RewardTerm, RunSpec, Turn
from backend.store import Store, sums, to_yaml
from backend.store.codec import MISSING
from backend.store.tables import network_mount

HOSTILE = ["<script>alert(1)</script>", "\ud800 lone", "a\0b", "\ue0ff=0123", "\ue0ff", "ışık 日本語 🎮", "\u202eabc",
           "", "'; DROP TABLE episodes; --", "\r\n\t\x1b[31m", "\ue0ffd800"]


def spec(**changes) -> RunSpec:
    return RunSpec.model_validate({"name": "trial", "model": "starter:catch",
                                   "environments": [{"id": "catch", "use": "catch"}],
                                   "train": {"steps": 10, "group_size": 2, "episodes_per_step": 4}, **changes})


def episode(id="1-0-0", **changes) -> Episode:
    step, group, sample = (int(part) for part in id.split("-"))
    given = {"id": id, "step": step, "group": group, "sample": sample, "environment": "catch", "status": "won",
             "scores": {"caught": 1.0}, "total": 1.0, "facts": {"won": True, "turns": 3}}
    return Episode.model_validate(given | changes)


@pytest.fixture
def run(store):
    return store.create(spec())


@pytest.fixture
def writer(run):
    writer = run.writer()
    yield writer
    writer.close()


# ------------------------------------------------------------------------------------------------------- what is kept


def test_every_field_of_an_episode_comes_back(run, writer):
    fault = Fault(where="model", kind="unknown_tool", message="no such tool", traceback="Traceback ...")
    turn = Turn(index=1, said="left", thought="hmm", tool="move", arguments={"direction": "left"}, result="grid",
                shown="g",
                reward=-0.5, done=True, facts={"won": False, "x": 1.5, "w": "crane", "n": None}, tokens=7,
                model_seconds=0.5,
                seconds=0.25, fault=fault, cut=True, images=("data:image/png;base64,AAAA",))
    whole = Episode(id="3-1-2", phase="eval", step=3, attempt=2, group=1, sample=2, environment="catch",
                    task={"k": [1]},
                    seed=5, fingerprint="f", policy=Policy(kind="checkpoint", name="final"), status="lost",
                    parent=Parent(run="20261129-152941-wordle-first", episode="2-1-0", turn=1),
                    stop="missed",
                    prompt=({"role": "user", "content": "play"},), opening="grid 0", start_facts={"rows": 10},
                    images=("data:image/png;base64,BBBB",),
                    facts={"won": False, "nearness": 0.25}, scores={"caught": 0.0, "near": None}, total=0.5,
                    advantage=-1.25,
                    tokens=70, started=1000.5, seconds=2.5, fault=fault, turns=(turn,),
                    judged={"kind": Judged(digest="d", score=0.5, reason="fair", fault=fault)})
    for record in (turn, whole):
        untouched = [name for name, field in type(record).model_fields.items()
                     if not field.is_required() and getattr(record, name) == field.default]
        assert not untouched, "give every field a value here, so that a new one can't be forgotten by the store"
    writer.record([whole])
    assert run.episode("3-1-2") == whole


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_is_lost(run, writer, text):
    fault = Fault(where="environment", kind=text, message=text, traceback=text)
    before = episode(id="1-0-0", environment=text, task=text, fingerprint=text, stop=text, opening=text, fault=fault,
                     facts={text: text}, prompt=[{"role": "user", "content": text}], policy=Policy(name=text),
                     turns=[Turn(index=0, said=text, thought=text, tool=text, arguments={text: [text]}, result=text)])
    writer.record([before])
    writer.event(Event(at=1.0, kind="warning", text=text))
    writer.metrics(1, {text: 1.0})
    assert run.episode("1-0-0") == before
    assert run.episodes()[0].stop == text
    assert run.events()[0][1].text == text
    assert run.metric_names() == [text]


@pytest.mark.parametrize("id", [*HOSTILE, "../../etc/passwd", "a/b?c#d", "62-3-7%00"])
def test_an_episode_may_have_any_id(run, writer, id):
    writer.record([Episode(id=id, step=1, group=0, sample=0, environment="e", status="won")])
    assert run.episode(id).id == id
    assert run.neighbours(id) == (None, None)


def test_huge_numbers_and_long_texts_survive(run, writer):
    long = "ab" * 2_500_000 + "\ud800"
    before = episode(seed=2**70, task={"n": 2**200}, turns=[Turn(index=0, arguments={"n": -2**100}, result=long,
                                                                 shown=long)])
    writer.record([before])
    after = run.episode("1-0-0")
    assert (after.seed, after.task, after.turns[0].arguments) == (2**70, {"n": 2**200}, {"n": -2**100})
    assert after.turns[0].result == long
    assert (run.path / "run.db").stat().st_size + (run.path / "run.db-wal").stat().st_size < 2_000_000


def test_none_stays_none_and_nan_is_nothing_to_measure(run, writer):
    writer.record([episode(total=None, advantage=None, scores={"caught": None}, status="env_lost",
                           facts={"nearness": math.nan, "inf": math.inf})])
    writer.metrics(1, {"loss": math.nan, "kl": None, "reward": 0.0})
    row = run.episodes()[0]
    assert (row.total, row.advantage, row.scores) == (None, None, {"caught": None})
    assert run.episode("1-0-0").facts == {"nearness": None, "inf": math.inf}
    assert {point.name: point.value for point in run.metrics()} == {"loss": None, "kl": None, "reward": 0.0}


def test_facts_of_turns_come_back_whole_though_only_changes_are_kept(run, writer):
    told = [{"x": 1, "won": False, "n": None, "s": "a" * 900}, {"x": 1, "won": False, "n": None, "s": "a" * 900},
            {"x": True, "won": 0, "n": 0, "s": "a" * 900}, {"x": 1.0, "won": False, "n": -0.0, "s": "a" * 900, "new": "y"},
            {"x": 1.0, "won": False}, {}, {"x": 2}, {"x": 2, "inf": math.inf}]
    turns = [Turn(index=k, facts=facts) for k, facts in enumerate(told)]
    writer.record([episode("1-0-0", turns=turns), episode("1-0-1", turns=turns[:2])])
    kept = [turn.facts for turn in run.episode("1-0-0").turns]
    assert kept == told and [list(map(repr, facts.values())) for facts in kept] == [list(map(repr, facts.values()))
                                                                                   for facts in told]
    with contextlib.closing(sqlite3.connect(run.path / "run.db", isolation_level=None)) as connection:
        assert connection.execute("SELECT sum(length(facts)) FROM turns").fetchone()[0] < 2400
    columns = run.turn_columns(["x", "won", "n", "nowhere"])
    assert list(map(repr, columns.facts["x"])) == ["1", "1", "True", "1.0", "1.0", "2", "2", "1", "1"]
    assert list(map(repr, columns.facts["n"])) == ["None", "None", "0", "-0.0", *["None"] * 5]
    assert set(columns.facts["nowhere"]) == {None} and list(columns.episode) == [1] * 7 + [2] * 2


def test_turns_of_an_older_file_are_read_as_they_were_kept(run):
    facts = [{"x": 1, "y": 2}, {"x": 1, "y": 3}]
    writer = run.writer()
    writer.record([episode(turns=[Turn(index=k, facts=one) for k, one in enumerate(facts)])])
    writer.close()
    with contextlib.closing(sqlite3.connect(run.path / "run.db", isolation_level=None)) as old:
        old.execute("ALTER TABLE turns DROP COLUMN partly")
        old.execute("UPDATE turns SET facts = '{\"x\": 1, \"y\": 3}' WHERE index_ = 1")
    assert [turn.facts for turn in run.episode("1-0-0").turns] == facts
    assert run.turn_columns(["x", "y"]).facts == {"x": [1, 1], "y": [2, 3]}
    run.writer().close()
    assert run.turn_columns(["x", "y"]).facts == {"x": [1, 1], "y": [2, 3]}


def test_the_same_episode_again_is_not_a_second_one(run, writer):
    writer.record([episode(total=0.0), episode(id="1-0-1")])
    seen = run.episodes(sort="seq")[-1].seq
    writer.record([episode(total=1.0)])
    assert run.count_episodes() == 2
    assert run.episode("1-0-0").total == 1.0
    assert [row.id for row in run.episodes(after=seen)] == ["1-0-0"]
    assert {point.name: point.all for point in run.term_curves()} == {"total": 2, "caught": 2}


def test_an_episode_that_cannot_be_stored_leaves_the_others(run, writer):
    writer.record([episode(id="1-0-0"), episode(id="1-0-1", tokens=2**70), episode(id="1-0-2")])
    assert {row.id for row in run.episodes()} == {"1-0-0", "1-0-2"}
    assert "1-0-1" in run.events()[-1][1].text
    writer.record([episode(id="2-0-0", turns=(Turn(index=0), Turn(index=0))), episode(id="2-0-1")])
    assert {row.id for row in run.episodes(where="id in ('2-0-0', '2-0-1')")} == {"2-0-1"}


def test_a_locked_file_is_waited_for_and_nothing_is_lost(run, writer, monkeypatch):
    writer._connection.execute("PRAGMA busy_timeout = 1")
    blocker = sqlite3.connect(run.path / "run.db", isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    writer.record([episode(id="1-0-0")])
    writer.metrics(1, {"loss": 1.0})
    blocker.execute("ROLLBACK")
    blocker.close()
    writer.record([episode(id="2-0-0")])
    assert run.count_episodes() == 2
    assert len(run.metrics()) == 1


def test_what_a_full_disk_refused_is_written_whole_once_there_is_room(run, writer, capsys):
    pages = writer._connection.execute("PRAGMA page_count").fetchone()[0]
    writer._connection.execute(f"PRAGMA max_page_count = {pages}")
    writer.record([episode(id="1-0-0", facts={"won": True}), episode(id="1-0-1", facts={}, opening="o" * 15_000)])
    assert run.count_episodes() == 0
    assert "full" in capsys.readouterr().out
    writer._connection.execute("PRAGMA max_page_count = 100000")
    writer.record([episode(id="2-0-0", facts={"won": False})])
    assert run.count_episodes(where="won") == 1
    assert run.known_facts() == ["won"]


def test_what_never_found_room_is_said_to_be_lost(run, capsys):
    writer = run.writer()
    pages = writer._connection.execute("PRAGMA page_count").fetchone()[0]
    writer._connection.execute(f"PRAGMA max_page_count = {pages}")
    writer.record([episode(opening="o" * 15_000)])
    writer.close()
    assert "1 writes are lost" in capsys.readouterr().out


def test_a_secret_is_never_written_to_a_spec(store):
    for changes in ({"train": {"extra": {"hub_token": "abc"}}}, {"environments": [
            {"id": "e", "use": "openenv+https://me:pass@host"}]}, {"environments": [
                {"id": "e", "use": "echo", "options": {"api_key": "x"}}]}, {"model": "hf_" + "a" * 34}, {"environments": [
                    {"id": "e", "use": "echo", "options": {"headers": {"X-Api-Key": "x"}, "n": 1}}]}, {"environments": [
                        {"id": "e", "use": "echo", "options": {"accessToken": "x"}}]}):
        with pytest.raises(SpecError, match="secret|password"):
            store.create(spec(**changes))
    assert store.runs() == []


def test_a_secret_is_never_kept_in_a_reward_set(store):
    judge = {"url": "https://me:pass@host/v1", "model": "m"}
    with pytest.raises(SpecError, match="password"):
        store.save_reward_set("mine", [RewardTerm(name="kind", kind="judge", value="Be kind.", judge=judge)])
    assert store.reward_sets() == []


def test_a_spec_comes_back_as_it_was(store):
    asked = spec(environments=[{"id": "a", "use": "wordle", "prompt": "ışık: 'x' \ud800\n# no comment",
                                "max_turns": 3}],
                 rewards=[{"name": "win", "value": "1.0 if won else -0.5", "environments": ["a"]}],
                 warm_up={"games": 3})
    run = store.create(asked)
    assert run.spec == asked
    assert run.spec_text == to_yaml(asked)


def test_a_spec_of_a_newer_version_is_read_without_what_is_unknown(run):
    text = run.spec_text.replace("train:\n", "train:\n  horizon: 3\n") + "planner: {depth: 2}\n"
    (run.path / "spec.yaml").write_text(text)
    assert run.spec == spec()


def test_runs_of_one_second_get_folders_of_their_own(store):
    assert len({store.create(spec()).id for _ in range(3)}) == 3


# ------------------------------------------------------------------------------------------------------ what is asked


@pytest.fixture
def filled(run, writer):
    for step in (1, 2):
        writer.record([
            episode(f"{step}-0-0", total=1.0, facts={"won": True, "guesses": 3, "word": "crane"},
                    scores={"a": 1.0, "b": None}),
            episode(f"{step}-0-1", total=0.5, facts={"won": False, "guesses": 6, "word": "slate"},
                    scores={"a": 0.5, "b": 2}),
            episode(f"{step}-1-0", total=None, status="env_lost", facts={"won": None}, scores={"a": None, "b": None}),
            episode(f"{step}-1-1", total=-0.1, facts={"won": False, "guesses": 0, "word": ""},
                    scores={"a": 0.0, "b": None},
                    status="invalid", environment="other"),
        ])
    writer.record([episode("2-9-0", phase="eval", total=9.0, facts={"won": True})])
    return run


@pytest.mark.parametrize(("where", "found"), [
    ("won and guesses<=3", 2), ("not won", 4), ("won is None", 2), ("total > 0.4 and step == 2", 3),
                                              ("1 < guesses < 4", 2),
    ("word == 'crane'", 2), ("'a' in word", 4), ("word in ('slate', 'x')", 2), ("a >= 0.5", 4), ("b is not None", 2),
    ("len(word) == 0", 2), ("guesses / 2 == 1.5", 2), ("max(guesses, 4) == 6", 2), ("status == 'env_lost'", 2),
                                              ("word", 4),
    ("(1 if won else 2) == 2", 6), ("group == 1 or sample == 1", 6), ("total != None", 7), ("-total > 0", 2),
    ("environment == 'other'", 2), ("won == True", 3), ("", 9),
])
def test_a_filter_selects(filled, where, found):
    assert filled.count_episodes(where=where) == found
    assert len(filled.episodes(where=where)) == found


@pytest.mark.parametrize("where", ["won and", "wonn", "won.x", "__import__('os')", "[1 for x in y]", "won; 1", "f(won)",
                                   "1j",
                                   "min(won)", "x" * 600, "lambda: 1", "won if", "(" * 300, "'a' 'b' = 1", "won[0]",
                                   "won" + "+won" * 120])
def test_a_filter_that_makes_no_sense_is_one_sentence(filled, where):
    with pytest.raises(SpecError) as caught:
        filled.episodes(where=where)
    assert str(caught.value).startswith("where: ")
    assert "\n" not in str(caught.value)


def test_an_unknown_fact_names_the_near_ones(filled):
    with pytest.raises(SpecError, match="guesses"):
        filled.episodes(where="gueses < 3")


def test_episodes_are_sorted_and_unscored_ones_come_last(filled):
    def totals(sort):
        return [row.total for row in filled.episodes(sort=sort, phase="train")]

    assert totals("total") == [-0.1, -0.1, 0.5, 0.5, 1.0, 1.0, None, None]
    assert totals("-total") == [1.0, 1.0, 0.5, 0.5, -0.1, -0.1, None, None]
    assert [row.scores["b"] for row in filled.episodes(sort="-b", limit=3, phase="train")] == [2, 2, None]
    assert [row.id for row in filled.episodes(sort="-step", limit=2, offset=1)] == ["2-0-1", "2-1-0"]
    with pytest.raises(SpecError, match="sort"):
        filled.episodes(sort="totall")


@pytest.mark.parametrize("sort", ["-step", "step", "total", "-total", "status", "-a", "b", "id"])
def test_neighbours_follow_the_list(filled, sort):
    listed = [row.id for row in filled.episodes(sort=sort, phase="train")]
    for place, id in enumerate(listed):
        before = listed[place - 1] if place else None
        after = listed[place + 1] if place + 1 < len(listed) else None
        assert filled.neighbours(id, sort=sort, phase="train") == (before, after)
    assert filled.neighbours("2-9-0", sort=sort, phase="train") == (None, None)


def test_filters_take_one_value_or_several(filled):
    assert filled.count_episodes(step=1) == 4
    assert filled.count_episodes(step=[1, 2], status=("won", "invalid"), phase="train") == 6
    assert filled.count_episodes(group=None) == 9
    with pytest.raises(SpecError):
        filled.episodes(colour="red")


def test_curves_have_gaps_where_nothing_was_scored(filled):
    points = {(point.step, point.name): point for point in filled.term_curves()}
    assert filled.term_curves(name="b") == [point for point in filled.term_curves() if point.name == "b"]
    assert len(points) == 6
    total = points[1, "total"]
    assert (total.mean, total.scored, total.all) == (pytest.approx(1.4 / 3), 3, 4)
    assert total.low == pytest.approx(0.02)
    other = {point.name: point for point in filled.term_curves(environment="other", after_step=1)}
    assert (other["a"].mean, other["b"].mean, other["b"].scored, other["b"].all) == (0.0, None, 0, 1)


def test_an_unknown_episode_is_a_sentence(run, writer):
    with pytest.raises(EpisodeNotFound, match="9-9-9"):
        run.episode("9-9-9")


def test_a_run_is_found_by_id_prefix_name_or_latest(store):
    first, second = store.create(spec(name="alpha")), store.create(spec(name="beta"))
    shutil.copytree(first.path, store.folder / "demo-zeta")
    assert store.run(first.id).id == first.id
    assert store.run("alp").id == first.id
    assert store.run("latest").id == second.id
    assert store.run("demo").demo
    for ref in ("nope", "2", "", "../runs", "studio.db"):
        with pytest.raises(RunNotFound):
            store.run(ref)
    assert [run.id for run in store.runs("zeta")] == ["demo-zeta"]
    assert store.runs()[-1].demo


# ------------------------------------------------------------------------------------------------ what state it is in

TRAINER = """
import sys, time
from backend.records import Episode
from backend.store import Store
run = Store(sys.argv[1]).run("latest")
writer = run.writer()
with writer.hold_lock():
    writer.phase("playing")
    writer.record([Episode(id="1-0-0", step=1, group=0, sample=0, environment="e", status="won")])
    print("ready", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def trainer(store, run):
    process = subprocess.Popen([sys.executable, "-c", TRAINER, str(store.folder)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    yield process
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()


def test_a_killed_trainer_is_lost_and_its_episodes_are_readable(run, trainer):
    assert run.status() == "running"
    assert run.trainer_pid() == trainer.pid
    version = run.version()
    trainer.send_signal(signal.SIGKILL)
    trainer.wait()
    assert run.status() == "lost"
    assert run.version() != version
    assert run.episode("1-0-0").status == "won"
    assert "Every episode" in run.progress().reason


def test_a_second_trainer_cannot_write_to_a_run(run, trainer, monkeypatch):
    monkeypatch.setattr("backend.store.writing.LOCK_SECONDS", 0.1)
    with pytest.raises(OrtamError, match="held by another process"), run.writer().hold_lock():
        pass


def test_status_follows_the_folder(store, run):
    assert run.status() == "queued"
    store.queue.add(run.id)
    assert run.status() == "queued"
    writer = run.writer()
    with writer.hold_lock():
        assert run.status() == "preparing"
        writer.record([episode()])
        assert run.status() == "running"
        run.ask_to_stop()
        assert run.status() == "stopping"
        writer.finish(Result(status="stopped", reason="asked to", step=1, ended=time.time()))
        assert run.status() == "stopped"
    writer.close()
    assert run.progress().reason == "asked to"


def test_a_silent_trainer_is_stalled(run, writer):
    with writer.hold_lock():
        writer.record([episode()])
        for file in run.path.iterdir():
            os.utime(file, (time.time() - 3600,) * 2)
        assert run.status() == "stalled"
        assert "60 minutes" in run.progress().reason


def test_a_run_before_it_started_answers_nothing(run):
    assert (run.episodes(), run.count_episodes(), run.term_curves(), run.metrics(), run.events()) == ([], 0, [], [], [])
    assert (run.log_tail(), run.result(), run.progress().step, run.neighbours("x")) == ("", None, 0, (None, None))
    with pytest.raises(EpisodeNotFound):
        run.episode("1-0-0")


def test_nothing_changes_while_nothing_happens(run, writer):
    writer.record([episode()])
    version = run.version()
    run.episodes()
    run.term_curves()
    assert run.version() == version
    writer.metrics(1, {"loss": 0.0})
    assert run.version() != version


def test_time_left_comes_from_recent_steps(run, writer):
    writer._do(lambda connection: connection.executemany("INSERT INTO steps VALUES (?, ?)",
                                                         [(1, 100), (2, 110), (3, 120)]))
    with writer.hold_lock():
        progress = run.progress()
    assert (progress.step, progress.steps, progress.left) == (3, 10, 70)


def test_a_finished_run_can_be_copied_and_read_where_nothing_can_be_written(store, run, tmp_path):
    writer = run.writer()
    writer.record([episode()])
    writer.finish(Result(status="finished"))
    writer.close()
    assert not (run.path / "run.db-wal").exists()
    copy = tmp_path / "elsewhere" / "demo-copy"
    shutil.copytree(run.path, copy)
    locked(copy)
    try:
        demo = Store(copy.parent).run("demo-copy")
        assert demo.episode("1-0-0") == episode()
        assert demo.status() == "finished"
    finally:
        unlocked(copy)


def test_a_lost_run_is_read_whole_from_a_read_only_folder(store, run, trainer):
    trainer.kill()
    trainer.wait()
    assert (run.path / "run.db-wal").stat().st_size
    locked(run.path)
    try:
        assert run.episode("1-0-0").status == "won"
    finally:
        unlocked(run.path)


def locked(folder):
    for path in folder.iterdir():
        path.chmod(0o444)
    folder.chmod(0o555)


def unlocked(folder):
    folder.chmod(0o755)


def test_an_older_file_gets_the_columns_it_lacks(run):
    run.writer().close()
    old = sqlite3.connect(run.path / "run.db")
    old.execute("DROP INDEX idx_details_parent")
    old.execute("ALTER TABLE turns DROP COLUMN images")
    for column in ("images", "parent", "judged"):
        old.execute(f"ALTER TABLE details DROP COLUMN {column}")
    old.commit()
    old.close()
    writer = run.writer()
    writer.record([episode(images=("data:,",), turns=[Turn(index=0, images=("data:,",))])])
    writer.close()
    assert run.episode("1-0-0").turns[0].images == ("data:,",) and run.episode("1-0-0").images == ("data:,",)


@pytest.mark.parametrize(("table", "column", "cell"), [
    ("episodes", "facts", "{torn"), ("episodes", "scores", '{"win": "x"}'), ("episodes", "total", "much"),
    ("episodes", "seed", "many"), ("episodes", "status", "odd"),
    ("details", "start_facts", "[1]"), ("details", "prompt", "{"), ("turns", "arguments", "{"),
    ("events", "fault", "{"), ("texts", "body", b"\0")])
def test_cells_that_no_trainer_wrote_are_one_sentence_wherever_they_are_read(run, writer, table, column, cell):
    writer.record([episode(id="1-0-0", turns=(Turn(index=0, said="long" * 10_000),))])
    writer.phase("playing")
    writer.close()
    with contextlib.closing(sqlite3.connect(run.path / "run.db", isolation_level=None)) as file:
        file.execute(f"UPDATE {table} SET {column} = ?", (cell,))
    refused = []
    for ask in (lambda: run.episode("1-0-0"), run.episodes, run.events, lambda: run.standouts("unscored"),
                lambda: sums.groups(run.path, 1)):
        try:
            ask()
        except OrtamError as error:
            refused.append(str(error))
    assert refused and all("run.db" in said and "\n" not in said for said in refused)


def test_a_long_text_that_a_torn_copy_lacks_is_said_to_be_missing(run, writer):
    long = "word " * 5000
    writer.record([episode(id="1-0-0", opening=long + "o", prompt=({"role": "user", "content": long + "p"},), turns=(
        Turn(index=0, said=long + "s", thought="short", tool="act", arguments={"a": long}, result=long + "r",
             images=("data:image/png;base64," + "A" * 20_000,)), Turn(index=1, said="", result="")))])
    writer.close()
    with contextlib.closing(sqlite3.connect(run.path / "run.db", isolation_level=None)) as file:
        file.execute("DELETE FROM texts")
    found = run.episode("1-0-0")
    first, second = found.turns
    assert (found.opening, found.prompt[0]["content"]) == (MISSING, MISSING)
    assert (first.said, first.arguments, first.result, first.images) == (MISSING, MISSING, MISSING, (MISSING,))
    assert (first.thought, second.said, second.result) == ("short", "", ""), "what is there is there, and empty is empty"


def test_a_broken_folder_does_not_hide_the_others(store, run):
    other = store.create(spec(name="other"))
    (other.path / "spec.yaml").write_text("a: [")
    broken = store.create(spec(name="broken"))
    (broken.path / "run.db").write_bytes(b"not a database at all" * 100)
    assert {one.id: one.status for one in store.runs()} == {broken.id: "lost", run.id: "queued"}
    with pytest.raises(OrtamError, match="run.db can't be read"):
        broken.episodes()


@pytest.mark.parametrize("kept", [b"\xff\xfe\x00", b"a: [", b"a: " + b"[" * 5000, b"name: \x00", b"date: 2001-99-99"])
def test_a_broken_spec_is_one_sentence(run, kept):
    (run.path / "spec.yaml").write_bytes(kept)
    with pytest.raises(OrtamError, match="spec.yaml can't be read") as caught:
        run.spec  # noqa: B018
    assert "\n" not in str(caught.value)


def test_the_last_lines_of_the_log_hold_a_progress_bar_once(run):
    (run.path / "trainer.log").write_bytes(b"a\n 10%|#  |\r 50%|## |\r100%|###|\nb\n")
    assert run.log_tail() == "a\n100%|###|\nb"
    assert run.log_tail(1) == "b"


def test_a_local_disk_is_no_network_mount(tmp_path):
    assert network_mount(tmp_path) is None


def test_studio_rows_are_claimed_once(store, run):
    store.queue.add(run.id)
    assert store.queue.move(run.id, "waiting", "claimed", worker="a")
    assert not store.queue.move(run.id, "waiting", "claimed", worker="b")
    assert store.queue.place(run.id).worker == "a"


def test_how_a_run_ended_survives_half_a_surrogate_pair(store):
    run = store.create(spec())
    writer = run.writer()
    writer.finish(Result(status="failed", reason="bad \ud83d text"))
    writer.close()
    assert (run.status(), run.result().reason) == ("failed", "bad \ud83d text")
