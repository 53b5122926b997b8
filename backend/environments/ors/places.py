"""How `ors+https://…#env` and `ors:Org/Name` are written, and what of it stays secret."""

import os
import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

from backend.environments.addresses import checked
from backend.errors import SpecError
from backend.records import EnvironmentSpec

SERVER, CATALOG = "ors+", "ors:"
"""How `use:` begins for any server by its URL, and for a name of the OpenReward catalog."""

SESSIONS_URL, API_URL = "https://sessions.openreward.ai", "https://api.openreward.ai"
KEY = "OPENREWARD_API_KEY"
OPTIONS = {
    "facts": "names of numbers, truth values or texts in the metadata of its answers that reward terms may use",
    "secrets": "names of environment variables whose values its tools need",
    "api_key_variable": "name of the environment variable with the server's API key, where it asks for one",
}


@dataclass(frozen=True)
class Place:
    url: str
    """Where sessions are played. On a server of one's own that is its only address."""
    name: str
    """How messages call it: the URL, or Org/Name."""
    environment: str | None
    """Which of those on the server; None for its only or its first one."""
    api_url: str | None = None
    """The catalog's second address."""
    key: str | None = field(default=None, repr=False)
    secrets: dict[str, str] = field(default_factory=dict, repr=False)
    facts: tuple[str, ...] = ()

    @property
    def of_catalog(self) -> bool:
        return self.api_url is not None

    def hide(self, text: str) -> str:
        """`text` without the secrets that were sent there: its errors may repeat them."""
        for value in (self.key, *self.secrets.values()):
            if value:
                text = text.replace(value, "***")
        return text


def place_of(spec: EnvironmentSpec) -> Place:
    """Asks nobody but the process's environment. SpecError (`use`, `options`) for what is written wrong or not set."""
    facts, secrets, key_variable = _options(spec.options)
    sent = {name: _value(name, "options.secrets", f"{spec.use} needs it") for name in secrets}
    if spec.use.startswith(CATALOG):
        name, _, environment = spec.use.removeprefix(CATALOG).partition("#")
        if not re.fullmatch(r"[^/\s]+/[^/\s]+", name):
            raise SpecError("use", f"{spec.use!r:.100} names no catalog environment; write ors:Org/Name")
        key = _value(key_variable or KEY, "use", f"{CATALOG}{name} is played at openreward.ai")
        return Place(SESSIONS_URL, name, environment or None, API_URL, key, sent, facts)
    url, chosen = _address(spec.use)
    own_key = _value(key_variable, "options.api_key_variable", f"{url} needs it") if key_variable else None
    return Place(url, url, chosen, None, own_key, sent, facts)


def _address(use: str) -> tuple[str, str | None]:
    written, _, environment = use.removeprefix(SERVER).partition("#")
    url = checked(written, "ors+https://example.com or ors+http://127.0.0.1:8000#environment")
    if path := urlsplit(url).path:
        raise SpecError("use", f"the standard puts a server at the root of its host, so {path!r:.80} can't follow; "
                               f"write ors+{url.removesuffix(path)}#environment")
    return url, unquote(environment) or None


def _options(options: dict[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...], str | None]:
    if unknown := sorted(options.keys() - OPTIONS.keys()):
        raise SpecError("options", f"there is no option {unknown[0]!r:.60}; use {', '.join(OPTIONS)}")
    listed = {name: options.get(name, []) for name in ("facts", "secrets")}
    for name, value in listed.items():
        if not isinstance(value, (list, tuple)) or not all(isinstance(one, str) for one in value):
            raise SpecError(f"options.{name}", f"must be a list: {OPTIONS[name]}")
    variable = options.get("api_key_variable")
    if variable is not None and not isinstance(variable, str):
        raise SpecError("options.api_key_variable", f"must be the {OPTIONS['api_key_variable']}")
    return tuple(listed["facts"]), tuple(listed["secrets"]), variable


def _value(variable: str, field: str, why: str) -> str:
    if value := os.environ.get(variable, ""):
        return value
    raise SpecError(field, f"{why}, and {variable} isn't set; set it as an environment variable before starting Ortam")
