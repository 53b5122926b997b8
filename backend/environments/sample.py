"""A short game of a built-in environment, to show what one looks like: its best scripted player, in this process."""

import asyncio
import random
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

from backend.environments import Task
from backend.environments.catalog import CATALOG
from backend.environments.players import played, players
from backend.environments.sources import in_process
from backend.records import EnvironmentSpec, Episode, Policy

SEED = 11


@lru_cache(maxsize=64)
def sample(use: str) -> Episode | None:
    """None for what can't be played without a server."""
    if use not in CATALOG:
        return None
    environment = EnvironmentSpec(id="sample", use=use)
    source = in_process(environment)
    if source is None:
        return None
    name, player = next(iter(players(use).items()))
    game = played(player(random.Random(SEED)), source, environment, Task(str(SEED), SEED))
    with ThreadPoolExecutor(1) as alone:  # whoever asks may be in a loop already
        play = alone.submit(asyncio.run, game).result()
    if play.fault:
        return None
    return Episode(
        id="sample", phase="play", step=0, group=0, sample=0, environment="sample", task=str(SEED), seed=SEED,
        fingerprint=play.fingerprint, policy=Policy(kind="script", name=name), status=play.status(),
        opening=play.opening or "", start_facts=play.start_facts, facts=play.facts, started=play.started,
        seconds=play.seconds, turns=tuple(play.turns))
