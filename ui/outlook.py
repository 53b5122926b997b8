"""What a spec will do, in words and dots, before anything is spent, and how long it will take by a run like it."""

from typing import Any, NamedTuple

from backend.environments.catalog import CATALOG
from backend.errors import OrtamError
from backend.launcher import default_terms
from backend.records import RunSpec
from backend.store.spent import timing
from ui import shell
from ui.written import counted, number, text

MOST_GROUPS, MOST_DOTS = 16, 256
"""A step larger than this is told in words only."""
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


def outlook(spec: RunSpec, before: Pace | None = None) -> str:
    """`before`: of an earlier run like this one."""
    train = spec.train
    groups = train.episodes_per_step // train.group_size
    total = train.steps * train.episodes_per_step
    stats = "".join(f'<div><b class="o-stat">{value:,}</b><span>{name}</span></div>' for value, name in (
        (train.steps, "step" if train.steps == 1 else "steps"), (train.episodes_per_step, "episodes a step"),
        (total, "episodes, all kept")))
    told = (*steps(spec, groups), *around(spec), *wait(train.steps, train.episodes_per_step, before))
    lines = "".join(f"<li>{line}</li>" for line in told)
    return f'<div class="o-stats">{stats}</div>{dots(groups, train.group_size)}<ul class="o-outlook">{lines}</ul>'


def dots(groups: int, size: int) -> str:
    """One line of dots a group, one dot an episode."""
    if groups > MOST_GROUPS or groups * size > MOST_DOTS:
        return ""
    line = f'<span>{"<i></i>" * size}</span>'
    told = f"{counted(groups, 'group')} of {size} episodes"
    return f'<div class="o-dots" role="img" aria-label="{told}">{line * groups}</div>'


def steps(spec: RunSpec, groups: int) -> list[str]:
    size = spec.train.group_size
    played = (f"Each step plays <b>{counted(groups, 'group')} of {size}</b>: {size} episodes on one task, compared "
              "with each other.")
    return [played, players(spec), scored(spec)]


def players(spec: RunSpec) -> str:
    where = "on the CPU" if not spec.resources.gpus else f"on {counted(spec.resources.gpus, 'GPU')}"
    share = sum(e.weight for e in spec.environments)
    named = []
    for environment in spec.environments:
        entry = CATALOG.get(environment.use)
        title = text(entry.title if entry else environment.use)
        turns = environment.max_turns or (entry.description.max_turns if entry else None)
        part = f"{environment.weight / share:.0%} " if len(spec.environments) > 1 else ""
        named.append(f"{part}<b>{title}</b>" + (f" (up to {counted(turns, 'turn')})" if turns else ""))
    return (f"<b>{text(spec.model)}</b> plays {listed(named)} {where}, at most "
            f"{spec.train.max_completion_tokens:,} tokens an episode.")


def scored(spec: RunSpec) -> str:
    if not spec.rewards and any(asked.use not in CATALOG for asked in spec.environments):
        return "An episode is worth what its environment proposes, or the environment's own reward."
    terms = spec.rewards or default_terms(spec.environments)
    parts = [("" if term.weight == 1 else f"{number(term.weight)} × ") + f"<b>{text(term.name)}</b>" for term in terms]
    own = "" if spec.rewards else ", the environment's own terms"
    return f"An episode is worth {' + '.join(parts)}{own}."


def around(spec: RunSpec) -> list[str]:
    said = []
    if spec.warm_up:
        said.append(f"Before that it imitates {counted(spec.warm_up.games, 'game')} of a scripted player.")
    if spec.evaluate:
        greedy = "always taking the likeliest token" if spec.evaluate.greedy else "sampling as in training"
        every = "Every step" if spec.evaluate.every == 1 else f"Every {spec.evaluate.every:,} steps"
        said.append(f"{every} it plays {counted(spec.evaluate.tasks, 'held-out task')}, {greedy}.")
    if spec.train.kl:
        said.append(f"It is held near the starting model with KL weight {spec.train.kl:g}.")
    if spec.generation.engine != "transformers" and not spec.resources.gpus:
        said.append("vLLM needs a GPU: set GPUs to 1 or more, or choose transformers as engine.")
    return said


def wait(steps: int, episodes: int, before: Pace | None) -> list[str]:
    if before is None:
        return []
    start = f", {shell.duration(before.start)} of it before the first step" if before.start >= 1 else ""
    scaled = "" if before.episodes == episodes else f", scaled from its {counted(before.episodes, 'episode')} a step"
    return [f"About <b>{shell.duration(before.start + steps * before.step)}</b>{start}, at the pace of the run "
            f"{text(before.run)}{scaled}."]


def listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


# ------------------------------------------------------------------------------------------------ how long it takes


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
