"""What the rewards say about whether anything can be learned.

GRPO learns from differences inside a group: where all episodes of a group got the same total there is no gradient.
Everything here is worked out from what was stored, and said in plain sentences. Nothing that wasn't scored counts as 0.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Literal

from backend.records import UNSCORED

WINDOW = 10
"""Steps that "lately" means."""
LOST = frozenset({"lost", "out_of_turns", "truncated", "invalid"})
SAME = 1e-9
"""Totals closer than this are the same total."""

Cause = Literal["signal", "all won", "all lost", "same total", "unscored"]
CAUSES: dict[Cause, str] = {
    "signal": "Totals differ, so the policy learns which episodes were better.",
    "all won": "Every episode won with the same total: nothing left to learn there.",
    "all lost": "Every episode lost with the same total: nothing to prefer.",
    "same total": "Every episode got the same total.",
    "unscored": "Fewer than two episodes could be scored, so there was nothing to compare.",
}
Level = Literal["good", "plain", "warn", "bad"]


@dataclass(frozen=True)
class Group:
    """One task played several times in one step."""

    step: int
    group: int
    environment: str
    episodes: int
    scored: int
    low: float | None
    """Smallest total; None when nothing was scored."""
    high: float | None
    won: int
    lost: int
    """Episodes whose status is one of LOST."""
    tasks: int
    """Different fingerprints."""
    known: int
    """Episodes with a fingerprint."""

    @property
    def cause(self) -> Cause:
        if self.scored < 2 or self.low is None or self.high is None:
            return "unscored"
        if self.high - self.low > SAME:
            return "signal"
        if self.won == self.scored:
            return "all won"
        return "all lost" if self.lost == self.scored else "same total"

    @property
    def one_task(self) -> bool | None:
        """None where the environment doesn't tell which task it plays."""
        if self.tasks > 1:
            return False
        return True if self.known == self.episodes else None


@dataclass(frozen=True)
class Outcome:
    """The episodes of one step that ended one way."""

    step: int
    status: str
    episodes: int
    total: float | None = None
    """Sum of the totals of the scored ones; None when none was."""
    scored: int = 0


@dataclass(frozen=True)
class Unscored:
    """A reason why episodes could not be scored, and how often it came up."""

    status: str
    reason: str
    episodes: int


@dataclass(frozen=True)
class Fact:
    label: str
    value: str
    level: Level = "plain"
    change: str = ""
    about: str = ""


@dataclass(frozen=True)
class Note:
    """A sentence, what to do about it, and which episodes show it (filters of the episode list)."""

    level: Level
    text: str
    remedy: str = ""
    look: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Health:
    facts: tuple[Fact, ...]
    notes: tuple[Note, ...]


def causes_by_step(groups: Iterable[Group]) -> dict[int, Counter]:
    steps: dict[int, Counter] = {}
    for group in groups:
        steps.setdefault(group.step, Counter())[group.cause] += 1
    return steps


def statuses_by_step(outcomes: Iterable[Outcome]) -> dict[int, Counter]:
    steps: dict[int, Counter] = {}
    for outcome in outcomes:
        steps.setdefault(outcome.step, Counter())[outcome.status] += outcome.episodes
    return steps


def win_share(statuses: Counter) -> float | None:
    """Won among the scored; None where nothing was scored or the environment knows no winning."""
    scored = sum(n for status, n in statuses.items() if status not in UNSCORED)
    if not scored or not (statuses["won"] or statuses["lost"] or statuses["out_of_turns"]):
        return None
    return statuses["won"] / scored


