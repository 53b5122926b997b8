"""trl: what TRL and datasets read. `datasets.load_dataset("json", data_files=FILE)` gives a conversational dataset.

A line an episode: `prompt` and `completion` as messages with tool calls and tool messages, `tools` as the model was
offered them where the catalog knows them, and beside them id, step, group, status, `reward` (the total), `advantage`,
`reward_<term>`, and for a term of the run `weight_<term>`, what it counts in the total. What the token budget cut is left
out, as the model learnt nothing from it, and so are pictures. Text goes to tokenizers, so a lone surrogate becomes U+FFFD
here; jsonl keeps it.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from backend.exchange.choosing import Choice, tools_of, weights_of
from backend.exchange.messages import completion
from backend.exchange.writing import write_lines
from backend.records import Episode
from backend.store import codec

SUFFIX = ".trl.jsonl"
FOR = "prompt, completion, tools and rewards, as TRL reads them"


def write(choice: Choice, path: Path, told: Callable[[int], None]) -> int:
    return write_lines(lines(choice), path, told)


def lines(choice: Choice) -> Iterator[str]:
    tools = tools_of(choice.run.spec)
    terms = [term.name for term in choice.run.spec.rewards]
    weights = {f"weight_{name}": weight for name, weight in weights_of(choice.run.spec).items()}
    return (line(row(episode, tools, terms) | weights) for episode in choice.episodes())


def row(episode: Episode, tools: Mapping[str, Sequence[dict[str, Any]]], terms: Sequence[str]) -> dict[str, Any]:
    names = dict.fromkeys([*terms, *episode.scores])
    return {"prompt": [dict(message) for message in episode.prompt], "completion": completion(episode),
            **offered(episode, tools), "id": episode.id, "step": episode.step, "group": episode.group,
            "environment": episode.environment, "status": episode.status, "reward": episode.total,
            "advantage": episode.advantage, **{f"reward_{name}": episode.scores.get(name) for name in names}}


def offered(episode: Episode, tools: Mapping[str, Sequence[dict[str, Any]]]) -> dict[str, Any]:
    """Every line of a file has the column or none has."""
    return {"tools": list(tools.get(episode.environment, ()))} if tools else {}


def line(row: dict[str, Any]) -> str:
    """Strict JSON."""
    return json.dumps(strict(row), ensure_ascii=False, allow_nan=False, default=str) + "\n"


def strict(value: Any) -> Any:
    """Valid UTF-8, finite numbers."""
    return codec.finite(value, lambda text: re.sub("[\ud800-\udfff]", "\ufffd", text))
