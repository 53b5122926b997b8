"""How things look in a terminal. What a model or an environment wrote is text: no control sequence gets through."""

import json
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

from backend.records import DUST, ENDED, Episode
from backend.store import EpisodeRow, Run, RunSummary, Store
from backend.store.codec import finite
from backend.store.words import Excerpt

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def plain(text: str) -> str:
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text.replace("\r\n", "\n"))


def json_line(value: Any) -> None:
    print(json.dumps(finite(value), ensure_ascii=True, indent=2, default=str))


def number(value: float | None) -> str:
    """Four digits; a dash for what wasn't scored, 0 for what rounding left of nothing."""
    return "-" if value is None else "0" if abs(value) < DUST else f"{value:.4g}"


def moment(at: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
    except (ValueError, OverflowError, OSError):  # of a file from elsewhere, beyond any calendar
        return "at no known time"


def duration(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def runs(found: Sequence[RunSummary], as_json: bool) -> None:
    if as_json:
        return json_line([run._asdict() for run in found])
    if not found:
        return print("no runs; start one with: python -m backend launch quickstart")
    table(("run", "status", "step", "episodes", "reward", "took", "model", "environments"), [
        (run.id, run.status, "-" if _stepless(run) else f"{run.step}/{run.steps}", str(run.episodes), number(run.reward),
         duration(run.seconds), run.model, ", ".join(run.environments)) for run in found])


def _stepless(run: RunSummary) -> bool:
    """Played by hand, or imported: it came to its end without a step."""
    return run.status == "finished" and run.step == 0


def show(store: Store, run: Run, as_json: bool) -> None:
    summary, progress = store.summary(run), run.progress()
    last = {point.name: point for point in run.term_curves(after_step=progress.step - 1)}
    events = [event for _, event in run.events()]
    if as_json:
        return json_line({
            **summary._asdict(), "path": str(run.path), "phase": progress.phase, "left": progress.left,
            "reason": progress.reason, "terms": {name: point.mean for name, point in last.items()},
            "spec": run.spec.model_dump(),
            "events": [event.model_dump() for event in events[-20:]]})
    print(f"{summary.id}   {summary.status}")
    print(plain(f"  {summary.model} on {', '.join(summary.environments)}"))
    what = "game" if summary.match else "step"
    steps = "" if _stepless(summary) else f"{what} {progress.step} of {progress.steps}, "
    print(f"  {steps}{summary.episodes} episodes, {duration(progress.elapsed)}"
          + (f", {duration(progress.left)} left" if progress.left is not None else ""))
    for line in ("" if summary.status in ENDED else progress.phase, progress.reason):
        if line:
            print(f"  {plain(line)}")
    for name, point in last.items():
        print(f"  {plain(name):20} {number(point.mean):>8}   {point.scored} of {point.all} scored")
    for event in [event for event in events if event.level != "info"][-5:]:
        print(f"  {event.level}: {plain(event.text)}")


def episodes(rows: Sequence[EpisodeRow], as_json: bool, found: Mapping[str, Excerpt] | None = None) -> None:
    """`found`: by id, where the words that were looked for stand."""
    found = found or {}
    if as_json:
        return json_line([row._asdict() | ({"found": _where(found[row.id])} if row.id in found else {}) for row in rows])
    if not rows:
        return print("no episodes")
    names = list(dict.fromkeys(name for row in rows for name in row.scores))
    table(("id", "environment", "status", "turns", "total", "advantage", *names, "why it ended"), [
        (row.id, row.environment, row.status, str(row.turns), number(row.total), number(row.advantage),
         *(number(row.scores.get(name)) for name in names), row.stop) for row in rows])
    for row in rows if found else ():
        if row.id in found:
            place = _where(found[row.id])
            print(plain(f"{row.id}  turn {place['turn']} {place['part']}: {' '.join(place['text'].split())}"))


def _where(excerpt: Excerpt) -> dict[str, Any]:
    return {"turn": excerpt.turn, "part": excerpt.part, "text": "".join(piece for piece, _ in excerpt.pieces)}


def episode(one: Episode, as_json: bool) -> None:
    if as_json:
        return json_line(one.model_dump())
    print(plain(f"episode {one.id}   {one.status}{f': {one.stop}' if one.stop else ''}"))
    player = one.policy.name or one.policy.kind
    print(plain(f"  {one.environment}, task {one.task}, seed {one.seed}, played by {player}, {moment(one.started)}"))
    scores = "   ".join(f"{name} {number(score)}" for name, score in one.scores.items())
    print(plain(f"  total {number(one.total)}   advantage {number(one.advantage)}   {scores}"))
    if one.fault:
        print(plain(f"  fault in the {one.fault.where}: {one.fault.kind}: {one.fault.message}"))
    for message in one.prompt:
        if message.get("role") == "system":
            block("system", str(message.get("content")))
    if one.opening:
        block("environment", one.opening)
    for turn in one.turns:
        print(f"\n--- turn {turn.index + 1}")
        if turn.thought:
            block("thought", turn.thought)
        if turn.said:
            block("said", turn.said)
        if turn.tool is not None:
            sent = turn.arguments if isinstance(turn.arguments, str) else json.dumps(turn.arguments, ensure_ascii=False,
                                                                                     default=str)
            block("call", f"{turn.tool} {sent}")
        if turn.result is not None:
            block("result", turn.result)
        if turn.shown is not None:
            block("shown", turn.shown)
        notes = [f"reward {number(turn.reward)}"] if turn.reward is not None else []
        notes += ["done"] if turn.done else []
        notes += ["cut by the token budget"] if turn.cut else []
        if notes:
            print(f"  {', '.join(notes)}")
        if turn.fault:
            print(plain(f"  fault in the {turn.fault.where}: {turn.fault.kind}: {turn.fault.message}"))


def block(title: str, text: str) -> None:
    print(f"  {title}:")
    for line in plain(text).splitlines() or [""]:
        print(f"    {line}")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    cells = [[plain(cell).replace("\n", " ") for cell in row] for row in (head, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    for row in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
