"""What episodes come to: the calls of one, the totals of a group, a step of one environment.

It is counted once, when episodes are written, so that no page has to read them all; `sums.py` keeps and reads it. Only
counting happens here: what the numbers mean is said in backend/signal.
"""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple, get_args

from backend.records import UNSCORED, Episode, EpisodeStatus, Turn
from backend.store import codec

STATUSES: tuple[str, ...] = get_args(EpisodeStatus)
CAUSES = ("signal", "all won", "all lost", "all invalid", "all truncated", "same total", "unscored")
LOST = frozenset({"lost", "out_of_turns", "truncated", "invalid"})
SAME = 1e-9
"""Totals closer than this are the same total."""
MOST_TERMS = 16
"""Reward terms that are compared with each other; the work grows with their square."""
ALWAYS_COUNTED = frozenset({"turns", "tool_failures", "env_reward", "env_reward_total"})
"""Facts that change with any call, and so don't tell whether it had an effect; nor do counts of what was invalid."""


class Calls(NamedTuple):
    """What an episode's turns come to, as the columns of the table `episodes` are called."""

    tool_calls: int
    """Refused ones included, those after the last allowed turn not."""
    unparsed_calls: int
    """Messages that look like a call but couldn't be read as one, while there was something to play."""
    repeated_calls: int
    """Answered calls that say what an earlier one said, to the same answer or to no effect."""
    failed_calls: str
    """JSON: how many calls had a fault, by its kind; late ones, which aren't failed calls, among them."""
    moves: str
    """A digest of all calls in order; "" without any."""


def calls(episode: Episode) -> Calls:
    made = unparsed = repeated = 0
    failed: Counter[str] = Counter()
    answers: dict[tuple[str, str | None], str | None] = {}
    moves, facts, over = hashlib.blake2b(digest_size=8), episode.start_facts, False
    for turn in episode.turns:
        before, facts = facts, turn.facts
        kind = turn.fault.kind if turn.fault else None
        unparsed += kind == "unparsed_call" and not over
        over = over or turn.done
        if turn.tool is None or kind == "no_turns_left":
            continue
        made += 1
        call = (turn.tool, codec.to_json(turn.arguments))
        moves.update(f"{call}".encode("utf-8", "surrogatepass"))
        if kind is not None:
            failed[kind] += 1
            continue
        answer = turn.result if turn.shown is None else turn.shown
        repeated += call in answers and (answers[call] == answer or _without_effect(before, turn))
        answers[call] = answer
    return Calls(made, unparsed, repeated, json.dumps(failed), moves.hexdigest() if made else "")


def met(episode: Episode) -> Iterator[tuple[str, str]]:
    """(kind, name) of what lists of episodes can be narrowed to: tools that were called, who played, what failed."""
    yield "policy", episode.policy.name or episode.policy.kind
    if episode.fault:
        yield "fault", episode.fault.kind
    for turn in episode.turns:
        if turn.tool is not None:
            yield "tool", turn.tool
        if turn.fault:
            yield "fault", turn.fault.kind


def _without_effect(before: dict[str, Any], turn: Turn) -> bool:
    telling = [name for name in turn.facts if name not in ALWAYS_COUNTED and not name.startswith("invalid")]
    own = [name for name in telling if name not in ("done", "truncated", "completion_tokens")]
    return bool(own) and all(before.get(name) == turn.facts[name] for name in telling)


def clipped(episode: Episode) -> bool:
    """Whether the token budget cut it."""
    return episode.status == "truncated" or episode.facts.get("truncated") is True


# -------------------------------------------------------------------------------------------------------------- groups


def one_task(fingerprints: Iterable[str | None]) -> bool | None:
    """Whether episodes really played one task; None where that can't be told.

    A fingerprint that starts with ~ was made of what the player is shown first: two that differ are two tasks, two that
    agree prove nothing.
    """
    told = set(fingerprints)
    if len(told - {None}) > 1:
        return False
    return True if told and all(one and not one.startswith("~") for one in told) else None


def cause(statuses: Sequence[str], totals: Sequence[float]) -> str:
    """One of CAUSES: why a group has no signal, from its scored episodes, or that it has."""
    if len(totals) < 2:
        return "unscored"
    if not max(totals) - min(totals) <= SAME:
        return "signal"
    ended = set(statuses)
    if len(ended) == 1 and (only := f"all {ended.pop()}") in CAUSES:
        return only
    return "all lost" if set(statuses) <= LOST else "same total"


COLUMNS = ("environment", "group_", "status", "total", "fingerprint", "turns", "seconds", "tokens", "scores", "clipped",
           "tool_calls", "unparsed_calls", "repeated_calls", "failed_calls", "moves")
"""Of the table `episodes`: what is counted. Those from `clipped` on are None in runs older than they are."""


class Counted(NamedTuple):
    environment: str
    group: int
    status: str
    total: float | None
    fingerprint: str | None
    turns: int
    seconds: float | None
    tokens: int | None
    scores: str
    clipped: int | None
    tool_calls: int | None
    unparsed_calls: int | None
    repeated_calls: int | None
    failed_calls: str | None
    moves: str | None

    @property
    def judged(self) -> bool:
        """Whether it says anything about the policy."""
        return self.status not in UNSCORED


def groups(step: int, episodes: Iterable[Counted]) -> list[dict[str, Any]]:
    """One row a group: step, group, environment, episodes, scored, low, high, cause, one_task, alike."""
    return [_group(step, number, members) for number, members in sorted(_by_group(episodes).items())]


def _by_group(episodes: Iterable[Counted]) -> dict[int, list[Counted]]:
    members: dict[int, list[Counted]] = {}
    for episode in episodes:
        members.setdefault(episode.group, []).append(episode)
    return members


