"""Asking an environment what it is, before it is saved or used: at an address, in a folder, in an image.

Each attempt has a thread of its own, since a Space may sleep and an image may have to be fetched. Who asked comes back
with the same token to see how far it is.
"""

import threading
import time
from dataclasses import dataclass, field

from backend.environments import Description
from backend.environments.sources import check, described, reach, source
from backend.errors import OrtamError, SpecError
from backend.records import EnvironmentSpec

PATIENCE = 60.0
STARTS_FIRST = {"docker:": 1800.0, "folder:": 200.0, "textarena:": 120.0}
"""Prefix -> seconds, for what is started to be asked; an image may have to be fetched. PATIENCE for the rest."""

AT_ONCE, KEPT = 4, 64


def ask(spec: EnvironmentSpec) -> Description:
    """Starts it for a moment where only the running environment can tell. Raises SpecError, EnvironmentFailed."""
    check(spec)
    told = described(spec)
    if told is not None:
        return told
    with reach(spec, 1) as address:
        return source(spec, address).describe()


@dataclass
class Attempt:
    spec: EnvironmentSpec
    began: float = field(default_factory=time.monotonic)
    over: threading.Event = field(default_factory=threading.Event)
    told: Description | None = None
    problem: str = ""
    """A sentence, once it failed."""

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    @property
    def patience(self) -> float:
        return next((most for prefix, most in STARTS_FIRST.items() if self.spec.use.startswith(prefix)), PATIENCE)

    def run(self) -> None:
        try:
            self.told = ask(self.spec)
        except SpecError as error:
            self.problem = error.said
        except OrtamError as error:
            self.problem = str(error)
        except Exception as error:  # what a stranger's server brings about must not end the page
            self.problem = f"It could not be asked: {type(error).__name__}: {error}"
        finally:
            self.over.set()


class Trying:
    def __init__(self) -> None:
        self._attempts: dict[str, Attempt] = {}
        self._lock = threading.Lock()

    def begin(self, token: str, spec: EnvironmentSpec) -> Attempt:
        """Raises OrtamError where too many are under way."""
        with self._lock:
            if sum(not one.over.is_set() for one in self._attempts.values()) >= AT_ONCE:
                raise OrtamError("Other environments are being asked right now; try again in a moment.")
            attempt = self._attempts[token] = Attempt(spec)
            for old in list(self._attempts)[:-KEPT]:
                del self._attempts[old]
        threading.Thread(target=attempt.run, daemon=True).start()
        return attempt

    def look(self, token: str, wait: float = 0.0) -> Attempt | None:
        """After `wait` seconds, or as soon as it is over. An attempt past its patience has a problem; None: no such
        attempt."""
        attempt = self._attempts.get(token)
        if attempt and not attempt.over.wait(wait) and attempt.seconds > attempt.patience:
            late = f"No answer within {attempt.patience:g} s; look whether it is up, and try again."
            return Attempt(attempt.spec, attempt.began, problem=late)
        return attempt
