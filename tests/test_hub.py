"""A run to the Hub and back, through the Hub's own client and a real server that speaks its routes."""

import contextlib
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from backend.errors import OrtamError, SpecError
from backend.exchange import hub as exchange_hub
from backend.exchange.hub import fit, repository
from backend.records import Episode, Result, RunSpec, Turn
from tests.hub_server import TOKEN, Hub, serving

ROOT = Path(__file__).parents[1]
SPEC = {"name": "shared", "model": "starter:wordle", "environments": [{"id": "wordle", "use": "wordle"}]}


@pytest.fixture
def run(store):
    run = store.create(RunSpec.model_validate(SPEC))
    with run.writing() as writer:
        writer.record([Episode(id=f"1-0-{k}", step=1, group=0, sample=k, environment="wordle", status="won", total=1.0,
                               turns=(Turn(index=0, tool="guess", result="x" * 20_000),)) for k in range(3)])
        writer.finish(Result(status="finished", step=1))
    (run.path / "trainer.log").write_text("trained\n")
    (run.path / "checkpoints").mkdir()
    (run.path / "checkpoints" / "model.safetensors").write_bytes(b"weights")
    (run.path / "stop").write_text("now")
    return run


@pytest.fixture
def hub():
    with serving(Hub()) as started:
        yield started


@pytest.fixture
def command(store, hub, tmp_path):
    """`python -m backend ...` as somebody who is logged in to this Hub."""
    def ran(*words, token=TOKEN):
        environment = {**os.environ, "HF_ENDPOINT": hub.url, "HF_HUB_OFFLINE": "0", "HF_HOME": str(tmp_path / "hf"),
                       "HF_HUB_DISABLE_XET": "1"}
        environment.pop("HF_TOKEN", None)
        if token:
            environment["HF_TOKEN"] = token
        return subprocess.run([sys.executable, "-m", "backend", *words, "--runs", str(store.folder)], cwd=ROOT, env=environment,
                              capture_output=True, text=True, timeout=100)
    return ran


def test_a_run_goes_to_the_hub_private_without_checkpoints_and_comes_back_the_same(store, run, hub, command):
    sent = command("export", run.id, "--to", "hub:o/n")
    assert sent.returncode == 0, sent.stderr
    assert hub.private is True
    assert set(hub.files) - {".gitattributes"} == {"spec.yaml", "run.db", "trainer.log", "result.json", "README.md"}
    assert TOKEN.encode() not in b"".join(hub.files.values())
    assert b"python -m backend import hub:o/n" in hub.files["README.md"]
    hub.files["../../evil.txt"] = hub.files["code.py"] = b"print('run me')"
    brought = command("import", "hub:o/n", "--name", "again")
    assert brought.returncode == 0, brought.stderr
    other = store.run(brought.stdout.strip())
    assert other.id.endswith("-again") and other.spec == run.spec and other.status() == "finished"
    assert [other.episode(f"1-0-{k}") for k in range(3)] == [run.episode(f"1-0-{k}") for k in range(3)]
    assert {path.name for path in other.path.iterdir()} == {"spec.yaml", "run.db", "trainer.log", "result.json"}
    assert {path.name for path in store.folder.iterdir()} == {run.id, other.id}


def test_the_hub_refuses_in_a_sentence_and_leaves_no_run(store, run, hub, command):
    for ran, said in ((command("export", run.id, "--to", "hub:o/n", token=None), "nobody is logged in"),
                      (command("export", run.id, "--to", "hub:o/n", token="hf_wrong"), "doesn't know the token"),
                      (command("export", run.id, "--to", "hub:../n"), "isn't a place on the Hub"),
                      (command("import", "hub:o/n"), "holds no spec.yaml"),
                      (command("import", "hub:other/thing"), "no dataset other/thing")):
        assert ran.returncode == 2 and said in ran.stderr and "Traceback" not in ran.stderr, ran.stderr
    hub.files |= {"spec.yaml": b"name: x", "run.db": b"not a database"}
    hub.sizes["run.db"] = 10**12
    assert "more than one of a run may have" in command("import", "hub:o/n").stderr
    hub.sizes.clear()
    assert "spec.yaml can't be read" in command("import", "hub:o/n").stderr
    assert [path.name for path in store.folder.iterdir()] == [run.id]


def test_a_hub_that_is_not_there_is_a_sentence(store, run, hub, command):
    hub.url = "http://127.0.0.1:9"
    ran = command("import", "hub:o/n")
    assert ran.returncode == 2 and "can't be reached" in ran.stderr and "Traceback" not in ran.stderr


def test_nothing_that_looks_like_a_secret_is_sent(run, hub, monkeypatch):
    (run.path / "trainer.log").write_text("x" * (exchange_hub.BLOCK - 10) + f" hf_{'y' * 30} \n")
    with pytest.raises(OrtamError, match="trainer.log holds what looks like a token"):
        exchange_hub.send(run, "hub:o/n")
    assert hub.asked == []


@pytest.mark.parametrize("address", ["hub:", "hub:o", "hub:o/n/x", "hub:o/..", "hub:.o/n", "hub:o/n\n", "hub:o/n?x", "o/n"])
def test_an_address_that_is_none_is_refused(address):
    with pytest.raises(OrtamError, match="hub:owner/name"):
        repository(address)


def test_a_folder_that_could_act_or_is_broken_is_no_run(run, tmp_path):
    def draft(name, sql="", spec=None, body=None):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "spec.yaml").write_text(spec or run.spec_text)
        (folder / "run.db").write_bytes(body or (run.path / "run.db").read_bytes())
        if sql:
            with contextlib.closing(sqlite3.connect(folder / "run.db", isolation_level=None)) as connection:
                connection.executescript(sql)
        return folder

    assert fit(draft("whole"), "it") == run.spec
    for folder, said in (
            (draft("trigger", "CREATE TRIGGER t AFTER INSERT ON episodes BEGIN DELETE FROM turns; END"), "trigger t"),
            (draft("view", "ALTER TABLE episodes RENAME TO e; CREATE VIEW episodes AS SELECT * FROM e"), "view episodes"),
            (draft("module", "CREATE VIRTUAL TABLE other USING fts4(x)"), "table other"),
            (draft("hidden", "CREATE VIRTUAL TABLE other USING fts4(x); PRAGMA writable_schema=ON; UPDATE sqlite_master SET "
                             "sql = replace(sql, ' ', '/**/') WHERE name = 'other'"), "table other"),
            (draft("other", body=b"SQLite format 3\0" + b"\xff" * 5000), "can be read|broken"),
            (draft("empty", "DROP TABLE episodes"), "has no episodes")):
        with pytest.raises(OrtamError, match=said):
            fit(folder, "it")
    with pytest.raises(SpecError):
        fit(draft("spec", spec="!!python/object/apply:os.system ['true']"), "it")
