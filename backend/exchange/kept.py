"""jsonl and parquet: what export wrote comes back, episode by episode."""

from collections.abc import Callable, Iterator
from pathlib import Path

from backend.exchange import parquet
from backend.exchange.conversation import Conversation, rows
from backend.records import Episode


def read(path: Path, skip: Callable[[int, str], None]) -> Iterator[Conversation | Episode]:
    with open(path, "rb") as file:
        if file.read(4) == b"PAR1":
            yield from parquet.read(path)
            return
    seen: set[str] = set()
    for line, row in rows(path, skip):
        try:
            episode = Episode.model_validate(row)
        except ValueError as error:
            skip(line, f"it isn't an episode ({_first(error)})")
            continue
        if episode.id in seen:
            skip(line, f"episode {episode.id!r:.60} was in the file already")
            continue
        seen.add(episode.id)
        yield episode


def _first(error: ValueError) -> str:
    told = error.errors()[0] if hasattr(error, "errors") else None
    return f"{'.'.join(map(str, told['loc']))}: {told['msg']}" if told else str(error)
