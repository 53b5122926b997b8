"""TRL -> records. The only place that touches what TRL keeps to itself.

`RecordedTrainer` plays and scores exactly as GRPOTrainer does. It adds four things around it: all resets of a batch run
together before TRL asks for them, the calls of a turn run together (rollout.py), prompts carry the environments' exact
tool schemas, and each generated batch is handed on as records once, whatever number of optimiser passes uses it.

Written against TRL 1.16.0: `_generate_and_score_completions` runs once per generated batch, in training and evaluation;
its `advantages` are this process's, in the order of its inputs; groups are consecutive over all processes.
"""

import asyncio
import copy
import json
import math
import time
from collections.abc import Callable
from itertools import groupby
from typing import Any

from accelerate.utils import gather_object
from transformers import TrainerCallback
from trl import GRPOTrainer

from backend.environments import Task
from backend.records import UNSCORED, Episode, Policy, Turn
from backend.rewards import Played, Terms, Verdict
from backend.trainer.control_tokens import neutraliser
from backend.trainer.live import Lane
from backend.trainer.pause import Pause
from backend.trainer.rollout import Round, Rounds, Seat, Spoken, Table, last_words, story, with_answer


class RecordedTrainer(GRPOTrainer):
    """`tables` by environment id; `record` takes the episodes of one generated batch on the main process only;
    `say` takes what the trainer is doing, in words; `pause` waits for environments that went away; `live` tells which
    episodes are being played."""

    def __init__(self, *, tables: dict[str, Table], terms: Terms, policy: Policy, record: Callable[[list[Episode]], None],
                 say: Callable[[str], None], pause: Pause, live: Lane, greedy_evaluation: bool, attempt: int = 1,
                 message_cap: int | None = None, **of_trl):
        self.tables, self.terms, self.policy, self.attempt = tables, terms, policy, attempt
        self.record, self.say, self.pause, self.live, self.greedy_evaluation = record, say, pause, live, greedy_evaluation
        self.message_cap = message_cap
        self._next_group: dict[tuple[str, int], int] = {}
        clean = neutraliser(of_trl["processing_class"])
        factories: dict[str, Callable] = {name: (lambda table=table: Seat(table, clean)) for name, table in tables.items()}
        self._seat_of = factories
        super().__init__(environment_factory=factories, reward_funcs=reward_functions(terms), **of_trl)
        self._env_tools = {name: [tool.schema() for tool in table.description.tools] for name, table in tables.items()}

    # ------------------------------------------------------------------------------------------- one generated batch

    def _generate_and_score_completions(self, inputs):
        phase, step = ("train", self.state.global_step + 1) if self.model.training else ("eval", self.state.global_step)
        self._seats = self._take_seats(inputs)
        names = [self._place(phase, step, place) for place in range(len(inputs))]
        with self.live.playing(phase, step, self._seats, names):
            output = self._play_and_score(phase, step, inputs)
        if phase == "train":
            self.say(f"learning from step {step}")
        return output

    def _play_and_score(self, phase, step, inputs):
        self.say(f"opening {len(self._seats)} episodes of step {step}")
        started = time.perf_counter()
        self._await_all(seat.sit(task_of(row)) for seat, row in zip(self._seats, inputs, strict=True))
        self._metrics[phase]["seconds/opening"].append(time.perf_counter() - started)
        self.pause.until_open(self._seats, lambda seats: self._await_all(seat.sit(seat.task) for seat in seats))
        self.say(f"playing step {step}" if phase == "train" else f"evaluating after step {step}")
        output = super()._generate_and_score_completions(inputs)
        advantages = output["advantages"].tolist() if phase == "train" else [None] * len(inputs)
        episodes = [self._episode(sample, advantages[sample]) for sample in range(len(inputs))]
        self._hand_on(phase, step, gather_object(episodes))
        return output

    def _take_seats(self, inputs) -> list[Seat]:
        """The very seats TRL will take for these inputs: it fills each environment's pool from the front."""
        taken: dict[str, int] = {}
        seats: list[Seat] = []
        for row in inputs:
            name = row["environment"]
            pool: list = self._environment_pool[name]
            place = taken.get(name, 0)
            if place == len(pool):
                pool.append(self._seat_of[name]())
            taken[name] = place + 1
            seats.append(pool[place])
        return seats

    def _generate(self, prompts):
        self._prompts, self._model_seconds, self._rounds = prompts, [], None
        started = time.perf_counter()
        generated = super()._generate(prompts)
        _, ids, masks, self._completions = generated[:4]
        ends = {*self.eos_token_ids, self._tokenizer.pad_token_id}
        self._spoken = [self._said(of_one, mask) for of_one, mask in zip(ids, masks, strict=True)]
        self._truncated = [of_one[-1] not in ends or self._cut(sample) for sample, of_one in enumerate(ids)]
        self._answers: dict[int, Turn | None] = {}
        self._await_all(self._answer(sample) for sample in range(len(ids)))
        self._await_all(seat.leave() for seat in self._seats)
        mine = self._metrics["train" if self.model.training else "eval"]
        mine["seconds/model"].append(sum(self._model_seconds))
        mine["seconds/environment"].append(time.perf_counter() - started - sum(self._model_seconds))
        self.live.doing("scoring")
        started = time.perf_counter()
        self._score()
        mine["seconds/scoring"].append(time.perf_counter() - started)
        return generated

    async def _answer(self, sample: int) -> None:
        """Words without a call are an answer where the environment takes them as one; those that were cut are not."""
        words = last_words(self._completions[sample], self._spoken[sample])
        if words is not None and not self._truncated[sample]:
            self._answers[sample] = await self._seats[sample].play.say(words)

    def _score(self) -> None:
        self._turns = [story(messages, self._played(sample), self._spoken[sample], self._model_seconds)
                       for sample, messages in enumerate(self._completions)]
        for sample, answer in self._answers.items():
            if answer:
                self._turns[sample] = with_answer(self._turns[sample], answer)
        scored = [sample for sample, seat in enumerate(self._seats) if seat.play.status(self._truncated[sample]) not in UNSCORED]
        batch = [Played(self._facts(sample), self._seats[sample].table.environment.id, self._prompts[sample],
                        self._turns[sample]) for sample in scored]
        found = asyncio.run_coroutine_threadsafe(self.terms.score_all(batch), self.async_loop).result()
        self._verdicts = dict(zip(scored, found, strict=True))
        for sample, seat in enumerate(self._seats):
            seat.scores = self._verdicts[sample].scores if sample in self._verdicts else {}

    def _generate_single_turn(self, *args, **kwargs):
        started = time.perf_counter()
        self.live.doing("generating")
        if self.model.training or not self.greedy_evaluation:
            made = super()._generate_single_turn(*args, **kwargs)
        else:
            with _greedy(self):
                made = super()._generate_single_turn(*args, **kwargs)
        self._model_seconds.append(time.perf_counter() - started)
        self.live.doing("playing")
        return made

    def _tool_call_loop(self, prompts, prompt_ids, completion_ids, completions, *rest):
        self._rounds = Rounds(self._seats, completions, self.async_loop)
        self.live.turns_of(self._rounds)
        self._sync_tool_dicts = [{} for _ in completions]
        self._async_tool_dicts = [self._rounds.tools(sample) for sample in range(len(completions))]
        return super()._tool_call_loop(prompts, prompt_ids, completion_ids, completions, *rest)

    # ------------------------------------------------------------------------------------------------- into records

    def _said(self, ids: list[int], mask: list[int]) -> list[Spoken]:
        """Each assistant message: the mask is 1 on what the model generated, and tool results (0) lie between."""
        runs = [list(run) for mine, run in groupby(zip(ids, mask, strict=True), key=lambda pair: pair[1]) if mine]
        return [Spoken(len(run), self._tokenizer.decode([token for token, _ in run])) for run in runs]

    def _cut(self, sample: int) -> bool:
        """Whether the answers to the last calls, or what would follow them, found no room in the token budget."""
        last = self._completions[sample][-1]
        return last["role"] == "tool" or id(last) in self._played(sample)

    def _played(self, sample: int) -> dict[int, Round]:
        return self._rounds.played[sample] if self._rounds else {}

    def _facts(self, sample: int) -> dict:
        play = self._seats[sample].play
        tokens = sum(spoken.tokens for spoken in self._spoken[sample])
        return {**play.facts, "truncated": self._truncated[sample], "completion_tokens": tokens}

    def _episode(self, sample: int, advantage: float | None) -> dict:
        """One episode as plain values, without its place in the step, ready to travel between processes."""
        seat, play = self._seats[sample], self._seats[sample].play
        truncated, facts, turns = self._truncated[sample], self._facts(sample), self._turns[sample]
        status, cap = play.status(truncated), self.message_cap
        unplayed = turns[-1].fault.kind if turns and turns[-1].fault else ""
        if status in ("finished", "lost") and not play.done:
            status = {"no_turns_left": "out_of_turns", "unparsed_call": "invalid"}.get(unplayed, status)
        verdict = self._verdicts.get(sample, Verdict(dict.fromkeys(names_of(self.terms))))
        scores = verdict.scores
        stop = play.why(status)
        if status == "truncated" and cap and self._spoken[sample] and self._spoken[sample][-1].tokens >= cap:
            stop = f"its last message was cut at {cap} tokens"
        fault = play.fault or next(iter(verdict.faults), None)
        total = self.terms.total(scores)
        return dict(
            environment=seat.table.environment.id, task=seat.task.key, seed=seat.task.seed, fingerprint=play.fingerprint,
            policy=self.policy.model_dump(), status=status, stop=stop, prompt=self._prompts[sample],
            opening=play.opening or "", images=play.images, start_facts=play.start_facts, facts=facts, scores=scores,
            total=total, advantage=None if total is None else advantage,
            tokens=facts["completion_tokens"], started=play.started, seconds=play.seconds,
            fault=fault.model_dump() if fault else None,
            judged={name: judged.model_dump() for name, judged in verdict.judged.items()},
            turns=[turn.model_dump() for turn in turns],
        )

    def _place(self, phase: str, step: int, place: int) -> tuple[str, int, int]:
        """Id, group and sample of one of the next batch to be handed on, all processes' episodes in order: the first
        process's are the first."""
        size: int = self.num_generations if phase == "train" else self.num_generations_eval  # type: ignore[assignment]
        group, sample = self._next_group.get((phase, step), 0) + place // size, place % size
        name = f"{step}-{group}-{sample}" if phase == "train" else f"eval-{step}-{group}-{sample}"
        return name + (f"-r{self.attempt}" if self.attempt > 1 else ""), group, sample

    def _hand_on(self, phase: str, step: int, everyone: list[dict]) -> None:
        episodes = []
        for place, told in enumerate(everyone):
            name, group, sample = self._place(phase, step, place)
            episodes.append(Episode(id=name, phase=phase, step=step, attempt=self.attempt, group=group, sample=sample, **told))
        self._next_group = {(phase, step): self._place(phase, step, len(everyone))[1]}
        if self.accelerator.is_main_process:
            self.record(episodes)
        self.pause.after(episodes)

    def _await_all(self, coroutines) -> None:
        async def together():
            await asyncio.gather(*coroutines)

        asyncio.run_coroutine_threadsafe(together(), self.async_loop).result()


