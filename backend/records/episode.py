"""What happened in a run, as a trainer wrote it. Unknown fields are dropped, so an older page reads a newer run."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict


class Kept(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


EpisodeStatus = Literal["won", "lost", "finished", "invalid", "truncated", "out_of_turns", "env_error", "env_lost",
                        "cancelled"]
UNSCORED = frozenset({"env_error", "env_lost", "cancelled"})
"""Statuses that say nothing about the policy: every score, the total and the advantage are None."""

RunStatus = Literal["queued", "preparing", "running", "stalled", "stopping", "stopped", "finished", "failed", "lost"]
ENDED = frozenset({"stopped", "finished", "failed", "lost"})

FactValue = bool | int | float | str | None

NEVER_PLAYED = frozenset({"no_turns_left", "after_the_end"})
"""Kinds of fault of a call that came when nothing could be played any more. A *failed call* is one with a fault of another
kind: the fact `tool_failures`, the arena, Watch, its alarms and Find all count those."""


DUST = 1e-6
"""Rewards and advantages nearer to 0 come of rounding."""


class Fault(Kept):
    where: Literal["environment", "reward", "trainer", "engine", "model"]
    kind: str
    """The exception's class, or a short name such as `unknown_tool`."""
    message: str
    traceback: str | None = None


class Turn(Kept):
    """One tool call with what led to it and what came of it; the last turn may be words only (`tool` None)."""

    index: int
    said: str = ""
    """What the model wrote, tool call and reasoning taken out."""
    thought: str = ""
    tool: str | None = None
    arguments: Any = None
    """As sent: usually a dict, a str where the model's JSON didn't parse."""
    result: str | None = None
    """What the environment answered, whole. None: it was never asked, or never answered."""
    shown: str | None = None
    """What the model was shown, where that differs from `result`."""
    reward: float | None = None
    """The environment's own reward for this turn; None where it gave none."""
    done: bool = False
    facts: dict[str, FactValue] = {}
    """After the turn."""
    tokens: int | None = None
    """That the model generated for this turn; None for a second call in one message."""
    model_seconds: float | None = None
    """Of the batch this turn was generated in."""
    seconds: float | None = None
    """At the environment."""
    fault: Fault | None = None
    images: tuple[str, ...] = ()
    """What the environment showed with its answer, as data: URLs."""
    cut: bool = False
    """Executed at the environment, but cut from the transcript the model learns from by the token budget."""

    @property
    def played(self) -> bool:
        """Whether it used up one of the allowed turns: a call, refused or not, or an answer in words, before the end. Not a
        message that holds neither, and no call when nothing could be played any more."""
        kind = self.fault.kind if self.fault else None
        if kind in NEVER_PLAYED or kind == "unparsed_call":
            return False
        return self.tool is not None or self.result is not None or kind is not None


class Judged(Kept):
    """What a judge made of an episode."""

    digest: str
    """Of what it was asked: endpoint, model, rubric and episode. The same digest is never asked twice in a run."""
    score: float | None = None
    """From 0 to 1; None where it failed, and the fault says how."""
    reason: str = ""
    """In its own words."""
    fault: Fault | None = None


class Policy(Kept):
    kind: Literal["model", "checkpoint", "endpoint", "human", "script", "import"] = "model"
    name: str = ""


class Parent(Kept):
    """Whose turns a forked episode repeats."""

    run: str
    episode: str
    turn: int
    """How many of its turns were repeated; what came after them is the fork's own."""


class Episode(Kept):
    id: str
    """Unique in the run: `62-3-7` is step 62, group 3, sample 7; evaluations start with `eval-`."""
    phase: Literal["train", "eval", "play"] = "train"
    step: int
    attempt: int = 1
    """1, and one more for each time the run was resumed."""
    group: int
    sample: int
    environment: str
    task: Any = None
    seed: int | None = None
    fingerprint: str | None = None
    """What the environment says identifies the task that was really played; None where it can't be told."""
    policy: Policy = Policy()
    parent: Parent | None = None
    """Of a fork; None for an episode played from its start."""
    status: EpisodeStatus
    stop: str = ""
    """Why it ended, in a few words."""
    prompt: tuple[dict[str, Any], ...] = ()
    """The messages the model was given first, the opening observation included."""
    opening: str = ""
    """The environment's first observation."""
    images: tuple[str, ...] = ()
    """What it showed with that, as data: URLs."""
    start_facts: dict[str, FactValue] = {}
    facts: dict[str, FactValue] = {}
    """At the end: what reward terms are worked out from."""
    scores: dict[str, float | None] = {}
    """Raw value of each reward term before its weight; None where the term didn't apply or the episode is unscored."""
    total: float | None = None
    """Weighted sum of the scores that are not None; None when all are."""
    advantage: float | None = None
    """As the trainer used it; None where no trainer did."""
    tokens: int | None = None
    """Generated by the model over all turns."""
    started: float = 0.0
    """Unix time of the reset."""
    seconds: float | None = None
    fault: Fault | None = None
    judged: dict[str, Judged] = {}
    """By reward term, for the terms that ask a judge."""
    turns: tuple[Turn, ...] = ()

    @property
    def turns_played(self) -> int:
        """Of those that were allowed."""
        return sum(turn.played for turn in self.turns)


class MetricPoint(Kept):
    step: int
    name: str
    value: float | None
    """None stands for NaN and for "nothing to measure"."""


class Event(Kept):
    at: float
    kind: str
    """Such as `phase`, `warning`, `fault`, `stop`."""
    text: str
    level: Literal["info", "warning", "error"] = "info"
    step: int | None = None
    fault: Fault | None = None


class Result(Kept):
    """How a run ended; written last, so a run without one is still going or was lost."""

    status: Literal["finished", "stopped", "failed"]
    reason: str = ""
    step: int = 0
    ended: float = 0.0
    fault: Fault | None = None
