"""What an import holds of files that unpack to much more than they are. `python tests/bench/import_memory.py [ROWS]`

Each file holds a text of 4 MB in so many rows. Prints the file's size, what it unpacks to, and the most memory that a
process of its own held while it read the file, beside that of a file of as many short rows.
"""

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests import test_import_memory as files  # noqa: E402

GOAL = 150
"""MB more than the short rows take."""


def main(rows: int) -> None:
    files.TIMES = rows
    with tempfile.TemporaryDirectory() as folder:
        usual = None
        for make in (files.small, *files.LARGE):
            path = files.path_of(Path(folder), make)
            before = time.perf_counter()
            took = files.imported(Path(folder), path, "trl")
            usual = usual or took
            more = took.megabytes - usual.megabytes
            print(f"{took.megabytes:6,} MB   {'' if more <= GOAL else 'MUCH '}{make.__name__.replace('_', ' ')}: "
                  f"{path.stat().st_size / 1000:,.1f} kB, {took.told} episodes in {time.perf_counter() - before:.1f} s")
            path.unlink()
        print(f"{rows * len(files.LONG) // 1_000_000:,} MB stand in each; the goal is {GOAL} MB more than the first takes")


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]), *(300,)[len(sys.argv) - 1:])
