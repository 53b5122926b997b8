"""What is played and by which rewards: from a `use:` string, a seed or task, and whose terms count."""

import re
from typing import NamedTuple

from backend.environments import EPISODE_FACTS, Description, Source, Task
from backend.environments.players import players
from backend.environments.sources import check
from backend.environments.tasks import LARGEST
from backend.errors import RunNotFound, SpecError
from backend.records import EnvironmentSpec, RewardTerm, TaskSelection
from backend.rewards import Terms, applying
from backend.store import Store

OWN = "own"
"""The environment's own terms; others are `run:ID` and `set:NAME`."""


class Chosen(NamedTuple):
    environment: EnvironmentSpec
    rewards: tuple[RewardTerm, ...] | None
    """None: those the environment proposes, known once it answers."""

    def terms(self, description: Description) -> tuple[RewardTerm, ...]:
        """Raises RewardError for a term that can't be used here."""
        terms = self.rewards if self.rewards is not None else tuple(
            RewardTerm(name=name, value=value) for name, value in description.rewards)
        Terms(terms, description.facts.keys() | EPISODE_FACTS.keys())
        return terms


def chosen(store: Store, use: str, seed: int | None = None, task: str | None = None, split: str | None = None,
           worth: str = OWN, options: dict | None = None) -> Chosen:
    """`task` is a number of the environment's list, `seed` the task's seed, for environments that make tasks from any.

    Raises SpecError, RunNotFound.
    """
    if not use.strip():
        raise SpecError("use", "is empty; choose an environment, or write where it comes from")
    if seed is not None and not 0 <= seed < LARGEST:
        raise SpecError("seed", f"must be 0 to {LARGEST - 1:,}, not {seed}")
    if task is not None and not re.fullmatch(r"[0-9]{1,10}", task.strip()):
        raise SpecError("task", f"{task!r:.40} is no task number; a game is played on one task: write its number, such as 5")
    selection = TaskSelection(count=1, first_seed=seed or 0, split=split or None,
                              indices=None if task is None else (task,))
    found, rewards = _by(store, use, worth)
    if found is None:
        found = EnvironmentSpec(id=_id(use), use=use.strip(), options=options or {})
    asked = found.model_copy(update={"tasks": selection, "weight": 1.0, **({"options": options} if options else {})})
    check(asked)
    return Chosen(asked, rewards)


def task_of(source: Source, asked: EnvironmentSpec) -> Task:
    """The one that is asked for. Raises SpecError."""
    tasks = source.tasks(asked.tasks, asked.options)
    if not tasks:
        raise SpecError("task", f"{asked.use} has no such task; choose another")
    return tasks[0]


def players_of(use: str) -> list[str]:
    """Names of the scripted players, the best first."""
    return list(players(use))


def worth_by(store: Store, use: str, most: int = 20) -> list[tuple[str, str]]:
    """(value, label) of what an episode of this environment can be worth by, its own terms first."""
    known = [(OWN, "the environment's own terms")]
    known += [(f"set:{saved.name}", f"the reward set {saved.name}") for saved in store.reward_sets()]
    for summary in store.runs()[:3 * most]:
        spec = store.run(summary.id).spec
        if spec.name != "played" and any(asked.use == use for asked in spec.environments) and spec.rewards:
            known.append((f"run:{summary.id}", f"as in the run {summary.id}"))
    return known[:most]


def _by(store: Store, use: str, worth: str) -> tuple[EnvironmentSpec | None, tuple[RewardTerm, ...] | None]:
    if worth in ("", OWN):
        return None, None
    kind, _, name = worth.partition(":")
    if kind == "set":
        saved = store.reward_set(name)
        if saved is None:
            raise SpecError("worth", f"there is no reward set {name!r:.60}; choose another")
        return None, applying(saved.terms, None)
    if kind != "run":
        raise SpecError("worth", f"{worth!r:.60} is no run and no reward set; write run:ID or set:NAME")
    run = store.run(name)
    asked = next((each for each in run.spec.environments if each.use == use), None)
    if asked is None:
        raise RunNotFound(f"the run {run.id} doesn't play {use}; choose one that does")
    return asked, applying(run.spec.rewards, asked.id)


def _id(use: str) -> str:
    """A name for an environment, from where it comes: `openenv+http://127.0.0.1:8001` is `127-0-0-1-8001` with an e."""
    words = re.sub(r"^[a-z]+[+:]", "", use.strip())
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", re.sub(r"^https?://", "", words)).strip("-_")[:40] or "environment"
    return plain if plain[0].isalpha() else f"e-{plain}"
