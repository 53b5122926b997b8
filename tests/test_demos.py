"""The recorded runs that come with Ortam."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from backend.store import Run

ROOT = Path(__file__).parents[1]
DEMOS = sorted((ROOT / "runs").glob("demo-*"))


@pytest.mark.parametrize("path", DEMOS, ids=lambda path: path.name)
def test_a_demo_has_the_indexes_of_the_newest_writer_and_one_small_file(path, tmp_path):
    run = Run(path)
    assert run.indexed() and run.status() == "finished" and run.count_episodes(find="the")
    with closing(sqlite3.connect(f"file:{path / 'run.db'}?mode=ro", uri=True)) as demo:
        names = {name for name, in demo.execute("SELECT name FROM sqlite_master")}
        assert demo.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    fresh = Run(tmp_path)
    fresh.writer().close()
    with closing(sqlite3.connect(tmp_path / "run.db")) as newest:
        assert {name for name, in newest.execute("SELECT name FROM sqlite_master")} <= names
    assert (path / "run.db").stat().st_size < 8_000_000