def task_of(row: dict) -> Task:
    """The dataset row's columns, as build.rows wrote them, back into a task."""
    return Task(row["task"], row["seed"], json.loads(row["options"]))


def reward_functions(terms: Terms) -> list[Any]:
    """One function per term, named as the term, so that TRL's own curves carry the same names."""

    def function(name: str) -> Callable:
        def read(environments, **_):
            return [seat.scores.get(name) for seat in environments]

        read.__name__ = name
        return read

    return [function(name) for name in names_of(terms)]


def names_of(terms: Terms) -> list[str]:
    return [term.name for term in terms.terms]


class Reporter(TrainerCallback):
    """Metrics as TRL logs them, and the stop after a step."""

    def __init__(self, write: Callable[[int, dict[str, float | None]], None], stop_asked: Callable[[], bool]):
        self.write, self.stop_asked = write, stop_asked

    def on_log(self, args, state, control, logs=None, **_):
        if state.is_world_process_zero:
            numbers = {name: value for name, value in (logs or {}).items() if value is None or isinstance(value, int | float)}
            numbers = {name: _finite(value) for name, value in numbers.items()}
            self.write(state.global_step, numbers)
            if any("rewards/" in name for name in numbers):
                print(_line(state, numbers), flush=True)

    def on_step_end(self, args, state, control, **_):
        if self.stop_asked():
            control.should_training_stop = True


