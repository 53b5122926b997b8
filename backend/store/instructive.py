"""Which episodes are worth a look, and why: five views of a run's list, each entry with its reason in words.

    advantage    the largest advantages of both signs, one of each a group and MOST_A_STEP a step, to spread them
    surprising   a lone win of a group that lost otherwise, or a lone loss of one that won; a first win on a task after
                 TRIES losses, or a first loss after as many wins; a total FAR standard deviations of the others in its
                 group away from their mean. The rarer, the higher.
    suspects     paid well though not won: a total as high as half of the wins get; a reward term as high as nine in ten
                 wins get, which then isn't about winning; repeated calls that were paid above the group; or the best
                 paid that weren't won while, over the newest steps, pay rises and the share of wins falls
    unscored     no total or a fault, the newest first; then those with calls that failed or couldn't be read, the most
                 first. A call after the end is nothing to look for.
    longest      most turns, then most tokens

All but `advantage` look at the newest WINDOW episodes that the filters leave, so a long run costs no more than a short
one.
"""

import json
import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from backend.records import NEVER_PLAYED, UNSCORED
from backend.store import codec
from backend.store.reading import ROW, EpisodeRow, Reading, episode_row
from backend.store.tables import making_sense

WINDOW = 5_000
MOST = 50
MOST_A_STEP = 4
TRIES = 6
FAR = 3.0
RISE = 0.02
"""Least change of pay and of the share of wins that counts as a trend."""


class Standouts(NamedTuple):
    entries: tuple[tuple[EpisodeRow, str], ...]
    """(episode, why it is listed), the most telling first."""
    looked: int
    """Newest episodes that were looked at; for `advantage` as many as there are."""


class _Seen(NamedTuple):
    """An episode of the window, without what is long."""

    seq: int
    step: int
    attempt: int
    group: int
    environment: str
    task: tuple[Any, ...]
    status: str
    total: float | None
    advantage: float | None
    turns: int
    tokens: int | None
    scores: dict[str, float | None]
    fault: str | None
    stop: str
    calls: int
    repeated: int
    unparsed: int
    """0 where the game was over: a message that can't be read is always the last one."""
    failed: dict[str, int]

    @property
    def told(self) -> bool:
        """Whether it says anything about the policy."""
        return self.status not in UNSCORED and self.total is not None


def standouts(reading: Reading, view: str, condition: str, parameters: Sequence[Any]) -> Standouts:
    """`view` is one of those above; `condition` as Reading makes it of a list's filters."""
    if view == "advantage":
        found = _advantages(reading, condition, parameters)
        looked = reading.rows(f"SELECT count(*) FROM episodes WHERE {condition}", parameters)
        return Standouts(_entries(reading, found), looked[0][0] if looked else 0)
    window = _window(reading, condition, parameters)
    return Standouts(_entries(reading, _VIEWS[view](window)[:MOST]), len(window))


def _entries(reading: Reading, found: Sequence[tuple[int, str]]) -> tuple[tuple[EpisodeRow, str], ...]:
    marks = ", ".join("?" * len(found))
    asked = reading.rows(f"SELECT {ROW} FROM episodes WHERE seq IN ({marks})", [seq for seq, _ in found])
    with making_sense(reading.path):
        rows = {row["seq"]: episode_row(row) for row in asked}
    return tuple((rows[seq], why) for seq, why in found if seq in rows)


def _window(reading: Reading, condition: str, parameters: Sequence[Any]) -> list[_Seen]:
    """The newest first."""
    counted = ("tool_calls, repeated_calls, unparsed_calls, failed_calls, json_extract(facts, '$.done')"
               if reading.keeps("failed_calls") else "NULL, NULL, NULL, NULL, NULL")
    rows = reading.rows(
        "SELECT seq, step, attempt, group_, environment, coalesce(fingerprint, seed, task), status, total, advantage, "
        f"turns, tokens, scores, fault, stop, {counted} FROM episodes WHERE {condition} ORDER BY seq DESC LIMIT {WINDOW}",
        parameters)
    return [_Seen(seq, step, attempt, group, environment, (environment, task), status, total, advantage, turns, tokens,
                  codec.from_json(scores), None if fault is None else codec.unescape(fault), codec.unescape(stop),
                  calls or 0, repeated or 0, 0 if done else unparsed or 0, json.loads(failed or "{}"))
            for (seq, step, attempt, group, environment, task, status, total, advantage, turns, tokens, scores, fault,
                 stop, calls, repeated, unparsed, failed, done) in rows]


# ----------------------------------------------------------------------------------------------------------- advantage


