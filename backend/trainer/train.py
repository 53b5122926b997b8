"""One run from its spec to its result."""

import contextlib
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from accelerate import PartialState
from accelerate.utils import broadcast_object_list
from transformers import PrinterCallback

from backend.environments import EPISODE_FACTS
from backend.errors import RewardError, SpecError
from backend.records import Episode, Event, Policy, Result, RunSpec
from backend.rewards import Terms, check_term
from backend.rewards.functions import fingerprint
from backend.rewards.trouble import Trouble
from backend.store import Run, RunWriter
from backend.trainer import build
from backend.trainer.live import Lane
from backend.trainer.lookout import Lookout
from backend.trainer.pause import Pause, StoppedWaiting
from backend.trainer.recorder import RecordedTrainer, Reporter
from backend.trainer.rollout import Table
from backend.trainer.served import Served

ROOM = 3
"""Times the model's size that must be free for it to be saved after warm-up: the last save comes after it."""


def train(run: Run, writer: RunWriter | None, stop: Callable[[], bool]) -> Result:
    """Runs in every process; `writer` is None in all but the first."""
    spec = run.spec
    say = writer.phase if writer else lambda text: None
    state = PartialState(cpu=spec.resources.gpus == 0)
    with contextlib.ExitStack() as open_things:
        say("starting the environments")
        served = open_things.enter_context(contextlib.closing(Served(spec, state)))
        tables = served.tables
        check_terms(spec, tables)
        check_room(spec, tables)
        terms = Terms(spec.rewards)
        terms.load(run.judged())
        settings = build.arguments(spec, run.path / "checkpoints", state.num_processes,
                                   max(table.max_turns for table in tables.values()),
                                   [term.weight for term in spec.rewards])
        say(f"loading {spec.model}")
        model, tokenizer = build.load_model(spec)
        stop_agreed = agreed(stop, state)
        if spec.warm_up:
            from backend.trainer.warm_up import warm_up

            warm_up(model, tokenizer, spec, tables, say, stop_agreed)
            if stop_agreed():
                return Result(status="stopped", reason="asked to stop during the warm-up")
            if writer:
                keep_warmed_up(model, tokenizer, run.path / "checkpoints" / "warm-up", say)
        listed = [(table.environment, table.description, table.source) for table in tables.values()]
        trainer = RecordedTrainer(
            model=model, processing_class=tokenizer, args=settings,
            train_dataset=build.rows(listed, spec.train.episodes_per_step // spec.train.group_size),
            eval_dataset=build.held_out_rows(listed, spec.evaluate.tasks) if spec.evaluate else None,
            callbacks=[Reporter(writer.metrics if writer else lambda step, numbers: None, stop_agreed)],
            tables=tables, terms=terms, policy=Policy(kind="model", name=spec.model),
            record=kept_by(writer, Lookout(run.path, spec, {name: table.max_turns for name, table in tables.items()}))
            if writer else lambda episodes: None, say=say,
            pause=Pause(spec.train.pause_above, served.again, stop_agreed, say,
                        writer.event if writer else lambda event: None),
            live=Lane(run.path if writer else None, Policy(kind="model", name=spec.model), state.num_processes),
            greedy_evaluation=bool(spec.evaluate and spec.evaluate.greedy), message_cap=spec.train.message_cap,
        )
        if spec.warm_up and trainer.ref_model is not None:  # TRL loads it anew by its name, as it was before the warm-up
            trainer.accelerator.unwrap_model(trainer.ref_model).load_state_dict(model.state_dict())
        trainer.remove_callback(PrinterCallback)  # Reporter says each step in one line
        if writer:
            writer.event(Event(at=time.time(), kind="start", text=f"training {spec.model} on {', '.join(tables)}"))
            for term in spec.rewards:
                if term.kind == "python":
                    writer.event(Event(at=time.time(), kind="code", text=f"reward term {term.name} runs {term.value}, "
                                       f"SHA-256 {fingerprint(term.value)}"))
        with contextlib.suppress(StoppedWaiting):
            trainer.train()
        say("saving the model")
        trainer.save_model(str(draft_of(run.path / "checkpoints" / "final")))
        if writer:
            take_place(run.path / "checkpoints" / "final")
        if trainer.state.global_step < spec.train.steps and not stop_agreed():
            return Result(status="failed", reason="TRL ended the training by itself; see the log",
                          step=trainer.state.global_step)
        if trainer.state.global_step < spec.train.steps:
            return Result(status="stopped", reason="asked to stop", step=trainer.state.global_step)
        return Result(status="finished", reason=f"all {spec.train.steps} steps done", step=trainer.state.global_step)


def keep_warmed_up(model, tokenizer, folder: Path, say: Callable[[str], None]) -> None:
    """Saves what GRPO starts from, to be played against later; left out, and said so, where the disk has little room."""
    weights = sum(parameter.numel() * parameter.element_size() for parameter in model.parameters())
    if shutil.disk_usage(folder.parents[1]).free < ROOM * weights:
        say(f"the model after warm-up isn't saved: less than {ROOM * weights / 1e9:.1f} GB are free")
        return
    say("saving the model after warm-up")
    draft = draft_of(folder)
    try:
        model.save_pretrained(draft)
        tokenizer.save_pretrained(draft)
        take_place(folder)
    except Exception as error:  # a disk that filled up meanwhile, as the library tells it: no reason not to train
        say(f"the model after warm-up isn't saved: {error}")
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def draft_of(folder: Path) -> Path:
    """Where a model is written before it stands under its name, so that half a one never does."""
    return folder.with_name(f".{folder.name}")


def take_place(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)  # of an earlier attempt
    draft_of(folder).rename(folder)


def check_terms(spec: RunSpec, tables: dict[str, Table]) -> None:
    """Raises RewardError for a term over a fact its environments don't have: some tell only once they run."""
    for term in spec.rewards:
        for name in term.environments or tables:
            try:
                check_term(term, tables[name].description.facts.keys() | EPISODE_FACTS.keys())
            except RewardError as wrong:
                raise RewardError(f"reward term {term.name}, in {name}: {wrong}") from None


def check_room(spec: RunSpec, tables: dict[str, Table]) -> None:
    """Raises SpecError where an environment says that it can't hold a group at once."""
    for place, (name, table) in enumerate(tables.items()):
        room, needed = table.description.capacity, spec.train.group_size
        if room is not None and room < needed:
            raise SpecError(f"environments.{place}.use", f"{name} holds no more than {room} at once, but the {needed} "
                            "episodes of a group are played together; give it more sessions")


def kept_by(writer: RunWriter, lookout: Lookout) -> Callable[[list[Episode]], None]:
    """Records a batch, and says which reward terms began to fail in it and what else there is to know."""
    trouble = Trouble()

    def record(episodes: list[Episode]) -> None:
        writer.record(episodes)
        for event in (*trouble.of(episodes), *lookout.of(episodes)):
            writer.event(event)

    return record


def agreed(stop: Callable[[], bool], state: PartialState) -> Callable[[], bool]:
    """The first process's answer in every process: one that stopped a step early would leave the others waiting."""
    if state.num_processes == 1:
        return stop
    return lambda: broadcast_object_list([stop()])[0]
