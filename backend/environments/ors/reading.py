"""What an ORS server answers, as tools, texts, images and facts."""

import hashlib
import json
import keyword
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from backend.environments import EPISODE_FACTS, Tool
from backend.records import FactValue

LONGEST_FACT = 500
"""Characters of a text that is kept as a fact; a longer one is left out."""

FINISHED = {"finished": "whether the environment said that the episode is finished"}
WRONG_ARGUMENT = r"""'loc': \(([^)]*)\), 'msg': (?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")"""
NAMING = ("id", "name", "title", "task_id", "instance_id")
"""Fields that say how people call a task."""


def tool_of(name: str, description: str | None, schema: Mapping[str, Any] | None) -> Tool:
    """The schema as it is; without one the tool takes no arguments."""
    return Tool(name, description or "", dict(schema) if schema else {"type": "object", "properties": {}})


def terminal_tool_of(name: str, argument: str | None, description: str | None) -> Tool:
    """The tool that a harness would call with the model's last words, as one that the model calls itself."""
    ending = "Ends the episode and has it judged: call it once, when you are done."
    fields = {argument: {"type": "string"}} if argument else {}
    schema = {"type": "object", "properties": fields, **({"required": list(fields)} if fields else {})}
    return Tool(name, " ".join(filter(None, [(description or "").strip(), ending])), schema)


def all_tools(lists: Iterable[Sequence[Tool]]) -> tuple[tuple[Tool, ...], list[str]]:
    """Each tool of any task once, in order of appearance, and a sentence for each that can't be shown as it is."""
    found: dict[str, Tool] = {}
    notes: dict[str, None] = {}
    for tools in lists:
        names = [tool.name for tool in tools]
        for tool in tools:
            first = found.setdefault(tool.name, tool)
            if names.count(tool.name) > 1:
                notes[f"The server lists two tools called {tool.name}: the first is shown, it may refuse both."] = None
            elif first != tool:
                notes[f"{tool.name} differs between tasks: the first is shown, a task tells its own."] = None
    return tuple(found.values()), list(notes)


def about_tools(here: Sequence[Tool], shown: Sequence[Tool]) -> str:
    """What a model has to know where a task has other tools than its prompt lists; "" where it has the same."""
    names = {tool.name for tool in here}
    told = [f"- {json.dumps(tool.schema()['function'], ensure_ascii=False)}" for tool in here if tool not in shown]
    missing = [tool.name for tool in shown if tool.name not in names]
    parts = []
    if missing:
        parts.append(f"Not in this task: {', '.join(missing)}.")
    if told:
        parts.append("\n".join(["In this task there are also these tools:", *told]))
    return "\n".join(parts)


def words_and_images(blocks: Iterable[Mapping[str, Any]]) -> tuple[str, tuple[str, ...]]:
    """Texts joined by line breaks, and images as data: URLs."""
    words, images = [], []
    for block in blocks:
        kind, data, mime = block.get("type"), str(block.get("data", "")), str(block.get("mimeType", ""))
        if kind == "text":
            words.append(str(block.get("text", "")))
        elif kind == "image" and re.fullmatch(r"image/[\w.+-]+", mime) and re.fullmatch(r"[A-Za-z0-9+/=\s]*", data):
            images.append(f"data:{mime};base64,{''.join(data.split())}")
        else:
            words.append(f"[something of the kind {kind or 'unknown'!s:.40} that can't be shown]")
    return "\n".join(words), tuple(images)


def for_the_model(words: str, images: Sequence[str]) -> str:
    if words or not images:
        return words or "(no text)"
    return "(an image)" if len(images) == 1 else f"({len(images)} images)"


def reward_of(value: Any) -> float | None:
    """None where there is none, and for what isn't a number."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if number and math.isfinite(value) else None


def facts_of(values: Any, prefix: str = "") -> dict[str, FactValue]:
    """The numbers, truth values and short texts among `values`, by names that a reward term can speak of."""
    if not isinstance(values, Mapping):
        return {}
    return {fact_name(str(name), prefix): value for name, value in values.items() if _is_a_fact(value)}


def fact_name(name: str, prefix: str = "") -> str:
    """`exact-match` -> exact_match; `turns` -> metadata_turns, since every episode has a fact of that name."""
    name = prefix + re.sub(r"\W", "_", name, flags=re.ASCII)
    if name in EPISODE_FACTS or name in FINISHED:
        return f"metadata_{name}"
    return f"_{name}" if not name or name[0].isdigit() else f"{name}_" if keyword.iskeyword(name) else name


def key_of(split: str, index: int, task: Mapping[str, Any]) -> str:
    """How a task is shown: train/5, and what people call it."""
    called = next((str(task[name]) for name in NAMING if isinstance(task.get(name), str | int)), "")
    return f"{split}/{index} {' '.join(called.split()):.60}".strip()


def fingerprint(environment: str, split: str, index: int, task: Mapping[str, Any]) -> str:
    whole = json.dumps(task, sort_keys=True, ensure_ascii=True).encode()
    return f"{environment}/{split}/{index}/{hashlib.sha256(whole).hexdigest()[:12]}"


def complaint(error: str) -> str:
    """What is wrong with the arguments, in the server's words but without its list of Python dictionaries."""
    told = [": ".join([".".join(re.findall(r"[^,' ]+", where)), plain or quoted])
            for where, plain, quoted in re.findall(WRONG_ARGUMENT, error[:20_000])]
    return ("; ".join(told) or error)[:500].rstrip(".")


def _is_a_fact(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= LONGEST_FACT
    return isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value))
