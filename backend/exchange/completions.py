"""trl: the completions GRPOTrainer logs as Parquet (a file, or the folder of them), and conversational datasets as JSON lines.

Rewards of the Parquet files are their columns of fractions besides step and advantage; TRL keeps no weights there, so several are
added up as they are. What another row's tool arguments had and this row's hadn't comes back from Parquet as null, and null
arguments are therefore left out.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from backend.errors import OrtamError
from backend.exchange import parquet
from backend.exchange.conversation import (
    Conversation,
    Odd,
    each,
    listed,
    number,
    split,
    status_of,
    weights,
    whole,
    word,
)

NOT_REWARDS = {"step", "advantage", "id", "index", "group", "num_turns", "turns", "tokens"}


def read(path: Path, skip: Callable[[int, str], None]) -> Iterator[Conversation]:
    for file in _files(path):
        yield from _table(file, skip) if file.suffix == ".parquet" else each(listed(file, skip), _line, skip)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(path.glob("*.parquet"))
    if not found:
        raise OrtamError(f"{path} holds no Parquet file; name the folder completions of a run of TRL")
    return found


def _table(path: Path, skip: Callable[[int, str], None]) -> Iterator[Conversation]:
    import pyarrow

    with parquet.opened(path) as file:
        rewards = [column.name for column in file.schema_arrow
                   if pyarrow.types.is_floating(column.type) and column.name not in NOT_REWARDS]
        yield from each(parquet.rows(file, skip), lambda row: _logged(row, rewards), skip)


def _logged(row: Mapping[str, Any], rewards: Collection[str]) -> Conversation:
    if "completion" not in row:
        raise Odd("it has no column completion")
    prompt, rest = split(_without_nulls(row.get("prompt")), _without_nulls(row["completion"]) or [])
    if not prompt and not rest:
        raise Odd("it holds neither a prompt nor a completion")
    scores = {name: number(row[name]) for name in rewards}
    known = [score for score in scores.values() if score is not None]
    return Conversation(
        prompt, rest, phase="train", step=whole(row.get("step")) or 0, scores=scores, total=sum(known) if known else None,
        unweighted=len(scores) > 1, advantage=number(row.get("advantage")))


def _without_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _without_nulls(inner) for name, inner in value.items() if inner is not None}
    return [_without_nulls(inner) for inner in value] if isinstance(value, list) else value


def _line(row: Any) -> Conversation:
    """Of a conversational dataset: prompt and completion, or messages; what python -m backend export adds is read back."""
    if not isinstance(row, Mapping):
        raise Odd("it isn't an object")
    if "completion" in row:
        prompt, rest = split(row.get("prompt"), row["completion"])
    elif "messages" in row:
        prompt, rest = split(row["messages"])
    elif "chosen" in row or "prompt" in row:
        prompt, rest = split(row.get("prompt"), row.get("chosen") or [])
    else:
        raise Odd("it holds neither messages nor a prompt with its completion")
    scores = {name.removeprefix("reward_"): number(value) for name, value in row.items() if name.startswith("reward_")}
    told = {name.removeprefix("weight_"): value for name, value in row.items() if name.startswith("weight_")}
    step = whole(row.get("step"))
    return Conversation(
        prompt, rest, phase="play" if step is None else "train", step=step or 0, task=row.get("id", row.get("task_id")),
        alike=row.get("group"), environment=word(row.get("environment")), model=word(row.get("model")),
        status=status_of(row.get("status")) or "finished", scores=scores, weights=weights(told), total=number(row.get("reward")),
        advantage=number(row.get("advantage")))
