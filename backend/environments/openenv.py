"""Playing on an OpenEnv server over its WebSocket, one connection an episode.

OpenEnv's own client opens a new session without a word when the socket is lost, and the game goes on as another game;
so this one speaks the same messages (`{"type": "reset" | "step" | "close", "data": …}`, answered by `observation` or
`error`) over a socket that is never replaced.
"""

import asyncio
import json
from contextlib import suppress
from dataclasses import replace
from typing import Any

from backend.environments import Description, Observation, Task
from backend.environments.adapters import Adapter, likeness
from backend.environments.addresses import is_this_machine, secret_headers
from backend.environments.tasks import seeded, seeded_after
from backend.errors import EnvironmentFailed, SessionLost
from backend.records import TaskSelection

CONNECT_SECONDS, GOODBYE_SECONDS = 10, 2


class OpenEnvSource:
    def __init__(self, base_url: str, adapter: Adapter):
        self.base_url = base_url.rstrip("/")
        self._adapter = adapter

    def describe(self) -> Description:
        return self._adapter.description

    def tasks(self, selection: TaskSelection, options: dict[str, Any]) -> list[Task]:
        return seeded(selection, options)

    def held_out(self, selection: TaskSelection, options: dict[str, Any], count: int) -> list[Task]:
        return seeded_after(selection, options, count)

    async def open(self) -> "OpenEnvSession":
        return self._session(await _connect(self.base_url))

    def _session(self, socket) -> "OpenEnvSession":
        return OpenEnvSession(socket, self.base_url, self._adapter.fresh())


class OpenEnvSession:
    def __init__(self, socket, base_url: str, adapter: Adapter):
        self._socket = socket
        self._base_url = base_url
        self._adapter = adapter
        self._out_of_step = False

    async def reset(self, task: Task) -> Observation:
        data = dict(task.options)
        if task.seed is not None:
            data["seed"] = task.seed
        try:
            first = self._read(await self._ask("reset", data))
            named = first.fingerprint or self._adapter.identify(await self._state())
        except SessionLost as error:
            raise EnvironmentFailed(f"{self._base_url} closed the connection instead of starting an episode; its log "
                                    "says why.") from error
        except _Refused as error:
            raise EnvironmentFailed(f"{self._base_url} refused to start an episode: {error}") from error
        return replace(first, fingerprint=named or likeness(first.text, *first.images))

    async def _state(self) -> dict[str, Any]:
        """Of the server, for adapters that can read it; {} where it can't be had, which is no reason not to play."""
        if not self._adapter.asks_state:
            return {}
        try:
            return await self._ask("state", {})
        except (_Refused, EnvironmentFailed):
            return {}

    async def call(self, tool: str, arguments: dict[str, Any]) -> Observation:
        action = self._adapter.action(tool, arguments)
        try:
            seen = self._read(await self._ask("step", action))
            return self._adapter.ended(await self._state(), seen) if seen.done else seen
        except _Refused as error:
            raise ValueError(f"the environment refused the arguments of {tool}: {error}") from error

    async def close(self) -> None:
        """Returns once the server has freed the session, as far as it says so in time."""
        from websockets.exceptions import ConnectionClosed

        with suppress(ConnectionClosed, TimeoutError):
            await self._socket.send('{"type": "close"}')
            await asyncio.wait_for(self._socket.wait_closed(), GOODBYE_SECONDS)
        await self._socket.close()

    async def _ask(self, kind: str, data: dict[str, Any]) -> dict[str, Any]:
        from websockets.exceptions import ConnectionClosed

        if self._out_of_step:
            raise SessionLost(f"{self._base_url} still owes an answer to an earlier call; open a new session.")
        # A server that is full says so and closes, perhaps before this is sent: its words are still there to read.
        message = {"type": kind, "data": _whole_characters(data)} if kind != "state" else {"type": kind}
        with suppress(ConnectionClosed):
            await self._socket.send(json.dumps(message))
        try:
            answer = json.loads(await self._socket.recv())
        except ConnectionClosed as error:
            raise SessionLost(f"The connection to {self._base_url} was lost in the middle of an episode; see whether "
                              "the server still runs.") from error
        except asyncio.CancelledError:
            self._out_of_step = True
            raise
        except ValueError as error:
            raise EnvironmentFailed(f"{self._base_url} answered with something that isn't JSON; is it an OpenEnv "
                                    "server?") from error
        if not isinstance(answer, dict) or not isinstance(answer.get("data"), dict):
            raise EnvironmentFailed(f"{self._base_url} answered with something that isn't an OpenEnv message.")
        if answer.get("type") == "error":
            raise self._error(answer["data"])
        return answer["data"]

    def _error(self, data: dict[str, Any]) -> Exception:
        message, code = str(data.get("message", "no reason given"))[:2000], data.get("code")
        if code == "CAPACITY_REACHED":
            held = data.get("max_sessions")
            taken = "its one session is" if held == 1 else f"all its {held or ''} sessions are"
            return EnvironmentFailed(f"{self._base_url} is full: {taken} taken. Start it with more sessions "
                                     "(MAX_CONCURRENT_ENVS), or play fewer episodes per step.")
        if code == "VALIDATION_ERROR":
            first: dict[str, Any] = next(iter(data.get("errors") or []), {})
            return _Refused(f"{'.'.join(map(str, first.get('loc', ())))} {first.get('msg', message)}".strip()[:500])
        return EnvironmentFailed(f"{self._base_url} failed: {message}")

    def _read(self, data: dict[str, Any]) -> Observation:
        try:
            return self._adapter.read(data)
        except (KeyError, TypeError, ValueError) as error:
            raise EnvironmentFailed(f"{self._base_url} answered without what {self._adapter.description.title} has "
                                    f"({error!r:.200}); is it the right server?") from error


class _Refused(Exception):
    """The server's schema doesn't take what was sent; the session goes on."""


async def _connect(base_url: str):
    from websockets.asyncio.client import connect
    from websockets.exceptions import InvalidHandshake, InvalidURI

    here = is_this_machine(base_url)
    try:
        return await connect(
            f"{base_url.replace('http', 'ws', 1)}/ws",
            open_timeout=CONNECT_SECONDS,
            close_timeout=GOODBYE_SECONDS,
            max_size=100 * 2**20,
            compression=None if here else "deflate",
            # A trainer may be too busy to answer pings, and on one machine a dead peer is noticed without them.
            ping_interval=None if here else 20,
            ping_timeout=None if here else 120,
            proxy=None if here else True,
            additional_headers=secret_headers(base_url),
        )
    except (OSError, TimeoutError, EOFError, InvalidHandshake, InvalidURI) as error:
        raise EnvironmentFailed(f"Nothing that speaks OpenEnv answers at {base_url} ({error or type(error).__name__}); "
                                "start the server or correct the address.") from error


def _whole_characters(value: Any) -> Any:
    """Half a surrogate pair, which JSON from a model can hold, ends an OpenEnv session: replaced by U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_whole_characters(key): _whole_characters(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole_characters(item) for item in value]
    return value