def _line(state, numbers: dict[str, float | None]) -> str:
    """What the log says of a step or an evaluation."""
    place, start = f"step {state.global_step}/{state.max_steps}", "rewards/"
    if any(name.startswith("eval_") for name in numbers):
        place, start = f"evaluation after {place}", "eval_rewards/"
    terms = {name.removeprefix(start).removesuffix("/mean"): value for name, value in numbers.items()
             if name.startswith(start) and name.endswith("/mean")}
    parts = [place, *(f"{name} {'not scored' if value is None else format(value, '.3f')}" for name, value in terms.items())]
    if numbers.get("step_time"):
        parts.append(f"{numbers['step_time']:.1f} s")
    return "  ".join(parts)


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


class _greedy:
    """Within it the trainer generates the likeliest token."""

    def __init__(self, trainer: GRPOTrainer):
        self.trainer = trainer

    def __enter__(self):
        if self.trainer.use_vllm:
            self.kept, self.trainer.vllm_generation.temperature = self.trainer.vllm_generation.temperature, 0.0
        else:
            self.kept = self.trainer.generation_config
            self.trainer.generation_config = copy.deepcopy(self.kept)
            self.trainer.generation_config.update(do_sample=False, temperature=1.0, top_p=1.0)

    def __exit__(self, *_):
        if self.trainer.use_vllm:
            self.trainer.vllm_generation.temperature = self.kept
        else:
            self.trainer.generation_config = self.kept
