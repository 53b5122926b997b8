"""An endpoint that speaks OpenAI's chat completions over a real socket, as a stranger's server would: it plays Catch from
what it is told, or misbehaves in a chosen way."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Chat:
    def __init__(self, way: str = "plays"):
        self.way = way
        self.asked: list[dict] = []
        self.keys: list[str | None] = []
        self.url = ""
        self.gate = threading.Event()
        """Where it is held, it answers once this is open."""
        self.first = threading.Event()
        """Then it has been asked."""
        self.count = 10**30
        """Tokens it says it wrote, where its counts are odd."""


@contextmanager
def chat(way: str = "plays") -> Iterator[Chat]:
    told = Chat(way)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            told.asked.append(body)
            told.keys.append(self.headers.get("Authorization"))
            status, answer = answered(told, body, self.path)
            sent = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            with suppress(BrokenPipeError):  # who asked has gone
                self.wfile.write(sent)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    told.url = f"http://127.0.0.1:{server.server_port}/v1"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield told
    finally:
        told.gate.set()
        server.shutdown()
        server.server_close()


def answered(told: Chat, body: dict, path: str) -> tuple[int, dict | bytes]:
    if path != "/v1/chat/completions":
        return 404, {"error": "no such path"}
    match told.way:
        case "refuses":
            return 401, {"error": f"bad key {told.keys[-1]}"}
        case "not json":
            return 200, b"<html>busy</html>"
        case "held":
            told.first.set()
            told.gate.wait()
        case "odd settings" if "max_tokens" in body:
            return 400, {"error": {"message": "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."}}
        case "odd settings" if "temperature" in body:
            return 400, {"error": {"message": "'temperature' does not support 0 with this model."}}
        case "busy at first" if len(told.asked) == 1:
            return 503, {"error": "loading"}
        case "words":
            return 200, completion("I would rather not.", [])
        case "odd count":
            return 200, {**completion("", [next_move(body)]), "usage": {"completion_tokens": told.count}}
        case "calls that are none":
            return 200, {"choices": [{"message": {"content": "so be it", "tool_calls": 5}}]}
        case "half a sign":
            half = completion("", [next_move(body)], reasoning="\ud800")
            half["choices"][0]["message"].update(content="half a sign: \ud800")
            return 200, half
        case "too long":
            return 200, b" " * 17_000_000
        case "calls without end":
            return 200, completion("", [("stay", "{}") for _ in range(500)])
        case "bad arguments":
            return 200, completion("", [("move", '{"direction": ')])
    return 200, completion("", [next_move(body)], reasoning="go under it")


def next_move(body: dict) -> tuple[str, str]:
    """Under the ball, by the last "ball ROW COLUMN paddle COLUMN" it was told."""
    said = [message["content"] for message in body["messages"] if message["role"] in ("user", "tool")]
    ball, paddle = map(int, re.findall(r"ball \d+ (\d+) paddle (\d+)", " ".join(said))[-1])
    if ball == paddle:
        return "stay", "{}"
    return "move", json.dumps({"direction": "right" if ball > paddle else "left"})


def completion(content: str, calls: list[tuple[str, str]], reasoning: str = "") -> dict:
    message = {"role": "assistant", "content": content or None}
    if reasoning:
        message["reasoning_content"] = reasoning
    if calls:
        message["tool_calls"] = [{"id": f"call_{place}", "type": "function", "function": {"name": name, "arguments": arguments}}
                                 for place, (name, arguments) in enumerate(calls)]
    return {"id": "x", "object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason":
            "tool_calls" if calls else "stop"}], "usage": {"prompt_tokens": 10, "completion_tokens": 7, "total_tokens": 17}}
