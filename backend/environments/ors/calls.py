"""One tool call: a POST answered by a stream of server-sent events (`task_id`, then `chunk`s and an `end`, or `error`).

Until the server has named the call's task nobody can tell whether it ran, so it is never sent twice: the session is
lost. From then on a broken connection is taken up again under that name.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

QUIET_SECONDS = 60
"""Without a word from the server, not even its ping of every 10 s, a connection counts as broken."""

REJOINS = 5


class ToolRaised(Exception):
    """The tool itself failed, with this text; the server has ended the session."""


class ConnectionBroken(Exception):
    """The answer can't be had any more."""


async def call(http, path: str, headers: dict[str, str], tool: str, arguments: dict[str, Any]) -> Any:
    """The server's answer, from JSON.

    Raises ToolRaised, ConnectionBroken, ValueError for an answer that isn't JSON, and aiohttp.ClientResponseError where
    the server refuses the call itself.
    """
    import aiohttp

    asked: dict[str, Any] = {"name": tool, "input": arguments}
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=QUIET_SECONDS)
    headers = {**headers, "Accept": "text/event-stream"}
    broken = 0
    while True:
        try:
            async with http.post(path, json=asked, headers=headers, timeout=timeout) as answer:
                if (wait := _asked_to_wait(answer)) is not None:
                    await asyncio.sleep(wait)
                    continue
                if answer.status >= 400:
                    raise aiohttp.ClientResponseError(answer.request_info, answer.history, status=answer.status,
                                                      message=(await answer.text())[:2000])
                parts = []
                async for event, data in _events(answer.content):
                    if event == "task_id":
                        asked["task_id"] = data.strip()
                    elif event == "error":
                        raise ToolRaised(data)
                    elif event in ("chunk", "end"):
                        parts.append(data)
                    if event == "end":
                        return json.loads("".join(parts))
                raise aiohttp.ClientPayloadError("the answer ended early")
        except aiohttp.ClientResponseError:
            raise
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            if "task_id" not in asked or broken == REJOINS:
                raise ConnectionBroken(str(error) or type(error).__name__) from error
            broken += 1
            await asyncio.sleep(0.2 * 2**broken)


def _asked_to_wait(answer) -> float | None:
    """Seconds, where the call was turned away before it ran: the environment still starts, or too many were sent."""
    if answer.status == 429 or (answer.status == 503 and answer.headers.get("X-Backend-State") == "starting"):
        seconds = answer.headers.get("Retry-After", "")
        return min(float(seconds), 10.0) if seconds.isdigit() else 1.0
    return None


async def _events(lines) -> AsyncIterator[tuple[str, str]]:
    event = ""
    data: list[str] = []
    async for raw in lines:
        line = raw.decode("utf-8", "replace").rstrip("\r\n")
        if not line:
            if event:
                yield event, "\n".join(data)
            event, data = "", []
            continue
        field, _, value = line.partition(":")
        if field == "event":
            event = value.strip()
        elif field == "data":
            data.append(value.removeprefix(" "))
