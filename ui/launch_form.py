"""The launch form: `launch.html` with its fields drawn from the records; `launch.js` fills it and reads it."""

import json
from pathlib import Path
from string import Template

from backend.environments.catalog import CATALOG
from backend.records import (
    EnvironmentSpec,
    Evaluation,
    GenerationSettings,
    Resources,
    RunSpec,
    TaskSelection,
    TrainSettings,
    WarmUp,
)
from ui import shell
from ui.forms import field, fields
from ui.terms import CROSS, editor
from ui.written import attribute, counted, text

PAGE = Path(__file__).parent / "launch.html"
HUB_MODELS = ("Qwen/Qwen3-0.6B", "Qwen/Qwen3-1.7B", "Qwen/Qwen3-4B")
TRY = (' <button type="button" class="o-button o-small" data-do="try" title="Plays a few episodes with a good and a '
       'random player, and scores both.">Try these terms</button>')


def page(recipes, starters: list[str], read_only: bool = False) -> str:
    notice = shell.problem("This site only shows runs.", "Start it without --read-only to launch one.", "warning")
    return Template(PAGE.read_text("utf-8")).substitute(
        known=attribute(json.dumps(known())), notice=notice if read_only else "",
        disabled="disabled" if read_only else "",
        recipes="".join(recipe_card(name, recipe) for name, recipe in recipes.items()), models=models(starters),
        environments="".join(environment_card(name, entry) for name, entry in CATALOG.items()),
        skeleton=shell.skeleton(4), cross=CROSS, terms=editor(TRY), **settings(), **rows())


def settings() -> dict[str, str]:
    """Slot -> fields."""
    return {
        "basics": field(RunSpec, "name") + field(RunSpec, "model", placeholder=HUB_MODELS[0], suggestions="o-models"),
        "training": (fields(TrainSettings, "train.", "steps", "group_size", "episodes_per_step", "learning_rate", "kl",
                            "max_completion_tokens")
                     + field(GenerationSettings, "temperature", "generation.") + field(RunSpec, "seed")
                     + field(Resources, "gpus", "resources.")),
        "engine": field(GenerationSettings, "engine", "generation."),
        "grpo": fields(TrainSettings, "train.", "micro_batch", "iterations", "scale_rewards", "warmup_steps", "pause_above"),
        "generation": fields(GenerationSettings, "generation.", "top_p", "server_url", "thinking"),
        "warm_up": fields(WarmUp, "warm_up.", *WarmUp.model_fields),
        "evaluate": fields(Evaluation, "evaluate.", *Evaluation.model_fields),
        "machine": field(Resources, "processes", "resources."),
        "extra": field(TrainSettings, "extra", "train.", wide=True, rows=3,
                       placeholder="epsilon: 0.2\nloss_type: dapo"),
    }


def rows() -> dict[str, str]:
    """What stands in one row of a list of environments."""
    return {
        "environment": (field(EnvironmentSpec, "id") + field(EnvironmentSpec, "weight")
                        + field(TaskSelection, "count", "tasks.")
                        + field(EnvironmentSpec, "max_turns", placeholder="its own")),
        "environment_more": (field(TaskSelection, "first_seed", "tasks.")
                             + field(EnvironmentSpec, "use", suggestions="o-environments")
                             + field(TaskSelection, "split", "tasks.") + field(TaskSelection, "indices", "tasks.")
                             + field(EnvironmentSpec, "options", wide=True, rows=2, placeholder="name: value")
                             + field(EnvironmentSpec, "prompt", wide=True, rows=4,
                                     placeholder="the environment's own")
                             + field(EnvironmentSpec, "system", wide=True, rows=3, placeholder="none")),
    }


def known() -> dict[str, dict]:
    """What the script has to know of the catalog."""
    return {"terms": {name: entry.description.rewards for name, entry in CATALOG.items()}}


def recipe_card(name: str, recipe) -> str:
    return (f'<label class="o-pick"><input type="radio" name="o-recipe" value="{attribute(name)}"><span>'
            f"<b>{text(recipe.title)}</b><small>{text(recipe.about)}</small></span></label>")


def environment_card(name: str, entry) -> str:
    about = entry.description
    return (f'<label class="o-pick"><input type="checkbox" data-environment="{attribute(name)}"><span>'
            f"<b>{text(entry.title)}</b><small>{text(entry.about)}</small>"
            f'<em>{counted(len(about.tools), "tool")} · up to {counted(about.max_turns, "turn")}</em></span></label>')


def models(starters: list[str]) -> str:
    listed = {**{f"starter:{name}": "a toy that ships here, for the CPU" for name in starters},
              **dict.fromkeys(HUB_MODELS, "from the Hub, for a GPU")}
    return "".join(f'<option value="{attribute(name)}">{about}</option>' for name, about in listed.items())
