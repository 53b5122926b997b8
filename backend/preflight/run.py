"""The checks in their order, environment by environment; each finding is handed on as soon as it is known."""

import asyncio
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from backend.environments import EPISODE_FACTS, Description, Source, Task
from backend.environments.sources import reach, sessions_for, source
from backend.errors import ModelError, OrtamError, RewardError
from backend.preflight import batch, budget, repeats, trial
from backend.preflight.findings import Finding, Line
from backend.preflight.model_view import ModelView, first_prompt, model_view
from backend.preflight.words import counted, listed, seconds
from backend.records import EnvironmentSpec, RewardTerm, RunSpec
from backend.rewards import Terms

Say = Callable[[str], None]


def check(spec: RunSpec, model: str | Path, refused: OrtamError | None = None,
          say: Say = lambda text: None) -> Iterator[Finding]:
    """`model` is what `from_pretrained` takes for the spec's; `refused` is what a launch would refuse it for.

    Never raises for what it finds; `say` takes what is being looked at, in words.
    """
    yield _settings(spec, refused)
    view = _View(spec, model, say)
    for asked in spec.environments:
        yield from _environment(spec, asked, view, say)


def _settings(spec: RunSpec, refused: OrtamError | None) -> Finding:
    line, train = Line("Settings"), spec.train
    if refused is None and spec.match:
        return line.green(f"a match: {counted(len(spec.match.players), 'player')}, {spec.plays}")
    if refused is None:
        return line.green(f"{counted(train.steps, 'step')} of {train.episodes_per_step} episodes in groups of "
                          f"{train.group_size}; {spec.model} can be had")
    return line.red(*_apart(str(refused), "Correct it in the spec."))


def _apart(sentence: str, otherwise: str) -> tuple[str, str]:
    """What is wrong, and the remedy: our errors say both in one sentence, with a semicolon between."""
    said, _, remedy = sentence.strip().partition("; ")
    if not remedy:
        return said, otherwise
    start = remedy[0] if "://" in remedy.split()[0] else remedy[0].upper()
    return said, f"{start}{remedy[1:].rstrip('.')}" + ("" if remedy.endswith("?") else ".")


class _View:
    """The model's template and tokenizer, loaded when first asked for."""

    def __init__(self, spec: RunSpec, model: str | Path, say: Say):
        self._spec, self._model, self._say = spec, model, say
        self._loaded: ModelView | ModelError | None = None

    def __call__(self) -> ModelView | ModelError:
        if self._loaded is None:
            self._say(f"loading the tokenizer of {self._spec.model}")
            try:
                self._loaded = model_view(self._spec, self._model)
            except ModelError as error:
                self._loaded = error
        return self._loaded


def _environment(spec: RunSpec, asked: EnvironmentSpec, view: _View, say: Say) -> Iterator[Finding]:
    say(f"starting {asked.id}")
    needed, began = spec.train.episodes_per_step, time.perf_counter()
    try:
        with reach(asked, sessions_for(needed)) as address:
            there = source(asked, address)
            description, tasks = there.describe(), there.tasks(asked.tasks, asked.options)
            yield _starts(asked, description, tasks, time.perf_counter() - began)
            if tasks:
                yield from _played(spec, asked, there, description, tasks, view, say)
    except OrtamError as error:
        yield Line("Start", asked.id).red(*_apart(str(error), "Start it, or correct where it comes from."))
    except Exception as error:  # an environment's code may raise anything; the other environments are still looked at
        yield Line("Start", asked.id).red(f"{type(error).__name__}: {error}", "See the environment's log.")


def _starts(asked: EnvironmentSpec, description: Description, tasks: list[Task], took: float) -> Finding:
    seen = (f"{description.title} answers after {seconds(took)}: {counted(len(description.tools), 'tool')} "
            f"({listed(tool.name for tool in description.tools)}), {counted(len(tasks), 'task')}, "
            f"{counted(len(description.facts), 'fact')}")
    line = Line("Start", asked.id, seconds=took, tools=[tool.name for tool in description.tools])
    if not tasks:
        return line.red(f"{seen}: there is nothing to play", "Choose other tasks or another split.")
    return line.amber(seen, description.notice) if description.notice else line.green(seen)


