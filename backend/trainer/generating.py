"""A model in this process as a player, many games at once, on the tokens it would have met in training.

As TRL's GRPOTrainer does, a conversation is continued by its token ids and never rendered anew, tool answers are put in as
the chat template writes them after a call, and what the model wrote is read by the tokenizer's response template.
"""

import asyncio
import gc
import time
import zlib
from collections.abc import Sequence
from typing import Any

import torch
from transformers import GenerationConfig, LogitsProcessor, LogitsProcessorList
from trl.chat_template_utils import (
    add_response_schema,
    get_training_chat_template,
    is_chat_template_prefix_preserving,
    parse_response,
    supports_tool_calling,
)

from backend.environments import Tool
from backend.errors import ModelError
from backend.records import RunSpec
from backend.trainer.build import load_model
from backend.trainer.control_tokens import neutraliser
from backend.trainer.rollout import words_in
from backend.trainer.speakers import Call, Said, SpeakerFailed

CANT_CALL = "its chat template isn't one whose tool calls can be read here; choose an instruct model such as Qwen/Qwen3-0.6B"


class Generator:
    """`name` is what `from_pretrained` takes. Raises ModelError where it can't be loaded or can't call tools."""

    def __init__(self, name: str, spec: RunSpec, temperature: float):
        self.temperature = temperature
        self.model, self.tokenizer = load_model(spec.model_copy(update={"model": name}))
        self.device = torch.device("cuda" if spec.resources.gpus and torch.cuda.is_available() else "cpu")
        self.at_once = 64 if self.device.type == "cuda" else 16
        self.model.to(self.device, torch.bfloat16 if self.device.type == "cuda" else torch.float32).eval()
        self.budget = spec.train.max_completion_tokens
        self.context = getattr(self.model.config, "max_position_embeddings", None) or 2**31
        self.clean = neutraliser(self.tokenizer)
        self._rendering = {"enable_thinking": spec.generation.thinking}
        self._template = self._readable(name)
        self._ends = _ends(self.model, self.tokenizer)
        self._talking: list[ModelTalk] = []
        self._speaking: asyncio.Task[None] | None = None
        """Held here, since the event loop doesn't."""
        self._seed = spec.seed

    def talk(self, messages: Sequence[dict[str, Any]], tools: Sequence[Tool], luck: str) -> "ModelTalk":
        try:
            talk = ModelTalk(self, list(messages), [tool.schema() for tool in tools], f"{self._seed}/{luck}")
        except Exception as error:  # a chat template raises what it likes, at a system message for one
            raise SpeakerFailed(f"its chat template refuses the prompt: {str(error)[:300]}") from error
        self._talking.append(talk)
        return talk

    async def close(self) -> None:
        del self.model
        gc.collect()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def left(self, talk: "ModelTalk") -> None:
        if talk in self._talking:
            self._talking.remove(talk)
            self.speak()

    def speak(self) -> None:
        """Generates for all games together, once each of them waits for its next word."""
        waiting = [talk for talk in self._talking if talk.waits]
        if waiting and len(waiting) == len(self._talking):
            self._speaking = asyncio.create_task(self._speak(waiting))

    async def _speak(self, waiting: Sequence["ModelTalk"]) -> None:
        """Beside the event loop, which answers the pings of environments meanwhile: generating may take minutes."""
        began = time.perf_counter()
        try:
            made = await asyncio.to_thread(self._generated, waiting)
        except Exception as error:  # out of memory, or a model whose files don't fit each other
            for talk in waiting:
                talk.fail(SpeakerFailed(f"generation failed: {type(error).__name__}: {str(error)[:300]}"))
            return
        took = time.perf_counter() - began
        for talk, ids in zip(waiting, made, strict=True):
            talk.hear(ids, took)

    def prompt(self, messages: list[dict], tools: list[dict]) -> list[int]:
        return self.tokenizer.apply_chat_template(messages, tools=tools or None, chat_template=self._template,
                                                  add_generation_prompt=True, tokenize=True, return_dict=False,
                                                  **self._rendering)

    def suffix(self, answers: list[dict]) -> list[int]:
        """The tokens of tools' answers after a call, and of the next message's beginning."""
        call = {"type": "function", "function": {"name": answers[0]["name"], "arguments": {}}}
        before = [{"role": "user", "content": "dummy"}, {"role": "assistant", "content": "", "tool_calls": [call]}]
        render = {"chat_template": self._template, "tokenize": True, "return_dict": False, **self._rendering}
        start = self.tokenizer.apply_chat_template(before, add_generation_prompt=False, **render)
        whole = self.tokenizer.apply_chat_template([*before, *answers], add_generation_prompt=True, **render)
        ends = [place for place, token in enumerate(start) if token == self.tokenizer.eos_token_id]
        start = start[:ends[-1] + 1] if ends else start  # what follows the end of a turn belongs to the answers
        if whole[:len(start)] != start:
            raise SpeakerFailed("its chat template can't put a tool's answer after a call")
        return whole[len(start):]

    def read(self, ids: list[int], prefix: list[int], tools: list[dict]) -> dict[str, Any]:
        return parse_response(self.tokenizer, ids, prefix=prefix, tools=[*tools])

    def ended(self, ids: list[int]) -> bool:
        return bool(ids) and ids[-1] in self._ends

    def _readable(self, name: str) -> str | None:
        """The template to render with; None for the tokenizer's own."""
        if not self.tokenizer.chat_template or not supports_tool_calling(self.tokenizer):
            raise ModelError(f"model {name} can't play: {CANT_CALL}")
        try:
            if all(getattr(self.tokenizer, kind, None) is None for kind in ("response_template", "response_schema")):
                add_response_schema(self.tokenizer)
            return None if is_chat_template_prefix_preserving(self.tokenizer) else get_training_chat_template(self.tokenizer)
        except ValueError:
            raise ModelError(f"model {name} can't play: {CANT_CALL}") from None

    @torch.inference_mode()
    def _generated(self, talks: Sequence["ModelTalk"]) -> list[list[int]]:
        """What each says next, its end included, no longer than it has room for."""
        longest = max(len(talk.ids) for talk in talks)
        pad = self.tokenizer.pad_token_id
        ids = torch.full((len(talks), longest), pad)
        seen = torch.zeros_like(ids)
        for row, talk in enumerate(talks):
            ids[row, longest - len(talk.ids):] = torch.tensor(talk.ids)
            seen[row, longest - len(talk.ids):] = 1
        config = GenerationConfig(max_new_tokens=max(talk.room for talk in talks), pad_token_id=pad, do_sample=False,
                                  bos_token_id=self.tokenizer.bos_token_id, eos_token_id=self._ends,
                                  disable_compile=True)
        sampling = LogitsProcessorList([Luck([talk.dice() for talk in talks], self.temperature)] if self.temperature else [])
        made = self.model.generate(input_ids=ids.to(self.device), attention_mask=seen.to(self.device),
                                   generation_config=config, logits_processor=sampling)[:, longest:].tolist()
        return [self._to_its_end(row)[:talk.room] for row, talk in zip(made, talks, strict=True)]

    def _to_its_end(self, ids: list[int]) -> list[int]:
        end = next((place for place, token in enumerate(ids) if token in self._ends), len(ids) - 1)
        return ids[:end + 1]


