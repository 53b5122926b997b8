"""What a reader finds in one line of a file: a conversation and what is told about it."""

import json
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, get_args

from backend.exchange.messages import opening, pictures_of, turns_of
from backend.records import Episode, EpisodeStatus, Fault, Policy

LONGEST = 64_000_000
"""Bytes of a line that are read; a longer one is skipped."""
PIECE = 1_000_000
"""Bytes of the rest of such a line that are read at a time."""
MOST_VALUES = 4_000_000
"""Of a line: what takes three bytes there may take 70 in memory."""

Made = TypeVar("Made")


class Skip(NamedTuple):
    line: int
    """1 is the first; of a table, the row."""
    reason: str


class Whole(NamedTuple):
    """An episode that came as it was recorded."""

    episode: Episode
    weights: dict[str, float]
    """Of the reward terms, where the file tells them."""


class Odd(Exception):
    """Why a line can't be read, in a few words."""


@dataclass
class Conversation:
    prompt: list[dict[str, Any]]
    """What came before the first message of the model."""
    rest: list[dict[str, Any]]
    task: Any = None
    """What the file calls it."""
    alike: Any = None
    """Conversations of one step with the same value are one group; None: those with the same prompt."""
    phase: Literal["train", "eval", "play"] = "play"
    step: int = 0
    environment: str = ""
    model: str = ""
    status: EpisodeStatus = "finished"
    stop: str = ""
    scores: dict[str, float | None] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)
    """Of the reward terms, where the file tells them."""
    unweighted: bool = False
    """The total was added up here, without knowing the weights."""
    total: float | None = None
    advantage: float | None = None
    tokens: int | None = None
    seconds: float | None = None
    started: float = 0.0
    fault: Fault | None = None

    def episode(self, **places: Any) -> Episode:
        turns = turns_of(self.rest, len(self.prompt))
        return Episode(
            phase=self.phase, step=self.step, task=self.task, policy=Policy(kind="import", name=self.model[:200]),
            status=self.status, stop=self.stop, prompt=tuple(self.prompt), images=pictures_of(self.prompt),
            facts={"turns": len(turns)}, scores=self.scores, total=self.total, advantage=self.advantage,
            tokens=self.tokens, started=self.started, seconds=self.seconds, fault=self.fault, turns=tuple(turns), **places)


def each(rows: Iterable[tuple[int, Any]], read: Callable[[Any], Made], skip: Callable[[int, str], None]) -> Iterator[Made]:
    """What `read` makes of each row; a row it finds odd is skipped."""
    for line, row in rows:
        try:
            yield read(row)
        except Odd as odd:
            skip(line, str(odd))


def split(messages: Any, completion: Any = None) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Prompt and rest of a list of messages, or of a prompt and a completion, either of them a text. Raises Odd."""
    if completion is None:
        return opening(checked(messages, "user"))
    prompt, rest = checked(messages, "user"), checked(completion, "assistant")
    return prompt, rest


def checked(messages: Any, role: str) -> list[dict[str, Any]]:
    """Messages as they are; a text is one message of this role. Raises Odd."""
    if messages is None:
        return []
    if isinstance(messages, str):
        return [{"role": role, "content": messages}]
    if isinstance(messages, dict):
        messages = [messages]
    if not isinstance(messages, list):
        raise Odd(f"its messages are {_kind(messages)}, not a list")
    for number, message in enumerate(messages, 1):
        if not isinstance(message, dict):
            raise Odd(f"message {number} is {_kind(message)}, not an object with role and content")
        if not isinstance(message.get("role"), str):
            raise Odd(f"message {number} doesn't say whose it is: role is missing")
    return messages


def rows(path: Path, skip: Callable[[int, str], None]) -> Iterator[tuple[int, Any]]:
    """(line number, value) of each line of JSON; empty lines are nothing, torn ones are skipped."""
    with open(path, "rb") as file:
        number = 0
        while line := file.readline(LONGEST):
            number += 1
            if len(line) == LONGEST and not line.endswith(b"\n"):
                while len(rest := file.readline(PIECE)) == PIECE and not rest.endswith(b"\n"):
                    pass
                skip(number, f"it is longer than {LONGEST // 1_000_000} MB")
                continue
            if number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
            if not line.strip():
                continue
            if _crowded(line):
                skip(number, f"it holds more than {MOST_VALUES // 1_000_000} million values")
                continue
            try:
                value = json.loads(line.decode("utf-8", "surrogatepass"))
            except UnicodeDecodeError as error:
                skip(number, f"it isn't UTF-8 from byte {error.start + 1} on")
            except RecursionError:
                skip(number, "it is nested too deeply")
            except ValueError as error:
                skip(number, f"it isn't whole JSON ({error})")
            else:
                yield number, value


def listed(path: Path, skip: Callable[[int, str], None]) -> Iterator[tuple[int, Any]]:
    """The same, and the entries of a file that is one JSON list of objects."""
    if path.suffix == ".json" and path.stat().st_size <= LONGEST:
        read = path.read_bytes()
        try:
            whole = None if _crowded(read) else json.loads(read)
        except (ValueError, RecursionError):
            whole = None
        if isinstance(whole, list) and not any(isinstance(entry, dict) and "role" in entry for entry in whole):
            yield from enumerate(whole, 1)
            return
        if whole is not None:
            yield 1, whole
            return
    yield from rows(path, skip)


def _crowded(written: bytes) -> bool:
    """Told without parsing it; a comma or a bracket in a text counts too."""
    return sum(map(written.count, (b",", b"[", b"{"))) > MOST_VALUES


def weights(value: Any) -> dict[str, float]:
    """Of what a file calls its weights."""
    told = {name: number(weight) for name, weight in value.items()} if isinstance(value, dict) else {}
    return {name: weight for name, weight in told.items() if weight is not None and isinstance(name, str)}


def number(value: Any) -> float | None:
    """None for what isn't a finite number."""
    try:
        return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None
    except OverflowError:
        return None


def whole(value: Any, most: int = 10**9) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most else None


def word(value: Any, longest: int = 300) -> str:
    return value[:longest] if isinstance(value, str) else ""


def status_of(value: Any) -> EpisodeStatus | None:
    return value if value in get_args(EpisodeStatus) else None


def _kind(value: Any) -> str:
    return {str: "a text", list: "a list", dict: "an object", bool: "true or false", type(None): "null"}.get(
        type(value), "a number")
