"""OpenEnv servers of the environments that ship here. `python -m backend.environments.servers.wordle --port 8001
--sessions 64` runs one by hand; `backend.environments.serving` starts them for a run.

Each module names its action, its observation and its game; `run` does the rest.
"""

import argparse
import inspect
import os
import select
import socket
import sys
import threading
from collections.abc import Callable
from typing import Any

READY = "ready "
"""A server's first line on standard output is this and its URL, once it takes connections."""


def environment(game: Any, action_class, observation_class):
    """An OpenEnv Environment class around a game's class; what its `reset` takes besides a seed are reset options."""
    from openenv.core.env_server import Environment, State

    known = [name for name in inspect.signature(game.reset).parameters if name not in ("self", "seed")]

    class GameEnvironment(Environment):
        SUPPORTS_CONCURRENT_SESSIONS = True

        def __init__(self):
            super().__init__()
            self._game = game()
            self._state = State()

        def reset(self, seed=None, episode_id=None, **options):
            if unknown := sorted(options.keys() - known):
                raise ValueError(f"unknown reset option {', '.join(unknown)}; besides a seed, reset takes "
                                 f"{' and '.join(known) or 'nothing'}")
            self._state = State(episode_id=episode_id)
            return observation_class(**self._game.reset(seed, **options))

        def step(self, action, timeout_s=None, **_):
            self._state.step_count += 1
            return observation_class(**self._game.step(**action.model_dump(exclude={"metadata"})))

        # Moves take microseconds: on the event loop they skip a thread switch each way.
        async def reset_async(self, seed=None, episode_id=None, **options):
            return self.reset(seed, episode_id, **options)

        async def step_async(self, action, timeout_s=None, **_):
            return self.step(action)

        @property
        def state(self):
            return self._state

    GameEnvironment.__name__ = GameEnvironment.__qualname__ = game.__name__
    return GameEnvironment


def run(build: Callable, arguments: list[str] | None = None, ours: bool = True) -> None:
    """The command line of a server. `build(sessions)` gives its application; `ours`: it shows no pages of its own."""
    parser = argparse.ArgumentParser(description="Serve an OpenEnv environment.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000, help="0 takes a free one")
    parser.add_argument("--sessions", type=int, default=64, help="episodes that can be played at once")
    parser.add_argument("--with-parent", type=int, metavar="PID", help="stop when this process is gone")
    asked = parser.parse_args(arguments)

    if ours:
        # openenv.core imports gradio for a page nobody is shown, which takes most of the start; it does without.
        sys.modules.setdefault("gradio", None)  # type: ignore[arg-type]
    os.environ.pop("ENABLE_WEB_INTERFACE", None)
    os.environ.pop("OPENENV_MODE", None)
    import uvicorn

    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((asked.host, asked.port))
    except OSError as error:
        sys.exit(f"can't listen on {asked.host}:{asked.port}: {error.strerror}; name another port")
    url = f"http://{asked.host}:{listening.getsockname()[1]}"

    class Server(uvicorn.Server):
        async def startup(self, sockets=None):
            await super().startup(sockets)
            print(READY + url, flush=True)

    # No pings: a trainer that generates for minutes may not answer them, and a killed one closes its sockets anyway.
    config = uvicorn.Config(build(asked.sessions), log_level="warning", ws_ping_interval=None, ws_max_size=2**27,
                            timeout_graceful_shutdown=1, backlog=max(2048, asked.sessions))
    if asked.with_parent:
        threading.Thread(target=stop_with, args=(asked.with_parent, lambda: os._exit(0)), daemon=True).start()
    Server(config).run(sockets=[listening])


def stop_with(parent: int, end: Callable[[], object]) -> None:
    """Waits until standard input closes or the parent changes, since either alone can be missed, and calls `end`."""
    while os.getppid() == parent:
        if select.select([sys.stdin], [], [], 1.0)[0] and not os.read(sys.stdin.fileno(), 1):
            break
    end()
