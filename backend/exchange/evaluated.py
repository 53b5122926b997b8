"""verifiers: what its evaluations save, results.jsonl with a rollout a line or the newer traces.jsonl; a file or its folder.

A rollout that ended with an error isn't scored: verifiers writes 0 for it, and nobody judged it. A trace that branches gives
an episode for each of its ends.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from backend.errors import OrtamError
from backend.exchange.conversation import Conversation, Odd, checked, each, listed, number, split, whole, word
from backend.records import Fault

LONGEST_METADATA = 1_000_000
"""Bytes; a longer one is torn."""
FILES = ("results.jsonl", "traces.jsonl")
OF_THE_ENGINE = ("Model", "Provider", "Overlong", "Response", "API")
"""Words in the names of errors that came from generation, not from the environment."""


def read(path: Path, skip: Callable[[int, str], None]) -> Iterator[Conversation]:
    if path.is_dir():
        found = next((path / name for name in FILES if (path / name).is_file()), None)
        if found is None:
            raise OrtamError(f"{path} holds neither {' nor '.join(FILES)}")
        path = found
    told = _metadata(path)
    for several in each(listed(path, skip), lambda row: _conversations(row, told), skip):
        yield from several


def _conversations(row: Any, told: Mapping[str, Any]) -> list[Conversation]:
    if not isinstance(row, Mapping):
        raise Odd("it isn't an object")
    return _traces(row) if isinstance(row.get("traces"), list) else [_rollout(row, told)]


def _metadata(path: Path) -> Mapping[str, Any]:
    """metadata.json beside the results names model and environment."""
    try:
        with open(path.parent / "metadata.json", "rb") as file:
            told = json.loads(file.read(LONGEST_METADATA))
    except (OSError, ValueError, RecursionError):
        return {}
    return told if isinstance(told, Mapping) else {}


def _rollout(row: Mapping[str, Any], told: Mapping[str, Any]) -> Conversation:
    if "completion" not in row and "prompt" not in row:
        raise Odd("it holds neither a prompt nor a completion")
    prompt, rest = split(_decoded(row.get("prompt")), _decoded(row.get("completion")) or [])
    fault = _fault(row.get("error"))
    metrics, spent = _part(row, "metrics"), number(_part(row, "timing").get("total_ms"))
    tokens = number(_part(row, "token_usage").get("output_tokens"))
    return Conversation(
        prompt, rest, phase="eval", task=row.get("example_id", row.get("task")), alike=row.get("example_id"),
        environment=word(row.get("env_id")) or word(told.get("env_id")), model=word(row.get("model")) or word(told.get("model")),
        status=_status(fault, row.get("is_truncated") is True), stop=word(row.get("stop_condition")), fault=fault,
        scores={str(name): None if fault else number(value) for name, value in metrics.items()},
        total=None if fault else number(row.get("reward")),
        tokens=int(tokens) if tokens is not None and 0 <= tokens < 1e12 else None,
        seconds=None if spent is None else spent / 1000)


def _part(whole: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = whole.get(name)
    return found if isinstance(found, Mapping) else {}


def _decoded(value: Any) -> Any:
    """Some versions keep messages as one JSON text."""
    if isinstance(value, str) and value[:2] in ("[{", "[]"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _status(fault: Fault | None, truncated: bool):
    if fault is not None:
        return "env_error" if fault.where == "environment" else "cancelled"
    return "truncated" if truncated else "finished"


def _fault(error: Any) -> Fault | None:
    if error in (None, "", {}, []):
        return None
    if isinstance(error, Mapping):
        kind = word(error.get("error")) or word(error.get("type")) or "Error"
        message = word(error.get("error_chain_str"), 20_000) or word(error.get("message"), 20_000)
        trace = word(error.get("error_chain_repr"), 20_000) or word(error.get("traceback"), 20_000)
    else:
        kind, message, trace = word(error, 60).partition("(")[0] or "Error", str(error)[:20_000], ""
    where = "engine" if any(name in kind for name in OF_THE_ENGINE) else "environment"
    return Fault(where=where, kind=kind, message=message or kind, traceback=trace or None)


# ------------------------------------------------------------------------------------------------------------ traces


def _traces(row: Mapping[str, Any]) -> list[Conversation]:
    """Every trace is read before one is given, so that a line is taken whole or skipped."""
    found = [conversation for trace in row["traces"] for conversation in _ends(trace, row)]
    if not found:
        raise Odd("its traces hold no messages")
    return found


def _ends(trace: Any, row: Mapping[str, Any]) -> list[Conversation]:
    if not isinstance(trace, Mapping) or not isinstance(trace.get("nodes"), list):
        raise Odd("a trace of it has no nodes")
    nodes = trace["nodes"]
    followed = set()
    for place, node in enumerate(nodes):
        parent = node.get("parent") if isinstance(node, Mapping) else None
        if not isinstance(node, Mapping) or not (parent is None or whole(parent, place - 1) is not None):
            raise Odd(f"node {place + 1} of a trace doesn't come after another")
        followed.add(parent)
    errors = trace.get("errors")
    fault = _fault(errors[0]) if isinstance(errors, list) and errors else None
    scores, weights, total = _rewards(trace.get("rewards"), fault is not None)
    task, env = _part(trace, "task"), _part(row, "env")
    key = task.get("key") or task.get("hash")
    told = trace.get("calls")
    calls = [call for call in told if isinstance(call, Mapping)] if isinstance(told, list) else []
    ends = []
    for leaf in (place for place in range(len(nodes)) if place not in followed):
        path = _path(nodes, leaf)
        first = next((k for k, node in enumerate(path) if node.get("sampled") is True), len(path))
        messages = checked([node.get("message") for node in path], "user")
        ends.append(Conversation(
            messages[:first], messages[first:], phase="eval", task=key or task.get("type"), alike=key,
            environment=word(env.get("id")), model=next((word(call.get("model")) for call in calls if call.get("model")), ""),
            status=_status(fault, trace.get("is_timeout") is True), stop=word(trace.get("stop_condition")), fault=fault,
            scores=scores, weights=weights, total=total))
    return ends


def _path(nodes: list[Any], leaf: int | None) -> list[Any]:
    path = []
    while leaf is not None:
        path.append(nodes[leaf])
        leaf = nodes[leaf].get("parent")
    return path[::-1]


def _rewards(told: Any, failed: bool) -> tuple[dict[str, float | None], dict[str, float], float | None]:
    """Score and weight of each, and their weighted sum; None where nothing was scored."""
    scores: dict[str, float | None] = {}
    weights: dict[str, float] = {}
    for name, reward in (told.items() if isinstance(told, Mapping) else ()):
        score = number(reward.get("score")) if isinstance(reward, Mapping) and not failed else None
        weight = number(reward.get("weight")) if isinstance(reward, Mapping) else None
        scores[str(name)], weights[str(name)] = score, 1.0 if weight is None else weight
    known = [score * weights[name] for name, score in scores.items() if score is not None]
    return scores, weights, sum(known) if known else None
