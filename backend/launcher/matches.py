"""Matches: what has to be known before one starts, and the spec of one.

    settled(store, spec)    the match as it is kept: whole run ids, the day and its seed. Raises what keeps it from working
    fork(launcher, ...)     goes on from a turn of a stored episode with one player; gives the new run's id
"""

import hashlib
import time
from datetime import UTC, date, datetime
from pathlib import Path

from backend.environments.players import players
from backend.environments.sources import check
from backend.errors import ModelError, OrtamError, SpecError
from backend.executors import executor
from backend.launcher.models import check_model, is_folder, refuse_unloadable
from backend.records import (
    CheckpointPlayer,
    EnvironmentSpec,
    Fork,
    GenerationSettings,
    Match,
    ModelPlayer,
    PlayerSpec,
    Resources,
    RewardTerm,
    RunSpec,
    ScriptPlayer,
    TaskSelection,
    TrainSettings,
)
from backend.rewards import applying
from backend.store import Run, Store

LISTS_TASKS = ("ors+", "ors:")
"""Environments whose tasks stand in a list, instead of being made from any seed."""

ROOM = 1_000_000
"""Seeds left above a day's first one."""


def today() -> str:
    """In UTC, as YYYY-MM-DD."""
    return datetime.fromtimestamp(time.time(), UTC).date().isoformat()


def daily_seed(day: str) -> int:
    """The first seed of a UTC day, the same everywhere. Raises SpecError for what is no date."""
    try:
        date.fromisoformat(day)
    except ValueError:
        raise SpecError("match.daily", f"{day} is no date; write today, or a day such as 2026-05-31") from None
    return int.from_bytes(hashlib.sha256(f"ortam {day}".encode()).digest()[:8], "big") % (2**31 - ROOM)


def spec_of(name: str, environment: EnvironmentSpec, match: Match, *, rewards: tuple[RewardTerm, ...] = (),
            tokens: int = 4096, thinking: bool = False, gpus: int = 0) -> RunSpec:
    """`tokens`: what a model may write in one game, tool results included."""
    budget = TrainSettings(steps=1, group_size=2, episodes_per_step=2, max_completion_tokens=tokens)
    return RunSpec(name=name, environments=(environment.model_copy(update={"weight": 1.0}),), match=match, rewards=rewards,
                   train=budget, generation=GenerationSettings(thinking=thinking), resources=Resources(gpus=gpus))


def gpus_for(match: Match) -> int:
    """1 where a model plays here and there is one."""
    models = any(isinstance(player, ModelPlayer | CheckpointPlayer) for player in match.players)
    return min(1, len(executor("local").gpus())) if models else 0


def fork(launcher, run: str, episode: str, turn: int, player: PlayerSpec) -> str:
    """Launches a match in which `player` goes on from turn `turn` of a stored episode (0: from its start); its id.

    It has the environment, reward terms and token budget of that episode's run. Raises OrtamError: among others where the
    episode isn't there. Where the environment doesn't repeat, the match itself ends as failed and says what differed.
    """
    there = launcher.store.run(run)
    spec, parent = there.spec, there.episode(episode)
    asked = _environment(spec, parent.environment)
    gpus = 0 if isinstance(player, ScriptPlayer) else min(1, spec.resources.gpus)
    made = spec_of("fork", asked, Match(players=(player,), fork=Fork(run=there.id, episode=parent.id, turn=turn)),
                   rewards=applying(spec.rewards, asked.id), tokens=spec.train.max_completion_tokens,
                   thinking=spec.generation.thinking, gpus=gpus)
    return launcher.launch(made)


