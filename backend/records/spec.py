"""What a person asks for: a run and its parts. Unknown fields are refused, and label, help, default and bounds of a setting
live here and nowhere else: forms and messages read them."""

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

NAME = r"^[A-Za-z][A-Za-z0-9_-]{0,47}$"
PYTHON_FUNCTION = r".+\.py:[A-Za-z_][A-Za-z0-9_]*"

SEEDS = 2**31
"""Seeds of tasks are below it."""


class Asked(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TaskSelection(Asked):
    count: int | None = Field(64, ge=1, le=1_000_000, title="Tasks", description="How many different tasks the run draws "
                              "from; empty takes every task of the split.")
    first_seed: int = Field(0, ge=0, lt=SEEDS, title="First seed", description="Where tasks are seeds: task k is played "
                            "with seed first + k.")
    split: str | None = Field(None, title="Split", description="Where the environment lists tasks in splits; empty takes "
                              "train, or its first.")
    indices: tuple[int | str, ...] | None = Field(None, title="Task numbers", description="Such as 0, 5, 50-99 (both ends "
                                                  "included); instead of a count.")


class EnvironmentSpec(Asked):
    id: str = Field(pattern=NAME, title="Id", description="How rewards and curves name this environment.")
    use: str = Field(min_length=1, title="Environment", description="A catalog name such as wordle, or where it comes from.")
    weight: float = Field(1.0, gt=0, title="Share", description="Its share of the tasks in a mix.")
    tasks: TaskSelection = TaskSelection()
    options: dict[str, Any] = Field({}, title="Options", description="Passed to the environment's reset.")
    max_turns: int | None = Field(None, ge=1, le=10_000, title="Turns", description="Tool calls allowed in an episode; "
                                  "empty takes the environment's own.")
    prompt: str | None = Field(None, title="Prompt", description="What the model is told first; empty takes the "
                               "environment's own.")
    system: str | None = Field(None, title="System prompt", description="A system message before the prompt, for this "
                               "environment only; empty sends none.")


class JudgeSettings(Asked):
    """A chat model that grades episodes, at any endpoint that speaks OpenAI's chat completions."""

    url: str = Field(pattern=r"^https?://", title="Base URL", description="Of the endpoint, such as "
                     "http://localhost:8000/v1; /chat/completions is added.")
    model: str = Field(min_length=1, title="Judge", description="The model's name at that endpoint.")
    key_from: str | None = Field(None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", title="Key from", description="The "
                                 "environment variable that holds the key; empty sends none. Never the key itself.")
    timeout: float = Field(60.0, gt=0, le=3600, title="Timeout", description="Seconds for one answer.")


class RewardTerm(Asked):
    name: str = Field(pattern=NAME, title="Name", description="Its curve's name.")
    kind: Literal["expression", "environment", "python", "judge"] = Field(
        "expression", title="Kind", description="What the value is: an expression over facts, the environment's own "
        "reward, a Python function (trusted mode only), or what a judge is to look at.")
    value: str = Field(min_length=1, title="Value", description="An expression over the episode's facts, such as "
                       "1.0 if won else 0.0; for an environment last or sum; for Python file.py:function; for a judge "
                       "the rubric.")
    weight: float = Field(1.0, title="Weight", description="What the value is multiplied by in the total.")
    environments: tuple[str, ...] | None = Field(None, title="Applies to", description="Environment ids; elsewhere the "
                                                 "term gives None. Empty applies everywhere.")
    scope: Literal["end", "turn"] = Field("end", title="When", description="On the facts at the end of the episode, or "
                                          "on those after every turn, summed.")
    judge: JudgeSettings | None = Field(None, title="Judge", description="Where the judge of a term of this kind is.")

    @model_validator(mode="after")
    def kind_has_what_it_needs(self):
        if self.kind == "environment" and self.value not in ("last", "sum"):
            raise ValueError(f"value of an environment's own reward is last or sum, not {self.value!r:.60}")
        if self.kind == "python" and not re.fullmatch(PYTHON_FUNCTION, self.value):
            raise ValueError(f"value of a Python term is file.py:function, not {self.value!r:.60}")
        if self.kind == "judge" and self.judge is None:
            raise ValueError("judge is missing: give its url and model")
        if self.kind != "judge" and self.judge is not None:
            raise ValueError(f"judge belongs to a term of the kind judge, and this is one of the kind {self.kind}")
        if self.scope == "turn" and self.kind in ("environment", "judge"):
            raise ValueError(f"scope of a term of the kind {self.kind} is end" + (
                "; its sum counts every turn already" if self.kind == "environment" else ""))
        return self


class TrainSettings(Asked):
    steps: int = Field(150, ge=1, le=1_000_000, title="Steps", description="Optimiser steps.")
    group_size: int = Field(16, ge=2, le=1024, title="Group size", description="Episodes played on one task and compared "
                            "with each other.")
    episodes_per_step: int = Field(64, ge=2, le=65_536, title="Episodes per step", description="A multiple of the group "
                                   "size.")
    micro_batch: int | None = Field(None, ge=1, title="Micro-batch", description="Episodes in one forward pass on one "
                                    "device; empty takes all of them.")
    learning_rate: float = Field(1e-6, gt=0, le=1, title="Learning rate", description="Constant once it is reached.")
    warmup_steps: int = Field(0, ge=0, le=1_000_000, title="Rising steps", description="Steps over which the learning rate "
                              "rises from 0.")
    kl: float = Field(0.0, ge=0, title="KL weight", description="Pull towards the starting model; 0 keeps no reference "
                      "model.")
    iterations: int = Field(1, ge=1, le=64, title="Iterations", description="Optimiser passes over each batch of episodes.")
    scale_rewards: Literal["group", "batch", "none"] = Field("group", title="Scale advantages", description="By the "
                                                             "spread of the group, of the batch, or not at all.")
    pause_above: float = Field(0.5, gt=0, le=1, title="Pause above", description="Share of an environment's episodes in "
                               "a step that may go unscored because it failed; above it the run waits. 1 never waits.")
    max_completion_tokens: int = Field(4096, ge=8, le=1_000_000, title="Token budget", description="For the whole "
                                       "conversation after the prompt, tool results included.")
    extra: dict[str, Any] = Field({}, title="More", description="Any other GRPOConfig field by its name.")

    @property
    def message_cap(self) -> int | None:
        """Tokens that `extra` lets one message have, whatever the budget; None where it sets no such cap."""
        asked = self.extra.get("generation_kwargs")
        caps = [asked.get(name) for name in ("max_new_tokens", "max_tokens")] if isinstance(asked, dict) else []
        return min((cap for cap in caps if type(cap) is int and cap > 0), default=None)

    @model_validator(mode="after")
    def groups_fill_a_step(self):
        if self.episodes_per_step % self.group_size:
            below = self.episodes_per_step // self.group_size * self.group_size
            nearest = [n for n in (below, below + self.group_size) if n]
            raise ValueError(f"episodes_per_step is {self.episodes_per_step}, which isn't a multiple of group_size "
                             f"{self.group_size}; use {' or '.join(map(str, nearest))}")
        if self.micro_batch and self.episodes_per_step % self.micro_batch:
            raise ValueError(f"micro_batch {self.micro_batch} doesn't divide episodes_per_step {self.episodes_per_step}; "
                             f"leave it empty or use a divisor such as {self.group_size}")
        return self


class GenerationSettings(Asked):
    engine: Literal["transformers", "vllm-colocate", "vllm-server"] = Field(
        "transformers", title="Engine", description="What generates: transformers runs anywhere, vLLM needs a GPU.")
    server_url: str | None = Field(None, title="vLLM server", description="Its URL, for the engine vllm-server.")
    thinking: bool = Field(False, title="Thinking", description="Let the model reason before it acts, where its template "
                           "allows it.")
    temperature: float = Field(1.0, gt=0, le=5, title="Temperature", description="1 samples from the model as it is.")
    top_p: float = Field(1.0, gt=0, le=1, title="Top p", description="Keep only the most likely tokens that add up to p.")


class WarmUp(Asked):
    games: int = Field(1000, ge=1, le=1_000_000, title="Games", description="Episodes a scripted player plays to imitate.")
    epochs: int = Field(1, ge=1, le=100, title="Epochs", description="Passes over those games.")
    learning_rate: float = Field(1e-5, gt=0, le=1, title="Learning rate", description="Of the imitation, not of GRPO.")


class Evaluation(Asked):
    every: int = Field(50, ge=1, title="Every", description="Steps between two evaluations.")
    tasks: int = Field(30, ge=1, le=100_000, title="Tasks", description="Held-out tasks, played once each.")
    greedy: bool = Field(True, title="Greedy", description="Always the likeliest token, so that two evaluations compare.")


class Resources(Asked):
    executor: Literal["local"] = Field("local", title="Where", description="This machine.")
    gpus: int = Field(0, ge=0, le=64, title="GPUs", description="0 trains on the CPU.")
    processes: int = Field(1, ge=1, le=64, title="Processes", description="Data-parallel trainers; usually one per GPU.")


LABEL = Field(None, min_length=1, max_length=60, title="Label", description="What its column is called; empty takes its "
              "name.")
SAMPLING = Field(0.0, ge=0, le=5, title="Temperature", description="0 always takes the likeliest token, 1 samples from the "
                 "model as it is.")


class ScriptPlayer(Asked):
    kind: Literal["script"] = "script"
    name: str = Field(min_length=1, title="Player", description="A scripted player of the environment, such as random.")
    label: str | None = LABEL


class ModelPlayer(Asked):
    kind: Literal["model"] = "model"
    model: str = Field(min_length=1, title="Model", description="A hub id, a local folder, or starter:NAME.")
    temperature: float = SAMPLING
    label: str | None = LABEL

    @property
    def name(self) -> str:
        return self.model


class CheckpointPlayer(Asked):
    """What a run of this machine saved."""

    kind: Literal["checkpoint"] = "checkpoint"
    run: str = Field(min_length=1, title="Run", description="Its id, or latest.")
    checkpoint: str = Field("final", pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,79}$", title="Checkpoint", description="A "
                            "folder in the run's checkpoints, such as final or warm-up.")
    temperature: float = SAMPLING
    label: str | None = LABEL

    @property
    def name(self) -> str:
        return f"{self.run}/{self.checkpoint}"


