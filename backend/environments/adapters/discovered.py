"""For an OpenEnv server nobody wrote an adapter for: tools from its action class or its MCP tools, facts from its
observation class, text from what it sends.

Calls go out as the model made them; the server's own schema judges them.
"""

from dataclasses import dataclass
from typing import Any

from backend.environments import Description, Observation, Tool
from backend.environments.adapters import WithoutState, number
from backend.environments.adapters.actions import BASE, ways
from backend.environments.adapters.observed import Seen, compact, seen, words
from backend.environments.adapters.pictures import picture, taken_out
from backend.environments.adapters.rubrics import rubrics
from backend.environments.discovery import Told
from backend.records import Fault

USUAL_TURNS = 20
"""Calls allowed where the environment doesn't say and the spec neither."""

NAMED = 8
"""Tools up to which the prompt names them all."""

REWARD = {"reward": "the environment's reward for the last call; None where it gave none"}
WON = ("won", "solved", "victory")
"""Fields that say whether an episode was won."""

MCP_FIELDS = frozenset({"tool_name", "result", "error"})


def discovered(told: Told) -> "Discovered":
    if told.tools is None:
        known = ways(told.action)
        send = {name: way.action for name, way in known.items()}
        tools, hidden = tuple(way.tool for way in known.values()), frozenset[str]()
    else:
        tools, hidden = told.tools, MCP_FIELDS
        send = {tool.name: _mcp(tool.name) for tool in tools}
    fields = seen(told.observation, hidden)
    return Discovered(described(told, tools, facts_of(fields)), send, fields)


def described(told: Told, tools: tuple[Tool, ...], facts: dict[str, str]) -> Description:
    names = " or ".join(f"`{tool.name}`" for tool in tools[:NAMED])
    how = (f"Use the tool {names}." if len(tools) == 1 else f"Use the tools {names}, one call at a time."
           if len(tools) <= NAMED else "Use the tools, one call at a time.")
    return Description(title=told.title, about=told.about or f"An OpenEnv environment at {told.address}.", tools=tools,
                       facts=facts, prompt=f"{told.about}\n\n{how}".strip(), max_turns=USUAL_TURNS,
                       options=told.options)


def facts_of(fields: list[Seen]) -> dict[str, str]:
    names = {field.name: field.about for field in fields}
    alias = next((name for name in WON if name in names), None)
    return {**names, **({"won": f"same as {alias}"} if alias and alias != "won" else {}), **REWARD}


@dataclass(frozen=True)
class Discovered(WithoutState):
    description: Description
    send: dict[str, Any]
    """Tool -> what makes its action of its arguments."""
    fields: list[Seen]

    def fresh(self) -> "Discovered":
        return self

    def action(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if tool not in self.send:
            raise ValueError(f"there is no tool {tool!r:.60}; use {' or '.join(self.send)}")
        return self.send[tool](arguments)

    def read(self, data: dict[str, Any]) -> Observation:
        observation = dict(data["observation"])
        metadata = observation.get(BASE) or data.get(BASE) or {}
        reward = number(data.get("reward"))
        fault = None
        raw: str | None = None
        if MCP_FIELDS <= observation.keys():
            text, images, fault = _mcp_answer(observation)
        else:
            images, observation = taken_out(observation)
            text, all_of_it = words(observation, metadata)
            raw = None if all_of_it else compact({name: value for name, value in observation.items() if name != BASE})
        named = metadata.get("fingerprint") or metadata.get("task_fingerprint")
        facts = {**self._facts(observation, reward), **rubrics(observation, metadata)}
        return Observation(text, reward, bool(data.get("done")), facts, raw=raw,
                           fingerprint=str(named)[:80] if named else None, images=images, fault=fault)

    def _facts(self, observation: dict[str, Any], reward: float | None) -> dict[str, Any]:
        facts = {field.name: field.value(observation) for field in self.fields}
        if "won" in self.description.facts and "won" not in facts:
            facts["won"] = next((facts[name] for name in WON if name in facts), None)
        return {**facts, "reward": reward}


def _mcp(tool: str):
    return lambda arguments: {"type": "call_tool", "tool_name": tool, "arguments": arguments}


def _mcp_answer(observation: dict[str, Any]) -> tuple[str, tuple[str, ...], Fault | None]:
    """(text, images, what failed) of a tool's answer as MCP gives it."""
    error, result = observation["error"], observation["result"]
    if isinstance(error, dict):
        words_of_it = str(error.get("message") or "no reason given")
        kind = str(error.get("error_type") or "tool_error")
        return f"Error: {words_of_it}", (), Fault(where="environment", kind=kind, message=words_of_it)
    if not isinstance(result, dict) or not isinstance(result.get("content"), list):
        return result if isinstance(result, str) else compact(result), (), None
    parts = [part for part in result["content"] if isinstance(part, dict)]
    images = tuple(url for part in parts if part.get("type") == "image" and (url := picture(part.get("data"))))
    texts = [part["text"] for part in parts if isinstance(part.get("text"), str)]
    text = "\n".join(texts) if texts or images else compact(result.get("structured_content"))
    failed = Fault(where="environment", kind="tool_error", message=text[:2000]) if result.get("is_error") else None
    return text, images, failed
