"""What an OpenEnv server says of itself: GET /schema, /metadata and /openapi.json, and its MCP tools over POST /mcp.

None of it opens a session. /metadata, /state and /mcp make an environment on the server and throw it away, which a
simulator may take long over: they are asked only where their answer is used.
"""

import json
from dataclasses import dataclass, field
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, Request, build_opener

from backend.environments import Tool
from backend.environments.addresses import is_this_machine, secret_headers
from backend.errors import EnvironmentFailed

SECONDS = 10.0
STARTING = (502, 503, 504)


class NotUp(EnvironmentFailed):
    """Its host answers for it: it is starting, or asleep."""


@dataclass(frozen=True)
class Told:
    address: str
    action: dict[str, Any]
    """JSON Schema of its action class."""
    observation: dict[str, Any]
    title: str = ""
    about: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    """JSON Schema of each reset option it names, seed and episode id left out."""
    tools: tuple[Tool, ...] | None = None
    """Its MCP tools; None where it speaks typed actions."""

    def has(self, *fields: str) -> bool:
        """Whether its actions and observations have these fields."""
        known = {*(self.action.get("properties") or {}), *(self.observation.get("properties") or {})}
        return known.issuperset(fields)


def schemas(address: str, seconds: float = SECONDS) -> Told:
    """Its schemas alone. Raises EnvironmentFailed: nothing answers, or no OpenEnv server does."""
    told = get(f"{address}/schema", seconds)
    if not isinstance(told, dict) or not all(isinstance(told.get(part), dict) for part in ("action", "observation")):
        raise EnvironmentFailed(f"{address} answers, but not as an OpenEnv server: its /schema has no action and "
                                "observation; correct the address.")
    return Told(address, told["action"], told["observation"], title=urlsplit(address).netloc)


def asked(told: Told, seconds: float = SECONDS) -> Told:
    """With name, reset options and MCP tools."""
    about = _try(f"{told.address}/metadata", seconds)
    api = _try(f"{told.address}/openapi.json", seconds)
    reset = ((api.get("components") or {}).get("schemas") or {}).get("ResetRequest") or {}
    options = {name: schema for name, schema in (reset.get("properties") or {}).items()
               if name not in ("seed", "episode_id")}
    title = str(about.get("name") or told.title)
    said = str(about.get("description") or "").strip()
    return Told(told.address, told.action, told.observation, title[:80],
                "" if said == f"{title} environment" else said[:2000], options,
                _mcp_tools(told, seconds) if _speaks_mcp(told.action) else None)


def state(address: str, seconds: float = SECONDS) -> dict[str, Any]:
    """Of an environment not yet reset: what a server was started with often stands there. {} where it doesn't tell."""
    return _try(f"{address}/state", seconds)


def healthy(address: str, seconds: float = SECONDS) -> None:
    """Raises EnvironmentFailed where nothing answers."""
    get(f"{address}/health", seconds)


def get(url: str, seconds: float, body: Any = None) -> Any:
    """The JSON at `url`. Raises EnvironmentFailed in words."""
    place = url.rsplit("/", 1)[0]
    request = Request(url, data=None if body is None else json.dumps(body).encode(),
                      headers={"Content-Type": "application/json", "Accept": "application/json"})
    for name, secret in secret_headers(url).items():
        request.add_unredirected_header(name, secret)
    opener = build_opener(ProxyHandler({})) if is_this_machine(url) else build_opener()
    try:
        with opener.open(request, timeout=seconds) as answer:
            return json.loads(answer.read())
    except HTTPError as error:
        failed = NotUp if error.code in STARTING else EnvironmentFailed
        raise failed(f"{place} {_meaning(error.code)} (HTTP {error.code}).") from error
    except (URLError, OSError) as error:
        cause = getattr(error, "reason", None) or error
        raise EnvironmentFailed(f"Nothing answers at {place} ({cause}); start the server or correct the "
                                "address.") from error
    except ValueError as error:
        raise EnvironmentFailed(f"{place} answers with something that isn't JSON; is it an OpenEnv server?") from error


def _meaning(code: int) -> str:
    if code in (401, 403):
        return ("refuses access: for a private Space of yours set HF_TOKEN, and its owner/name in ORTAM_PRIVATE_SPACES, in "
                "the environment this was started from")
    if code == 404:
        return "answers, but not as an OpenEnv server; correct the address"
    if code in STARTING:
        return "isn't up yet: wait for it, or wake a sleeping Space by opening its page"
    return "answers with an error; its log says why"


def _try(url: str, seconds: float) -> dict[str, Any]:
    try:
        told = get(url, seconds)
    except EnvironmentFailed:
        return {}
    return told if isinstance(told, dict) else {}


def _speaks_mcp(action: dict[str, Any]) -> bool:
    fields = action.get("properties") or {}
    generic = action.get("title") == "Action" and not set(fields) - {"metadata"}
    return generic or {"tool_name", "arguments"} <= fields.keys()


def _mcp_tools(told: Told, seconds: float) -> tuple[Tool, ...]:
    answer = get(f"{told.address}/mcp", seconds, {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})
    try:
        listed = answer["result"]["tools"]
        return tuple(Tool(str(one["name"]), str(one.get("description") or ""), one.get("inputSchema")
                          or one.get("input_schema") or {"type": "object", "properties": {}}) for one in listed)
    except (KeyError, TypeError, AttributeError) as error:
        raise EnvironmentFailed(f"{told.address} speaks MCP but lists no tools: {str(answer)[:300]}") from error