class EndpointPlayer(Asked):
    """Any endpoint that speaks OpenAI's chat completions with tools."""

    kind: Literal["endpoint"] = "endpoint"
    url: str = Field(pattern=r"^https?://", title="Base URL", description="Begin with http:// or https://, such as "
                     "http://localhost:8000/v1; /chat/completions is added.")
    model: str = Field(min_length=1, title="Model", description="The model's name at that endpoint.")
    key_from: str | None = Field(None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", title="Key from", description="The "
                                 "environment variable that holds the key; empty sends none. Never the key itself.")
    timeout: float = Field(120.0, gt=0, le=3600, title="Timeout", description="Seconds for one answer.")
    temperature: float = SAMPLING
    label: str | None = LABEL

    @property
    def name(self) -> str:
        return self.model


PlayerSpec = Annotated[ScriptPlayer | ModelPlayer | CheckpointPlayer | EndpointPlayer, Field(discriminator="kind")]


class Fork(Asked):
    """Where a match goes on from, instead of playing tasks from their start."""

    run: str = Field(min_length=1, title="Run", description="Whose episode it is.")
    episode: str = Field(min_length=1, title="Episode", description="Its id in that run.")
    turn: int = Field(ge=0, title="Turn", description="How many of its turns are repeated first.")


class Match(Asked):
    """The same tasks for several players, in the same order; a run that learns nothing."""

    players: tuple[PlayerSpec, ...] = Field(min_length=1, max_length=12, title="Players")
    held_out: int | None = Field(None, ge=1, le=100_000, title="Held-out tasks", description="Play so many tasks that the "
                                 "environment's selection doesn't give; empty plays those it gives.")
    daily: str | None = Field(None, pattern=r"^(today|\d{4}-\d{2}-\d{2})$", title="Daily seed", description="A UTC date, or "
                              "today: everyone who plays that day's tasks plays the same. It sets the first seed.")
    fork: Fork | None = Field(None, title="Fork", description="Go on from a turn of a stored episode.")

    @model_validator(mode="after")
    def players_are_told_apart(self):
        labels = self.labels()
        if twice := sorted({label for label in labels if labels.count(label) > 1}):
            raise ValueError(f"two players are called {twice[0]}; give each its own label")
        if self.fork and (self.daily or self.held_out):
            raise ValueError("fork goes on from one episode, so held_out and daily have no place beside it")
        if self.daily and self.held_out:
            raise ValueError("daily names the tasks of a day, so held_out has no place beside it")
        return self

    def labels(self) -> list[str]:
        """Of the players, in their order."""
        return [player.label or player.name for player in self.players]


