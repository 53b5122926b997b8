"""openai: chat messages, one conversation a line.

A line is {"messages": [...]}, a bare list of messages, a chat-completion request with its response ({"request", "response"}
or {"body", "response"}, as logs and batch files have them), or {"prompt", "completion"}. Beside the messages may stand an
id, a model, a reward and a finish_reason; a .json file may hold one list of all.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from backend.exchange.conversation import Conversation, Odd, checked, each, listed, number, split, whole, word
from backend.exchange.messages import opening

IDS = ("id", "task_id", "custom_id", "conversation_id", "example_id")
REWARDS = ("reward", "score", "total")


def read(path: Path, skip: Callable[[int, str], None]) -> Iterator[Conversation]:
    yield from each(listed(path, skip), conversation, skip)


def conversation(row: Any) -> Conversation:
    """Raises Odd."""
    if isinstance(row, list):
        row = {"messages": row}
    if not isinstance(row, Mapping):
        raise Odd("it is neither an object nor a list of messages")
    request, response = _request(row), _response(row)
    if isinstance(row.get("completion"), (list, str)):
        prompt, rest = split(row.get("prompt", []), row["completion"])
    else:
        given = next((part["messages"] for part in (row, request) if "messages" in part), None)
        if given is None and response is None:
            raise Odd("it holds no messages")
        prompt, rest = opening([*checked(given, "user"), *([] if response is None else _said(response))])
    finish = _finish(response) or word(row.get("finish_reason"))
    reward = next((number(row[name]) for name in REWARDS if number(row.get(name)) is not None), None)
    return Conversation(
        prompt, rest, task=next((row[name] for name in IDS if row.get(name) not in (None, "")), None),
        model=word(row.get("model")) or word((response or {}).get("model")) or word(request.get("model")),
        status="truncated" if finish == "length" else "finished", stop=f"finish_reason {finish}" if finish else "",
        total=reward, tokens=_tokens(response), started=number((response or {}).get("created")) or 0.0)


def _request(row: Mapping[str, Any]) -> Mapping[str, Any]:
    found = row.get("request", row.get("body"))
    if isinstance(found, Mapping) and isinstance(found.get("body"), Mapping):
        found = found["body"]
    return found if isinstance(found, Mapping) else {}


def _response(row: Mapping[str, Any]) -> Mapping[str, Any] | None:
    found = row.get("response", row if "choices" in row else None)
    if isinstance(found, Mapping) and isinstance(found.get("body"), Mapping):
        found = found["body"]
    return found if isinstance(found, Mapping) else None


def _said(response: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The first choice's message; the others would be other conversations."""
    choices = response.get("choices")
    if not isinstance(choices, list) or not choices:
        raise Odd("its response has no choices")
    message = choices[0].get("message") if isinstance(choices[0], Mapping) else None
    if not isinstance(message, Mapping):
        raise Odd("its response's first choice has no message")
    return [{**message, "role": "assistant"}]


def _finish(response: Mapping[str, Any] | None) -> str:
    choices = (response or {}).get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return word(first.get("finish_reason")) if isinstance(first, Mapping) else ""


def _tokens(response: Mapping[str, Any] | None) -> int | None:
    usage = (response or {}).get("usage")
    return whole(usage.get("completion_tokens")) if isinstance(usage, Mapping) else None
