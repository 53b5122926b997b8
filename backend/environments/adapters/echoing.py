"""OpenEnv's own echo server, in its two forms: an action with `message`, or the MCP tool `echo_message`."""

from dataclasses import replace
from typing import Any

from backend.environments import Observation, discovery
from backend.environments.adapters import Adapter, Checked, WithoutState, echo, number
from backend.environments.discovery import Told
from backend.errors import EnvironmentFailed

MCP = "echo_message"


def fits(told: Told) -> bool:
    if told.has("message", "echoed_message"):
        return True
    if not told.has("tool_name", "arguments"):
        return False
    try:
        return MCP in {tool.name for tool in discovery.asked(told).tools or ()}
    except EnvironmentFailed:
        return False


def adapter(told: Told) -> Adapter:
    return Echo(told.has("tool_name"))


class Echo(WithoutState):
    description = replace(echo.DESCRIPTION, title=f"{echo.DESCRIPTION.title} (OpenEnv)")

    def __init__(self, over_mcp: bool):
        self._over_mcp = over_mcp
        self._checked = Checked(self.description.tools)
        self._messages = -1

    def fresh(self) -> "Echo":
        return Echo(self._over_mcp)

    def action(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self._checked(tool, arguments)
        return {"type": "call_tool", "tool_name": MCP, "arguments": arguments} if self._over_mcp else arguments

    def read(self, data: dict[str, Any]) -> Observation:
        observation, self._messages = data["observation"], self._messages + 1
        begins = self._messages == 0
        if not self._over_mcp:
            text = observation["echoed_message"]
        else:
            text = "" if begins else observation["result"]["content"][0]["text"]
        return Observation(
            text=text, reward=None if begins else number(data.get("reward")), done=bool(data.get("done")),
            facts={"echoed_length": None if begins else len(text), "messages": self._messages})
