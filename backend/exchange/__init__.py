"""What leaves Ortam and what comes in: episodes to files, conversations of other tools to runs, run folders to the Hub.

To add a format to write: a module with `SUFFIX`, `FOR` and `write` (see `writing.Format`), named in `FORMATS`. To add one
to read: a module with `read` (see `importing.Reader`), named in `importing.READERS`. What is drawn, HTML and pictures, has
the same shape and lives with the pages, in ui.share. tests/test_export.py and tests/test_import.py run over the tables.
"""

from backend.exchange import lines, parquet, sft, trackio, trl
from backend.exchange.choosing import Choice, group_of
from backend.exchange.writing import Format, export, file_name, place

__all__ = ["FORMATS", "Choice", "Format", "export", "file_name", "group_of", "place"]

FORMATS: dict[str, Format] = {"jsonl": lines, "parquet": parquet, "trl": trl, "sft": sft, "trackio": trackio}
