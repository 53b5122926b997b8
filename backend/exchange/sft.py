"""sft: conversations to imitate, `messages` and `tools` a line, as TRL's SFTTrainer and most others read them.

Which episodes is for the one who asks to say, such as --where won; those without a word of the model are left out.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from backend.exchange.choosing import Choice, tools_of
from backend.exchange.messages import completion
from backend.exchange.trl import line, offered
from backend.exchange.writing import write_lines

SUFFIX = ".sft.jsonl"
FOR = "conversations to imitate: messages and tools"


def write(choice: Choice, path: Path, told: Callable[[int], None]) -> int:
    return write_lines(lines(choice), path, told)


def lines(choice: Choice) -> Iterator[str]:
    tools = tools_of(choice.run.spec)
    for episode in choice.episodes():
        if said := completion(episode):
            yield line({"messages": [*map(dict, episode.prompt), *said], **offered(episode, tools)})
