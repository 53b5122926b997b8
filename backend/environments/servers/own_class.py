"""The server of a class of the user's own: `python -m backend.environments.servers.own_class --use USE --port 8001`.

Each session has an object of the class and a thread that makes it and calls it, so that neither a slow nor a thread-bound
one stands in another's way. Async methods run on the server's loop.
"""

import argparse
import asyncio
import base64
import inspect
import io
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any

from backend.environments.own_class import load
from backend.environments.own_class.contract import attributes
from backend.environments.servers import run
from backend.errors import SpecError


def build(use: str, sessions: int):
    from openenv.core.env_server import Action, Environment, Observation, State, create_app

    try:
        cls = load(use)
    except SpecError as error:
        sys.exit(str(error))

    class OwnAction(Action):
        tool: str
        arguments: dict[str, Any] = {}

    class OwnObservation(Observation):
        text: str = ""
        facts: dict[str, Any] = {}
        images: list[str] = []
        fault: dict[str, str] | None = None
        fatal: bool = False
        """Whether the fault ends the episode."""

    class OwnEnvironment(Environment):
        SUPPORTS_CONCURRENT_SESSIONS = True

        def __init__(self):
            super().__init__()
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="episode")
            self._own: Any = None
            self._state = State()

        async def reset_async(self, seed=None, episode_id=None, **options):
            self._state = State(episode_id=episode_id)
            try:
                self._own = await self._call(cls)
                first = await self._call(partial(self._own.reset, seed=seed, task=str(seed), **options))
                if not (first is None or isinstance(first, str)):
                    raise TypeError(f"it returned {type(first).__name__}; return a str, or None")
            except BaseException as error:
                return OwnObservation(fault=_fault(error, f"{cls.__name__}.reset"), fatal=True)
            return self._observation(first or "")

        async def step_async(self, action, timeout_s=None, **_):
            self._state.step_count += 1
            if action.tool == "get_reward" and not hasattr(self._own, "get_reward"):
                return OwnObservation()
            try:
                method = getattr(self._own, action.tool)
                told = await (method(**action.arguments) if inspect.iscoroutinefunction(method)
                              else self._call(partial(method, **action.arguments)))
                if action.tool == "get_reward":
                    return OwnObservation(reward=None if told is None else float(told))
            except (Exception, SystemExit) as error:
                name = f"{cls.__name__}.get_reward" if action.tool == "get_reward" else ""
                return self._observation(f"Error: {error}", fault=_fault(error, name))
            text, images = _said(told)
            return self._observation(text, images=images)

        def reset(self, *_, **__):
            raise NotImplementedError

        step = reset

        @property
        def state(self):
            return self._state

        def close(self):
            closing = getattr(self._own, "_close", None)
            if callable(closing):
                with suppress(Exception):
                    self._thread.submit(closing).result(5)
            self._thread.shutdown(wait=False, cancel_futures=True)

        async def _call(self, method):
            return await asyncio.get_running_loop().run_in_executor(self._thread, method)

        def _observation(self, text: str, **more):
            seen = attributes(self._own)
            return OwnObservation(text=text, facts=seen, done=seen.get("done") is True, **more)

    return create_app(OwnEnvironment, OwnAction, OwnObservation, env_name=cls.__name__, max_concurrent_envs=sessions)


def _fault(error: BaseException, name: str) -> dict[str, str]:
    said = str(error) or type(error).__name__
    return {"kind": type(error).__name__, "message": f"{name} failed: {type(error).__name__}: {said}" if name else said,
            "traceback": "".join(traceback.format_exception(error))}


def _said(told: Any) -> tuple[str, list[str]]:
    """A tool's result as text and images: blocks of both, as TRL takes them, or anything as str writes it."""
    if not (isinstance(told, list) and told and all(isinstance(part, dict) and "type" in part for part in told)):
        return str(told), []
    texts = [str(part["text"]) for part in told if part.get("type") == "text" and "text" in part]
    return "\n".join(texts), [_picture(part["image"]) for part in told if hasattr(part.get("image"), "save")]


def _picture(image: Any) -> str:
    into = io.BytesIO()
    image.save(into, format="PNG")
    return f"data:image/png;base64,{base64.b64encode(into.getvalue()).decode()}"


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--use", required=True)
    asked, others = parser.parse_known_args(arguments)
    run(partial(build, asked.use), others)


if __name__ == "__main__":
    main(sys.argv[1:])
