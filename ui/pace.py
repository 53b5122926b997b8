"""How long a run will take: by the run most like it that was done here, its start apart and its steps scaled."""

from typing import Any, NamedTuple

from backend.errors import OrtamError
from backend.records import RunSpec
from backend.store.spent import timing

LOOKED_AT = 20
"""Of the newest runs of the same model in the same environments."""
FEW = 5
"""A run of fewer steps tells its pace only where no longer one does."""


class Pace(NamedTuple):
    run: str
    """Name of the run it is told from."""
    start: float
    """Seconds before the first step."""
    step: float
    """Seconds of one step, as many episodes as are asked for now."""
    episodes: int
    """That the run played in a step."""


def pace(store, spec: RunSpec) -> Pace | None:
    """From the runs that got on, those recorded elsewhere last: of those most alike, the newest."""
    environments, mine = sorted(one.id for one in spec.environments), _settings(spec)
    alike = [run for run in store.runs(spec.model) if run.model == spec.model and not run.match and run.step > 1
             and sorted(run.environments) == environments and run.status in ("running", "finished", "stopped")]
    found: list[tuple[tuple[Any, ...], Pace]] = []
    for place, run in enumerate(alike[:LOOKED_AT]):
        try:
            told = store.run(run.id).spec
            took = timing(store.folder / run.id, run.started)
        except OrtamError:
            continue
        if took is None or _places(told) != _places(spec):
            continue
        unlike = sum(one != other for one, other in zip(_settings(told), mine, strict=True))
        episodes = told.train.episodes_per_step
        scaled = took[1] * spec.train.episodes_per_step / episodes
        found.append(((run.demo, run.step < FEW, unlike, place), Pace(run.name, took[0], scaled, episodes)))
    return min(found)[1] if found else None


def _places(spec: RunSpec) -> list[tuple[str, str]]:
    return sorted((one.id, one.use) for one in spec.environments)


def _settings(spec: RunSpec) -> tuple[Any, ...]:
    """What a step's time hangs on."""
    train, made = spec.train, spec.generation
    return (sorted((one.id, one.weight, one.max_turns, repr(one.options)) for one in spec.environments),
            train.episodes_per_step, train.group_size, train.micro_batch, train.iterations, bool(train.kl),
            train.max_completion_tokens, train.message_cap, made.engine, made.thinking, spec.evaluate, spec.warm_up,
            spec.resources, any(term.judge for term in spec.rewards))
