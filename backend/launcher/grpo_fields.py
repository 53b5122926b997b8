"""Names and types of GRPOConfig's fields, read from TRL's source: importing it would load torch here."""

import ast
import difflib
import functools
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from backend.errors import SpecError
from backend.launcher.grpo_values import CANT_BE_USED, check_value

OWNED = {
    "max_steps": "train.steps", "num_train_epochs": "train.steps", "learning_rate": "train.learning_rate",
    "warmup_steps": "train.warmup_steps",
    "num_generations": "train.group_size", "per_device_train_batch_size": "train.micro_batch",
    "gradient_accumulation_steps": "train.micro_batch", "generation_batch_size": "train.episodes_per_step",
    "steps_per_generation": "train.episodes_per_step", "num_iterations": "train.iterations", "beta": "train.kl",
    "scale_rewards": "train.scale_rewards", "max_completion_length": "train.max_completion_tokens",
    "max_tool_calling_iterations": "environments.0.max_turns", "reward_weights": "rewards.0.weight",
    "temperature": "generation.temperature", "top_p": "generation.top_p", "chat_template_kwargs": "generation.thinking",
    "use_vllm": "generation.engine", "vllm_mode": "generation.engine", "vllm_server_base_url": "generation.server_url",
    "seed": "seed", "data_seed": "seed", "use_cpu": "resources.gpus", "no_cuda": "resources.gpus",
    "eval_strategy": "evaluate", "eval_steps": "evaluate.every", "eval_on_start": "evaluate",
    "num_generations_eval": "evaluate", "per_device_eval_batch_size": "evaluate", "do_eval": "evaluate",
}
"""Fields that the spec sets itself -> where."""

_TYPES = {"int": (int,), "float": (int, float), "bool": (bool,), "str": (str,), "dict": (dict,), "list": (list, tuple),
          "None": (type(None),)}
_WORDS = {"int": "a whole number", "float": "a number", "bool": "true or false", "str": "text", "dict": "a mapping",
          "list": "a list", "None": "nothing"}


def check_extra(extra: dict[str, Any], gpus: int = 0, kl: float = 0.0) -> None:
    """Raises SpecError for a name that GRPOConfig hasn't, one the spec sets itself, a value of another type, or one that
    is known to be refused."""
    for name, value in extra.items():
        place = f"train.extra.{name}"
        if name in OWNED:
            raise SpecError(place, f"this is set by {OWNED[name]}; change it there and remove it here")
        known = fields()
        if not known or name in CANT_BE_USED:
            check_value(name, value, extra, gpus, kl)
            continue
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]}?" if near else "see TRL's documentation of GRPOConfig for the names"
            raise SpecError(place, f"GRPOConfig has no such field; {hint}")
        kinds = known[name]
        if kinds and not any(_is(value, kind) for kind in kinds):
            words = " or ".join(_WORDS[kind] for kind in kinds if kind != "None")
            raise SpecError(place, f"must be {words}, not {value!r:.60}")
        check_value(name, value, extra, gpus, kl)


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool) and kind != "bool":
        return False
    return isinstance(value, _TYPES[kind])


@functools.cache
def fields() -> dict[str, tuple[str, ...]]:
    """Field -> the plain types it takes, empty where it takes something else; {} where TRL isn't installed."""
    trl, transformers = _folder("trl"), _folder("transformers")
    if trl is None or transformers is None:
        return {}
    found: dict[str, tuple[str, ...]] = {}
    for path, name in ((transformers / "training_args.py", "TrainingArguments"),
                       (trl / "trainer/base_config.py", "_BaseConfig"),
                       (trl / "trainer/grpo_config.py", "GRPOConfig")):
        if path.is_file():
            found |= _declared(path, name)
    return found


def _folder(package: str) -> Path | None:
    spec = find_spec(package)
    return Path(spec.origin).parent if spec and spec.origin else None


def _declared(path: Path, name: str) -> dict[str, tuple[str, ...]]:
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            return {line.target.id: _kinds(line.annotation) for line in node.body
                    if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
                    and "ClassVar" not in ast.unparse(line.annotation)}
    return {}


def _kinds(annotation: ast.expr) -> tuple[str, ...]:
    kinds = []
    for part in ast.unparse(annotation).removeprefix("Optional[").split("|"):
        kind = part.strip().split("[")[0]
        if kind not in _TYPES:
            return ()
        kinds.append(kind)
    return tuple(kinds)
