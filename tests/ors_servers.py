"""Open Reward Standard servers for tests, over real sockets: the SDK's own, and one that answers word for word."""

import asyncio
import json
import socket
import threading
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import uvicorn
from openreward.environments import (
    Environment,
    ImageBlock,
    ListToolsOutput,
    TextBlock,
    ToolOutput,
    ToolSpec,
    tool,
)
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route


@cache
def loop() -> asyncio.AbstractEventLoop:
    """Where the servers of this process run: the SDK's streams of events can't be sent from two loops."""
    made = asyncio.new_event_loop()
    threading.Thread(target=made.run_forever, daemon=True).start()
    return made


@contextmanager
def serving(app) -> Iterator[str]:
    """Its URL, from the first connection it takes to the last."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    ready = threading.Event()

    class Announced(uvicorn.Server):
        async def startup(self, sockets=None):
            await super().startup(sockets)
            ready.set()

    server = Announced(uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1))
    ended = asyncio.run_coroutine_threadsafe(server.serve(sockets=[listening]), loop())
    assert ready.wait(30)
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        ended.result(10)


class Heard:
    """Around an application: the requests it was sent, and the sessions they spoke of."""

    def __init__(self, app):
        self.app = app
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.pinged = threading.Event()

    async def __call__(self, scope, receive, send):
        if scope["type"] == "http":
            headers = {name.decode(): value.decode() for name, value in scope["headers"]}
            self.requests.append((scope["path"], headers))

            async def noted(message):
                if scope["path"] == "/ping" and message["type"] == "http.response.start" and message["status"] == 200:
                    self.pinged.set()
                await send(message)

            await self.app(scope, receive, noted)
        else:
            await self.app(scope, receive, send)

    def paths(self) -> Counter:
        return Counter(path for path, _ in self.requests)


class Text(BaseModel):
    text: str


class Search(BaseModel):
    q: str
    limit: int = 3
    tag: str | None = None


class Odd(Environment):
    """Tasks with names that others use too, and tools that answer in every way there is."""

    DATA = [{"task_spec": f"spec {n}", "index": n * 10, "prompt": "own prompt", "split": "own", "environment": "own",
             "seed": n, "turns": 7, "exact-match": True, "nested": {"a": 1}, "long": "x" * 1000} for n in range(200)]
    fetched: list[Any] = []
    built: list[dict[str, str]] = []

    @classmethod
    def list_splits(cls):
        return ["hard", "train"]

    @classmethod
    def list_tasks(cls, split):
        cls.fetched.append(("all", split))
        return cls.DATA if split == "train" else []

    @classmethod
    async def num_tasks(cls, split):
        return 200 if split == "train" else 0

    @classmethod
    async def get_task(cls, split, index):
        cls.fetched.append(index)
        return cls.DATA[index]

    @classmethod
    async def get_task_range(cls, split, start=None, stop=None):
        cls.fetched.append((start, stop))
        return cls.DATA[start:stop]

    def __init__(self, task_spec={}, secrets={}):  # noqa: B006 - as the SDK has it
        super().__init__(task_spec, secrets)
        self.secrets = secrets
        self.built.append(dict(secrets))

    def get_prompt(self):
        return [TextBlock(text=f"Do {self.task_spec['task_spec']}."), ImageBlock(data="aGk=", mimeType="image/png")]

    @tool
    async def search(self, asked: Search) -> ToolOutput:
        """Search."""
        return ToolOutput(blocks=[TextBlock(text=json.dumps(asked.model_dump(exclude_unset=True)))])

    @tool
    async def say(self, said: Text) -> ToolOutput:
        """Say it back."""
        return ToolOutput(blocks=[TextBlock(text=said.text)], metadata={"length": len(said.text), "is-long": False,
                                                                        "turns": 99, "list": [1], "mood": "calm"})

    @tool
    async def boom(self) -> ToolOutput:
        """Fail."""
        raise RuntimeError(f"could not log in with {self.secrets.get('ODD_TOKEN', 'nothing')} at /srv/private")


class Alone(Environment):
    """The only one on its server; a few tasks in one split, the odd ones with a tool that the others don't have."""

    @classmethod
    def list_splits(cls):
        return ["all"]

    @classmethod
    def list_tasks(cls, split):
        return [{"name": f"task {n}", "odd": n % 2 == 1} for n in range(6)]

    def get_prompt(self):
        return [TextBlock(text="Press it.")]

    def list_task_tools(self):
        schema = {"type": "object", "properties": {"hard": {"type": "boolean"}}}
        return ListToolsOutput(tools=[ToolSpec(name="press-odd", description="Press.", input_schema=schema)]
                               if self.task_spec["odd"] else [])

    @tool
    async def press(self) -> ToolOutput:
        """Press it."""
        return ToolOutput(blocks=[TextBlock(text="pressed")], reward=1.0, finished=True)


@dataclass
class WordForWord:
    """A server that isn't the SDK's: its tools are one answer, and its calls are answered by a list, one after another.

    An answer is a JSON object, or bytes that are sent as they are before the connection is cut.
    """

    tools: dict[str, Any]
    answers: list[Any] = field(default_factory=list)
    calls: list[dict[str, Any]] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)
    ends_session_after: int | None = None

    def app(self) -> Starlette:
        def fixed(value):
            async def answer(request: Request):
                return JSONResponse(value)

            return answer

        async def task_range(request: Request):
            asked = await request.json()
            return JSONResponse({"tasks": [{"n": n} for n in range(asked["start"], asked["stop"])], "env_name": "said"})

        return Starlette(routes=[
            Route("/list_environments", fixed(["said"])),
            Route("/create_session", self._create_session, methods=["POST"]),
            Route("/create", fixed({"sid": "s"}), methods=["POST"]),
            Route("/delete", fixed({}), methods=["POST"]),
            Route("/delete_session", fixed({}), methods=["POST"]),
            Route("/ping", fixed({}), methods=["POST"]),
            Route("/said/splits", fixed([{"name": "train", "type": "train"}])),
            Route("/said/num_tasks", fixed({"num_tasks": 4}), methods=["POST"]),
            Route("/said/task", fixed({"task": {"n": 0}, "env_name": "said"}), methods=["POST"]),
            Route("/said/task_range", task_range, methods=["POST"]),
            Route("/said/tools", fixed(self.tools)),
            Route("/said/task_tools", fixed(self.tools)),
            Route("/said/prompt", fixed([{"type": "text", "text": "Go.", "detail": None}])),
            Route("/said/call", self._call, methods=["POST"]),
        ])

    async def _create_session(self, request: Request) -> Response:
        self.sessions.append(uuid.uuid4().hex)
        return events(("task_id", self.sessions[-1]), ("end", ""))

    async def _call(self, request: Request) -> Response:
        self.calls.append(await request.json())
        if self.ends_session_after is not None and len(self.calls) > self.ends_session_after:
            return JSONResponse({"detail": "Active environment not found"}, status_code=404)
        answer = self.answers.pop(0)
        if isinstance(answer, bytes):
            return CutShort(answer)
        return events(("task_id", "t"), ("end", json.dumps(answer)))


class CutShort(Response):
    """Promises more than it sends, so the connection ends in the middle."""

    media_type = "text/event-stream"

    async def __call__(self, scope, receive, send):
        headers = [(b"content-type", b"text/event-stream"), (b"content-length", b"999999")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": self.body, "more_body": True})
        raise ConnectionError("cut")


def events(*told: tuple[str, str]) -> Response:
    lines = "".join(f"event: {event}\ndata: {data}\n\n" for event, data in told)
    return Response(lines, media_type="text/event-stream")
