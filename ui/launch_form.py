"""The launch form as HTML, drawn from the records; `launch.js` fills it and reads it."""

import json
from html import escape

from backend.environments import EPISODE_FACTS
from backend.environments.catalog import CATALOG
from backend.records import (EnvironmentSpec, Evaluation, GenerationSettings, Resources, RewardTerm, RunSpec, TaskSelection,
                             TrainSettings, WarmUp)
from ui import shell
from ui.forms import field, fields
from ui.written import attribute, counted, text

HUB_MODELS = ("Qwen/Qwen3-0.6B", "Qwen/Qwen3-1.7B", "Qwen/Qwen3-4B")


def page(recipes, starters: list[str], read_only: bool = False) -> str:
    notice = shell.problem("This site only shows runs.", "Start it without --read-only to launch one.", "warning")
    facts = {name: dict(entry.description.facts) for name, entry in CATALOG.items()}
    terms = {name: entry.description.rewards for name, entry in CATALOG.items()}
    known = attribute(json.dumps({"facts": facts, "terms": terms, "episode": EPISODE_FACTS}))
    return (f'<div class="o-launch" data-known="{known}"><header><h1 class="o-title">Launch a run</h1>'
            f'<p class="o-lede">Pick what to play and what it is worth. Nothing starts before you press the button.</p></header>'
            f'{notice if read_only else ""}<div class="o-launch-columns"><form class="o-launch-form" autocomplete="off">'
            f"{start_from(recipes)}{basics(starters)}{environments()}{rewards()}{settings()}{advanced()}</form>"
            f"{beside(read_only)}</div>{templates()}</div>")


def section(title: str, body: str, about: str = "", css: str = "", id: str = "") -> str:
    lede = f'<p class="o-fieldnote">{text(about)}</p>' if about else ""
    name = f' id="{id}"' if id else ""
    return f'<section class="o-card {css}"{name}><div class="o-section"><h2 class="o-h2">{text(title)}</h2>{lede}</div>{body}</section>'


def start_from(recipes) -> str:
    cards = "".join(
        f'<label class="o-pick"><input type="radio" name="o-recipe" value="{attribute(name)}"><span><b>{text(recipe.title)}</b>'
        f'<small>{text(recipe.about)}</small></span></label>' for name, recipe in recipes.items())
    return section("Start from a recipe", f'<div class="o-picks" role="radiogroup" aria-label="Recipe">{cards}</div>',
                   "Fills the whole form; change anything after it.")


def basics(starters: list[str]) -> str:
    models = "".join(f'<option value="{attribute(name)}">{about}</option>' for name, about in (
        *((f"starter:{name}", "a toy that ships here, for the CPU") for name in starters),
        *((name, "from the Hub, for a GPU") for name in HUB_MODELS)))
    return section("Name and model", f'<div class="o-fields o-two">{field(RunSpec, "name")}'
                   f'{field(RunSpec, "model", placeholder="Qwen/Qwen3-0.6B", suggestions="o-models")}</div>'
                   f'<datalist id="o-models">{models}</datalist>')


def environments() -> str:
    cards = "".join(
        f'<label class="o-pick"><input type="checkbox" data-environment="{name}"><span><b>{text(entry.title)}</b>'
        f'<small>{text(entry.about)}</small><em>{counted(len(entry.description.tools), "tool")} · up to '
        f'{counted(entry.description.max_turns, "turn")}</em></span></label>' for name, entry in CATALOG.items())
    return section("Environments", f'<div class="o-picks">{cards}</div><p class="o-fieldnote" data-note="environments"></p>'
                   '<div class="o-rows" data-rows="environments"></div>', "One, or several for a mix.")


def rewards() -> str:
    return section("Reward terms", '<div class="o-terms"><div class="o-terms-head" aria-hidden="true"><span>Name</span>'
                   '<span>Value</span><span>Weight</span><span></span></div><div data-rows="rewards"></div><p class="o-fieldnote o-noterms">None yet: the '
                   "environment's own terms are used.</p></div>"
                   '<p class="o-fieldnote" data-note="rewards"></p>'
                   '<div class="o-row"><button type="button" class="o-button o-small" data-do="add-term">Add term</button>'
                   '<button type="button" class="o-button o-small" data-do="own-terms">Use the environment\'s own</button></div>'
                   '<div class="o-facts"><span class="o-label">Facts you can use</span><div data-facts></div></div>',
                   "Each is an expression over the facts of an episode. Their weighted sum is its reward.", "o-rewards")


def settings() -> str:
    train = fields(TrainSettings, "train.", "steps", "group_size", "episodes_per_step", "learning_rate", "kl",
                   "max_completion_tokens")
    return section("Training", f'<div class="o-fields">{train}{fields(GenerationSettings, "generation.", "temperature")}'
                   f'{field(RunSpec, "seed")}{field(Resources, "gpus", "resources.")}</div>'
                   f'<div class="o-fields o-one">{field(GenerationSettings, "engine", "generation.")}</div>')


