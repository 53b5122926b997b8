"""Warm-up: imitate games that a scripted player plays, before GRPO. Loss only on what the player said.

Games that ship here are played in this process; their texts are those a served environment gives, so what is imitated is
what the rollouts will look like, token for token.
"""

import asyncio
import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from accelerate import PartialState
from torch.nn.functional import cross_entropy

from backend.environments import Source, first_messages, messages_of
from backend.environments.players import PLAYERS, Player, played_all
from backend.environments.playthrough import Playthrough
from backend.environments.sources import in_process
from backend.errors import SpecError
from backend.records import EnvironmentSpec, RunSpec, WarmUp

BATCH = 32
"""Conversations an optimiser step learns from."""

FORWARD_TOKENS = 16_384
"""Padded tokens in one forward pass; a batch that has more is split and its gradients are added."""

RAMP = 20
"""Optimiser steps until the learning rate is reached; from there it falls in a straight line to a tenth."""


@dataclass(frozen=True)
class Sample:
    """A conversation as token ids; `mine` marks what the player said."""

    ids: list[int]
    mine: list[int]


def warm_up(model, tokenizer, spec: RunSpec, tables: dict, say: Callable[[str], None],
            stop: Callable[[], bool] = lambda: False) -> None:
    """Has `model` imitate `spec.warm_up.games` games, shared among the environments by weight, of the best player each has.

    `tables` are the run's, by environment id. Raises SpecError where an environment has no player, or the model's chat
    template can't mark what the player said.
    """
    asked = spec.warm_up or WarmUp()
    samples: list[Sample] = []
    weights = sum(table.environment.weight for table in tables.values())
    for name, table in tables.items():
        say(f"playing warm-up games of {name}")
        games = max(1, round(asked.games * table.environment.weight / weights))
        plays = play_games(table.environment, best_player(table.environment.use), games, spec.seed, table.source)
        samples += read(tokenizer, plays, table.environment)
    model.to(PartialState().device)
    imitate(model, samples, tokenizer.pad_token_id, epochs=asked.epochs, learning_rate=asked.learning_rate, seed=spec.seed,
            say=say, stop=stop)


def best_player(use: str) -> Callable[[random.Random], Player]:
    if use not in PLAYERS:
        raise SpecError("warm_up", f"no scripted player ships for {use}, so there are no games to imitate; leave warm_up out")
    return next(iter(PLAYERS[use].values()))


def play_games(environment: EnvironmentSpec, new_player: Callable[[random.Random], Player], games: int,
               seed: int, served: Source | None = None) -> list[Playthrough]:
    """`games` episodes over the environment's tasks, again from the first when there are fewer.

    Played in this process where that can be done, else at `served`.
    """
    source = in_process(environment) or served
    assert source, "what can't be played in this process has to be served"
    tasks = source.tasks(environment.tasks, environment.options)
    return asyncio.run(played_all(new_player, source, environment, [tasks[k % len(tasks)] for k in range(games)], seed))


def demonstration(play: Playthrough, asked: EnvironmentSpec) -> list[dict]:
    """The messages a model that is told what `asked` says would have seen and written, an empty last word included."""
    first = first_messages(asked, play.source.describe(), play.opening)
    return [*first, *messages_of(play.turns), {"role": "assistant", "content": ""}]


def read(tokenizer, plays: Sequence[Playthrough], asked: EnvironmentSpec) -> list[Sample]:
    """The playthroughs as the model would have met them."""
    from trl.chat_template_utils import get_training_chat_template

    try:
        template = get_training_chat_template(tokenizer)
    except ValueError as unknown:
        raise SpecError("warm_up", "this model's chat template doesn't mark what the assistant says, so games can't be "
                        "imitated; leave warm_up out or choose another model") from unknown
    samples = []
    for play in plays:
        schemas = [tool.schema() for tool in play.source.describe().tools]
        told = tokenizer.apply_chat_template(
            demonstration(play, asked), tools=schemas, chat_template=template, enable_thinking=False, return_dict=True,
            return_assistant_tokens_mask=True)
        samples.append(Sample(told["input_ids"], told["assistant_masks"]))
    return samples


def imitate(model, samples: Sequence[Sample], pad: int, *, epochs: int, learning_rate: float, seed: int,
            say: Callable[[str], None], stop: Callable[[], bool] = lambda: False) -> list[float]:
    """Supervised passes over `samples`; the loss of each optimiser step, in nats per token the player said."""
    rng = random.Random(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=0.01)
    steps = math.ceil(len(samples) / BATCH) * epochs
    losses: list[float] = []
    was_training = model.training
    model.train()
    for _ in range(epochs):
        order = rng.sample(range(len(samples)), len(samples))
        for start in range(0, len(order), BATCH):
            if stop():
                break
            for group in optimizer.param_groups:
                group["lr"] = learning_rate * min((len(losses) + 1) / RAMP, 1 - 0.9 * len(losses) / steps)
            losses.append(_learn(model, [samples[k] for k in order[start:start + BATCH]], pad))
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            if len(losses) % 10 == 0 or len(losses) == steps:
                recent = losses[-10:]
                say(f"warming up: {len(losses)} of {steps} steps, loss {sum(recent) / len(recent):.3f}")
    model.train(was_training)
    return losses


@torch.no_grad()
def loss_on(model, samples: Sequence[Sample], pad: int) -> float:
    """Nats per token the player said."""
    was_training = model.training
    model.eval()
    told = sum(sum(sample.mine[1:]) for sample in samples)
    whole = sum(_loss(model, part, pad).item() for part in _parts(samples))
    model.train(was_training)
    return whole / told


def _learn(model, batch: Sequence[Sample], pad: int) -> float:
    told = sum(sum(sample.mine[1:]) for sample in batch)
    whole = 0.0
    for part in _parts(batch):
        loss = _loss(model, part, pad) / told
        loss.backward()
        whole += loss.item()
    return whole


def _parts(batch: Sequence[Sample]) -> Iterator[list[Sample]]:
    """Of similar lengths, so that little is padding, and none larger than a forward pass takes."""
    part: list[Sample] = []
    for sample in sorted(batch, key=lambda sample: len(sample.ids)):
        if part and ((len(part) + 1) * len(sample.ids) > FORWARD_TOKENS or len(sample.ids) > 1.25 * len(part[0].ids)):
            yield part
            part = []
        part.append(sample)
    if part:
        yield part


def _loss(model, part: Sequence[Sample], pad: int) -> torch.Tensor:
    """Summed over the tokens the player said."""
    longest = max(len(sample.ids) for sample in part)
    ids = torch.full((len(part), longest), pad)
    mine, seen = torch.zeros_like(ids), torch.zeros_like(ids)
    for row, sample in enumerate(part):
        ids[row, :len(sample.ids)] = torch.tensor(sample.ids)
        mine[row, :len(sample.mine)] = torch.tensor(sample.mine)
        seen[row, :len(sample.ids)] = 1
    ids, mine, seen = (tensor.to(model.device) for tensor in (ids, mine, seen))
    with torch.autocast(model.device.type, torch.bfloat16, enabled=model.device.type == "cuda"):
        logits = model(input_ids=ids, attention_mask=seen).logits
    wanted = ids[:, 1:][mine[:, 1:] == 1]
    return cross_entropy(logits[:, :-1][mine[:, 1:] == 1].float(), wanted, reduction="sum")
