"""parquet: a row an episode with its turns inside, typed, for pandas, DuckDB and the like.

None stays null. Values of any shape (task, arguments, facts, prompt) are JSON text, and each reward term has a column
`score_<term>` besides. UTF-8 has no lone surrogates: they, and U+E0FF itself, are written as U+E0FF and four hex digits,
which the file's metadata says and `episode` undoes.
"""

import contextlib
import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from backend.errors import OrtamError
from backend.exchange import pages
from backend.exchange.choosing import Choice, weights_of
from backend.exchange.conversation import LONGEST
from backend.records import Episode
from backend.store import Run, codec

SUFFIX = ".parquet"
FOR = "a typed row an episode, turns inside"
ROWS = 256
"""Episodes held at a time."""
TOGETHER = 32_000_000
"""Bytes of a batch whose rows are made at once; those of a larger one are made one by one."""
OBJECT = 64
"""Bytes of a value in Python besides its text."""
BUFFER = 1_000_000
"""Packed bytes of a column that are held."""
AS_DICTIONARIES = {"PLAIN", "PLAIN_DICTIONARY", "RLE_DICTIONARY", "RLE", "BIT_PACKED"}
"""Encodings of texts that pyarrow reads into one; of a file with others, a row is read at a time."""
SAID = {b"ortam": b"1", b"ortam.text": b"U+E0FF and four hex digits stand for a character UTF-8 can't hold or U+E0FF itself",
        b"ortam.json": b"task, policy, parent, prompt, start_facts, facts, scores, judged, fault and arguments are JSON"}

WEIGHTS = b"ortam.weights"
"""What each of the run's reward terms counts in a total, as JSON."""

AS_JSON = ("task", "policy", "parent", "prompt", "start_facts", "facts", "scores", "judged", "fault")
TURN_AS_JSON = ("arguments", "facts", "fault")


def write(choice: Choice, path: Path, told: Callable[[int], None]) -> int:
    import pyarrow.parquet

    terms = list(dict.fromkeys([*(term.name for term in choice.run.spec.rewards), *_last_terms(choice.run)]))
    schema = _schema(terms, weights_of(choice.run.spec))
    n = 0
    rows: list[dict[str, Any]] = []
    with pyarrow.parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        def flush() -> None:
            writer.write_table(pyarrow.Table.from_pylist(rows, schema))
            rows.clear()

        for n, episode in enumerate(choice.episodes(), 1):
            rows.append(_row(episode, terms))
            told(n)
            if len(rows) == ROWS:
                flush()
        if rows:
            flush()
    return n


def written(path: Path, skip: Callable[[int, str], None]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of what `write` wrote, for `episode`. Raises OrtamError for any other file."""
    with opened(path) as file:
        if b"ortam" not in (file.schema_arrow.metadata or {}):
            raise OrtamError(f"{path.name} wasn't written by python -m backend export")
        weights = _weights(file.schema_arrow.metadata)
        for number, row in rows(file, skip):
            yield number, row | {"weights": weights}


def _weights(metadata: Mapping[bytes, bytes]) -> Any:
    try:
        return json.loads(metadata.get(WEIGHTS, b"null"))
    except (ValueError, RecursionError):
        return None


def rows(file: Any, skip: Callable[[int, str], None]) -> Iterator[tuple[int, dict[str, Any]]]:
    """(number, row), 1 is the first. A row is left out that is too long, or where Python has no value for one of its own,
    such as a far date."""
    first, at_a_time = 1, ROWS if _as_dictionaries(file.metadata)[1] else 1
    groups = range(file.metadata.num_row_groups)  # a batch across two would have two dictionaries, which lists can't have
    for batch in itertools.chain.from_iterable(file.iter_batches(at_a_time, [group]) for group in groups):
        whole, _ = _converted(batch, file) if _weight(batch) <= TOGETHER else (None, "")
        if whole is not None:
            yield from enumerate(whole, first)
        else:
            for number in range(first, first + batch.num_rows):
                row = batch.take([number - first])  # of a slice, all that lies around it would be made into texts
                if _weight(row) > LONGEST:
                    skip(number, f"it is longer than {LONGEST // 1_000_000} MB")
                    continue
                made, why = _converted(row, file)
                if made is None:
                    skip(number, f"it can't be read ({why})")
                else:
                    yield number, made[0]
        first += batch.num_rows


def _converted(batch: Any, file: Any) -> tuple[list[dict[str, Any]] | None, str]:
    """Rows, or why there are none."""
    try:
        return batch.cast(file.metadata.schema.to_arrow_schema()).to_pylist(), ""
    except (ValueError, OverflowError) as error:
        return None, str(error)


def _as_dictionaries(metadata: Any) -> tuple[list[str], bool]:
    """Columns of texts that can be read as dictionaries, and whether all can."""
    texts: dict[str, set[str]] = {}
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for chunk in map(group.column, range(group.num_columns)):
            if chunk.physical_type == "BYTE_ARRAY":
                texts.setdefault(chunk.path_in_schema, set()).update(chunk.encodings)
    able = [path for path, encodings in texts.items() if encodings <= AS_DICTIONARIES]
    return able, len(able) == len(texts)


def _weight(values: Any) -> int:
    """Bytes that a batch or an array of Arrow takes as Python's values, about; told without making them."""
    import pyarrow
    from pyarrow import compute, types

    if isinstance(values, pyarrow.RecordBatch):
        return sum(map(_weight, values.columns))
    objects, kind = OBJECT * len(values), values.type
    if types.is_dictionary(kind):
        lengths = compute.binary_length(values.dictionary).take(values.indices)
        return objects + (compute.sum(lengths.cast(pyarrow.int64())).as_py() or 0)
    if types.is_struct(kind):
        return objects + sum(map(_weight, values.flatten()))
    if types.is_map(kind):
        return objects + _weight(values.keys) + _weight(values.items)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return objects + _weight(values.flatten())
    return objects + values.nbytes


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Any]:
    """pyarrow's ParquetFile. Raises OrtamError where it can't be read, to its end, or not in little memory.

    Texts come as dictionaries, so that one that stands in every row of a batch is held once.
    """
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as plain:
            metadata = plain.metadata
        if why := pages.refusal(path, metadata):
            raise OrtamError(f"{path.name} can't be read: {why}")
        texts, _ = _as_dictionaries(metadata)
        with pyarrow.parquet.ParquetFile(path, metadata=metadata, read_dictionary=texts, buffer_size=BUFFER) as file:
            yield file
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise OrtamError(f"{path.name} can't be read as Parquet ({str(error).splitlines()[0]})") from None