def advanced() -> str:
    parts = (
        ("GRPO", fields(TrainSettings, "train.", "micro_batch", "iterations", "scale_rewards")),
        ("Generation", fields(GenerationSettings, "generation.", "top_p", "server_url", "thinking")),
        ("Warm-up", optional("warm_up", "Imitate a scripted player before GRPO", fields(WarmUp, "warm_up.", "games", "epochs",
                                                                                     "learning_rate"))),
        ("Evaluation", optional("evaluate", "Play held-out tasks now and then", fields(Evaluation, "evaluate.", "every", "tasks",
                                                                                       "greedy"))),
        ("Machine", field(Resources, "processes", "resources.")),
        ("Any other GRPOConfig field", field(TrainSettings, "extra", "train.", wide=True, rows=3,
                                             placeholder="epsilon: 0.2\nloss_type: dapo")))
    body = "".join(f'<div class="o-group"><h3 class="o-label">{name}</h3><div class="o-fields">{inner}</div></div>'
                   for name, inner in parts)
    return (f'<details class="o-card o-advanced"><summary><span class="o-h2">Advanced</span><span class="o-fieldnote">Warm-up, '
            f"evaluation, micro-batches, sampling and the rest.</span></summary>{body}</details>")


def optional(name: str, label: str, inner: str) -> str:
    return (f'<div class="o-optional"><label class="o-switch"><input type="checkbox" role="switch" data-optional="{name}"><i></i>'
            f'<span>{label}</span></label><div class="o-fields" data-part="{name}" hidden>{inner}</div></div>')


def beside(read_only: bool) -> str:
    button = ('<button type="button" class="o-button o-primary o-go" data-do="launch"' + (" disabled" if read_only else "")
              + ">Launch run</button>")
    return (f'<aside class="o-beside"><section class="o-card o-will"><h2 class="o-h2">What will happen</h2>'
            f'<div data-outlook>{shell.skeleton(4)}</div><div data-problems aria-live="polite"></div>'
            f'<div class="o-launchbar">{button}<span class="o-small o-muted" data-state></span></div></section>'
            f'<section class="o-card o-spec"><div class="o-section"><h2 class="o-h2"><label for="o-yaml">Spec</label></h2>'
            f'<p class="o-fieldnote">The same run as YAML. Change it or paste one here; the form follows.</p></div>'
            f'<div class="o-yaml"><pre aria-hidden="true"></pre><textarea id="o-yaml" spellcheck="false" autocomplete="off" '
            f'wrap="off"></textarea></div></section></aside>')


def templates() -> str:
    return (f'<template data-template="environments">{environment_row()}</template>'
            f'<template data-template="rewards">{term_row()}</template>')


def environment_row() -> str:
    basic = (field(EnvironmentSpec, "id") + field(EnvironmentSpec, "weight") + field(TaskSelection, "count", "tasks.")
             + field(EnvironmentSpec, "max_turns", placeholder="its own"))
    rest = (field(TaskSelection, "first_seed", "tasks.") + field(EnvironmentSpec, "use")
            + field(EnvironmentSpec, "options", rows=2, wide=True, placeholder="name: value")
            + field(EnvironmentSpec, "prompt", rows=4, wide=True, placeholder="the environment's own"))
    return (f'<div class="o-env" data-row><div class="o-env-head"><b data-title></b><button type="button" class="o-icon" '
            f'data-do="remove" aria-label="Remove this environment" title="Remove">{CROSS}</button></div>'
            f'<div class="o-fields o-four">{basic}</div><details class="o-more"><summary>Seeds, options and prompt</summary>'
            f'<div class="o-fields o-two">{rest}</div></details></div>')


def term_row() -> str:
    def cell(name: str, kind: str, mode: str = "") -> str:
        info = RewardTerm.model_fields[name]
        return (f'<input type="text" data-key="{name}" data-kind="{kind}" aria-label="{escape(info.title or name)}" '
                f'title="{attribute(info.description)}"{mode} autocomplete="off" spellcheck="false">')

    return (f'<div class="o-term" data-row>{cell("name", "text")}{cell("value", "text")}'
            f'{cell("weight", "float", " inputmode=decimal")}<button type="button" class="o-icon" data-do="remove" '
            f'aria-label="Remove this term" title="Remove">{CROSS}</button><div class="o-applies" data-applies></div>'
            f'<p class="o-fieldnote" data-note="name"></p><p class="o-fieldnote" data-note="value"></p>'
            f'<p class="o-fieldnote" data-note="weight"></p></div>')


CROSS = ('<svg viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" '
         'aria-hidden="true"><path d="M4 4l8 8M12 4l-8 8"/></svg>')
