"""Control tokens in texts that aren't the model's: an environment that sends `<|im_end|>` must not end a turn."""

import re
from collections.abc import Callable

BREAK = "\u200b"
"""A space without width: the text looks the same, and is no control token any more."""

MARKS = re.compile(r"<.*>|\[[A-Z_/]+\]|<\S+|\S+>", re.DOTALL)
"""Added tokens that steer a chat without being called special, such as `<tool_call>`."""


def neutraliser(tokenizer) -> Callable[[str], str]:
    """What breaks this tokenizer's control tokens wherever they stand in a text."""
    added = tokenizer.added_tokens_decoder.values()
    names = {token.content for token in added if token.special or MARKS.fullmatch(token.content)}
    names = {name for name in names | set(tokenizer.all_special_tokens) if len(name) > 1}
    if not names:
        return str
    found = re.compile("|".join(map(re.escape, sorted(names, key=len, reverse=True))))
    return lambda text: found.sub(lambda mark: f"{mark[0][0]}{BREAK}{mark[0][1:]}", text)
