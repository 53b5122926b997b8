"""What `train.extra` may not say: fields that can't be used here, and values that TRL refuses only once a trainer runs.

Values are read from the source of the installed TRL and transformers: importing those would load torch here.
"""

import ast
import difflib
import functools
import math
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from backend.errors import SpecError

_ELSEWHERE = ("what happens in training is kept in the run's folder and sent nowhere; leave it out, and export the run "
              "where it is wanted")
_HUB = "nothing is pushed during training; leave it out, and push checkpoints/final of the run's folder when it has ended"
_WHOLE = "a model is trained whole on each GPU here, so it can't be split; leave it out, and set resources.processes"
_LOADED = "the model is loaded before TRL sees it, so this would have no effect; leave it out"

CANT_BE_USED = {
    "output_dir": "a run has its own folder; leave it out",
    "report_to": _ELSEWHERE, "run_name": "a run is called by its spec's name; set name instead", "project": _ELSEWHERE,
    "trackio_space_id": _ELSEWHERE, "trackio_bucket_id": _ELSEWHERE, "trackio_static_space_id": _ELSEWHERE,
    "log_completions": "every episode is recorded in the run anyway; leave it out",
    "log_completions_hub_repo": _ELSEWHERE,
    "push_to_hub": _HUB, "hub_token": _HUB, "hub_private_repo": _HUB, "hub_model_id": _HUB, "hub_strategy": _HUB,
    "hub_always_push": _HUB, "hub_revision": _HUB,
    "resume_from_checkpoint": "a trainer starts from the model of the spec; set model to the checkpoint's folder instead",
    "deepspeed": _WHOLE, "fsdp": _WHOLE, "fsdp_config": _WHOLE, "parallelism_config": _WHOLE,
    "local_rank": "processes are started here; set resources.processes instead",
    "auto_find_batch_size": "groups must stay whole in a batch; leave it out, and set train.micro_batch lower",
    "trust_remote_code": "code that comes with a model isn't run here; leave it out, and choose a model that needs none",
    "model_init_kwargs": _LOADED,
    "do_train": "a run always trains; leave it out", "do_predict": "a run predicts nothing; leave it out",
    "disable_tqdm": "the trainer's log has a line for each step; leave it out",
    "logging_first_step": "every step is logged; leave it out", "logging_steps": "every step is logged; leave it out",
    "logging_strategy": "every step is logged; leave it out",
    "remove_unused_columns": "the environments need every column; leave it out",
}
"""Field -> why, and what to do."""

SWITCHED_OFF = {"report_to": "none", **dict.fromkeys(
    ("push_to_hub", "hub_always_push", "log_completions", "auto_find_batch_size", "trust_remote_code", "do_predict",
     "remove_unused_columns"), False)}
"""What such a field may hold all the same."""

PACKAGES = {
    "galore": ("galore_torch", "galore-torch"), "lomo": ("lomo_optim", "lomo-optim"), "adalomo": ("lomo_optim", "lomo-optim"),
    "grokadamw": ("grokadamw", "grokadamw"), "schedule_free": ("schedulefree", "schedulefree"),
    "apollo": ("apollo_torch", "apollo-torch"), "stable": ("optimi", "torch-optimi"),
    "adamw_torch_4bit": ("torchao", "torchao"), "adamw_torch_8bit": ("torchao", "torchao"),
    "adamw_torch_xla": ("torch_xla", "torch-xla"), "adamw_torch_npu": ("torch_npu", "torch-npu"),
    "adamw_anyprecision": ("torchdistx", "torchdistx"),
    **dict.fromkeys(("adamw_bnb", "adamw_8bit", "ademamix", "lion", "paged", "rmsprop_bnb"), ("bitsandbytes", "bitsandbytes")),
}
"""How an optimiser's name begins -> the package it needs, and what pip calls that."""

ASKS_FOR = {"cosine_with_min_lr": "min_lr", "cosine_warmup_with_min_lr": "min_lr", "warmup_stable_decay": "num_decay_steps"}
"""Schedules that need lr_scheduler_kwargs -> which."""

NEED_A_GPU = ("fp16", "fp16_full_eval", "tf32")

LOG_LEVELS = ("detail", "debug", "info", "warning", "error", "critical", "passive")
BACKENDS = ("nccl", "gloo", "mpi", "ccl", "hccl", "cncl", "mccl")

BOUNDS = {
    "adam_beta1": (0, 1), "adam_beta2": (0, 1), "adam_epsilon": (0, None), "weight_decay": (0, None),
    "max_grad_norm": (0, None), "top_k": (0, None), "min_p": (0, 1), "repetition_penalty": (0, None), "epsilon": (0, None),
    "epsilon_high": (0, None), "delta": (0, None), "ref_model_mixup_alpha": (0, 1), "ref_model_sync_steps": (1, None),
    "top_entropy_quantile": (0, 1), "vllm_gpu_memory_utilization": (0, 1), "vllm_tensor_parallel_size": (1, None),
    "dataloader_num_workers": (0, None), "save_total_limit": (1, None),
}
"""Both ends included; None is no end."""