class RunSpec(Asked):
    name: str = Field("run", pattern=NAME, title="Name", description="Letters, digits, dash and underscore.")
    model: str = Field("", title="Model", description="A hub id, a local folder, or starter:NAME.")
    environments: tuple[EnvironmentSpec, ...] = Field(min_length=1, title="Environments")
    rewards: tuple[RewardTerm, ...] = Field((), title="Reward terms", description="Empty takes the environment's own.")
    train: TrainSettings = TrainSettings()
    generation: GenerationSettings = GenerationSettings()
    warm_up: WarmUp | None = None
    evaluate: Evaluation | None = None
    match: Match | None = None
    """Instead of training: `model`, `warm_up`, `evaluate` and most of `train` mean nothing then."""
    resources: Resources = Resources()
    seed: int = Field(0, ge=0, lt=2**31, title="Seed", description="Of sampling, task order and initial noise.")

    @property
    def plays(self) -> str:
        """The model, or who plays the match."""
        return " · ".join(self.match.labels()) if self.match else self.model

    @property
    def imported(self) -> bool:
        """Its episodes came out of a file, and its settings were never used."""
        return all(environment.use.startswith("import:") for environment in self.environments)

    @model_validator(mode="after")
    def a_run_has_a_model_and_a_match_players(self):
        if self.match is None and not self.model.strip():
            raise ValueError("model is missing; a hub id, a local folder, or starter:NAME")
        if self.match is not None:
            if self.model:
                raise ValueError("model has no place in a match; name it among match.players")
            if len(self.environments) > 1:
                raise ValueError("environments of a match is one; start another match for the other")
            if self.resources.processes > 1:
                raise ValueError("resources.processes of a match is 1")
        return self

    @field_validator("environments")
    @classmethod
    def ids_differ(cls, environments):
        ids = [environment.id for environment in environments]
        if twice := sorted({i for i in ids if ids.count(i) > 1}):
            raise ValueError(f"two environments are called {twice[0]}; give each its own id")
        return environments

    @field_validator("rewards")
    @classmethod
    def names_differ(cls, rewards):
        names = [term.name for term in rewards]
        if twice := sorted({n for n in names if names.count(n) > 1}):
            raise ValueError(f"two reward terms are called {twice[0]}; give each its own name")
        return rewards

    @model_validator(mode="after")
    def terms_apply_somewhere(self):
        ids = {environment.id for environment in self.environments}
        for term in self.rewards:
            for environment in term.environments or ():
                if environment not in ids:
                    raise ValueError(f"reward term {term.name} applies to {environment}, but this run has only "
                                     f"{', '.join(sorted(ids))}")
        return self
