"""OpenEnv servers that a preflight has to see through, made with openenv itself.

`python -m tests.odd_servers --port 0 --sessions 8` serves them all, each under a path of its own.
"""

import random
import time
from typing import Literal

from backend.environments.servers import run


def build(sessions: int):
    from fastapi import FastAPI
    from openenv.core.env_server import Action, Environment, Observation, State, create_app
    from pydantic import Field

    class Turn(Action):
        way: Literal["left", "right"] = Field(description="Where to turn.")

    class Seen(Observation):
        text: str = ""
        place: int = Field(0, description="where one stands")
        steps: int = Field(0, description="turns so far")

    class Walk(Environment):
        """Turns left and right, and ends after six of them."""

        SUPPORTS_CONCURRENT_SESSIONS = True

        def __init__(self):
            super().__init__()
            self._state, self.steps, self.place = State(), 0, 0

        def start(self, seed) -> int:
            return random.Random(seed).randrange(1000)

        def reset(self, seed=None):
            self.place, self.steps = self.start(seed), 0
            return self.seen()

        def step(self, action, timeout_s=None, **_):
            self.steps += 1
            self.place += 1 if action.way == "right" else -1
            return self.seen()

        def seen(self):
            return Seen(text=self.opening(), place=self.place, steps=self.steps, reward=float(self.place % 2),
                        done=self.steps >= 6)

        def opening(self) -> str:
            return f"place {self.place} after {self.steps}"

        @property
        def state(self):
            return self._state

    class DropsSeed(Walk):
        def start(self, seed) -> int:
            return random.randrange(10**9)

    class HidesSeed(DropsSeed):
        """Opens alike whatever it drew."""

        def seen(self):
            return super().seen().model_copy(update={} if self.steps else {"place": 0, "reward": None})

        def opening(self) -> str:
            return super().opening() if self.steps else "Go."

    class Leaks(Walk):
        """Counts on from the episode before."""

        left_over = 0

        def reset(self, seed=None):
            self.place, self.steps = self.start(seed), 0
            return self.seen().model_copy(update={"steps": Leaks.left_over})

        def step(self, action, timeout_s=None, **more):
            Leaks.left_over = 1
            return super().step(action, timeout_s, **more)

    class Shared(Walk):
        """One board for everybody."""

        board = 0

        def reset(self, seed=None):
            seen = super().reset(seed)
            Shared.board = self.place
            return seen

        def step(self, action, timeout_s=None, **_):
            self.steps += 1
            Shared.board += 1 if action.way == "right" else -1
            self.place = Shared.board
            return self.seen()

    class Breaks(Walk):
        def reset(self, seed=None):
            raise RuntimeError("no map")

    class Stuck(Walk):
        """Never comes to an end with the second move."""

        def step(self, action, timeout_s=None, **more):
            if self.steps:
                time.sleep(3600)
            return super().step(action, timeout_s, **more)

    class Alike(Walk):
        def start(self, seed) -> int:
            return 7

    whole = FastAPI()
    whole.get("/health")(lambda: {"status": "healthy"})
    for kind, held in ((Walk, sessions), (DropsSeed, sessions), (HidesSeed, sessions), (Leaks, sessions),
                       (Shared, sessions), (Breaks, sessions), (Alike, sessions), (Stuck, sessions),
                       (type("One", (Walk,), {}), 1), (type("Small", (Walk,), {}), 3)):
        name = kind.__name__.lower()
        whole.mount(f"/{name}", create_app(kind, Turn, Seen, env_name=name, max_concurrent_envs=held))
    return whole


if __name__ == "__main__":
    run(build)
