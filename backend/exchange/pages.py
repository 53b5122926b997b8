"""What reading a Parquet file takes, told by its pages before any is unpacked.

A page is unpacked whole, and its own header says how large it gets; what the file's footer says of it may be wrong. Headers
are structs of Thrift's compact protocol: https://github.com/apache/parquet-format, under "Data pages", and
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md.
"""

from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

LARGEST = 128_000_000
"""Bytes of the pages that are unpacked at a time, one of each column."""
MOST_VALUES = 20_000_000
"""Of the lists of a row group: thousands of millions fit into a page of a few bytes, all of them one row's."""
OLD_PADDING = 100
"""Bytes by which some old writers' chunks are longer than their footer says."""
MOST_FIELDS = 100
"""Of a page header, which knows about ten."""

_UNPACKED, _PACKED, _V1, _V2 = 2, 3, 5, 8
"""Fields of a page header."""


class Pages(NamedTuple):
    largest: int
    """Bytes, unpacked."""
    values: int


def refusal(path: Path, metadata: Any) -> str | None:
    """Why a file can't be read in little memory, and what would help. Raises OSError, ValueError where it is torn."""
    with open(path, "rb") as file:
        for place in range(metadata.num_row_groups):
            group = metadata.row_group(place)
            open_, values = 0, 0
            for number in range(group.num_columns):
                chunk, column = group.column(number), metadata.schema.column(number)
                pages = told(file, chunk)
                open_ += pages.largest
                fixed = column.length if chunk.physical_type == "FIXED_LEN_BYTE_ARRAY" else 0
                if fixed or column.max_repetition_level:
                    values += pages.values * max(1, fixed // 8)
                if open_ > LARGEST:
                    return (f"row group {place + 1} unpacks to pages of {open_ // 1_000_000:,} MB, {chunk.path_in_schema:.60} "
                            f"among them, and {LARGEST // 1_000_000} MB are read at a time; write it with smaller pages "
                            "(pyarrow: write_batch_size=1), or as JSON lines")
                if values > MOST_VALUES:
                    return (f"row group {place + 1} holds more than {MOST_VALUES // 1_000_000} million values in lists, in "
                            f"{chunk.path_in_schema:.60} among others; write it with smaller row groups (pyarrow: "
                            "row_group_size=1000)")
    return None


def told(file: BinaryIO, chunk: Any) -> Pages:
    at = chunk.data_page_offset
    if chunk.has_dictionary_page and chunk.dictionary_page_offset:
        at = min(at, chunk.dictionary_page_offset)
    end, seen, largest = at + chunk.total_compressed_size + OLD_PADDING, 0, 0
    while at < end and seen < chunk.num_values:
        file.seek(at)
        header = _struct(file)
        unpacked, packed = header.get(_UNPACKED), header.get(_PACKED)
        if not isinstance(unpacked, int) or not isinstance(packed, int) or unpacked < 0 or packed < 0:
            raise ValueError("a page says no size")
        for kind in (_V1, _V2):
            seen += _count(header, kind)
        largest = max(largest, unpacked)
        at = file.tell() + packed
    return Pages(largest, seen)


def _count(header: dict[int, Any], kind: int) -> int:
    told = header.get(kind)
    number = told.get(1, 0) if isinstance(told, dict) else 0
    return number if isinstance(number, int) and number > 0 else 0


def _struct(file: BinaryIO, depth: int = 0) -> dict[int, Any]:
    """By the fields' numbers."""
    if depth > 8:
        raise ValueError("a page header is nested too deeply")
    fields: dict[int, Any] = {}
    number = 0
    while kind := _byte(file):
        number = number + (kind >> 4) if kind >> 4 else _whole(file)
        if number > MOST_FIELDS or len(fields) > MOST_FIELDS:
            raise ValueError("a page header holds too many fields")
        fields[number] = _value(file, kind & 15, depth)
    return fields


def _value(file: BinaryIO, kind: int, depth: int) -> Any:
    if kind in (1, 2):
        return kind == 1
    if kind == 3:
        return _byte(file)
    if kind in (4, 5, 6):
        return _whole(file)
    if kind == 7:
        return file.read(8)
    if kind == 8:
        file.seek(_varint(file), 1)
        return None
    if kind == 12:
        return _struct(file, depth + 1)
    raise ValueError(f"a page header holds what no page header has ({kind})")


def _whole(file: BinaryIO) -> int:
    told = _varint(file)
    return (told >> 1) ^ -(told & 1)


def _varint(file: BinaryIO) -> int:
    told = 0
    for shift in range(0, 70, 7):
        byte = _byte(file)
        told |= (byte & 127) << shift
        if byte < 128:
            return told
    raise ValueError("a page header holds a number of more than 64 bits")


def _byte(file: BinaryIO) -> int:
    read = file.read(1)
    if not read:
        raise ValueError("it ends inside a page header")
    return read[0]