def health(groups: Sequence[Group], outcomes: Sequence[Outcome], unscored: Sequence[Unscored] = ()) -> Health:
    """Of a run, from the groups and outcomes of (at least) its last 2 x WINDOW steps; `unscored` is about lately."""
    steps = sorted({outcome.step for outcome in outcomes})
    if not steps:
        return Health((), ())
    span = min(WINDOW, max(1, len(steps) // 2))
    lately, before = set(steps[-span:]), set(steps[-2 * span : -span])
    recent = [group for group in groups if group.step in lately]
    now = [outcome for outcome in outcomes if outcome.step in lately]
    then = [outcome for outcome in outcomes if outcome.step in before]
    facts, notes = [], []
    for part in (_reward(now, then, span), _wins(now, then, span)):
        facts += part
    for fact, found in (_signal(recent), _coverage(now, unscored), _purity(recent)):
        facts += fact
        notes += found
    notes += _endings(now)
    order = {"bad": 0, "warn": 1, "plain": 2, "good": 3}
    return Health(tuple(facts), _said_once(sorted(notes, key=lambda note: order[note.level])))


def _said_once(notes: list[Note]) -> tuple[Note, ...]:
    """The same remedy isn't repeated under the next note."""
    said: set[str] = set()
    told = []
    for note in notes:
        told.append(replace(note, remedy="") if note.remedy in said else note)
        said.add(note.remedy)
    return tuple(told)


def percent(part: float, whole: float) -> str:
    """`63 %`; never rounds something to nothing or a part to all."""
    share = 100 * part / whole
    if 0 < share < 1:
        return "under 1 %"
    if 99 < share < 100:
        return "over 99 %"
    return f"{share:.0f} %"


def count(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def _reward(now, then, span) -> list[Fact]:
    mean, _ = _mean(now)
    if mean is None:
        return [Fact("reward", "not scored", "warn", about="No episode of the last steps could be scored.")]
    old, _ = _mean(then)
    change = ""
    if old is not None:
        change = "steady" if abs(mean - old) < 0.005 else f"{mean - old:+.2f} in {count(span, 'step')}"
    about = f"Mean total of the scored episodes, {_last(span)}."
    return [Fact("reward", f"{mean:.2f}", change=change.replace("-", "−"), about=about)]


def _mean(outcomes) -> tuple[float | None, int]:
    scored = [o for o in outcomes if o.scored and o.total is not None]
    n = sum(o.scored for o in scored)
    return (sum(o.total for o in scored) / n if n else None), n


def _wins(now, then, span) -> list[Fact]:
    new, old = _tally(now), _tally(then)
    share, past = win_share(new), win_share(old)
    if share is None:
        return []
    n = _scored(new)
    about = f"{new['won']:,} of {count(n, 'scored episode')}, {_last(span)}."
    if past is None:
        return [Fact("won", percent(new["won"], n), about=about)]
    m = _scored(old)
    pooled = (new["won"] + old["won"]) / (n + m)
    noise = 2 * sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
    gain = share - past
    if abs(gain) <= noise:
        return [
            Fact(
                "won",
                percent(new["won"], n),
                change="steady",
                about=f"{about} The change, {gain * 100:+.1f} points, is within chance.".replace("-", "−"),
            )
        ]
    change = f"{gain * 100:+.0f} points in {count(span, 'step')}".replace("-", "−")
    return [Fact("won", percent(new["won"], n), "good" if gain > 0 else "warn", change, about)]


def _signal(groups) -> tuple[list[Fact], list[Note]]:
    if not groups:
        return [], []
    causes, all_ = Counter(group.cause for group in groups), len(groups)
    live = causes["signal"]
    level: Level = "good" if live * 2 >= all_ else "warn" if live else "bad"
    if causes["all won"] == all_ - live and not live * 2 >= all_:
        level = "good"
    fact = Fact("groups with signal", f"{live} of {all_}", level, about=CAUSES["signal"])
    notes = []
    if causes["all lost"] * 4 >= all_:
        notes.append(
            Note(
                "warn" if live else "bad",
                f"{causes['all lost']} of {all_} groups lost every episode: nothing to learn there.",
                "Add partial credit or easier tasks.",
                {"where": f"status in {tuple(sorted(LOST))}"},
            )
        )
    if causes["all won"] * 2 >= all_:
        notes.append(
            Note(
                "good",
                f"{causes['all won']} of {all_} groups won every episode: this is nearly solved.",
                "Give it harder tasks, or stop here.",
                {"status": "won"},
            )
        )
    if causes["same total"] * 4 >= all_:
        notes.append(
            Note(
                "warn" if live else "bad",
                f"{causes['same total']} of {all_} groups gave every episode the same total.",
                "Add a reward term that tells better episodes from worse ones.",
            )
        )
    return [fact], notes


def _coverage(outcomes, unscored) -> tuple[list[Fact], list[Note]]:
    tally = _tally(outcomes)
    all_, scored = sum(tally.values()), sum(o.scored for o in outcomes)
    missing = all_ - scored
    share = percent(scored, all_)
    if not missing:
        return [Fact("scored", share, "good", about=f"All {count(all_, 'episode')} of the last steps.")], []
    level: Level = "bad" if missing * 10 >= all_ else "warn"
    fact = Fact(
        "scored",
        share,
        level,
        about=f"{count(missing, 'episode')} of {all_:,} could not be scored, and count as nothing, not as 0.",
    )
    faults = {
        "env_error": "the environment failed",
        "env_lost": "the connection to the environment was lost",
        "cancelled": "the episode was cancelled",
    }
    notes = [
        Note(
            level,
            f"{count(cause.episodes, 'episode')} not scored: {faults.get(cause.status, cause.status)}"
            + (f" ({cause.reason})." if cause.reason else "."),
            "Nothing the policy did; look at the environment's server." if cause.status.startswith("env") else "",
            {"status": cause.status},
        )
        for cause in unscored[:3]
    ]
    if not notes:
        notes = [
            Note(
                level,
                f"{count(missing, 'episode')} of {all_:,} not scored: no reward term applied to them.",
                "Add a term for their environment.",
            )
        ]
    return [fact], notes


def _purity(groups) -> tuple[list[Fact], list[Note]]:
    if not groups:
        return [], []
    mixed = [group for group in groups if group.one_task is False]
    if mixed:
        names = ", ".join(sorted({group.environment for group in mixed}))
        first = mixed[0]
        note = Note(
            "bad",
            f"{len(mixed)} of {len(groups)} groups mixed several tasks, so their episodes can't be compared.",
            f"Check that {names} honours the seed given to reset.",
            {"step": str(first.step), "group": str(first.group)},
        )
        return [
            Fact(
                "one task per group",
                f"{len(groups) - len(mixed)} of {len(groups)}",
                "bad",
                about="Whether a group really played one task.",
            )
        ], [note]
    if all(group.one_task for group in groups):
        return [Fact("one task per group", "yes", "good", about="The fingerprints of each group's tasks agree.")], []
    return [
        Fact("one task per group", "can't be told", "plain", about="The environment doesn't say which task it plays.")
    ], []


def _endings(outcomes) -> list[Note]:
    tally = _tally(outcomes)
    scored = _scored(tally)
    if not scored:
        return []
    told = (
        (
            "truncated",
            0.1,
            "hit the token budget before they ended",
            "Raise the token budget, or ask for shorter answers.",
        ),
        ("out_of_turns", 0.25, "ran out of turns", "Allow more turns, or reward getting there sooner."),
        ("invalid", 0.1, "ended on something the environment could not take", "Look at what the model wrote."),
    )
    return [
        Note("warn", f"{percent(tally[status], scored)} of the episodes {what}.", remedy, {"status": status})
        for status, limit, what, remedy in told
        if tally[status] >= limit * scored
    ]


def _tally(outcomes) -> Counter:
    tally: Counter = Counter()
    for outcome in outcomes:
        tally[outcome.status] += outcome.episodes
    return tally


def _scored(tally: Counter) -> int:
    return sum(n for status, n in tally.items() if status not in UNSCORED)


def _last(span: int) -> str:
    return "last step" if span == 1 else f"last {span} steps"
