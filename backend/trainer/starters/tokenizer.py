"""A tokenizer for one toy: whole words where its games use them, single bytes for everything else, so no text is lost.

Words never cross a special token, a line end or a bracket, so a piece at the edge of a turn is the same alone and in
context; GRPO continues conversations by token ids and depends on that.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

PAD, END, TOOLS, SYSTEM, USER, RESULT, ASSISTANT, CALL = SPECIAL = (
    "<|pad|>", "<|end|>", "<|tools|>", "<|system|>", "<|user|>", "<|result|>", "<|assistant|>", "<|call|>")

PIECE = (r'[a-z]+\{(?:\}|"\w+": "\[?)'       # a call's name with the opening of its arguments
         r'|(?:[a-z]+|\])?"\}'                  # their end
         r'|[A-Za-z]{2,}:\n| ?[A-Za-z]{2,}[.,:]?| ?[A-Za-z]| ?\d|\s?[^\sA-Za-z0-9\[\]]|\s|[\[\]]')
"""How text is cut before the vocabulary is looked up."""

COMMON = 0.1
"""Share of the conversations a piece must stand in to become a token."""

CHAT_TEMPLATE = """\
{%- if tools %}{{ '<|tools|>' }}{% for tool in tools %}{{ ' ' + (tool.function or tool).name }}{% endfor %}{% endif -%}
{%- for message in messages -%}
{%- if message.role == 'assistant' -%}
{{ '<|assistant|>' }}{% generation %}{{ message.content or '' }}
{%- for call in message.tool_calls or [] -%}
{%- set function = call.function or call -%}
{{ '<|call|>' + function.name }}
{{- function.arguments if function.arguments is string else function.arguments | tojson -}}
{%- endfor -%}
{{ '<|end|>' }}{% endgeneration %}
{%- elif message.role == 'tool' -%}
{{ '<|result|>' + message.content }}
{%- elif message.role == 'system' -%}
{{ '<|system|>' + message.content }}
{%- else -%}
{{ '<|user|>' + message.content }}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt %}{{ '<|assistant|>' }}{% endif -%}
"""
"""Of the tools only the names are shown: a toy can't read a schema, and every prompt token costs time."""

RESPONSE_TEMPLATE = {
    "defaults": {"role": "assistant"},
    "start_anchor": ASSISTANT,
    "fields": {
        "tool_calls": {
            "open_pattern": r"<\|call\|>(?P<name>[^\s{}<>]+)",
            "close_pattern": r"<\|end\|>|(?=<\|call\|>)",
            "repeats": True,
            "content": "json",
            "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}},
        },
        "content": {"close_pattern": r"<\|end\|>", "content": "text"},
    },
}


def build_tokenizer(texts: Sequence[str] = (), spelled: bool = False) -> "PreTrainedTokenizerFast":
    """With the pieces that stand in a tenth of `texts`, which are rendered conversations, as tokens of their own.

    `spelled`: bare lower-case words, such as a guess, are written letter by letter all the same.
    """
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    cut = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(PIECE), "isolated"),
                                   pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    counts: Counter[str] = Counter()
    for text in texts:
        parts = re.split("|".join(map(re.escape, SPECIAL)), text)
        counts.update({piece for part in parts for piece, _ in cut.pre_tokenize_str(part) if len(piece) > 1})
    common = sorted(piece for piece, texts_with_it in counts.items() if texts_with_it >= len(texts) * COMMON)
    if spelled:
        common = [piece for piece in common if not re.fullmatch("[a-z]+", piece)]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {piece: number for number, piece in enumerate([*SPECIAL, *alphabet, *common])}

    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[], ignore_merges=True))
    tokenizer.pre_tokenizer = cut
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIAL])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END, pad_token=PAD, padding_side="left",
                                   clean_up_tokenization_spaces=False, chat_template=CHAT_TEMPLATE,
                                   response_template=RESPONSE_TEMPLATE)