def _advantages(reading: Reading, condition: str, parameters: Sequence[Any]) -> list[tuple[int, str]]:
    found: list[tuple[float, int, str]] = []
    for down in (True, False):
        rows = reading.rows(
            f"SELECT seq, step, attempt, group_, advantage, total FROM episodes WHERE {condition} AND advantage "
            f"{'> 0' if down else '< 0'} ORDER BY advantage {'DESC' if down else 'ASC'}, seq DESC LIMIT {MOST * 20}",
            parameters)
        groups: set[tuple[int, int, int]] = set()
        steps: dict[int, int] = defaultdict(int)
        taken = 0
        for seq, step, attempt, group, advantage, total in rows:
            if (step, attempt, group) in groups or steps[step] >= MOST_A_STEP // 2 or taken == MOST // 2:
                continue
            groups.add((step, attempt, group))
            steps[step] += 1
            taken += 1
            pay = "" if total is None else f": a total of {_said(total)}"
            side = "above" if advantage > 0 else "below"
            found.append((abs(advantage), seq, f"Advantage {_signed(advantage)}{pay}, furthest {side} its group's"))
    return [(seq, why) for _, seq, why in sorted(found, reverse=True)]


# ---------------------------------------------------------------------------------------------------------- surprising


def _surprising(window: list[_Seen]) -> list[tuple[int, str]]:
    found: dict[int, tuple[float, str]] = {}

    def say(seen: _Seen, rarity: float, why: str) -> None:
        if rarity > found.get(seen.seq, (0.0, ""))[0]:
            found[seen.seq] = (rarity, why)

    for members in _by(window, lambda seen: (seen.step, seen.attempt, seen.group)):
        told = [seen for seen in members if seen.told]
        won = [seen for seen in told if seen.status == "won"]
        lost = [seen for seen in told if seen.status != "won"]
        if len(told) > 2 and len(won) == 1:
            say(won[0], len(told), f"The only one of {len(told)} in its group that won")
        if len(told) > 2 and len(lost) == 1:
            say(lost[0], len(told), f"The only one of {len(told)} in its group that didn't win")
        for seen, middle, spread in _others(told) if len(told) > 3 else ():
            away = (seen.total or 0.0) - middle
            if spread <= 1e-6 < abs(away):
                say(seen, len(told), f"Total {_said(seen.total)} where all the others of its group got {_said(middle)}")
            elif spread > 1e-6 and abs(away) >= FAR * spread:
                say(seen, abs(away) / spread, f"Total {_said(seen.total)} where the others of its group got "
                                              f"{_said(middle)} on average, {abs(away) / spread:.1f} times their spread "
                                              "away")
    for tries in _by([seen for seen in window if seen.task[1] is not None], lambda seen: seen.task):
        run_of = 0
        before: bool | None = None
        for seen in reversed([seen for seen in tries if seen.told]):
            won = seen.status == "won"
            if before is not None and won != before and run_of >= TRIES:
                say(seen, run_of + 1, f"The first {'win' if won else 'loss'} on its task after {run_of} "
                                      f"{'losses' if won else 'wins'}")
            run_of = run_of + 1 if won == before else 1
            before = won
    ranked = sorted(((rarity, seq, why) for seq, (rarity, why) in found.items()), reverse=True)
    return [(seq, why) for _, seq, why in ranked]


def _others(told: list[_Seen]) -> Iterable[tuple[_Seen, float, float]]:
    """(episode, mean and standard deviation of the others' totals)"""
    totals = [seen.total or 0.0 for seen in told]
    center = statistics.fmean(totals)
    rest = len(totals) - 1
    sums, squares = sum(total - center for total in totals), sum((total - center) ** 2 for total in totals)
    for seen, total in zip(told, totals, strict=True):
        mean = (sums - (total - center)) / rest
        yield seen, center + mean, math.sqrt(max(0.0, (squares - (total - center) ** 2) / rest - mean * mean))


# ------------------------------------------------------------------------------------------------------------ suspects


def _suspects(window: list[_Seen]) -> list[tuple[int, str]]:
    found: list[tuple[float, int, str]] = []
    for members in _by(window, lambda seen: seen.environment):
        told = [seen for seen in members if seen.told]
        wins = [seen for seen in told if seen.status == "won"]
        if len(wins) > 4:
            found += _paid_like_a_win(told, wins)
        found += _while_wins_fall(told)
    for members in _by(window, lambda seen: (seen.step, seen.attempt, seen.group)):
        paid = [seen.total for seen in members if seen.told and seen.total is not None]
        for seen in members:
            if (seen.told and seen.repeated >= 3 and 2 * seen.repeated >= seen.calls and len(paid) > 1
                    and seen.total is not None and seen.total > statistics.fmean(paid) + 1e-9):
                found.append((1.5 + seen.repeated / max(1, seen.calls), seen.seq,
                              f"{seen.repeated} of {seen.calls} calls repeat an earlier one, and it was paid above its "
                              "group"))
    best: dict[int, tuple[float, list[str]]] = {}
    for strength, seq, why in found:
        most, reasons = best.get(seq, (0.0, []))
        best[seq] = (most + strength, [*reasons, why])
    ranked = sorted(((strength, seq, ". ".join(reasons[:2])) for seq, (strength, reasons) in best.items()),
                    reverse=True)
    return [(seq, why) for _, seq, why in ranked]