class Luck(LogitsProcessor):
    """Samples each row with dice of its own, so that a game goes as it goes whatever is generated beside it. The token drawn
    is the only one left."""

    def __init__(self, dice: Sequence[torch.Generator], temperature: float):
        self.dice, self.temperature = dice, temperature

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        below = (scores / self.temperature).softmax(-1).cumsum(-1)
        drawn = torch.stack([torch.rand(1, generator=die, device=scores.device) for die in self.dice]) * below[:, -1:]
        chosen = torch.searchsorted(below, drawn, right=True).clamp_max(scores.shape[1] - 1)
        return torch.full_like(scores, -torch.inf).scatter(-1, chosen, 0.0)


class ModelTalk:
    """`luck`: what its samples are drawn by; the same gives the same."""

    def __init__(self, generator: Generator, messages: list[dict], tools: list[dict], luck: str):
        self.generator, self.tools, self.luck = generator, tools, luck
        self.ids = generator.prompt(messages, tools)
        self.start = len(self.ids)
        self._asked: list[str] = []
        self._answer: asyncio.Future[tuple[list[int], float]] | None = None

    @property
    def waits(self) -> bool:
        return self._answer is not None and not self._answer.done()

    @property
    def room(self) -> int:
        """Tokens that may still be added, by the budget and by what the model can look back over."""
        return min(self.start + self.generator.budget, self.generator.context) - len(self.ids)

    def dice(self) -> torch.Generator:
        """Of the next message."""
        luck = f"{self.luck}/{len(self.ids)}".encode("utf-8", "replace")
        return torch.Generator(self.generator.device).manual_seed(zlib.crc32(luck))

    async def next(self, answers: Sequence[str] = ()) -> Said | None:
        if answers:
            told = [{"role": "tool", "name": name, "content": text}
                    for name, text in zip(self._asked, answers, strict=True)]
            self.ids += self.generator.suffix(told)
        if self.room <= 0:
            return None
        self._answer = asyncio.get_running_loop().create_future()
        self.generator.speak()
        made, took = await self._answer
        said = self.generator.read(made, self.ids, self.tools)
        self.ids += made
        calls = [call.get("function", call) for call in said.get("tool_calls") or ()]
        self._asked = [call["name"] for call in calls]
        return Said(
            words_in(said.get("content")), words_in(said.get("reasoning_content") or said.get("thinking")),
            tuple(Call(call["name"], call["arguments"]) for call in calls), len(made), took,
            self.generator.tokenizer.decode(made), not self.generator.ended(made))

    def hear(self, ids: list[int], seconds: float) -> None:
        if self._answer and not self._answer.done():
            self._answer.set_result((ids, seconds))

    def fail(self, error: SpeakerFailed) -> None:
        if self._answer and not self._answer.done():
            self._answer.set_exception(error)

    def end(self) -> None:
        self.generator.left(self)


def _ends(model, tokenizer) -> list[int]:
    """Every token that ends a message."""
    declared = model.generation_config.eos_token_id
    declared = [] if declared is None else [declared] if isinstance(declared, int) else list(declared)
    return list(dict.fromkeys([tokenizer.eos_token_id, *declared]))

