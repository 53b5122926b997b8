"""How a run is doing, in a handful of numbers and the alarms it raises."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt

from backend.signal.alarms import alarms
from backend.signal.evidence import CAUSES, Evidence, Tally, added, mean_total, together, win_share
from backend.signal.saying import Alarm, Level
from backend.signal.thresholds import limit
from backend.signal.words import count, last, percent


@dataclass(frozen=True)
class Fact:
    label: str
    value: str
    level: Level = "plain"
    change: str = ""
    about: str = ""


@dataclass(frozen=True)
class Health:
    facts: tuple[Fact, ...]
    notes: tuple[Alarm, ...]
    """The most serious first."""
    over: str = ""
    """Which steps the facts are about, such as `last 10 steps`."""


def health(told: Evidence) -> Health:
    if not told.lately:
        return Health((), ())
    facts = [*_reward(told), *_wins(told), *_signal(told), *_coverage(told), *_purity(told), *_turns(told)]
    return Health(tuple(facts), _said_once(alarms(told)), last(told.steps))


def _said_once(notes: Sequence[Alarm]) -> tuple[Alarm, ...]:
    """The same remedy isn't repeated under the next note."""
    said: set[str] = set()
    told = []
    for note in notes:
        told.append(replace(note, remedy="") if note.remedy in said else note)
        said.add(note.remedy)
    return tuple(told)


def _reward(told: Evidence) -> list[Fact]:
    mean = mean_total(told.lately)
    if mean is None:
        return [Fact("reward", "not scored", "warn", about="No episode of the last steps could be scored.")]
    old = mean_total(told.before)
    change = ""
    if old is not None:
        change = "steady" if abs(mean - old) < 0.005 else f"{mean - old:+.2f} in {count(told.steps, 'step')}"
    return [Fact("reward", f"{mean:.2f}", change=change.replace("-", "−"),
                 about=f"Mean total of the scored episodes, {last(told.steps)}.")]


def _wins(told: Evidence) -> list[Fact]:
    (new, n, share), (old, m, past) = _endings(told.lately), _endings(told.before)
    if share is None:
        return []
    about = f"{new['won']:,} of {count(n, 'scored episode')}, {last(told.steps)}."
    if past is None:
        return [Fact("won", percent(new["won"], n), about=about)]
    pooled = (new["won"] + old["won"]) / (n + m)
    noise = 2 * sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
    gain = share - past
    if abs(gain) <= noise:
        chance = f"The change, {gain * 100:+.1f} points, is within chance.".replace("-", "−")
        return [Fact("won", percent(new["won"], n), change="steady", about=f"{about} {chance}")]
    change = f"{gain * 100:+.0f} points in {count(told.steps, 'step')}".replace("-", "−")
    return [Fact("won", percent(new["won"], n), "good" if gain > 0 else "warn", change, about)]


def _endings(told: Sequence[Tally]) -> tuple[Counter, int, float | None]:
    statuses, judged = together(told, "statuses"), added(told, "judged") or 0
    return statuses, judged, win_share(judged, statuses["won"], statuses["lost"], statuses["out_of_turns"])


def _signal(told: Evidence) -> list[Fact]:
    causes, all_ = together(told.lately, "causes"), added(told.lately, "groups") or 0
    if not all_:
        return []
    live = causes["signal"]
    level: Level = "good" if live * 2 >= all_ else "warn" if live else "bad"
    if causes["all won"] == all_ - live:
        level = "good"
    used, played = added(told.lately, "learnt_from") or 0, added(told.lately, "episodes") or 0
    return [Fact("groups with signal", f"{live:,} of {all_:,}", level,
                 f"{used / told.steps:.0f} of {played / told.steps:.0f} episodes a step",
                 f"{CAUSES['signal']} The second number is the effective batch, {last(told.steps)}.")]


def _coverage(told: Evidence) -> list[Fact]:
    all_, scored = added(told.lately, "episodes") or 0, added(told.lately, "scored") or 0
    missing, share = all_ - scored, percent(scored, all_)
    if not missing:
        return [Fact("scored", share, "good", about=f"All {count(all_, 'episode')} of the last steps.")]
    return [Fact("scored", share, "bad" if missing >= limit("unscored") * all_ else "warn",
                 about=f"{count(missing, 'episode')} of {all_:,} could not be scored, and count as nothing, not as 0.")]


def _purity(told: Evidence) -> list[Fact]:
    groups, pure, mixed = (added(told.lately, name) or 0 for name in ("groups", "pure", "mixed"))
    if not groups:
        return []
    label = "one task per group"
    if mixed:
        return [Fact(label, f"{groups - mixed:,} of {groups:,}", "bad", about="Whether a group played one task.")]
    if pure == groups:
        return [Fact(label, "yes", "good", about="The fingerprints of each group's tasks agree.")]
    if pure:
        return [Fact(label, f"{pure:,} of {groups:,}", about="Of the others it can't be told.")]
    return [Fact(label, "can't be told", about="The environment doesn't say which task it plays.")]


def _turns(told: Evidence) -> list[Fact]:
    """Where all environments allow the same number. A call after the end uses none."""
    allowed = {told.turns_allowed.get(environment) for environment in told.environments}
    judged, calls = added(told.lately, "judged"), added(told.lately, "tool_calls")
    if len(allowed) != 1 or None in allowed or not judged or calls is None:
        return []
    played = calls - (added(told.lately, "late_calls") or 0)
    return [Fact("turns used", f"{played / judged:.1f} of {allowed.pop():,}", about="By the mean episode, of those allowed.")]