def _played(spec: RunSpec, asked: EnvironmentSpec, there: Source, description: Description, tasks: list[Task],
            view: _View, say: Say) -> Iterator[Finding]:
    # First of all, while the server has played nothing: what an episode leaves behind may show only once.
    say(f"playing one task of {asked.id} again and again")
    seen = asyncio.run(repeats.repeated(there, asked, tasks))
    if seen.fault:
        yield Line("Episodes", asked.id).red(*_apart(f"none could be played: {seen.fault.message}",
                                                     "See the environment's log."))
        return
    yield repeats.same_task(asked, seen)
    yield repeats.different_tasks(asked, seen)
    yield repeats.leaks(asked, seen)

    needed, group = spec.train.episodes_per_step, spec.train.group_size
    say(f"opening {needed} sessions of {asked.id}")
    opened = asyncio.run(batch.open_all(there, asked, tasks, needed, group))
    yield batch.sessions(asked, opened, group)

    terms, wrong = _terms(spec, asked, description)
    yield from wrong
    say(f"playing {trial.EPISODES} episodes of {asked.id} with each player")
    trials = asyncio.run(trial.tried(there, asked, tasks, terms, budget.guessed, spec.seed, max(1, opened.opened)))
    yield trial.episodes(asked, trials)
    yield trial.facts(asked, trials, description.facts)
    yield from trial.each_term(asked, trials, terms)
    if terms.terms:
        yield trial.worth(asked, trials)
    elif not wrong:
        yield Line("Good or random", asked.id).red("no reward term applies to it, so none of its episodes would be "
                                                   "scored", "Add a term for it, or leave it out.")

    turns = sum(len(play.turns) for play in trials[0].plays) / max(1, len(trials[0].plays))
    yield batch.pace(asked, opened, turns)
    if not spec.match:  # its players have tokenizers of their own
        yield from _model(spec, asked, description, view, trials)


def _terms(spec: RunSpec, asked: EnvironmentSpec, description: Description) -> tuple[Terms, list[Finding]]:
    """The terms that apply here and can be used, and a line for each that can't; the environment's own where the run
    has none."""
    known = description.facts.keys() | EPISODE_FACTS.keys()
    wanted = spec.rewards or [RewardTerm(name=name, value=value) for name, value in description.rewards]
    usable, wrong = [], []
    for term in wanted:
        if term.environments and asked.id not in term.environments:
            continue
        try:
            Terms([term], known).load()
            usable.append(term)
        except RewardError as error:
            said = str(error).removeprefix(f"reward term {term.name}: ")
            wrong.append(Line(f"Term {term.name}", asked.id).red(*_apart(said, "Correct the expression.")))
    terms = Terms(usable)
    terms.load()
    return terms, wrong


def _model(spec: RunSpec, asked: EnvironmentSpec, description: Description, view: _View,
           trials: list[trial.Trial]) -> Iterator[Finding]:
    loaded = view()
    plays = [play for each in trials for play in each.plays if play.turns]
    if isinstance(loaded, ModelError):
        prompt = Line("First prompt", asked.id, tools=[tool.schema() for tool in description.tools]).amber(
            str(loaded), "The prompt can be shown as the model sees it once its tokenizer is here.")
        count, exact, context = budget.guessed, False, None
    else:
        opening = next((play.opening for play in plays if play.opening), None)
        prompt, exact = first_prompt(asked, loaded, description, opening), loaded.usable
        count, context = (partial(loaded.tokens_after_prompt, asked=asked) if exact else budget.guessed), loaded.context
    if plays:
        yield budget.budget(asked, spec, trials, budget.Measured(
            [count(play) for play in plays], [len(play.turns) for play in plays], plays[0].max_turns, exact,
            prompt.detail.get("tokens"), context))
    yield prompt
