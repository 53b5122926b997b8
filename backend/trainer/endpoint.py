"""A player at any endpoint that speaks OpenAI's chat completions with tools."""

import asyncio
import json
import os
import time
from collections.abc import Callable, Sequence
from typing import Any

from backend.environments import Tool
from backend.errors import ModelError
from backend.records import EndpointPlayer
from backend.trainer.speakers import Call, Said, SpeakerFailed

PAUSES = (1.0, 4.0)
"""Seconds before each further try."""

AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""HTTP answers that another try may change."""

LARGEST = 16_000_000
"""Bytes of an answer."""
MOST_TOKENS = 10**9
"""In one answer; a count beyond it, or below 0, isn't believed."""

OLD_NAME, NEW_NAME = "max_tokens", "max_completion_tokens"
"""Of the same limit: some endpoints know only the one, some only the other."""


class Endpoint:
    """`budget`: tokens a player may write in one game. Raises ModelError where its key isn't set."""

    at_once = 8

    def __init__(self, player: EndpointPlayer, budget: int):
        import httpx

        self.player, self.budget = player, budget
        self.clean: Callable[[str], str] = str
        self.left_out: set[str] = set()
        """Settings this endpoint refused."""
        self.limit = OLD_NAME
        self._key = os.environ.get(player.key_from) if player.key_from else None
        if player.key_from and not self._key:
            raise ModelError(f"the endpoint's key is read from {player.key_from}, which isn't set; set it where the worker "
                             "runs")
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        self._client = httpx.AsyncClient(timeout=player.timeout, headers=headers)

    def talk(self, messages: Sequence[dict[str, Any]], tools: Sequence[Tool], luck: str) -> "EndpointTalk":
        return EndpointTalk(self, [_as_sent(message, place) for place, message in enumerate(messages)],
                            [tool.schema() for tool in tools])

    async def close(self) -> None:
        await self._client.aclose()

    async def ask(self, messages: list[dict], tools: list[dict], room: int) -> dict[str, Any]:
        """One chat completion. Raises SpeakerFailed, without the key in what it says."""
        failed = "it was never asked"
        for pause in (*PAUSES, None):
            try:
                async with asyncio.timeout(self.player.timeout):
                    answer = await self._post(messages, tools, room)
                if answer.status_code == 200:
                    return _read(answer)
                failed = f"it answered {answer.status_code}: {answer.text[:300]}"
                if answer.status_code not in AGAIN:
                    break
            except SpeakerFailed as error:
                failed = str(error)
            except Exception as error:  # whatever the network library raises: names, proxies, certificates, time-outs
                late = isinstance(error, TimeoutError) or "Timeout" in type(error).__name__
                failed = f"no answer within {self.player.timeout:g} s" if late else str(error) or type(error).__name__
            if pause is not None:
                await asyncio.sleep(pause)
        whole = f"the endpoint {self.player.url} gave no answer that can be used: {failed}"
        raise SpeakerFailed(whole.replace(self._key, "[key]") if self._key else whole)

    async def _post(self, messages: list[dict], tools: list[dict], room: int):
        address = f"{self.player.url.rstrip('/')}/chat/completions"
        for _ in range(3):
            sent = self._settings(room)
            body = {"model": self.player.model, "messages": messages, **sent}
            if tools:
                body["tools"] = tools
            answer = await self._whole(address, body)
            if answer.status_code == 400:
                self._give_in(answer.text)
            if answer.status_code != 400 or self._settings(room) == sent:
                return answer
        return answer

    async def _whole(self, address: str, body: dict[str, Any]):
        import httpx

        told = bytearray()
        async with self._client.stream("POST", address, json=body) as answer:
            async for part in answer.aiter_bytes():
                told += part
                if len(told) > LARGEST:
                    raise SpeakerFailed(f"its answer is longer than {LARGEST // 1_000_000} MB")
        return httpx.Response(answer.status_code, content=bytes(told))

    def _settings(self, room: int) -> dict[str, Any]:
        """As they are sent now; another game's refusal may change them while this one's is under way."""
        settings = {"temperature": self.player.temperature, self.limit: room}
        return {name: value for name, value in settings.items() if name not in self.left_out}

    def _give_in(self, complaint: str) -> None:
        """To another way of asking: some models take no temperature, or name the limit differently."""
        if NEW_NAME in complaint and self.limit == OLD_NAME:
            self.limit = NEW_NAME
        elif "temperature" in complaint:
            self.left_out.add("temperature")


