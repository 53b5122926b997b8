"""A short game of a built-in environment, to show what one looks like: its best scripted player, in this process."""

import asyncio
import json
import random
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

from backend.environments import Task
from backend.environments.catalog import CATALOG
from backend.environments.players import played, players
from backend.environments.sources import in_process
from backend.errors import OrtamError
from backend.records import EnvironmentSpec, Episode, Policy

SEED = 11


def sample(use: str, options: dict[str, Any] | None = None) -> Episode | None:
    """None for what can't be played without a server, or not with these options."""
    return _sample(use, json.dumps(options or {}, sort_keys=True)) if use in CATALOG else None


@lru_cache(maxsize=64)
def _sample(use: str, options: str) -> Episode | None:
    environment = EnvironmentSpec(id="sample", use=use, options=json.loads(options))
    try:
        source = in_process(environment)
    except OrtamError:
        return None
    if source is None:
        return None
    name, player = next(iter(players(use).items()))
    game = played(player(random.Random(SEED)), source, environment, Task(str(SEED), SEED, environment.options))
    with ThreadPoolExecutor(1) as alone:  # whoever asks may be in a loop already
        play = alone.submit(asyncio.run, game).result()
    if play.fault:
        return None
    return Episode(
        id="sample", phase="play", step=0, group=0, sample=0, environment="sample", task=str(SEED), seed=SEED,
        fingerprint=play.fingerprint, policy=Policy(kind="script", name=name), status=play.status(),
        opening=play.opening or "", start_facts=play.start_facts, facts=play.facts, started=play.started,
        seconds=play.seconds, turns=tuple(play.turns))