def _group(step: int, number: int, members: list[Counted]) -> dict[str, Any]:
    judged = [episode for episode in members if episode.judged]
    scored = [episode for episode in judged if episode.total is not None]
    totals = [episode.total for episode in scored if episode.total is not None]
    moves = {episode.moves for episode in judged}
    return {
        "step": step, "group": number, "environment": members[0].environment, "episodes": len(members),
        "scored": len(scored), "low": min(totals, default=None), "high": max(totals, default=None),
        "cause": cause([episode.status for episode in scored], totals),
        "one_task": one_task(episode.fingerprint for episode in judged),
        "alike": len(judged) > 1 and len(moves) == 1 and moves not in ({""}, {None}),
    }


# --------------------------------------------------------------------------------------------------------------- a step


def tally(environment: str, step: int, episodes: Sequence[Counted]) -> dict[str, Any]:
    """A step of one environment, as the columns of the table `tallies` are called."""
    judged = [episode for episode in episodes if episode.judged]
    totals = [episode.total for episode in judged if episode.total is not None]
    statuses = Counter(episode.status for episode in episodes)
    told = groups(step, episodes)
    causes = Counter(group["cause"] for group in told)
    pure = Counter(group["one_task"] for group in told)
    mixed = [group["group"] for group in told if group["one_task"] is False]
    alike = [group["group"] for group in told if group["alike"] and group["cause"] not in ("signal", "all won")]
    seconds = [episode.seconds for episode in judged if episode.seconds is not None]
    tokens = [episode.tokens for episode in judged if episode.tokens is not None]
    failed = _failed(judged)
    return {
        "step": step, "environment": environment, "episodes": len(episodes), "judged": len(judged),
        "scored": len(totals), "total": sum(totals) if totals else None,
        **{status: statuses[status] for status in STATUSES},
        "groups": len(told), **{column(name): causes[name] for name in CAUSES},
        "learnt_from": sum(group["scored"] for group in told if group["cause"] == "signal"),
        "pure": pure[True], "mixed": pure[False], "first_mixed": min(mixed, default=None),
        "alike": _sum([len(alike)], judged), "first_alike": min(alike, default=None),
        "turns": sum(episode.turns for episode in judged),
        "seconds": sum(seconds), "with_seconds": len(seconds), "tokens": sum(tokens), "with_tokens": len(tokens),
        "clipped": _sum([episode.clipped for episode in judged], judged),
        "tool_calls": _sum([episode.tool_calls for episode in judged], judged),
        "silent": _sum([episode.tool_calls == 0 and not episode.unparsed_calls for episode in judged], judged),
        "unparsed_calls": _sum([episode.unparsed_calls for episode in judged], judged),
        "repeated_calls": _sum([episode.repeated_calls for episode in judged], judged),
        "failures": _sum([sum(failed.values())], judged), "failed_calls": json.dumps(failed),
        "spreads": json.dumps(spreads([[json.loads(episode.scores) for episode in members if episode.judged]
                                       for members in _by_group(episodes).values()])),
    }


def column(cause: str) -> str:
    """Of the table `tallies`: how many groups had that cause."""
    return f"groups_{cause.replace(' ', '_')}"


def _sum(numbers: Iterable[int | None], judged: Sequence[Counted]) -> int | None:
    """None in a run whose episodes weren't counted when they were written."""
    if any(episode.tool_calls is None for episode in judged):
        return None
    return sum(number or 0 for number in numbers)


def _failed(judged: Sequence[Counted]) -> dict[str, int]:
    failed: Counter[str] = Counter()
    for episode in judged:
        if episode.failed_calls not in (None, "{}"):
            failed.update(json.loads(episode.failed_calls))  # type: ignore[arg-type]
    return failed


def spreads(groups: Iterable[Sequence[dict[str, Any]]]) -> dict[str, Any]:
    """How the raw scores of the reward terms differ inside groups.

    `alone`: {term: [n, squares]}, `pairs`: [[term, other, n, squares, other's squares, products]] over the episodes
    that have both. n counts episodes less one a group; squares and products are of the distance to the group's mean.
    They add up over steps.
    """
    told = [{name: [_finite(one.get(name)) for one in scores] for name in _named(scores)} for scores in groups]
    alone: dict[str, list[float]] = {}
    pairs: dict[tuple[str, str], list[float]] = {}
    for columns in told:
        for name, values in columns.items():
            _add(alone.setdefault(name, [0, 0.0]), _together(values, values)[:2])
    moving = sorted(name for name, (_, squares) in alone.items() if squares)
    for columns in told:
        for name, other in combinations([name for name in moving if name in columns], 2):
            _add(pairs.setdefault((name, other), [0, 0.0, 0.0, 0.0]), _together(columns[name], columns[other]))
    return {"alone": alone, "pairs": [[*names, *sums] for names, sums in pairs.items() if sums[0]]}


def _named(scores: Sequence[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for one in scores for name in one))[:MOST_TERMS]


def _finite(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None


def _together(first: list[float | None], second: list[float | None]) -> tuple[int, float, float, float]:
    both = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    if len(both) < 2:
        return 0, 0.0, 0.0, 0.0
    middle, other = sum(a for a, _ in both) / len(both), sum(b for _, b in both) / len(both)
    away = [(a - middle, b - other) for a, b in both]
    return len(both) - 1, sum(a * a for a, _ in away), sum(b * b for _, b in away), sum(a * b for a, b in away)


def _add(sums: list[float], more: Sequence[float]) -> None:
    for place, number in enumerate(more):
        sums[place] += number
