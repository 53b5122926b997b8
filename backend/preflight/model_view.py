"""What the model sees: the first prompt of an episode through its chat template, tool block included, and whether that
template can carry a conversation with tools at all. Loads transformers and TRL, so never in the web process.
"""

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backend.environments import Description, Tool, first_messages, messages_of
from backend.environments.playthrough import Playthrough
from backend.errors import ModelError
from backend.preflight.findings import Finding, Line
from backend.preflight.words import counted, listed
from backend.records import EnvironmentSpec, RunSpec

CANT_CALL = ("its chat template can't carry tool calls and their answers",
             "Choose a model that was trained to call tools, such as Qwen/Qwen3-0.6B.")
NO_PARSER = ("no parser is known for its chat template, so its tool calls would be read as mere words",
             "Choose a model of a known family (Qwen 2.5 and 3, Llama 3.1 and 3.2, GLM 4, GPT-OSS, Gemma 4), or save a "
             "response_template with its tokenizer.")
REWRITES = ("its chat template writes earlier turns anew at each turn, and no template to train with is known for it",
            "Choose a model of a known family, such as Qwen 3.")

NO_SYSTEM = "Write it at the start of the environment's prompt and leave system empty, or choose another model."


@dataclass(frozen=True)
class ModelView:
    tokenizer: Any
    thinking: bool
    template: str | None
    """What TRL puts in the place of the model's own template; None where that one will do."""
    context: int | None
    """Tokens the model can hold; None where it doesn't say."""
    problems: tuple[tuple[str, str], ...] = ()
    """(what is wrong, what to do), each of which keeps a trainer from starting."""

    @property
    def usable(self) -> bool:
        return not self.problems

    def prompt(self, first: list[dict[str, Any]], tools: tuple[Tool, ...]) -> str:
        return self._rendered(first, tools, ends=False)

    def tokens(self, text: str) -> int:
        return len(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def tokens_after_prompt(self, play: Playthrough, asked: EnvironmentSpec) -> int:
        """Of calls and answers."""
        first: list[dict[str, Any]] = [*first_messages(asked, play.source.describe(), play.opening)]
        whole = self._rendered([*first, *messages_of(play.turns)], play.source.describe().tools, ends=True)
        start = self.prompt(first, play.source.describe().tools)
        return max(0, self.tokens(whole) - self.tokens(start))

    def _rendered(self, messages: list[dict[str, Any]], tools: tuple[Tool, ...], ends: bool) -> str:
        return self.tokenizer.apply_chat_template(
            messages, tools=[tool.schema() for tool in tools] or None, chat_template=self.template,
            add_generation_prompt=not ends, tokenize=False, enable_thinking=self.thinking)


def model_view(spec: RunSpec, folder: str | Path) -> ModelView:
    """`folder` is what `from_pretrained` takes for the spec's model. Raises ModelError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _model_view(spec, folder)


def _model_view(spec: RunSpec, folder: str | Path) -> ModelView:
    try:
        from transformers import AutoConfig, AutoTokenizer
        from trl import chat_template_utils as trl
    except ImportError as error:
        raise ModelError(f"the prompt can't be shown without {error.name}; run pip install -r requirements.txt"
                         ) from None
    try:
        tokenizer = AutoTokenizer.from_pretrained(str(folder))
        context = getattr(AutoConfig.from_pretrained(str(folder)), "max_position_embeddings", None)
    except Exception as error:  # any of a dozen libraries' errors
        first = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise ModelError(f"the tokenizer of {spec.model} can't be loaded: {first}") from None

    problems, template = [], None
    if not trl.supports_tool_calling(tokenizer):
        problems.append(CANT_CALL)
    else:
        if not any(getattr(tokenizer, name, None) for name in ("response_template", "response_schema")):
            try:
                trl.add_response_schema(tokenizer)
            except ValueError:
                problems.append(NO_PARSER)
        try:
            if not trl.is_chat_template_prefix_preserving(tokenizer):
                template = trl.get_training_chat_template(tokenizer)
        except ValueError:
            problems.append(REWRITES)
    return ModelView(tokenizer, spec.generation.thinking, template, context if isinstance(context, int) else None,
                     tuple(problems))


def first_prompt(asked: EnvironmentSpec, view: ModelView, described: Description, opening: str | None) -> Finding:
    tools = described.tools
    line = Line("First prompt", asked.id, tools=[tool.schema() for tool in tools])
    if not view.tokenizer.chat_template:
        return line.red("the model has no chat template", "Choose one that was trained to chat and to call tools.")
    first = first_messages(asked, described, opening)
    try:
        text = view.prompt(first, tools)
    except Exception as error:  # a template raises what it likes
        said = (str(error).strip() or repr(error)).splitlines()[0]
        if len(first) > 1 and _renders(view, first[1:], tools):
            return line.red(f"the chat template takes no system message: {said}", NO_SYSTEM)
        return line.red(f"the chat template failed: {said}", "Choose another model, or simplify the tools' schemas.")
    tokenizer = view.tokenizer
    marks = {*map(str, tokenizer.all_special_tokens), *tokenizer.get_added_vocab()}
    line.detail |= {"prompt": text, "tokens": view.tokens(text), "marks": sorted(m for m in marks if m in text)}
    seen = f"{counted(line.detail['tokens'], 'token')} with {counted(len(tools), 'tool')}"
    if len(first) > 1 and "".join(first[0]["content"].split()) not in "".join(text.split()):
        return line.red(f"{seen}, but the system prompt can't be found in it: the template leaves it out", NO_SYSTEM)
    if view.problems:
        wrong, remedy = view.problems[0]
        return line.red(f"{seen}, but {wrong}", remedy)
    if missing := [tool.name for tool in tools if tool.name not in text]:
        return line.red(f"{seen}, but {listed(missing)} can't be found in it: the template leaves tools out",
                        "Choose another model, or describe the tools in the environment's prompt.")
    if not tools:
        return line.amber(f"{seen}: there is nothing the model could call", "See whether the environment lists its "
                          "tools.")
    return line.green(seen)


def _renders(view: ModelView, messages: list[dict[str, Any]], tools: tuple[Tool, ...]) -> bool:
    try:
        return bool(view.prompt(messages, tools))
    except Exception:
        return False
