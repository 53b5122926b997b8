"""The games themselves, without a server: what the built-in servers run and what warm-up plays by the thousand.

A game has `reset(seed) -> observation` and `step(**action) -> observation`; an observation is the dict that travels
over the socket: `text` for the model, `reward`, `done`, the game's facts and, after reset, `metadata.fingerprint`. All
texts come from here, so a game played in this process reads byte for byte like one played over a socket.
"""

import hashlib


class GameOver(Exception):
    """A move where none is possible: before reset or after the end."""


def fingerprint(*what: object) -> str:
    """Names the task that is really played, equal for equal tasks, without spelling it out."""
    return hashlib.sha256("/".join(map(str, what)).encode()).hexdigest()[:12]