def _paid_like_a_win(told: list[_Seen], wins: list[_Seen]) -> Iterable[tuple[float, int, str]]:
    usual = statistics.median([seen.total for seen in wins if seen.total is not None])
    terms: dict[str, list[float]] = defaultdict(list)
    for seen in wins:
        for name, score in seen.scores.items():
            if score is not None and math.isfinite(score):
                terms[name].append(score)
    lost = [seen for seen in told if seen.status != "won"]
    high = {name: sorted(scores)[math.ceil(0.9 * len(scores)) - 1] for name, scores in terms.items() if len(scores) > 4}
    paid: dict[str, list[_Seen]] = {name: [seen for seen in lost if (score := seen.scores.get(name)) is not None
                                           and score > level + 1e-9] for name, level in high.items()}
    for seen in lost:
        if seen.total is not None and seen.total >= usual - 1e-9:
            yield 3.0, seen.seq, f"Not won, yet its total {_said(seen.total)} is what half of the wins get or more"
    for name, several in paid.items():
        # What most losses get more of than wins do is partial credit, and not a way around winning.
        if len(several) * 4 > len(lost):
            continue
        for seen in several:
            yield 1.0, seen.seq, (f"Not won, yet {name} gave {_said(seen.scores[name])}, more than in nine of ten wins "
                                  f"({_said(high[name])})")


def _while_wins_fall(told: list[_Seen]) -> Iterable[tuple[float, int, str]]:
    """The newer half of the steps against the older one."""
    steps = sorted({seen.step for seen in told})
    if len(steps) < 4:
        return
    middle = steps[len(steps) // 2]
    halves = [seen for seen in told if seen.step < middle], [seen for seen in told if seen.step >= middle]
    pay = [statistics.fmean([seen.total or 0.0 for seen in half]) for half in halves]
    won = [sum(seen.status == "won" for seen in half) / len(half) for half in halves]
    if pay[1] - pay[0] < RISE or won[0] - won[1] < RISE:
        return
    lost = sorted((seen for seen in halves[1] if seen.status != "won"), key=lambda seen: -(seen.total or 0.0))
    for seen in lost[:10]:
        yield 2.0, seen.seq, (f"From step {middle} on pay rose from {_said(pay[0])} to {_said(pay[1])} while wins fell "
                              f"from {100 * won[0]:.0f} % to {100 * won[1]:.0f} %; this is among the best paid that "
                              "weren't won")


# -------------------------------------------------------------------------------------------------- unscored, longest


def _unscored(window: list[_Seen]) -> list[tuple[int, str]]:
    broken: list[tuple[int, str]] = []
    failing: list[tuple[int, int, str]] = []
    for seen in window:
        counts = {kind.replace("_", " "): count for kind, count in seen.failed.items() if kind not in NEVER_PLAYED}
        counts |= {"unreadable": seen.unparsed} if seen.unparsed else {}
        if seen.fault:
            broken.append((seen.seq, f"{'Not scored' if seen.total is None else 'A fault'}: {seen.fault[:160]}"))
        elif seen.total is None:
            broken.append((seen.seq, f"Not scored: {seen.stop or seen.status.replace('_', ' ')}"))
        elif counts:
            words = ", ".join(f"{count} × {kind}" for kind, count in counts.items())
            failing.append((sum(counts.values()), seen.seq, f"Failed calls: {words}"))
    return broken + [(seq, why) for _, seq, why in sorted(failing, reverse=True)]


def _longest(window: list[_Seen]) -> list[tuple[int, str]]:
    if not window:
        return []
    usual = statistics.median(seen.turns for seen in window)
    ranked = sorted(window, key=lambda seen: (-seen.turns, -(seen.tokens or 0), -seen.seq))[:MOST]
    return [(seen.seq, f"{seen.turns} turns where half take {usual:g} or fewer"
             + (f", {seen.tokens:,} tokens" if seen.tokens is not None else "")) for seen in ranked]


_VIEWS: dict[str, Callable[[list[_Seen]], list[tuple[int, str]]]] = {
    "surprising": _surprising, "suspects": _suspects, "unscored": _unscored, "longest": _longest}


def _by(window: Iterable[_Seen], key: Callable[[_Seen], Any]) -> Iterable[list[_Seen]]:
    members: dict[Any, list[_Seen]] = defaultdict(list)
    for seen in window:
        members[key(seen)].append(seen)
    return members.values()


def _said(value: float | None) -> str:
    return "none" if value is None else f"{value:.3g}".replace("-", "−")


def _signed(value: float) -> str:
    return ("+" if value > 0 else "") + _said(value)
