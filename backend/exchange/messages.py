"""An episode as chat messages, and chat messages as an episode's turns.

Messages have the shape that chat templates and chat-completion APIs share: role, content, reasoning_content, tool_calls
[{id, type, function: {name, arguments}}], tool_call_id, name. Arguments stay what they were, an object or a text.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from backend.records import Episode, FactValue, Turn

Message = dict[str, Any]

MESSAGE, ANSWERED_BY, UNCALLED = "message", "answered_by", "call"
"""Facts of imported turns: which message of the file it was, whose an answer without a call is, and that there was none."""
NO_CALL = "not in the file"

_THOUGHT = re.compile(r"\s*<think>(.*?)(?:</think>|\Z)", re.DOTALL)
_BITMAP = re.compile(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}")
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_MIME = re.compile(r"image/(png|jpeg|gif|webp)")


# ------------------------------------------------------------------------------------------------ turns to messages


def conversation(episode: Episode) -> list[Message]:
    return [*map(dict, episode.prompt), *completion(episode)]


def completion(episode: Episode) -> list[Message]:
    """What followed the prompt, as the model learnt from it: without what the token budget cut."""
    said: list[Message] = []
    for turns in _together(episode.turns):
        calls = [(f"call_{turn.index}", turn) for turn in turns if turn.tool is not None and UNCALLED not in turn.facts]
        if calls or not _only_answered(turns[0]):
            said.append(_assistant(turns[0], calls))
        named = {id(turn): call for call, turn in calls}
        said += [_answer(turn, named.get(id(turn))) for turn in turns if _shown(turn) is not None]
    return said


def _together(turns: Sequence[Turn]) -> Iterator[list[Turn]]:
    """Turns that were one message of the model, told by the tokens or by the file they came from."""
    group: list[Turn] = []
    for turn in turns:
        if turn.cut:
            continue
        if group and not _goes_on(group[0], turn):
            yield group
            group = []
        group.append(turn)
    if group:
        yield group


def _goes_on(first: Turn, turn: Turn) -> bool:
    if turn.said or turn.thought or turn.tool is None or UNCALLED in turn.facts:
        return False
    if MESSAGE in turn.facts or MESSAGE in first.facts:
        return turn.facts.get(MESSAGE) == first.facts.get(MESSAGE)
    return first.tokens is not None and turn.tokens is None


def _only_answered(turn: Turn) -> bool:
    return UNCALLED in turn.facts or ANSWERED_BY in turn.facts and not (turn.said or turn.thought)


def _assistant(first: Turn, calls: Sequence[tuple[str, Turn]]) -> Message:
    message: Message = {"role": "assistant", "content": first.said}
    if first.thought:
        message["reasoning_content"] = first.thought
    if calls:
        message["tool_calls"] = [{"id": call, "type": "function", "function": {
            "name": turn.tool, "arguments": {} if turn.arguments is None else turn.arguments}} for call, turn in calls]
    return message


def _answer(turn: Turn, call: str | None) -> Message:
    if call is not None:
        return {"role": "tool", "tool_call_id": call, "name": turn.tool, "content": _shown(turn)}
    if turn.tool is not None:
        return {"role": "tool", "name": turn.tool, "content": _shown(turn)}
    return {"role": str(turn.facts.get(ANSWERED_BY, "user")), "content": _shown(turn)}


def _shown(turn: Turn) -> str | None:
    return turn.result if turn.shown is None else turn.shown


# ------------------------------------------------------------------------------------------------ messages to turns


def opening(messages: Sequence[Message]) -> tuple[list[Message], list[Message]]:
    """What comes before the first message of the model, and the rest."""
    first = next((k for k, message in enumerate(messages) if message.get("role") == "assistant"), len(messages))
    return list(messages[:first]), list(messages[first:])


def turns_of(messages: Sequence[Message], before: int = 0) -> list[Turn]:
    """Everything after the opening; `before` is how many messages that was. Nothing of a message is left out: what has no
    place of its own is kept as JSON in what was said or answered."""
    turns: list[dict[str, Any]] = []
    waiting: list[tuple[Any, dict[str, Any]]] = []
    for number, message in enumerate(messages, before + 1):
        if message.get("role") == "assistant":
            said = _said(message, number)
            waiting = [(call, turn) for call, turn in said if turn["tool"] is not None]
            turns += [turn for _, turn in said]
        else:
            _put_answer(message, number, turns, waiting)
    return [Turn(index=index, **turn) for index, turn in enumerate(turns)]


def _said(message: Message, number: int) -> list[tuple[Any, dict[str, Any]]]:
    """(id of the call, turn) of each call of one message; one turn without a call where it made none."""
    text, images = content_of(message.get("content"))
    thought, text = _thought(message, text)
    rest = {name: value for name, value in message.items() if value not in (None, "", []) and name not in _KNOWN}
    if rest:
        text = f"{text}\n{_as_json(rest)}" if text else _as_json(rest)
    facts: dict[str, FactValue] = {MESSAGE: number}
    made = list(map(_call, _listed(message.get("tool_calls"))))
    if isinstance(message.get("function_call"), Mapping):
        made.append(_call({"function": message["function_call"]}))
    turns = [(call, {"tool": tool, "arguments": arguments, "facts": facts}) for call, tool, arguments in made]
    turns = turns or [(None, {"tool": None, "facts": facts})]
    turns[0][1].update(said=text, thought=thought, images=images)
    return turns


_KNOWN = {"role", "content", "reasoning_content", "reasoning", "thinking", "tool_calls", "function_call"}


def _thought(message: Message, text: str) -> tuple[str, str]:
    """Reasoning that the file keeps apart, else a think tag at the front; one that never closes holds all the rest."""
    for name in ("reasoning_content", "reasoning", "thinking"):
        apart = message.get(name)
        if apart not in (None, "", []):
            return apart if isinstance(apart, str) else _as_json(apart), text
    if tag := _THOUGHT.match(text):
        return tag[1], text[tag.end():]
    return "", text


def _call(call: Any) -> tuple[Any, str, Any]:
    """(id, tool, arguments as sent); a text that is JSON of an object is read, any other stays the text it was."""
    if isinstance(call, str):  # some files keep each call as JSON text
        try:
            call = json.loads(call)
        except (ValueError, RecursionError):
            return None, "", call
    if not isinstance(call, Mapping):
        return None, "", call
    inside = call.get("function")
    function = inside if isinstance(inside, Mapping) else call
    arguments = function.get("arguments")
    name = function.get("name")
    return call.get("id"), name if isinstance(name, str) else "" if name is None else _as_json(name), _read(arguments)


def _read(arguments: Any) -> Any:
    if not isinstance(arguments, str):
        return arguments
    try:
        read = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    return read if isinstance(read, dict) else arguments


def _put_answer(message: Message, number: int, turns: list[dict[str, Any]],
                waiting: list[tuple[Any, dict[str, Any]]]) -> None:
    text, images = content_of(message.get("content"))
    rest = {name: value for name, value in message.items()
            if value not in (None, "", []) and name not in ("role", "content", "tool_call_id", "name")}
    if rest:
        text = f"{text}\n{_as_json(rest)}" if text else _as_json(rest)
    role, name = str(message.get("role", "message")), message.get("name")
    if role in ("tool", "function"):
        asked = message.get("tool_call_id")
        place = next((place for place, (call, _) in enumerate(waiting) if asked is None or call == asked), None)
        if place is not None:
            turn = waiting.pop(place)[1]
            turn.update(result=text, images=(*turn.get("images", ()), *images))
            return
        named = name if isinstance(name, str) and name else "" if name is None else _as_json(name)
        turns.append({"tool": named, "result": text, "images": images, "facts": {MESSAGE: number, UNCALLED: NO_CALL}})
        return
    last = turns[-1] if turns else None
    if last is not None and last["tool"] is None and "result" not in last:
        last.update(result=text, images=(*last.get("images", ()), *images))
        last["facts"] = {**last["facts"], ANSWERED_BY: role}
        return
    turns.append({"tool": None, "result": text, "images": images, "facts": {MESSAGE: number, ANSWERED_BY: role}})


# --------------------------------------------------------------------------------------------------------- contents


def content_of(content: Any) -> tuple[str, tuple[str, ...]]:
    """The text of a message's content, and its pictures as data: URLs. A block that is neither stays as JSON text."""
    if content is None:
        return "", ()
    if isinstance(content, str):
        return content, ()
    if not isinstance(content, list):
        return _as_json(content), ()
    texts, images = [], []
    for block in content:
        if isinstance(block, Mapping) and block.get("type") == "text" and isinstance(block.get("text"), str):
            texts.append(block["text"])
        elif picture := _picture(block):
            images.append(picture)
        else:
            texts.append(block if isinstance(block, str) else _as_json(block))
    return "\n".join(texts), tuple(images)


def pictures_of(messages: Sequence[Message]) -> tuple[str, ...]:
    return tuple(picture for message in messages for picture in content_of(message.get("content"))[1])


def _picture(block: Any) -> str | None:
    """Only a bitmap that lies in the block itself: nothing is ever fetched."""
    if not isinstance(block, Mapping):
        return None
    url = block.get("image_url", block.get("image"))
    url = url.get("url") if isinstance(url, Mapping) else url
    if isinstance(url, str) and _BITMAP.fullmatch(url):
        return url
    body, kind = block.get("data"), block.get("mimeType", block.get("mime_type"))
    if isinstance(body, str) and isinstance(kind, str) and _MIME.fullmatch(kind) and _BASE64.fullmatch(body):
        return f"data:{kind};base64,{body}"
    return None


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value in (None, "", {}) else [value]


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
