"""sft: conversations to imitate, `messages` and `tools` a line, as TRL's SFTTrainer and most others read them.

Which episodes is for the one who asks to say, such as --where won; those without a word of the model are left out.
"""

from collections.abc import Callable
from pathlib import Path

from backend.exchange.choosing import Choice, tools_of
from backend.exchange.messages import completion
from backend.exchange.trl import offered, write_rows

SUFFIX = ".sft.jsonl"
FOR = "conversations to imitate: messages and tools"


def write(choice: Choice, path: Path, told: Callable[[int], None]) -> int:
    tools = tools_of(choice.run.spec)

    def row(episode):
        said = completion(episode)
        return {"messages": [*map(dict, episode.prompt), *said], **offered(episode, tools)} if said else None

    return write_rows(choice, path, told, row)
