"""RunSpec -> TRL arguments. The only place that knows TRL's names for settings."""

import json
import math
from pathlib import Path

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils.logging import disable_progress_bar
from trl import GRPOConfig

from backend.environments import Description, Source, first_messages
from backend.errors import ModelError, SpecError
from backend.records import EnvironmentSpec, RunSpec
from backend.trainer.starters import WEIGHTS

SMALL = 10_000_000
"""Parameters up to which one CPU thread is as fast as two, and many times faster on a busy machine."""


def model_folder(model: str) -> str:
    """What `from_pretrained` takes for a spec's model: a starter's folder, a local folder or a hub id."""
    if model.startswith("starter:"):
        return str(WEIGHTS / model.removeprefix("starter:"))
    return model


def load_model(spec: RunSpec):
    """(model, tokenizer) ready to train. Raises ModelError with the cause."""
    where = model_folder(spec.model)
    disable_progress_bar()
    try:
        tokenizer = AutoTokenizer.from_pretrained(where, padding_side="left", truncation_side="left")
        model = AutoModelForCausalLM.from_pretrained(where, dtype="float32")
    except Exception as cause:  # any of a dozen libraries' errors: the person needs the model's name and the reason
        raise ModelError(f"model {spec.model} can't be loaded: {_first_line(cause)}. Check the name, or that the folder "
                         "holds config.json, the weights and a tokenizer") from cause
    if model.num_parameters() < SMALL:
        torch.set_num_threads(1)
    return model, tokenizer


def arguments(spec: RunSpec, output: Path, processes: int, max_turns: int, terms_weights: list[float]) -> GRPOConfig:
    """GRPOConfig for `processes` data-parallel trainers.

    One generation makes all episodes of a step: per-device batch x accumulation x processes = episodes_per_step.
    Raises SpecError where TRL refuses a setting.
    """
    train, generation = spec.train, spec.generation
    share, odd = divmod(train.episodes_per_step, processes)
    if odd:
        raise SpecError("train.episodes_per_step", f"{train.episodes_per_step} episodes can't be shared by {processes} "
                        f"processes; use a multiple of {processes}")
    batch = train.micro_batch or share
    if share % batch:
        raise SpecError("train.micro_batch", f"{batch} doesn't divide the {share} episodes of one process; use a divisor "
                        f"of {share}")
    on_cpu = spec.resources.gpus == 0
    settings = dict(
        output_dir=str(output), max_steps=train.steps, learning_rate=train.learning_rate,
        lr_scheduler_type="constant_with_warmup", warmup_steps=train.warmup_steps,
        per_device_train_batch_size=batch, gradient_accumulation_steps=share // batch, num_generations=train.group_size,
        num_iterations=train.iterations, beta=train.kl, scale_rewards=train.scale_rewards,
        max_completion_length=train.max_completion_tokens, max_tool_calling_iterations=max_turns,
        reward_weights=terms_weights, temperature=generation.temperature, top_p=generation.top_p,
        chat_template_kwargs={"enable_thinking": generation.thinking}, seed=spec.seed, data_seed=spec.seed,
        use_cpu=on_cpu, logging_steps=1, logging_first_step=True, report_to="none", save_strategy="no",
        disable_tqdm=True, dataloader_pin_memory=not on_cpu,
    )
    if on_cpu:
        settings |= dict(bf16=False, gradient_checkpointing=False)
    if generation.engine != "transformers":
        settings |= dict(use_vllm=True, vllm_mode=generation.engine.removeprefix("vllm-"))
        if generation.server_url:
            settings |= dict(vllm_server_base_url=generation.server_url)
    if spec.evaluate:
        settings |= dict(eval_strategy="steps", eval_steps=spec.evaluate.every, eval_on_start=True, num_generations_eval=1,
                         per_device_eval_batch_size=min(spec.evaluate.tasks, share))
    try:
        return GRPOConfig(**{**settings, **train.extra})
    except (ValueError, TypeError) as refused:
        raise SpecError("train", f"TRL refuses these settings: {_first_line(refused)}") from refused


def rows(environments: list[tuple[EnvironmentSpec, Description, Source]], groups: int = 1) -> Dataset:
    """One row per group to play: prompt, environment, task, seed, options (JSON).

    Weights set each environment's share of the rows; an environment's tasks are repeated where its share is larger, and
    all rows where there would be fewer than the `groups` of a step: TRL leaves out a step that it can't fill.
    """
    tasks = [source.tasks(asked.tasks, asked.options) for asked, _, source in environments]
    whole = sum(len(listed) for listed in tasks)
    weights = sum(asked.weight for asked, _, _ in environments)
    made = []
    for (asked, description, _), listed in zip(environments, tasks, strict=True):
        share = max(1, round(whole * asked.weight / weights))
        made += [_row(asked, description, listed[k % len(listed)]) for k in range(share)]
    return Dataset.from_list(made * math.ceil(groups / len(made)))


def held_out_rows(environments: list[tuple[EnvironmentSpec, Description, Source]], count: int) -> Dataset:
    """`count` rows of tasks that training does not draw, as evenly over the environments as it goes.

    Raises SpecError where an environment has no such task.
    """
    made = []
    for place, (asked, description, source) in enumerate(environments):
        share = max(1, count // len(environments) + (place < count % len(environments)))
        tasks = source.held_out(asked.tasks, asked.options, share)[:share]
        if not tasks:
            raise SpecError("evaluate", f"{asked.id} has no task left that training doesn't draw; choose fewer tasks "
                            "for training, or leave evaluate out")
        made += [_row(asked, description, task) for task in tasks]
    return Dataset.from_list(made)


def _row(asked: EnvironmentSpec, description: Description, task) -> dict:
    return {"prompt": first_messages(asked, description, None), "environment": asked.id,
            "task": task.key, "seed": task.seed, "options": json.dumps(task.options)}


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
