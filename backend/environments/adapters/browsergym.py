"""BrowserGym on an OpenEnv server: a browser, one tool for each thing to do in it, the page as text and as a picture.

The server takes an action as text, a call such as click("12"), so tools are turned into such calls. Written from the
published action and observation classes; the tests play on a server of the same protocol.
"""

import json
from typing import Any

from backend.environments import Description, Observation
from backend.environments.adapters import Adapter, Checked, WithoutState, number, tool
from backend.environments.adapters.observed import compact
from backend.environments.adapters.pictures import picture
from backend.environments.discovery import Told

PAGE = 12_000
"""Characters of a page that the model is shown."""


def _text(about: str) -> dict[str, Any]:
    return {"type": "string", "description": about}


ELEMENT = _text("The element's id, as in [12] in the page.")
TOOLS = (
    tool("click", "Click an element.", bid=ELEMENT),
    tool("fill", "Write into a field, over what it holds.", bid=ELEMENT, value=_text("What to write.")),
    tool("select_option", "Choose in a list of options.", bid=ELEMENT, options=_text("The option's label or value.")),
    tool("hover", "Hold the pointer over an element.", bid=ELEMENT),
    tool("press", "Press a key, or several at once, at an element.", bid=ELEMENT,
         key_comb=_text("Such as Enter or Control+a.")),
    tool("scroll", "Scroll the page by pixels.", delta_x={"type": "number", "description": "To the right."},
         delta_y={"type": "number", "description": "Downwards."}),
    tool("goto", "Open a page by its address.", url=_text("The address.")),
    tool("go_back", "Go back to the page before."),
    tool("send_msg_to_user", "Answer the person who set the task.", text=_text("The answer.")),
    tool("noop", "Wait.", wait_ms={"type": "number", "description": "Milliseconds."}),
)
DESCRIPTION = Description(
    title="BrowserGym",
    about="A task in a web browser: read the page, click, write, and reach the goal.",
    tools=TOOLS,
    facts={
        "won": "whether the episode ended with a reward above 0; None before the end",
        "reward": "the task's reward for the last action",
        "url": "the page it is on",
        "action_failed": "whether the last action could not be done",
        "failed_actions": "actions that could not be done so far",
    },
    prompt=("You work in a web browser. Reach the goal given below. Elements of the page have ids in square brackets. "
            "Use one of the tools `click`, `fill`, `select_option`, `hover`, `press`, `scroll`, `goto`, `go_back`, "
            "`send_msg_to_user` or `noop` for each step."),
    max_turns=30,
    viewer="screen",
    options={"task_name": {"type": "string", "description": "Which task of the server's benchmark to play."}},
    notice="Tested against a server of the same protocol, not against a real browser.",
)


def fits(told: Told) -> bool:
    return told.has("action_str", "axtree_txt", "screenshot", "goal")


def adapter(told: Told) -> Adapter:
    return BrowserGym()


class BrowserGym(WithoutState):
    description = DESCRIPTION

    def __init__(self) -> None:
        self._checked = Checked(TOOLS)
        self._failed = 0
        self._begun = False

    def fresh(self) -> "BrowserGym":
        return BrowserGym()

    def action(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self._checked(tool, arguments)
        order = next(one for one in TOOLS if one.name == tool).parameters["properties"]
        return {"action_str": f"{tool}({', '.join(json.dumps(arguments[name], ensure_ascii=False) for name in order)})"}

    def read(self, data: dict[str, Any]) -> Observation:
        observation, done, reward = data["observation"], bool(data.get("done")), number(data.get("reward"))
        failed, begins = bool(observation.get("last_action_error")), not self._begun
        self._begun, self._failed = True, self._failed + failed
        screenshot = picture(observation.get("screenshot"))
        whole = {name: value for name, value in observation.items() if name not in ("screenshot", "metadata")}
        return Observation(
            text=_page(observation, begins), reward=None if begins else reward, done=done,
            facts={"won": reward is not None and reward > 0 if done else None, "reward": None if begins else reward,
                   "url": str(observation.get("url") or "")[:500], "action_failed": failed,
                   "failed_actions": self._failed},
            raw=compact(whole), images=(screenshot,) if screenshot else ())


def _page(observation: dict[str, Any], begins: bool) -> str:
    page = observation.get("axtree_txt") or observation.get("text") or observation.get("pruned_html") or ""
    if len(page) > PAGE:
        page = f"{page[:PAGE]}\n[{len(page) - PAGE:,} characters of the page left out]"
    parts = [f"Goal: {observation['goal']}" if begins and observation["goal"] else "",
             f"That failed: {observation.get('error') or 'the action could not be done.'}"
             if observation.get("last_action_error") else "",
             f"Page {observation['url']}" if observation.get("url") else "", page]
    return "\n".join(part for part in parts if part)
