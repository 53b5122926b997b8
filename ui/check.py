"""Check before launch: a part of the Launch page. A preflight runs as a process of its own, its lines arrive as they
are found, and the first prompt is shown as the model will see it.
"""

import re
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from backend.errors import OrtamError
from backend.launcher import to_yaml
from backend.preflight import Child, Finding, verdict
from backend.records import RunSpec
from ui.written import as_json, block, counted, text

HERE = Path(__file__).parent
CSS = [HERE / "check.css"]
JS = [HERE / "check.js"]

MOST = 3
"""Checks at once, of all browsers together: each starts environments."""

LEFT_ALONE = 60.0
"""Seconds after which a check that no page asks for is ended."""

SIGNS = {"green": ("✓", "well"), "amber": ("!", "to look at"), "red": ("✕", "would fail")}


@dataclass
class Looked:
    child: Child
    environments: int
    asked: float = field(default_factory=time.monotonic)
    """When a page last asked for it."""


class Checks:
    """The checks under way and those just ended, by an id that only the page which started one knows."""

    def __init__(self) -> None:
        self._known: dict[str, Looked] = {}
        self._turn = threading.Lock()

    def begin(self, spec: RunSpec) -> str:
        """Raises OrtamError where too many are under way."""
        with self._turn:
            self._sweep()
            if sum(not looked.child.ended.is_set() for looked in self._known.values()) >= MOST:
                raise OrtamError(f"{MOST} checks are under way on this site already; try again when one of them has "
                                 "ended")
            id = secrets.token_urlsafe(12)
            self._known[id] = Looked(Child(to_yaml(spec)), len(spec.environments))
        return id

    def look(self, id: str, have: int) -> dict[str, Any]:
        """What there is beyond the first `have` lines; {"gone": True} for one that isn't known."""
        looked = self._known.get(id)
        if looked is None:
            return {"gone": True}
        looked.asked = time.monotonic()
        ended = looked.child.ended.is_set()  # asked first: what is found after it comes with the next look
        found = [Finding(**each) for each in looked.child.findings]
        answer = {"lines": [line(finding, looked.environments > 1) for finding in found[have:]],
                  "sees": "".join(sees(finding, looked.environments > 1) for finding in found[have:]),
                  "counts": {level: sum(each.level == level for each in found) for level in SIGNS},
                  "doing": looked.child.doing, "ended": ended}
        if ended:
            answer["problem"] = looked.child.problem
            answer["verdict"] = "" if looked.child.problem else verdict(found)
        return answer

    def stop(self, id: str) -> None:
        if looked := self._known.get(id):
            looked.child.stop()

    def _sweep(self) -> None:
        now = time.monotonic()
        for id, looked in list(self._known.items()):
            if now - looked.asked > LEFT_ALONE:
                looked.child.stop()
                del self._known[id]


def functions(read: Callable[[dict[str, Any]], RunSpec], problem: Callable[[OrtamError], dict[str, str]],
              allowed: bool) -> list[Callable]:
    """What the page's script can ask. `read` makes a spec of a draft, `problem` tells where an error belongs."""
    checks = Checks()

    def check_begin(asked: dict[str, Any]) -> dict[str, Any]:
        if not allowed:
            return {"problems": [{"field": "", "message": "This site only shows runs; start it without --read-only to "
                                                          "check one."}]}
        try:
            return {"id": checks.begin(read(asked))}
        except OrtamError as error:
            return {"problems": [problem(error)]}

    def check_look(asked: dict[str, Any]) -> dict[str, Any]:
        return checks.look(str(asked.get("id", "")), int(asked.get("have", 0)))

    def check_stop(asked: dict[str, Any]) -> None:
        checks.stop(str(asked.get("id", "")))

    return [check_begin, check_look, check_stop]


# ------------------------------------------------------------------------------------------------------------- drawn


def line(finding: Finding, several: bool) -> str:
    sign, spoken = SIGNS[finding.level]
    of = f'<span class="o-tag">{text(finding.environment)}</span>' if several and finding.environment else ""
    remedy = f'<p class="o-remedy">{text(finding.remedy)}</p>' if finding.remedy else ""
    return (f'<li class="o-finding o-{finding.level}"><i role="img" aria-label="{spoken}">{sign}</i>'
            f"<div><b>{text(finding.check)}</b>{of}</div><div><p>{text(finding.seen)}</p>{remedy}</div></li>")


def sees(finding: Finding, several: bool) -> str:
    """The first prompt and the tools in it; "" for a finding that isn't about them."""
    told, tools = finding.detail.get("prompt"), finding.detail.get("tools") or []
    if finding.check != "First prompt":
        return ""
    of = f" in {text(finding.environment)}" if several else ""
    if not told:
        listed = "".join(block(as_json(tool)) for tool in tools)
        return (f'<section class="o-sees"><h3 class="o-h2">What the model sees first{of}</h3><p class="o-muted">'
                f"{text(finding.seen)}. These tools would be in its first prompt:</p><div>{listed}</div></section>")
    size = f"{counted(finding.detail.get('tokens') or 0, 'token')}, {counted(len(tools), 'tool')}"
    return (f'<section class="o-sees"><h3 class="o-h2">What the model sees first{of} <small>{size}</small></h3>'
            f'<div class="o-prompt" tabindex="0">'
            f"{prompt(told, finding.detail.get('marks') or [], [tool['function']['name'] for tool in tools])}"
            "</div></section>")


def prompt(written: str, marks: list[str], tools: list[str]) -> str:
    """As text, line by line: the model's own marks stand out, and so do the lines that name a tool."""
    known = re.compile("|".join(re.escape(mark) for mark in sorted(marks, key=len, reverse=True)) or r"(?!)")
    names = [f'"{name}"' for name in tools]
    lines = []
    for each in written.split("\n"):
        drawn, start = "", 0
        for found in known.finditer(each):
            drawn += f"{text(each[start:found.start()])}<b>{text(found[0])}</b>"
            start = found.end()
        drawn += text(each[start:])
        css = ' class="o-tool-line"' if any(name in each for name in names) else ""
        lines.append(f"<span{css}>{drawn or '&#8203;'}</span>")
    return "".join(lines)
