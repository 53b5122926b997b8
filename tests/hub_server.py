"""A Hub for tests: the few routes that a dataset repository needs, over a real socket, kept in memory."""

import base64
import contextlib
import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

TOKEN = "hf_" + "x" * 24
SHA = "a" * 40


class Hub:
    """`files` by name, of one repository; `asked` is every request; `private` as it was made."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.sizes: dict[str, int] = {}
        """Sizes that are told instead of the real ones."""
        self.asked: list[str] = []
        self.private: bool | None = None
        self.url = ""


@contextlib.contextmanager
def serving(hub: Hub):
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(hub))
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def _handler(hub: Hub):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def answer(self, value, status=200, headers=()):
            body = value if isinstance(value, bytes) else json.dumps(value).encode()
            self.send_response(status)
            for name, told in (("Content-Length", str(len(body))), *headers):
                self.send_header(name, told)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def body(self) -> bytes:
            return self.rfile.read(int(self.headers.get("content-length") or 0))

        def do_POST(self):
            body, path = self.body(), urlsplit(self.path).path
            hub.asked.append(f"POST {path}")
            if self.headers.get("authorization") != f"Bearer {TOKEN}":
                return self.answer({"error": "no"}, 401)
            if path == "/api/repos/create":
                told = json.loads(body)
                hub.private = told.get("private", told.get("visibility") == "private")
                return self.answer({"url": f"{hub.url}/datasets/o/n", "name": "o/n", "id": "1"})
            if path == "/api/validate-yaml":
                return self.answer({"errors": [], "warnings": []})
            if path.endswith("/preupload/main"):
                return self.answer({"files": [{"path": file["path"], "uploadMode": "regular", "shouldIgnore": False}
                                              for file in json.loads(body)["files"]]})
            if path.endswith("/commit/main"):
                for line in body.splitlines():
                    told = json.loads(line)
                    if told["key"] == "file":
                        hub.files[told["value"]["path"]] = base64.b64decode(told["value"]["content"])
                return self.answer({"success": True, "commitOid": SHA, "commitUrl": f"{hub.url}/datasets/o/n/commit/{SHA}"})
            self.answer({}, 404)

        def do_GET(self):
            path = unquote(urlsplit(self.path).path)
            hub.asked.append(f"{self.command} {path}")
            if path == "/api/whoami-v2":
                return self.answer({"name": "o", "type": "user", "orgs": [], "auth": {"type": "access_token"}})
            if path.startswith("/api/datasets/o/n/tree/"):
                return self.answer([{"type": "file", "path": name, "size": len(body), "oid": _etag(body)}
                                    for name, body in hub.files.items()])
            if path.startswith("/api/datasets/o/n"):
                return self.answer({"id": "o/n", "sha": SHA, "private": True, "downloads": 0, "likes": 0, "tags": [],
                                    "siblings": [{"rfilename": name, "size": hub.sizes.get(name, len(body))}
                                                 for name, body in hub.files.items()]})
            name = path.partition(f"/datasets/o/n/resolve/{SHA}/")[2]
            if name in hub.files:
                return self.answer(hub.files[name], 200, (("ETag", f'"{_etag(hub.files[name])}"'), ("X-Repo-Commit", SHA)))
            self.answer({"error": "gone"}, 404, (("X-Error-Code", "RepoNotFound"),))

        do_HEAD = do_GET

    return Handler


def _etag(body: bytes) -> str:
    return hashlib.sha1(body).hexdigest()