def settled(store: Store, spec: RunSpec) -> RunSpec:
    """Raises SpecError, ModelError, RunNotFound, EpisodeNotFound."""
    match = spec.match
    assert match is not None
    asked = spec.environments[0]
    played = tuple(_settled(store, asked.use, place, player) for place, player in enumerate(match.players))
    changes: dict = {"players": played}
    if match.daily:
        if asked.use.startswith(LISTS_TASKS) or asked.tasks.indices is not None:
            raise SpecError("match.daily", f"the tasks of {asked.use:.60} stand in a list, so no seed chooses them; leave "
                                           "daily out and name the tasks")
        day = today() if match.daily == "today" else match.daily
        changes["daily"] = day
        tasks = asked.tasks.model_copy(update={"first_seed": daily_seed(day)})
        asked = asked.model_copy(update={"tasks": tasks})
    if match.fork:
        changes["fork"] = _settled_fork(store, asked, match.fork)
        asked = asked.model_copy(update={"tasks": TaskSelection(count=1)})
    return spec.model_copy(update={"match": match.model_copy(update=changes), "environments": (asked,)})


def checkpoints(run: Run) -> list[str]:
    """Names of what a run saved that can play, the first saved first."""
    folders = [path.parent for path in (run.path / "checkpoints").glob("*/config.json")]
    return [folder.name for folder in sorted(folders, key=lambda folder: (folder / "config.json").stat().st_mtime)]


def playable(run: Run) -> tuple[EnvironmentSpec, ...]:
    """Its environments that a match can be played in: an import's say where its episodes came from, and are nothing to start.
    No server is asked. Raises OrtamError where the run's spec can't be read."""
    def starts(asked: EnvironmentSpec) -> bool:
        try:
            check(asked)
            return True
        except OrtamError:
            return False

    return tuple(filter(starts, run.spec.environments))


def _settled(store: Store, use: str, place: int, player: PlayerSpec) -> PlayerSpec:
    where = f"match.players.{place}"
    if isinstance(player, ScriptPlayer):
        if player.name not in (known := players(use)):
            raise SpecError(f"{where}.name", f"there is no player {player.name!r:.60} for {use:.60}; use "
                                             f"{' or '.join(known)}")
    elif isinstance(player, ModelPlayer):
        try:
            check_model(player.model)
        except ModelError as error:
            raise ModelError(f"{where}.{error}") from None
        if is_folder(player.model):
            return player.model_copy(update={"model": str(Path(player.model).expanduser().resolve())})
    elif isinstance(player, CheckpointPlayer):
        try:
            run = store.run(player.run)
            _check_checkpoint(run, player.checkpoint)
        except OrtamError as error:
            raise SpecError(where, str(error)) from None
        return player.model_copy(update={"run": run.id})
    return player


def _check_checkpoint(run: Run, name: str) -> None:
    folder = run.path / "checkpoints" / name
    if not folder.is_dir():
        there = checkpoints(run)
        hint = f"it has {' and '.join(there)}" if there else \
            "a demo ships without its models; train it yourself to play against it" if run.demo else \
            "it saved none; only a run that trained has one"
        raise ModelError(f"the run {run.id} has no checkpoint {name} in its folder: {hint}")
    refuse_unloadable(folder)


def _settled_fork(store: Store, asked: EnvironmentSpec, fork: Fork) -> Fork:
    run = store.run(fork.run)
    episode = run.episode(fork.episode)
    parent = _environment(run.spec, episode.environment)
    if (parent.use, parent.options) != (asked.use, asked.options):
        raise SpecError("match.fork", f"the episode {fork.episode} was played in {parent.use:.60}, and this match plays "
                                      f"{asked.use:.60}; name the episode's environment, with its options")
    if fork.turn > len(episode.turns):
        raise SpecError("match.fork.turn", f"the episode has {len(episode.turns)} turns, so it can't go on after turn "
                                           f"{fork.turn}")
    return fork.model_copy(update={"run": run.id})


def _environment(spec: RunSpec, id: str) -> EnvironmentSpec:
    found = next((asked for asked in spec.environments if asked.id == id), None)
    if found is None:
        raise SpecError("match.fork", f"its run doesn't say what {id!r:.60} is, so it can't be played again")
    return found