def _last_terms(run: Run) -> list[str]:
    return [point.name for point in run.term_curves(run.progress().step - 1) if point.name != "total"]


def _column(term: str) -> str:
    return codec.escape(f"score_{term}")


def _schema(terms: list[str], weights: Mapping[str, float]):
    import pyarrow as pa

    text, number, whole, yes = pa.string(), pa.float64(), pa.int64(), pa.bool_()
    turn = pa.struct([("index", whole), ("said", text), ("thought", text), ("tool", text), ("arguments", text),
                      ("result", text), ("shown", text), ("reward", number), ("done", yes), ("facts", text),
                      ("tokens", whole), ("model_seconds", number), ("seconds", number), ("fault", text),
                      ("images", pa.list_(text)), ("cut", yes)])
    fields = [("id", text), ("phase", text), ("step", whole), ("attempt", whole), ("group", whole), ("sample", whole),
              ("environment", text), ("task", text), ("seed", whole), ("fingerprint", text), ("policy", text),
              ("parent", text), ("status", text), ("stop", text), ("prompt", text), ("opening", text),
              ("images", pa.list_(text)), ("start_facts", text), ("facts", text), ("scores", text),
              *((_column(term), number) for term in terms), ("total", number), ("advantage", number),
              ("tokens", whole), ("started", number), ("seconds", number), ("fault", text), ("judged", text),
              ("seed_text", text), ("turns", pa.list_(turn))]
    return pa.schema(fields, SAID | {WEIGHTS: json.dumps(weights).encode()})


def _row(episode: Episode, terms: list[str]) -> dict[str, Any]:
    row = _cells(episode.model_dump(), AS_JSON)
    row["turns"] = [_cells(turn, TURN_AS_JSON) for turn in row["turns"]]
    row |= {_column(term): episode.scores.get(term) for term in terms}
    if episode.seed is not None and not -2**63 <= episode.seed < 2**63:
        row |= {"seed": None, "seed_text": str(episode.seed)}
    return row


def _cells(record: dict[str, Any], as_json: tuple[str, ...]) -> dict[str, Any]:
    cells: dict[str, Any] = {}
    for name, value in record.items():
        if name in as_json:
            cells[name] = codec.to_json(value)
        elif isinstance(value, str):
            cells[name] = codec.escape(value)
        else:
            cells[name] = list(value) if isinstance(value, tuple) else value
    return cells


def episode(row: dict[str, Any]) -> Episode:
    """Raises ValueError where it isn't one."""
    given, turns = _values(row, AS_JSON), row.get("turns")
    if isinstance(turns, list):
        given["turns"] = [_values(turn, TURN_AS_JSON) if isinstance(turn, dict) else turn for turn in turns]
    if isinstance(row.get("seed_text"), str):
        given["seed"] = int(row["seed_text"])
    return Episode.model_validate(given)


def _values(cells: dict[str, Any], as_json: tuple[str, ...]) -> dict[str, Any]:
    return {name: (json.loads(cell) if name in as_json else codec.unescape(cell)) if isinstance(cell, str) else cell
            for name, cell in cells.items()}
