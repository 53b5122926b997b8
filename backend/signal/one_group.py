"""What is surely true of one group, in a sentence: how it ended, what that teaches, and what wasn't scored and why."""

from collections import Counter
from collections.abc import Sequence

from backend.records import UNSCORED, Episode
from backend.signal.evidence import Cause
from backend.signal.parting import Parting, told_apart
from backend.signal.words import count, listed

ENDED: dict[str, str] = {"all won": "won", "all lost": "lost", "all invalid": "ended on something the environment "
                         "couldn't take", "all truncated": "were cut by the token budget", "same total": "came"}
NAMED = 3
"""Branches that are named where episodes part."""


def said(episodes: Sequence[Episode], cause: Cause, learnt: bool = True) -> str:
    """One sentence, and one more where something wasn't scored. `learnt`: whether a trainer learnt from it."""
    scored = [episode for episode in episodes if episode.total is not None]
    left_out = _unscored(episodes)
    if not scored:
        return left_out or "No episode was scored."
    if cause == "unscored":
        return " ".join(filter(None, ["Only one episode was scored, so there was nothing to compare.", left_out]))
    told = _with_signal(scored, len(episodes)) if cause == "signal" else _without(scored, len(episodes), cause, learnt)
    return " ".join(filter(None, [f"{told}.", left_out]))


def parted(told: Parting, episodes: int) -> str:
    """`All 8 begin with guess [crane]; they part at turn 2: guess [slate] ×3, guess [plaid] ×2, 3 others.`"""
    whom = "Both" if episodes == 2 else f"All {episodes}"
    opened = listed([move.words for move in told.together[:NAMED]]) if told.together else ""
    if told.turn is None:
        same = f"{whom} did the same to the end" + (f": {count(len(told.together), 'turn')}, beginning with {opened}"
                                                    if opened else "; no turn was played")
        return f"{same}."
    named = [f"{branch.move.words if branch.move else 'had ended'} ×{len(branch.members)}"
             for branch in told.branches[:NAMED]]
    rest = sum(len(branch.members) for branch in told.branches[NAMED:])
    named += [count(rest, "other")] if rest else []
    if not told.together:
        return f"{'They' if episodes > 2 else 'Both'} part at the first turn: {', '.join(named)}."
    more = len(told.together) - NAMED
    begun = f"{whom} begin with {opened}" + (f" and {count(more, 'more turn')}" if more > 0 else "")
    return f"{begun}; they part at turn {told.turn}: {', '.join(named)}."


def _without(scored: Sequence[Episode], all_: int, cause: Cause, learnt: bool) -> str:
    whom, total = _whom(len(scored), all_), _number(scored[0].total or 0.0)
    nothing = ": no gradient" if learnt else ""
    if cause == "same total":
        return f"{whom} came to the same total, {total}{nothing}"
    if cause == "all lost" and {episode.status for episode in scored} != {"lost"}:
        return f"{whom} ended without a win, with the same total, {total}{nothing}"
    same = " with the same total" if cause == "all won" else ""
    return f"{whom} {ENDED[cause]}{same}{nothing}"


def _with_signal(scored: Sequence[Episode], all_: int) -> str:
    won = [episode.status == "won" for episode in scored]
    totals = [episode.total for episode in scored if episode.total is not None]
    span = f"totals from {_number(min(totals))} to {_number(max(totals))}"
    if all(won):
        return f"{_whom(len(scored), all_)} won, with {span}"
    if not any(won):
        judged = any(episode.status in ("lost", "out_of_turns") for episode in scored)
        whom = f"None of {_of(len(scored), all_)} won" if judged else f"{_whom(len(scored), all_)} ended"
        return f"{whom}, with {span}"
    found = told_apart(scored, won)
    who = "the winner" if sum(won) == 1 else "each winner"
    alone = "; " + (f"{who} played {found[1].words} at turn {found[0]}, and nobody else did" if found else span)
    return f"{sum(won)} of {_of(len(scored), all_)} won{alone}"


def _whom(scored: int, all_: int) -> str:
    if scored < all_:
        return f"All {scored} that were scored"
    return "Both" if scored == 2 else f"All {scored}"


def _of(scored: int, all_: int) -> str:
    return f"the {scored}" if scored == all_ else f"the {scored} that were scored"


def _number(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")


def _unscored(episodes: Sequence[Episode]) -> str:
    """`2 of 8 were not scored: environment lost (ConnectionReset: gone) ×2.`"""
    out = [episode for episode in episodes if episode.total is None]
    if not out:
        return ""
    causes = Counter(_why(episode) for episode in out)
    told = listed([f"{why} ×{n}" if n > 1 else why for why, n in causes.most_common(3)])
    whom = f"None of the {len(episodes)} was scored" if len(out) == len(episodes) else \
        f"{len(out)} of {len(episodes)} {'was' if len(out) == 1 else 'were'} not scored"
    return f"{whom}: {told}."


def _why(episode: Episode) -> str:
    status = episode.status.replace("env_", "environment ").replace("_", " ")
    if episode.fault:
        return f"{status} ({episode.fault.kind}: {' '.join(episode.fault.message.split())[:120].rstrip('.')})"
    return status if episode.status in UNSCORED else f"{status}, and no term gave a number"
