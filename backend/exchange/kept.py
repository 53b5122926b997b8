"""jsonl and parquet: what export wrote comes back, episode by episode."""

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from backend.exchange import parquet
from backend.exchange.conversation import Odd, Whole, each, rows, weights
from backend.records import Episode
from backend.refusals import refused

LONGEST_NAME = 1000
"""Characters: what is held of every episode until the end."""


def read(path: Path, skip: Callable[[int, str], None]) -> Iterator[Whole]:
    seen: set[str] = set()
    with open(path, "rb") as file:
        typed = file.read(4) == b"PAR1"
    if typed:
        yield from each(parquet.written(path, skip), lambda row: _whole(row, parquet.episode, seen), skip)
    else:
        yield from each(rows(path, skip), lambda row: _whole(row, Episode.model_validate, seen), skip)


def _whole(row: Any, made: Callable[[Any], Episode], seen: set[str]) -> Whole:
    """Raises Odd."""
    try:
        episode = made(row)
    except (ValueError, RecursionError) as error:
        raise Odd(f"it isn't an episode ({_first(error)})") from None
    if any(len(name) > LONGEST_NAME for name in (episode.id, episode.environment, episode.policy.name)):
        raise Odd(f"its id, environment or policy is longer than {LONGEST_NAME} characters")
    if episode.id in seen:
        raise Odd(f"episode {episode.id!r:.60} was in the file already")
    counted = [episode.step, episode.attempt, episode.group, episode.sample, episode.tokens,
               *(number for turn in episode.turns for number in (turn.index, turn.tokens))]
    if any(number is not None and not -2**63 <= number < 2**63 for number in counted):
        raise Odd("it holds a whole number of more than 64 bits")
    clocks = [episode.started, episode.seconds, *(took for turn in episode.turns for took in (turn.seconds, turn.model_seconds))]
    if any(took is not None and not math.isfinite(took) for took in clocks):
        raise Odd("it holds a time that is no number")
    if len({turn.index for turn in episode.turns}) < len(episode.turns):
        raise Odd("two of its turns have the same index")
    seen.add(episode.id)
    return Whole(episode, weights(row.get("weights")))


def _first(error: Exception) -> str:
    return str(refused(error, Episode) if isinstance(error, ValidationError) else error)