def check_value(name: str, value: Any, extra: dict[str, Any], gpus: int, kl: float) -> None:
    """Raises SpecError for a field that can't be used here, or a value that is known to be refused."""
    place = f"train.extra.{name}"
    if name in CANT_BE_USED:
        if name in SWITCHED_OFF and (value is SWITCHED_OFF[name] or value == "none"):
            return
        raise SpecError(place, CANT_BE_USED[name])
    known = _choices(name)
    if known and value is not None and value not in known:
        near = difflib.get_close_matches(str(value), known, 1, 0.75)
        usable = tuple(each for each in known if name != "optim" or not _missing(each))
        raise SpecError(place, f"must be {_listed(usable)}, not {value!r:.60}" + (f"; did you mean {near[0]}?" if near else ""))
    low, high = BOUNDS.get(name, (None, None))
    if isinstance(value, int | float) and not isinstance(value, bool) and not _within(value, low, high):
        wanted = f"{low} to {high}" if high is not None else f"{low} or more"
        raise SpecError(place, f"must be {wanted}, not {value!r:.40}")
    if name in NEED_A_GPU and value and not gpus:
        raise SpecError(place, f"{name} needs a GPU, and resources.gpus is 0; leave it out")
    if name == "use_liger_kernel" and value and find_spec("liger_kernel") is None:
        raise SpecError(place, "needs liger-kernel, which isn't installed; run pip install liger-kernel, or leave it out")
    if name == "optim" and (package := _missing(str(value))):
        raise SpecError(place, f"{value} needs {package}, which isn't installed; run pip install {package}, or use adamw_torch")
    needed = ASKS_FOR.get(value) if name == "lr_scheduler_type" else None
    if needed and needed not in str(extra.get("lr_scheduler_kwargs")):
        raise SpecError(place, f"{value} needs {needed}; add lr_scheduler_kwargs: {{{needed}: …}}")
    if name == "sync_ref_model" and value and not kl:
        raise SpecError(place, "there is no reference model to synchronize while train.kl is 0; set train.kl above 0, or "
                        "leave it out")


def _missing(optimizer: str) -> str:
    """The package it needs and that isn't here, as pip calls it; "" where nothing is missing."""
    needed = (package for start, package in PACKAGES.items() if optimizer.startswith(start))
    return next((name for module, name in needed if find_spec(module) is None), "")


def _within(value: float, low: float | None, high: float | None) -> bool:
    return math.isfinite(value) and (low is None or value >= low) and (high is None or value <= high)


def _listed(names: tuple[str, ...]) -> str:
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


# ----------------------------------------------------------------------------------------------- as the source has them


def _choices(name: str) -> tuple[str, ...]:
    """The texts a field may hold; empty where that isn't known."""
    match name:
        case "optim":
            return _members("transformers", "training_args.py", "OptimizerNames")
        case "lr_scheduler_type":
            return _members("transformers", "trainer_utils.py", "SchedulerType")
        case "save_strategy":
            return _members("transformers", "trainer_utils.py", "SaveStrategy")
        case "loss_type" | "importance_sampling_level" | "multi_objective_aggregation" | "vllm_importance_sampling_mode":
            return _compared("trl", "trainer/grpo_trainer.py").get(name, ())
        case "log_level" | "log_level_replica":
            return LOG_LEVELS
        case "ddp_backend":
            return BACKENDS
    return ()


@functools.cache
def _source(package: str, file: str) -> ast.Module | None:
    spec = find_spec(package)
    path = Path(spec.origin).parent / file if spec and spec.origin else None
    return ast.parse(path.read_text("utf-8")) if path and path.is_file() else None


@functools.cache
def _members(package: str, file: str, name: str) -> tuple[str, ...]:
    """The values of an enumeration of texts."""
    for node in _body(package, file):
        if isinstance(node, ast.ClassDef) and node.name == name:
            return tuple(line.value.value for line in node.body if isinstance(line, ast.Assign)
                         and isinstance(line.value, ast.Constant) and isinstance(line.value.value, str))
    return ()


@functools.cache
def _compared(package: str, file: str) -> dict[str, tuple[str, ...]]:
    """Attribute -> the texts that the code compares it with, which are those it has a branch for."""
    found: dict[str, dict[str, None]] = {}
    for node in (inner for outer in _body(package, file) for inner in ast.walk(outer)):
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Attribute):
            texts = [constant.value for side in node.comparators for constant in ast.walk(side)
                     if isinstance(constant, ast.Constant) and isinstance(constant.value, str)]
            found.setdefault(node.left.attr, {}).update(dict.fromkeys(texts))
    return {name: tuple(texts) for name, texts in found.items()}


def _body(package: str, file: str) -> list[ast.stmt]:
    tree = _source(package, file)
    return tree.body if tree else []
