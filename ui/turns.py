"""The turns of an episode as cards, one under the other: together they are the transcript, one alone is a turn."""

from collections.abc import Mapping, Sequence
from typing import Any

from backend.records import Episode, Fault, Turn
from ui.viewers import facts
from ui.viewers.screen import last_bitmap
from ui.written import BITMAP, as_json, block, counted, number, seconds, text

LONGEST_FACT = 600
ROLES = {"user": "Prompt", "system": "System", "assistant": "Model", "tool": "Tool"}


def cards(episode: Episode, tools: Sequence[Mapping[str, Any]], now: int, on_stage: bool = False,
          growing: bool = False) -> str:
    """The start (prompt, tools), each turn, and how it ended; `now` is the one that shows when one alone is shown.

    `on_stage`: the board draws each turn's last picture, so it isn't drawn again. `growing`: it is being played, so
    nothing is said of how many turns there are.
    """
    drawn = [_start(episode, tools, now == 0, on_stage, growing), *cards_after(episode, 0, now, on_stage, growing)]
    why = f", {episode.stop}" if episode.stop else ""
    end = f'<p class="o-end o-muted">End: {text(episode.status.replace("_", " ") + why)}.</p>'
    return f'<div class="o-cards" aria-live="polite">{"".join(drawn)}{end}</div>'


def cards_after(episode: Episode, turn: int, now: int, on_stage: bool = False, growing: bool = False) -> list[str]:
    """Those of the turns after so many."""
    turns = 0 if growing else len(episode.turns)
    moments = facts.over_time(episode)
    repeated = episode.parent.turn if episode.parent else 0
    return [_card(episode.turns[k - 1], k, turns, moments[k - 1], moments[k], k == now, on_stage, k <= repeated)
            for k in range(turn + 1, len(episode.turns) + 1)]


def fault_box(fault: Fault, title: str = "") -> str:
    """Class and message, the traceback folded; violet where the environment is to blame, else red."""
    kind = "theirs" if fault.where == "environment" else "error"
    trace = f"<details><summary>Traceback</summary>{block(fault.traceback)}</details>" if fault.traceback else ""
    heading = f"<b>{title}</b>" if title else ""
    return (f'<div class="o-fault o-{kind}">{heading}<div><b class="o-mono">{text(fault.kind)}</b> '
            f'<span class="o-muted">fault of the {text(fault.where)}</span></div>{block(fault.message)}{trace}</div>')


def _part(name: str, body: str, css: str = "") -> str:
    return f'<div class="o-part {css}"><h3>{text(name)}</h3><div>{body}</div></div>'


# ------------------------------------------------------------------------------------------------------------ start


def _start(episode: Episode, tools: Sequence[Mapping[str, Any]], now: bool, on_stage: bool, growing: bool) -> str:
    told = "".join(map(_message, episode.prompt))
    if not told and episode.opening:
        told = _part("Environment", block(episode.opening))
    nothing = "" if episode.turns or growing else '<p class="o-muted">No turn was played.</p>'
    return (f'<section class="o-turn{" o-now" * now}" data-turn="0"><header><h2 class="o-h2">Start</h2></header>'
            f"{told}{_pictures(episode.images, on_stage)}{_offered(tools)}{nothing}</section>")


def _offered(tools: Sequence[Mapping[str, Any]]) -> str:
    folds = "".join(f'<details class="o-fold"><summary><b class="o-mono">{text(tool["function"]["name"])}</b></summary>'
                    f"{block(as_json(tool))}</details>" for tool in tools)
    return _part("Tools", folds) if folds else ""


def _message(message: Mapping[str, Any]) -> str:
    """A prompt message in the shape chat templates take: content a string, None, or a list of blocks."""
    role = str(message.get("role", "message"))
    rest = {key: value for key, value in message.items()
            if key not in ("role", "content") and value not in (None, "", [])}
    said = "".join(_content(message.get("content"))) + (block(as_json(rest)) if rest else "")
    return _part(ROLES.get(role, role), said) if said else ""


def _content(content: Any) -> list[str]:
    if content is None or content == "":
        return []
    if not isinstance(content, list):
        return [block(content if isinstance(content, str) else as_json(content))]
    return [block(each["text"]) if isinstance(each, dict) and each.get("type") == "text"
            and isinstance(each.get("text"), str) else block(as_json(each)) for each in content]


# ------------------------------------------------------------------------------------------------------------- turn


