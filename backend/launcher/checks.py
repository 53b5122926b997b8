"""What can be told about a spec before anything starts. Each check raises one clear sentence."""

from importlib.util import find_spec
from pathlib import Path

from backend.environments import EPISODE_FACTS, Description
from backend.environments.catalog import CATALOG, entry
from backend.environments.sources import check as check_environment
from backend.environments.sources import described, settled
from backend.errors import EnvironmentError_, RewardError, SpecError
from backend.executors import executor
from backend.launcher.grpo_fields import check_extra
from backend.launcher.models import check_model, is_folder
from backend.records import EnvironmentSpec, RewardTerm, RunSpec
from backend.rewards import check_alone, check_term
from backend.rewards.functions import place_of
from backend.store import refuse_secrets

RESERVED_TERMS = {"total"}
"""Names of curves that aren't terms."""


def validate(spec: RunSpec, ask: bool = False) -> None:
    """Raises SpecError, RewardError or ModelError for the first thing that would keep this run from working.

    With `ask`, servers elsewhere are asked what they are. Reward terms over facts that aren't known even so are checked
    by the trainer, once it has started the environment and before it loads the model.
    """
    refuse_secrets(spec)
    _check_rewards(spec, _descriptions(spec, ask))
    _check_processes(spec)
    check_extra(spec.train.extra, spec.resources.gpus, spec.train.kl)
    _check_engine(spec)
    _check_gpus(spec)
    if spec.match is None:  # its players are looked at by `matches.settled`, since a checkpoint is a run's
        check_model(spec.model)


def resolve(spec: RunSpec) -> RunSpec:
    """The spec as it is kept: the environments' own reward terms where none were asked for, and no relative path."""
    changes: dict = {"environments": tuple(settled(asked) for asked in spec.environments)}
    if not spec.rewards:
        changes["rewards"] = default_terms(spec.environments)
    if any(term.kind == "python" for term in spec.rewards):
        changes["rewards"] = tuple(_settled(term) for term in spec.rewards)
    if spec.model and is_folder(spec.model):
        changes["model"] = str(Path(spec.model).expanduser().resolve())
    return spec.model_copy(update=changes)


def _settled(term: RewardTerm) -> RewardTerm:
    if term.kind != "python":
        return term
    file, name = place_of(term.value)
    return term.model_copy(update={"value": f"{file}:{name}"})


def default_terms(environments: tuple[EnvironmentSpec, ...]) -> tuple[RewardTerm, ...]:
    """The terms that the environments propose for themselves; in a mix, each for its own environment.

    One that proposes nothing before it has started is worth its own last reward.
    """
    alone = len(environments) == 1
    proposed = [(asked.id, *term) for asked in environments
                for term in (_described(asked) or Description).rewards]
    names = [name for _, name, _ in proposed]
    return tuple(RewardTerm(name=name if names.count(name) == 1 else f"{id}-{name}"[:48], value=value, weight=1.0,
                            environments=None if alone else (id,)) for id, name, value in proposed)


def facts_of(use: str) -> dict[str, str]:
    """Fact -> meaning, of a catalog environment's episodes. SpecError for any other, whose facts only it can tell."""
    return _facts(entry(use).description)


def _facts(description: Description) -> dict[str, str]:
    return {**description.facts, **EPISODE_FACTS}


def _described(asked: EnvironmentSpec) -> Description | None:
    return CATALOG[asked.use].description if asked.use in CATALOG else described(asked)


def _descriptions(spec: RunSpec, ask: bool) -> dict[str, Description | None]:
    """By environment id; None where it isn't known yet."""
    found: dict[str, Description | None] = {}
    for index, asked in enumerate(spec.environments):
        try:
            check_environment(asked)
            found[asked.id] = _described(asked) if ask or asked.use in CATALOG else None
        except SpecError as error:
            raise SpecError(f"environments.{index}.{error.field}", error.said) from None
        except EnvironmentError_ as error:
            raise SpecError(f"environments.{index}.use", str(error)) from None
    return found


def _check_rewards(spec: RunSpec, found: dict[str, Description | None]) -> None:
    known = {name: _facts(description) for name, description in found.items() if description}
    if unpriced := [name for name, description in found.items() if description and not description.rewards]:
        if not spec.rewards:
            raise SpecError("rewards", f"{unpriced[0]} proposes no reward term of its own; write one over its facts, such "
                                       f"as {', '.join(list(known[unpriced[0]])[:5])}")
    for index, term in enumerate(spec.rewards):
        place = f"rewards.{index}.value (reward term {term.name})"
        if term.name in RESERVED_TERMS:
            raise SpecError(f"rewards.{index}.name", f"{term.name} is the name of the sum of all terms; choose another")
        try:
            check_alone(term)
        except RewardError as error:
            raise RewardError(f"{place}: {error}") from None
        for environment in (name for name in term.environments or found if name in known):
            try:
                check_term(term, known[environment])
            except RewardError as error:
                elsewhere = [other for other in known if other != environment and _fits(term, known[other])]
                if not term.environments and elsewhere:
                    raise RewardError(f"{place}: {error} That is so in {environment}; if the term is meant for "
                                      f"{elsewhere[0]} only, add environments: [{elsewhere[0]}]") from None
                raise RewardError(f"{place}: {error}") from None


def _fits(term: RewardTerm, facts: dict[str, str]) -> bool:
    try:
        check_term(term, facts)
    except RewardError:
        return False
    return True


def _check_processes(spec: RunSpec) -> None:
    train, resources = spec.train, spec.resources
    share, odd = divmod(train.episodes_per_step, resources.processes)
    if odd:
        raise SpecError("resources.processes", f"{resources.processes} processes can't share the "
                        f"{train.episodes_per_step} episodes of a step evenly; choose a divisor of it")
    if train.micro_batch and share % train.micro_batch:
        raise SpecError("train.micro_batch", f"{train.micro_batch} doesn't divide the {share} episodes of each of "
                                             f"{resources.processes} processes; use a divisor of {share}")
    if resources.gpus and resources.processes > resources.gpus:
        raise SpecError("resources.processes", f"{resources.processes} processes need as many GPUs, but resources.gpus "
                        f"is {resources.gpus}; raise one or lower the other")


def _check_engine(spec: RunSpec) -> None:
    generation = spec.generation
    if generation.engine == "transformers":
        return
    if find_spec("vllm") is None:
        raise SpecError("generation.engine", f"{generation.engine} needs vLLM, which isn't installed; run pip install "
                        "-r requirements-gpu.txt, or use transformers")
    if generation.engine == "vllm-server" and not generation.server_url:
        raise SpecError("generation.server_url", "is needed for the engine vllm-server; write its address, such as "
                                                 "http://localhost:8000")
    if generation.engine == "vllm-colocate" and not spec.resources.gpus:
        raise SpecError("resources.gpus", "vllm-colocate needs a GPU; set it to 1, or use the engine transformers")


def _check_gpus(spec: RunSpec) -> None:
    wanted, there = spec.resources.gpus, len(executor(spec.resources.executor).gpus())
    if wanted > there:
        has = f"only {there} GPU{'s' if there > 1 else ''}" if there else "no GPU (nvidia-smi lists none)"
        raise SpecError("resources.gpus", f"{wanted} asked for, but this machine has {has}; set it to {there}"
                                          + (" to train on the CPU" if not there else ""))
