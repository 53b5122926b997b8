"""`play`: an environment in the terminal, by hand or by a scripted player."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from backend.cli.printing import block, json_line, number, plain, table
from backend.cli.printing import episode as print_episode
from backend.environments import Tool
from backend.play import Chosen, Sitting, Sittings
from backend.store import Store

LOOK_SECONDS = 0.2
HELP = """  a number         the call with that number
  a word           the argument of the only tool, where that takes one text
  TOOL {...}       a call with its arguments as JSON
  TOOL name=value  a call with its arguments one by one; TOOL may be left out where there is only one
  f                the facts so far
  q                stop here"""


def played(store: Store, asked: Chosen, player: str | None, games: int | None, as_json: bool) -> None:
    table_ = Sittings(store, most=1)
    try:
        if games:
            return _compared(table_, asked, games, as_json)
        say: Callable[[str], None] = (lambda text: print(text, file=sys.stderr)) if as_json else print
        say(f"starting {asked.environment.use} …") if sys.stderr.isatty() else None
        id = table_.begin(asked, player)
        seat = table_.look(id)
        _opened(seat.sitting, say)
        while not seat.sitting.ended:
            before = len(seat.sitting.play.turns)
            if player is not None:
                seat = table_.advance(id)
            elif (call := _asked(seat.sitting, say)) is None:
                seat = table_.end(id)
            else:
                seat = table_.call(id, *call)
            _happened(seat.sitting, before, player is not None, say)
        assert seat.kept is not None
        kept = store.run(seat.kept.run).episode(seat.kept.id)
        if as_json:
            return json_line({"run": seat.kept.run, **kept.model_dump()})
        _ended(seat.sitting, say)
        print(f"kept as episode {seat.kept.id} of {seat.kept.run}")
        if seat.sitting.play.fault:
            print_episode(kept, False)
    finally:
        table_.close()


def _opened(sitting: Sitting, say: Callable[[str], None]) -> None:
    task = f"seed {sitting.task.seed}" if sitting.task.seed is not None else f"task {sitting.task.key}"
    terms = ", ".join(term.name for term in sitting.terms.terms) or "nothing"
    say(plain(f"{sitting.description.title}, {task}, up to {sitting.play.max_turns} turns, worth by {terms}"))
    for message in sitting.prompt:
        say(plain(f"\n{message['content']}"))


def _happened(sitting: Sitting, before: int, with_calls: bool, say: Callable[[str], None]) -> None:
    for turn in sitting.play.turns[before:]:
        if with_calls:
            say(plain(f"\n> {turn.tool} {json.dumps(turn.arguments, ensure_ascii=False, default=str)}"))
        say(plain((turn.shown if turn.shown is not None else turn.result) or ""))
        say("  " + _worth(sitting, sitting.worth[min(turn.index + 1, len(sitting.worth) - 1)]))


def _worth(sitting: Sitting, scores: dict[str, float | None]) -> str:
    told = [f"{name} {number(value) if value is not None else 'not scored'}" for name, value in scores.items()]
    total = sitting.terms.total(scores)
    return "   ".join([*told, f"total {number(total) if total is not None else 'not scored'}"])


def _ended(sitting: Sitting, say: Callable[[str], None]) -> None:
    episode = sitting.episode()
    say(plain(f"\n{episode.status.replace('_', ' ')}: {episode.stop}"))
    say(f"  {_worth(sitting, episode.scores)}")


# ------------------------------------------------------------------------------------------------- what a person types


@dataclass(frozen=True)
class Choice:
    tool: str
    arguments: dict[str, Any]

    def __str__(self) -> str:
        return " ".join([self.tool, *(str(value) for value in self.arguments.values())])


def choices(tools: tuple[Tool, ...]) -> list[Choice]:
    """The calls that can be listed whole: tools without arguments, and those with one that is chosen from a few."""
    found = []
    for tool in tools:
        known = tool.parameters.get("properties") or {}
        if not known:
            found.append(Choice(tool.name, {}))
        elif len(known) == 1:
            name, schema = next(iter(known.items()))
            found += [Choice(tool.name, {name: value}) for value in (schema.get("enum") or ())[:9]]
    return found


def understood(typed: str, tools: tuple[Tool, ...]) -> tuple[str, Any] | str:
    """The call that was typed, or a sentence about why it is none."""
    listed, by_name = choices(tools), {tool.name: tool for tool in tools}
    if typed.isdigit() and 0 < int(typed) <= len(listed):
        return listed[int(typed) - 1].tool, listed[int(typed) - 1].arguments
    if spoken := next((choice for choice in listed if str(choice) == typed), None):
        return spoken.tool, spoken.arguments
    first, _, rest = typed.partition(" ")
    if first in by_name and (rest.strip() or not _needed(by_name[first])):
        tool, rest = by_name[first], rest.strip()
    elif len(tools) == 1:
        tool, rest = tools[0], typed.strip()
    else:
        return f"Write a number, or one of {', '.join(by_name)} with its arguments; ? shows how."
    return _arguments(tool, rest)


def _arguments(tool: Tool, typed: str) -> tuple[str, Any] | str:
    if not typed:
        return tool.name, {}
    known = list(tool.parameters.get("properties") or {})
    if typed.startswith("{"):
        try:
            return tool.name, json.loads(typed)
        except ValueError as error:
            return f"That isn't JSON: {error}."
    pairs = dict(_pairs(typed, known))
    if pairs:
        return tool.name, pairs
    if len(known) == 1:
        schema = tool.parameters["properties"][known[0]]
        return tool.name, {known[0]: typed if schema.get("type") == "string" else _value(typed)}
    if len(values := typed.split()) == len(known):
        return tool.name, dict(zip(known, map(_value, values), strict=True))
    return f"{tool.name} takes {', '.join(known) or 'nothing'}; write them as name=value, or as JSON."


def _pairs(typed: str, known: list[str]) -> Iterator[tuple[str, Any]]:
    for word in typed.split():
        name, equals, value = word.partition("=")
        if equals and name in known:
            yield name, _value(value)


def _value(typed: str) -> Any:
    try:
        return json.loads(typed)
    except ValueError:
        return typed


def _needed(tool: Tool) -> bool:
    return bool(tool.parameters.get("required"))


def _asked(sitting: Sitting, say: Callable[[str], None]) -> tuple[str, Any] | None:
    """None: stop here."""
    tools = sitting.tools
    listed = choices(tools)
    if listed:
        say(plain("   ".join(f"{place}: {choice}" for place, choice in enumerate(listed, 1))))
    others = [tool for tool in tools if not any(choice.tool == tool.name for choice in listed)]
    for tool in others if len(others) < len(tools) or len(tools) > 1 else []:
        say(plain(f"   {tool.name} {' '.join(tool.parameters.get('properties') or {})}"))
    while True:
        typed = _line(f"turn {len(sitting.play.turns) + 1} of {sitting.play.max_turns} (? for help) > ")
        if typed is None or typed == "q":
            return None
        if typed == "f":
            for name, value in sitting.facts.items():
                say(plain(f"  {name}: {value}"))
        elif typed == "?":
            say(HELP)
            for tool in tools:
                block(tool.name, f"{tool.description}\n{json.dumps(tool.parameters, ensure_ascii=False)}")
        elif typed:
            call = understood(typed, tools)
            if not isinstance(call, str):
                return call
            say(plain(call))


def _line(prompt: str) -> str | None:
    print(prompt, end="", file=sys.stderr, flush=True)
    line = sys.stdin.readline()
    if not sys.stdin.isatty():
        print(file=sys.stderr)
    return line.strip() if line else None


# -------------------------------------------------------------------------------------------------------- several games


def _compared(table_: Sittings, asked: Chosen, games: int, as_json: bool) -> None:
    id = table_.compare(asked, games)
    series = table_.compared(id)
    while not series.work.done():
        if sys.stderr.isatty():
            print(f"\r{len(series.baseline.sittings)} of {series.baseline.games} games", end="", file=sys.stderr,
                  flush=True)
        time.sleep(LOOK_SECONDS)
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr)
    if series.problem:
        print(plain(series.problem), file=sys.stderr)
    rows = series.baseline.rows()
    if as_json:
        return json_line([vars(row) for row in rows])
    names = [term.name for term in series.baseline.terms]
    table(("player", "games", "won", "turns", *names, "total"), [
        (row.player, str(row.games), "-" if row.won is None else f"{row.won:.0%}", number(row.turns),
         *(number(row.terms[name]) for name in names), number(row.total)) for row in rows])
