"""What an import holds at a time, measured in a process of its own: never the whole of what a small file unpacks to."""

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from backend.errors import OrtamError
from backend.exchange import FORMATS, Choice, export, pages
from backend.exchange.importing import bring
from backend.store import Store

ROOT = Path(__file__).parent.parent
LONG, TIMES = "x" * 4_000_000, 60
ROOM = 150
"""MB that a file may take more than a small one does; each of these unpacks to 240."""

IMPORT = """
import re, sys
from pathlib import Path
from backend.errors import OrtamError
from backend.exchange.importing import bring
from backend.store import Store
try:
    told = bring(Store(Path(sys.argv[1])), Path(sys.argv[2]), sys.argv[3]).episodes
except OrtamError as error:
    told = str(error)
print(int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) // 1000, told)
"""
"""The high-water mark of this program alone: getrusage's is inherited from whoever started it."""


class Took(NamedTuple):
    megabytes: int
    told: str


def imported(folder: Path, file: Path, format: str) -> Took:
    ran = subprocess.run([sys.executable, "-c", IMPORT, str(folder / "runs"), str(file), format], cwd=ROOT, text=True,
                         capture_output=True, timeout=120)
    assert ran.returncode == 0, ran.stderr[-2000:]
    megabytes, _, told = ran.stdout.strip().partition(" ")
    return Took(int(megabytes), told)


def small(path: Path) -> None:
    table(path, ["gone"] * TIMES)


def one_text_in_every_row(path: Path) -> None:
    table(path, [LONG] * TIMES)


def the_same_inside_messages(path: Path) -> None:
    table(path, [[{"role": "assistant", "content": LONG}]] * TIMES)


def told_by_what_differs(path: Path) -> None:
    table(path, [LONG] * TIMES, use_dictionary=False, column_encoding="DELTA_BYTE_ARRAY")


def long_lines(path: Path) -> None:
    path.write_text((json.dumps({"prompt": "go", "completion": LONG}) + "\n") * TIMES)


def one_long_line(path: Path) -> None:
    path.write_text('{"prompt": "go", "completion": "gone"}\n{"prompt": "' + LONG * TIMES)


def a_line_of_lists(path: Path) -> None:
    path.write_text('{"prompt": "go", "completion": "gone"}\n{"prompt": [' + "[]," * 15_000_000 + "[]]}\n")


def table(path: Path, completions, **how) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"completion": completions}), path, compression="zstd", **how)


LARGE: dict[Callable[[Path], None], int] = {
    one_text_in_every_row: TIMES, the_same_inside_messages: TIMES, told_by_what_differs: TIMES, long_lines: TIMES,
    one_long_line: 1, a_line_of_lists: 1}
"""A maker of a file -> the episodes that come in."""


def path_of(folder: Path, make: Callable[[Path], None]) -> Path:
    path = folder / f"{make.__name__}.{'jsonl' if 'line' in make.__name__ else 'parquet'}"
    make(path)
    return path


@pytest.fixture(scope="module")
def usual(tmp_path_factory) -> Took:
    folder = tmp_path_factory.mktemp("small")
    return imported(folder, path_of(folder, small), "trl")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells a process's high-water mark there")
@pytest.mark.parametrize("make", LARGE, ids=lambda make: make.__name__)
def test_a_file_that_unpacks_to_much_is_read_in_little_memory(usual, tmp_path, make):
    took = imported(tmp_path, path_of(tmp_path, make), "trl")
    assert took.told == str(LARGE[make])
    assert took.megabytes < usual.megabytes + ROOM


def test_a_page_too_large_for_memory_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "LARGEST", 50_000_000)
    table(tmp_path / "x.parquet", [LONG] * 20, use_dictionary=False)
    assert (tmp_path / "x.parquet").stat().st_size < 20_000
    with pytest.raises(OrtamError, match="^x.parquet can't be read: row group 1 unpacks to pages of 80 MB, completion among "
                                         "them, .*smaller pages"):
        bring(Store(tmp_path / "runs"), tmp_path / "x.parquet", "trl")


def test_lists_of_more_values_than_memory_holds_are_refused_by_their_number(tmp_path):
    table(tmp_path / "x.parquet", [[0] * 20_000_001])
    with pytest.raises(OrtamError, match="more than 20 million values in lists, in completion.*smaller row groups"):
        bring(Store(tmp_path / "runs"), tmp_path / "x.parquet", "trl")


def test_a_row_too_long_is_skipped_by_its_number_and_takes_no_other_with_it(tmp_path):
    said = [{"role": "assistant", "content": LONG}]
    table(tmp_path / "x.parquet", [said[:1], said * 17, said[:1]])
    brought = bring(Store(tmp_path / "runs"), tmp_path / "x.parquet", "trl")
    assert (brought.episodes, brought.skipped) == (2, [(2, "it is longer than 64 MB")])


def test_a_line_of_too_many_values_is_skipped_without_being_parsed(tmp_path):
    a_line_of_lists(tmp_path / "x.jsonl")
    brought = bring(Store(tmp_path / "runs"), tmp_path / "x.jsonl", "trl")
    assert (brought.episodes, brought.skipped) == (1, [(2, "it holds more than 4 million values")])


@pytest.mark.parametrize("how", [{"data_page_version": "2.0"}, {"use_dictionary": False}, {"compression": "none"},
                                 {"use_dictionary": False, "column_encoding": "DELTA_LENGTH_BYTE_ARRAY"},
                                 {"data_page_size": 100, "write_batch_size": 7, "row_group_size": 300},
                                 {"write_page_checksum": True}])
def test_pages_are_counted_as_the_writer_made_them(tmp_path, how):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows = [[{"role": "assistant", "content": f"{k} {k % 3}"}] * (k % 4) for k in range(1000)]
    parquet.write_table(pyarrow.table({"completion": rows}), tmp_path / "x.parquet", **how)
    metadata = parquet.read_metadata(tmp_path / "x.parquet")
    with open(tmp_path / "x.parquet", "rb") as file:
        for group in map(metadata.row_group, range(metadata.num_row_groups)):
            for chunk in map(group.column, range(group.num_columns)):
                found = pages.told(file, chunk)
                assert found.values == chunk.num_values and 0 < found.largest <= chunk.total_uncompressed_size
    assert bring(Store(tmp_path / "runs"), tmp_path / "x.parquet", "trl").episodes == 750, "the others hold nothing"


def test_a_torn_page_header_is_a_sentence(tmp_path):
    small(tmp_path / "x.parquet")
    whole = (tmp_path / "x.parquet").read_bytes()
    for at in range(4, 40):
        for spoilt in (b"\xff" * 20, b"\x11" * 2000):
            (tmp_path / "x.parquet").write_bytes(whole[:at] + spoilt + whole[at + 20:])
            try:
                bring(Store(tmp_path / "runs"), tmp_path / "x.parquet", "trl")
            except OrtamError as error:
                assert str(error).startswith("x.parquet ")


def test_a_page_header_that_goes_on_and_on_is_refused_early(tmp_path):
    endless = io.BytesIO(b"\x11" * 1_000_000)
    with pytest.raises(ValueError, match="too many fields"):
        pages._struct(endless)
    assert endless.tell() < 1000


def test_an_exported_run_is_read_in_little_memory_too(tmp_path):
    store = Store(tmp_path / "runs")
    long_lines(tmp_path / "x.jsonl")
    first = bring(store, tmp_path / "x.jsonl", "trl").run
    export(FORMATS["parquet"], Choice(first, limit=3), tmp_path / "y.parquet")
    assert bring(store, tmp_path / "y.parquet", "parquet").episodes == 3
