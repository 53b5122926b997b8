"""Commands and what they printed, as a terminal shows them: the last screenful at each turn.

Draws episodes whose calls surely run commands: a tool called `bash`, `shell`, `run_command` or alike, with the command
as text. Reads the facts `cwd` for the prompt and `exit_code` for how a command ended, where there are any.
"""

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from backend.records import Episode, Turn
from ui.viewers import facts
from ui.written import as_json, attribute, counted, text

ROWS, COLUMNS = 28, 240
"""Of a screenful; the transcript has everything whole."""

READ = 40_000
"""Characters of an answer that are looked at, from its end."""

SMALL_ROWS, SMALL_COLUMNS = 8, 30

NAMED = re.compile(r"(^|_)(bash|shell|terminal|sh|zsh|powershell|cmd|(run|exec|execute)_(command|cmd|bash|shell))(_|$)")
HOLDS = ("command", "cmd", "commands", "bash", "script", "code", "input", "keystrokes")
"""Arguments that may hold the command."""

_ESCAPES = re.compile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[PX^_][^\x1b]*(?:\x1b\\\\)?|[ -/]*[0-~])"
                      "|\x9b[0-?]*[ -/]*[@-~]")


class Line(NamedTuple):
    kind: str
    """typed, printed, or wrong."""
    words: str
    prompt: str = ""
    turn: int = 0


def draws(episode: Episode) -> bool:
    return any(_command(turn) is not None for turn in episode.turns)


def frames(episode: Episode) -> list[str]:
    drawn, screen = [_screen([], 0)], list[Line]()
    for k, lines in enumerate(lines_of(episode), 1):
        screen = [*screen, *lines][-ROWS:]
        drawn.append(_screen(screen, k))
    return drawn


def thumbnail(episode: Episode) -> str:
    screen = [line for lines in lines_of(episode) for line in lines if line.words.strip()][-SMALL_ROWS:]
    if not screen:
        return '<div class="o-mini-words" role="img" aria-label="No command was run"><em>no command</em></div>'
    rows = "".join(f'<span{" class=o-typed" if line.kind == "typed" else ""}>'
                   f"{text((line.prompt[-2:] + line.words)[:SMALL_COLUMNS])}</span>" for line in screen)
    return f'<div class="o-mini-terminal" role="img" aria-label="{_spoken(screen)}">{rows}</div>'


def _command(turn: Turn) -> str | None:
    """None where it isn't certain that the call runs a command."""
    if not turn.tool or not isinstance(turn.arguments, dict):
        return None
    name = re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", turn.tool[:80]).lower())
    if not NAMED.search(name):
        return None
    return next((sent for key in HOLDS if isinstance(sent := turn.arguments.get(key), str)), None)


def lines_of(episode: Episode) -> Iterator[list[Line]]:
    """What each turn adds to the session."""
    moments = facts.over_time(episode)
    for k, turn in enumerate(episode.turns, 1):
        command, where = _command(turn), facts.word(moments[k - 1], "cwd")[-60:]
        lines: list[Line] = []
        if command is not None:
            first, *more = _plain(command).rstrip("\n").split("\n")
            lines = [Line("typed", first, f"{where}$ ", k), *(Line("typed", line, "> ", k) for line in more)]
        elif turn.tool:
            lines = [Line("typed", as_json(turn.arguments)[:COLUMNS] if turn.arguments else "", f"{turn.tool[:60]} ", k)]
        lines += [Line("printed", line, turn=k) for line in _printed(turn).split("\n")] if _printed(turn) else []
        code = facts.whole(moments[k], "exit_code")
        if command is not None and code:
            lines.append(Line("wrong", f"exit {code}", turn=k))
        if turn.fault:
            lines.append(Line("wrong", f"{turn.fault.kind}: {turn.fault.message[:COLUMNS]}", turn=k))
        yield lines


def _printed(turn: Turn) -> str:
    answer = turn.shown if turn.shown is not None else turn.result or ""
    if turn.fault and answer.strip() == turn.fault.message.strip():
        return ""
    if answer.startswith("{") and len(answer) < READ:
        try:
            told = json.loads(answer)
        except (ValueError, RecursionError):
            told = None
        parts = [told.get(name) for name in ("stdout", "output", "stderr")] if isinstance(told, dict) else []
        if any(isinstance(part, str) for part in parts):
            answer = "\n".join(part.rstrip("\n") for part in parts if isinstance(part, str) and part)
    return _plain(answer[-READ:]).rstrip()


def _plain(written: str) -> str:
    """Without colours and cursor moves; of a line that was written over, what stood there last."""
    lines = _ESCAPES.sub("", written).replace("\r\n", "\n").split("\n")
    return "\n".join(_rubbed(next((part for part in reversed(line.split("\r")) if part), "")) for line in lines)


def _rubbed(line: str) -> str:
    while "\b" in line.lstrip("\b"):
        line = re.sub("[^\b]\b", "", line.lstrip("\b"))
    return line.replace("\b", "").replace("\x07", "")


def _screen(lines: list[Line], turn: int) -> str:
    rows = "".join(_row(line, line.turn == turn) for line in lines)
    told = rows or '<span class="o-printed o-waits">$ <i></i></span>'
    spoken = _spoken([line for line in lines if line.turn == turn]) if lines else "Terminal, nothing typed yet"
    return f'<div class="o-terminal"><div class="o-terminal-lines" role="img" aria-label="{spoken}">{told}</div></div>'


def _row(line: Line, now: bool) -> str:
    prompt = f"<b>{text(line.prompt)}</b>" if line.prompt else ""
    words = line.words if len(line.words) <= COLUMNS else f"{line.words[:COLUMNS]}…"
    return f'<span class="o-{line.kind}{"" if now else " o-before"}">{prompt}{text(words) or (" " if not prompt else "")}</span>'


def _spoken(lines: list[Line]) -> str:
    typed = " ".join(line.words for line in lines if line.kind == "typed")
    printed = " / ".join(line.words for line in lines if line.kind != "typed")
    return attribute(f"Terminal: {typed[:300]}: {printed[:600] or counted(0, 'line')}")