def _card(turn: Turn, k: int, turns: int, before: facts.Facts, after: facts.Facts, now: bool, on_stage: bool,
          repeated: bool) -> str:
    """`turns`: how many there are, 0 where more may come."""
    parts = (_thought(turn), _part("Said", block(turn.said)) if turn.said.strip() else "", _call(turn), _answer(turn),
             _pictures(turn.images, on_stage), fault_box(turn.fault) if turn.fault else "", _changed(before, after),
             _cost(turn))
    marks = ('<span class="o-tag" title="A turn of the episode that this one was forked from">repeated</span>' * repeated
             + '<span class="o-tag" title="The environment said the episode is over">last move</span>' * turn.done
             + '<span class="o-tag o-cut" title="It happened at the environment, but the model learns nothing from it">'
               "cut from the transcript by the token budget</span>" * turn.cut)
    body = "".join(parts) or '<p class="o-muted">The model wrote nothing.</p>'
    of = f' <span class="o-muted">of {turns}</span>' if turns else ""
    return (f'<section class="o-turn{" o-now" * now}" data-turn="{k}"><header><h2 class="o-h2">Turn {k}{of}</h2>{marks}'
            f"</header>{body}</section>")


def brief(turn: Turn, before: facts.Facts, after: facts.Facts) -> str:
    """A turn without its costs and pictures, to stand beside another."""
    return "".join((_thought(turn), _part("Said", block(turn.said)) if turn.said.strip() else "", _call(turn),
                    _answer(turn), fault_box(turn.fault) if turn.fault else "", _changed(before, after)))


def _thought(turn: Turn) -> str:
    if not turn.thought.strip():
        return ""
    words = counted(len(turn.thought.split()), "word")
    size = words if turn.tokens is None else f"{words}; {counted(turn.tokens, 'token')} with what follows"
    return (f'<details class="o-fold o-thought"><summary><h3>Thought</h3><span class="o-muted">{size}</span></summary>'
            f"{block(turn.thought)}</details>")


def _call(turn: Turn) -> str:
    if turn.tool is None and turn.arguments is None:
        return ""
    note, sent = "", turn.arguments
    if isinstance(sent, str):
        note = '<span class="o-tag o-bad" title="This is what the model wrote">not valid JSON</span>'
    else:
        sent = "" if sent is None else as_json(sent)
    name = f'<b class="o-mono o-tool">{text(turn.tool or "no tool named")}</b>'
    return _part("Call", name + note + (block(sent) if sent else ""), "o-call")


def _answer(turn: Turn) -> str:
    if turn.result is None and turn.shown is None:
        asked = turn.tool is not None and turn.fault is None
        return _part("Result", '<p class="o-muted">No answer was recorded.</p>') if asked else ""
    result = "" if turn.result is None else _part("Result", _whole(turn.result), "o-result")
    if turn.shown is None or turn.shown == turn.result:
        return result
    return result + _part("Model saw", _whole(turn.shown), "o-result")


def _whole(written: str) -> str:
    return block(written) if written else '<p class="o-muted">An empty text.</p>'


def _pictures(images: Sequence[str], on_stage: bool) -> str:
    if on_stage and (shown := last_bitmap(images)):
        images = [url for url in images if url != shown]
    drawn = "".join(f'<img src="{url}" alt="What the environment showed" loading="lazy">' if BITMAP.fullmatch(url)
                    else block(url) for url in images)
    return _part("Picture" if len(images) == 1 else "Pictures", drawn, "o-pictures") if drawn else ""


AT_THE_START: facts.Facts = {"turns": 0, "tool_failures": 0, "done": False, "env_reward": None, "env_reward_total": None}
"""Facts of every episode, which no environment tells before its first turn."""


def _changed(before: facts.Facts, after: facts.Facts) -> str:
    before = {**AT_THE_START, **before}
    rows = "".join(
        f"<li><span>{text(name)}</span><s>{_value(before[name]) if name in before else '<em>unknown</em>'}</s>"
        f'<i aria-label="became">→</i><b>{_value(value)}</b></li>' for name, value in after.items()
        if name not in before or (type(value), value) != (type(before[name]), before[name]))
    return _part("Facts", f'<ul class="o-changes">{rows}</ul>') if rows else ""


def _value(value: Any) -> str:
    if value is None or value == "":
        return "<em>none</em>" if value is None else "<em>empty</em>"
    if isinstance(value, bool):
        return "yes" if value else "no"
    shown = number(value) if isinstance(value, float) and not value.is_integer() else str(value)
    return text(shown if len(shown) <= LONGEST_FACT else f"{shown[:LONGEST_FACT]}…")


def _cost(turn: Turn) -> str:
    told = []
    if turn.model_seconds is not None:
        told.append(("Generating, for the whole batch this turn was in", f"{seconds(turn.model_seconds)} model"))
    if turn.seconds is not None:
        told.append(("Waiting for the environment", f"{seconds(turn.seconds)} environment"))
    if turn.tokens is not None:
        told.append(("Generated by the model for this turn", counted(turn.tokens, "token")))
    if turn.reward is not None:
        told.append(("The environment's own reward for this turn", f"reward {number(turn.reward, signed=True)}"))
    spans = "".join(f'<span title="{why}">{words}</span>' for why, words in told)
    return f'<div class="o-meta">{spans}</div>' if spans else ""
