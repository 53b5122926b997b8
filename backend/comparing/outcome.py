"""What came of a run, in numbers that can stand beside another's. Sums over training episodes; unscored ones count only
towards the share that is unscored."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from backend.records import RunStatus
from backend.signal import win_share
from backend.store import Run, compared

LAST = 20
"""Recorded steps a number of "the last steps" is of, and those that the best stretch is of."""
_SUMMED = ("episodes", "judged", "scored", "total", "won", "lost", "out_of_turns", "groups", "groups_signal", "tokens",
           "with_tokens")


class Outcome(NamedTuple):
    run: str
    status: RunStatus
    step: int
    """The last one recorded."""
    steps: int
    """Asked for."""
    episodes: int
    last: int
    """Recorded steps that the numbers below are of: LAST, or all of a shorter run."""
    win_last: float | None
    """Won among the scored episodes of the last steps; None where nothing was scored or the environment has no winning."""
    win_best: float | None
    """The same of the best stretch of so many steps."""
    best_at: int | None
    """The last step of that stretch."""
    total_last: float | None
    """Mean total of the scored episodes of the last steps."""
    unscored: float | None
    """Share of all episodes that say nothing about the policy, because the environment failed or they were cancelled."""
    signal: float | None
    """Share of all groups whose totals differ, which is what GRPO learns from."""
    seconds: float | None
    """From its start to its end, or to now."""
    pace: float | None
    """Median seconds of a step, of the newest 200."""
    tokens: int | None
    """Generated in scored episodes; None where they weren't counted."""


def outcome(run: Run) -> Outcome:
    """Raises OrtamError where its spec or its file can't be read."""
    columns = compared.counted(run.path, _SUMMED)
    last = min(LAST, len(columns["step"]))
    wins = _stretches(columns, last) if last else []
    best = max((place for place, share in enumerate(wins) if share is not None), key=lambda place: wins[place] or 0.0,
               default=None)
    progress = run.progress()
    episodes, judged = sum(columns["episodes"]), sum(columns["judged"])
    scored = sum(columns["scored"][-last:]) if last else 0
    totals = [total for total in columns["total"][-last:] if total is not None] if last else []
    groups = sum(columns["groups"])
    return Outcome(
        run.id, run.status(), progress.step, progress.steps, episodes, last, wins[-1] if wins else None,
        None if best is None else wins[best], None if best is None else columns["step"][best + last - 1],
        sum(totals) / scored if totals and scored else None, (episodes - judged) / episodes if episodes else None,
        sum(columns["groups_signal"]) / groups if groups else None, progress.elapsed, compared.pace(run.path),
        sum(known for known in columns["tokens"] if known) if any(columns["with_tokens"]) else None)


def _stretches(columns: Mapping[str, Sequence[Any]], width: int) -> list[float | None]:
    """The win share of each stretch of `width` recorded steps."""
    sums_ = [list(accumulate((number or 0 for number in columns[name]), initial=0))
             for name in ("judged", "won", "lost", "out_of_turns")]
    ends = range(width, len(columns["step"]) + 1)
    return [win_share(*(told[end] - told[end - width] for told in sums_)) for end in ends]
