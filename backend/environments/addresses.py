"""Addresses of servers elsewhere: what is well written, which are on this machine, and which are shown a secret."""

import ipaddress
import os
import re
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
    """The Hub's token for one's own private Spaces, which are named in ORTAM_PRIVATE_SPACES: `owner/name`, with spaces
    or commas between. A Space gets the headers it is asked with, so no other is ever shown the token."""
    token, parts = os.environ.get("HF_TOKEN"), urlsplit(url)
    mine = {host_of_space(name) for name in re.split(r"[\s,]+", os.environ.get("ORTAM_PRIVATE_SPACES", "")) if name}
    if token and parts.scheme in ("https", "wss") and parts.hostname in mine:
        return {"Authorization": f"Bearer {token}"}
    return {}


def host_of_space(name: str) -> str:
    """`owner/name` -> its host: lower case, and a dash for all that a host name can't hold."""
    return f"{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-')}.hf.space"