class EndpointTalk:
    def __init__(self, endpoint: Endpoint, messages: list[dict], tools: list[dict]):
        self.endpoint, self.messages, self.tools = endpoint, messages, tools
        self.written = 0
        self._asked: list[str] = []
        """Ids of the calls that wait for an answer."""

    async def next(self, answers: Sequence[str] = ()) -> Said | None:
        self.messages += [{"role": "tool", "tool_call_id": id, "content": _sendable(text)}
                          for id, text in zip(self._asked, answers, strict=True)]
        room = self.endpoint.budget - self.written
        if room <= 0:
            return None
        began = time.perf_counter()
        told = await self.endpoint.ask(self.messages, self.tools, room)
        took = time.perf_counter() - began
        message, usage = told["choices"][0]["message"], told.get("usage")
        tokens = usage.get("completion_tokens") if isinstance(usage, dict) else None
        tokens = tokens if isinstance(tokens, int) and 0 <= tokens < MOST_TOKENS else None
        self.written += tokens or 0
        calls = message.get("tool_calls")
        kept: list[dict[str, Any]] = [
            {"id": _sendable(str(call.get("id") or f"call-{len(self.messages)}-{place}")), "type": "function",
             "function": {"name": _sendable(str(_function(call).get("name") or "")), "arguments": _written(_function(call))}}
            for place, call in enumerate(calls if isinstance(calls, list) else ()) if isinstance(call, dict)]
        self._asked = [call["id"] for call in kept]
        text = _text(message.get("content"))
        self.messages.append({"role": "assistant", "content": _sendable(text), **({"tool_calls": kept} if kept else {})})
        return Said(text, _text(message.get("reasoning_content") or message.get("reasoning")),
                    tuple(Call(call["function"]["name"], _parsed(call["function"]["arguments"])) for call in kept),
                    tokens, took, text, told["choices"][0].get("finish_reason") == "length")

    def end(self) -> None:
        """An endpoint keeps nothing of a game."""


def _read(answer: Any) -> dict[str, Any]:
    try:
        told = answer.json()
        if isinstance(told["choices"][0]["message"], dict):
            return told
    except (ValueError, KeyError, IndexError, TypeError):
        pass
    raise SpeakerFailed(f"it isn't a chat completion: {answer.text:.200}")


def _as_sent(message: dict[str, Any], place: int) -> dict[str, Any]:
    """Of a conversation that others began: the calls get ids and arguments as text, as this protocol has them."""
    if message["role"] == "tool":
        return {"role": "tool", "tool_call_id": f"call-{place - 1}", "content": _sendable(message["content"])}
    sent = {**message, "content": _sendable(message.get("content") or "")}
    if "tool_calls" in message:
        function = message["tool_calls"][0]["function"]
        sent["tool_calls"] = [{"id": f"call-{place}", "type": "function",
                               "function": {"name": function["name"], "arguments": _written(function)}}]
    return sent


def _sendable(text: str) -> str:
    """Half a surrogate pair can't be sent."""
    return text.encode("utf-8", "replace").decode()


def _function(call: dict[str, Any]) -> dict[str, Any]:
    function = call.get("function")
    return function if isinstance(function, dict) else {}


def _written(function: dict[str, Any]) -> str:
    arguments = function.get("arguments")
    return _sendable(arguments) if isinstance(arguments, str) else json.dumps(arguments or {})


def _parsed(arguments: str) -> Any:
    try:
        return json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return arguments


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""
