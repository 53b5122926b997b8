"""Addresses of servers elsewhere: what is well written, which are on this machine, and which are shown a secret."""

import ipaddress
import os
from contextlib import suppress
from urllib.parse import urlsplit

from backend.errors import SpecError


def checked(written: str, example: str) -> str:
    """`written` as an http address without a slash at its end. Raises SpecError (field `use`)."""
    parts = urlsplit(written)
    try:
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        good = False
    if not good:
        raise SpecError("use", f"{written!r:.120} isn't an address; write one such as {example}")
    if parts.username or parts.password:
        raise SpecError("use", "an address must not hold a password, since it is kept with the run; leave it out")
    if parts.query or parts.fragment:
        raise SpecError("use", f"the address {written!r:.120} has a part behind ? or #; leave that out")
    return written.rstrip("/")


def is_this_machine(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def secret_headers(url: str) -> dict[str, str]:
    """A private Space asks for the token of the Hub; nobody else is shown it."""
    parts = urlsplit(url)
    token = os.environ.get("HF_TOKEN")
    if token and parts.scheme in ("https", "wss") and (parts.hostname or "").endswith(".hf.space"):
        return {"Authorization": f"Bearer {token}"}
    return {}
