"""What the judgements of this room rest on: counted steps and groups, as the store tells them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from backend.records import EpisodeStatus, RewardTerm, RunSpec

Cause = Literal["signal", "all won", "all lost", "all invalid", "all truncated", "same total", "unscored"]
CAUSES: dict[Cause, str] = {
    "signal": "Totals differ, so the policy learns which episodes were better.",
    "all won": "Every episode won with the same total: nothing left to learn there.",
    "all lost": "Every episode lost with the same total: nothing to prefer.",
    "all invalid": "Every episode ended on something the environment couldn't take, with the same total.",
    "all truncated": "The token budget cut every episode, and all got the same total.",
    "same total": "Every episode got the same total.",
    "unscored": "Fewer than two episodes could be scored, so there was nothing to compare.",
}


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
    cause: Cause
    one_task: bool | None
    """None where the environment doesn't tell which task it plays."""
    alike: bool = False
    """Whether all its episodes made the very same calls."""


@dataclass(frozen=True)
class Tally:
    """A step of one environment. What is None wasn't kept when the run was recorded."""

    step: int
    environment: str
    episodes: int
    judged: int
    """Those that say something about the policy; the counts of calls and lengths are of them."""
    scored: int
    total: float | None
    """Sum of the totals; None when nothing was scored."""
    statuses: Counter[EpisodeStatus] = field(default_factory=Counter)
    groups: int = 0
    causes: Counter[Cause] = field(default_factory=Counter)
    """Groups by what they had to teach."""
    learnt_from: int = 0
    """Scored episodes in groups with signal."""
    pure: int = 0
    """Groups that played one task."""
    mixed: int = 0
    """Groups that played several."""
    first_mixed: int | None = None
    alike: int | None = None
    """Groups without signal, and not all won, in which every episode made the same calls."""
    first_alike: int | None = None
    tokens: int = 0
    with_tokens: int = 0
    """Episodes of which the tokens are known."""
    clipped: int | None = None
    tool_calls: int | None = None
    silent: int | None = None
    """Episodes without any call, or what looks like one."""
    unparsed_calls: int | None = None
    repeated_calls: int | None = None
    failures: int | None = None
    late_calls: int | None = None
    """Calls after the end of their episode, which aren't failed ones."""
    failed_calls: Counter[str] = field(default_factory=Counter)
    """By kind of fault, late ones among them."""
    spreads: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "Tally":
        """From a row of `backend.store.sums`; what isn't a field is left out."""
        told = {name: row[name] for name in cls.__dataclass_fields__ if name in row}
        return cls(**{**told, "statuses": statuses_of(row), "causes": causes_of(row),
                      "failed_calls": Counter(row.get("failed_calls"))})


STATUSES = tuple(EpisodeStatus.__args__)  # type: ignore[attr-defined]
CAUSE_COLUMNS: dict[str, str] = {cause: f"groups_{cause.replace(' ', '_')}" for cause in CAUSES}


def statuses_of(row: Mapping[str, Any]) -> Counter:
    return Counter({status: n for status in STATUSES if (n := row[status])})


def causes_of(row: Mapping[str, Any]) -> Counter:
    return Counter({cause: n for cause, name in CAUSE_COLUMNS.items() if (n := row[name])})


def win_share(judged: int, won: int, lost: int, out_of_turns: int) -> float | None:
    """Won among the episodes that can be judged; None where there is none or the environment knows no winning."""
    return won / judged if judged and (won or lost or out_of_turns) else None


@dataclass(frozen=True)
class Unscored:
    """A reason why episodes could not be scored, and how often it came up."""

    status: str
    reason: str
    episodes: int
    environment: str = ""


@dataclass(frozen=True)
class Evidence:
    """The last steps of a run, those before them, and its first."""

    lately: tuple[Tally, ...] = ()
    before: tuple[Tally, ...] = ()
    """As many steps before those."""
    start: tuple[Tally, ...] = ()
    """The run's first steps, as many."""
    unscored: tuple[Unscored, ...] = ()
    terms: tuple[RewardTerm, ...] = ()
    turns_allowed: Mapping[str, int] = field(default_factory=dict)
    """By environment, where it is known."""
    token_budget: int | None = None
    message_cap: int | None = None
    """Tokens of one message, where the spec sets such a cap."""
    capped: Mapping[str, int] = field(default_factory=dict)
    """By environment, how many of the cut episodes that cap cut."""
    imported: bool = False
    """What cut its episodes is not known then."""

    @classmethod
    def of(cls, spec: RunSpec, turns_allowed: Mapping[str, int], *, lately: Sequence[Mapping[str, Any]],
           before: Sequence[Mapping[str, Any]], start: Sequence[Mapping[str, Any]],
           unscored: Sequence[Mapping[str, Any]], capped: Sequence[Mapping[str, Any]] = ()) -> "Evidence":
        """From what `backend.store.sums.recent` tells."""
        reasons = tuple(Unscored(**row) for row in unscored)
        return cls(tallies(lately), tallies(before), tallies(start), reasons, spec.rewards, turns_allowed,
                   spec.train.max_completion_tokens, spec.train.message_cap,
                   {row["environment"]: row["episodes"] for row in capped}, spec.imported)

    @property
    def environments(self) -> list[str]:
        return sorted({tally.environment for tally in self.lately})

    def of_environment(self, environment: str) -> "Evidence":
        def only(told):
            return tuple(one for one in told if one.environment == environment)

        return replace(self, lately=only(self.lately), before=only(self.before), start=only(self.start),
                       unscored=only(self.unscored))

    @property
    def first_step(self) -> int:
        """Of the last steps."""
        return min(tally.step for tally in self.lately)

    @property
    def steps(self) -> int:
        """How many the last steps are."""
        return len({tally.step for tally in self.lately})


def tallies(rows: Iterable[Mapping[str, Any]]) -> tuple[Tally, ...]:
    return tuple(Tally.of(row) for row in rows)


def added(told: Iterable[Tally], name: str) -> int | None:
    """The sum of a field; None where it is known of none."""
    known = [number for tally in told if (number := getattr(tally, name)) is not None]
    return sum(known) if known else None


def together(told: Iterable[Tally], name: str) -> Counter:
    """Counts of a field that counts by kind, added up."""
    counts: Counter = Counter()
    for tally in told:
        counts.update(getattr(tally, name))
    return counts


def mean_total(told: Sequence[Tally]) -> float | None:
    scored = added(told, "scored")
    return (added(told, "total") or 0.0) / scored if scored else None
