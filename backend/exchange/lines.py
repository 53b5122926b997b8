"""jsonl: an episode a line, whole; reading a line back gives the same record.

ASCII JSON, so lone surrogates, NUL and integers of any size survive. What JSON has no word for, such as NaN among a
tool's arguments, is written as Python's json writes it.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

from backend.exchange.choosing import Choice
from backend.exchange.writing import write_lines
from backend.records import Episode

SUFFIX = ".jsonl"
FOR = "every episode whole, one a line"


def write(choice: Choice, path: Path, told: Callable[[int], None]) -> int:
    return write_lines(lines(choice), path, told)


def lines(choice: Choice) -> Iterator[str]:
    return (line(episode) + "\n" for episode in choice.episodes())


def line(episode: Episode) -> str:
    return json.dumps(episode.model_dump(), ensure_ascii=True, default=str)


def episode(line: str) -> Episode:
    """Raises ValueError."""
    return Episode.model_validate(json.loads(line))
