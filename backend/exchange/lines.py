"""jsonl: an episode a line, whole; reading a line back gives the same record. In the export of a run, `weights` stands
beside it: what each of the run's reward terms counts in a total.

ASCII JSON, so lone surrogates, NUL and integers of any size survive. What JSON has no word for, such as NaN among a
tool's arguments, is written as Python's json writes it.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from backend.exchange.choosing import Choice, weights_of
from backend.exchange.writing import write_lines
from backend.records import Episode

SUFFIX = ".jsonl"
FOR = "every episode whole, one a line"


def write(choice: Choice, path: Path, told: Callable[[int], None]) -> int:
    return write_lines(lines(choice), path, told)


def lines(choice: Choice) -> Iterator[str]:
    weights = weights_of(choice.run.spec)
    return (line(episode, weights) + "\n" for episode in choice.episodes())


def line(episode: Episode, weights: Mapping[str, float] | None = None) -> str:
    return json.dumps(episode.model_dump() | ({"weights": weights} if weights else {}), ensure_ascii=True, default=str)


def episode(line: str) -> Episode:
    """Raises ValueError."""
    return Episode.model_validate(json.loads(line))
