"""The address of a Replay page: which run, which episode and turn, and what the list is narrowed to."""

from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl

from backend.errors import SpecError
from backend.store.filters import Between
from ui.written import query

NEWEST = "-step"
VIEWS = {
    "advantage": ("Largest advantage", "What training pulled at hardest, for and against: the largest advantages of "
                                       "both signs, one of each a group and few a step"),
    "surprising": ("Surprising", "Far from what its own group or this task's recent episodes got: a lone win or loss in "
                                 "its group, a first win on a task, a total far from the others'"),
    "suspects": ("Reward hacking suspects", "Well paid though not won: a total or a term as high as winners get, the "
                                            "same calls over and over, or pay that rises while wins fall"),
    "unscored": ("Unscored and faults", "Episodes that gave no number or broke off, then those with the most failed calls"),
    "longest": ("Longest", "Most turns, then most tokens"),
}
"""What is instructive: name -> (label, what it means)."""


@dataclass(frozen=True)
class Asked:
    """The address, read; made new by `to`."""

    run: str = ""
    id: str = ""
    turn: int | None = None
    find: str = ""
    where: str = ""
    view: str = ""
    """One of VIEWS; empty lists all."""
    sort: str = NEWEST
    page: int = 1
    step: int | str | None = None
    """One step, or a range such as 10-20; like `group` what was written where it is neither, for `filters` to refuse."""
    group: int | str | None = None
    environment: str = ""
    status: str = ""
    phase: str = ""
    tool: str = ""
    trouble: str = ""
    """A kind of fault, or any."""
    task: str = ""
    """A seed, a task or a fingerprint."""
    policy: str = ""
    tag: str = ""
    total: str = ""
    advantage: str = ""
    term: str = ""
    value: str = ""
    """The range of the term."""

    @classmethod
    def read(cls, search: str) -> "Asked":
        """From `?run=…&id=…`; unknown parameters are dropped. Raises SpecError naming the one that is wrong."""
        given: dict[str, Any] = {}
        for name, value in parse_qsl(search.removeprefix("?")):
            if name in ("turn", "page"):
                given[name] = _whole_number(name, value.strip())
            elif name in ("step", "group"):
                given[name] = _number_or_text(value)
            elif name in cls.__dataclass_fields__:
                given[name] = value
        if given.get("view") not in VIEWS:
            given.pop("view", None)
        return cls(**{**given, "page": max(given.get("page") or 1, 1)})

    @classmethod
    def only_run(cls, search: str) -> "Asked":
        return cls(run=dict(parse_qsl(search.removeprefix("?"))).get("run", ""))

    def to(self, **changes: Any) -> str:
        """The address of the same view with something changed; what is at its default is left out."""
        asked = replace(self, **changes)
        return f"/episode?{query(asked._unusual())}"

    def kept(self) -> str:
        """What can be saved under a name and used on any run, as it stands in an address."""
        return query(replace(self, run="", id="", turn=None, page=1)._unusual())

    def _unusual(self) -> dict[str, Any]:
        usual = Asked()
        return {name: value for name, value in vars(self).items() if value not in (None, getattr(usual, name))}

    def filters(self) -> dict[str, Any]:
        """As `Run.episodes` takes them. Raises SpecError for a number or a range that is none."""
        term = {self.term: Between.read(self.term, self.value)} if self.term and self.value.strip() else None
        if self.value.strip() and not self.term:
            raise SpecError("term", "choose the reward term that this range is of")
        if isinstance(self.group, str):
            raise SpecError("group", f"{self.group!r:.40} is no number of a group; write one such as 3")
        wanted = {"find": self.find.strip() or None, "where": self.where or None, "group": self.group,
                  "step": _range_of_steps(self.step) if isinstance(self.step, str) else self.step,
                  "environment": self.environment or None, "status": self.status or None, "phase": self.phase or None,
                  "tool": self.tool or None, "trouble": self.trouble or None, "task_or_seed": self.task.strip() or None,
                  "policy": self.policy or None, "tag": self.tag or None, "terms": term,
                  **{name: Between.read(name, getattr(self, name)) for name in ("total", "advantage")
                     if getattr(self, name).strip()}}
        return {name: value for name, value in wanted.items() if value is not None}

    def active(self) -> list[tuple[str, str, dict[str, Any]]]:
        """(name, what is asked for, the change that takes it away) of each filter."""
        told = []
        for name, label in ACTIVE.items():
            value = getattr(self, name)
            if name == "term" and self.term and self.value:
                told.append((self.term, self.value, {"term": "", "value": ""}))
            elif name != "term" and value not in (None, ""):
                told.append((label, str(value), {name: getattr(Asked(), name)}))
        return told

    def clear(self) -> "Asked":
        return Asked(run=self.run, id=self.id)


ACTIVE = {"find": "words", "where": "where", "step": "step", "group": "group", "environment": "environment",
          "status": "outcome", "phase": "phase", "tool": "called", "trouble": "fault", "task": "task",
          "policy": "played by", "tag": "tag", "total": "total", "advantage": "advantage", "term": "term"}
"""Field -> how its chip calls it."""


def _whole_number(name: str, value: str) -> int | None:
    if not value:
        return None
    if not _is_whole(value):
        raise SpecError(name, f"{value!r} isn't a whole number; write one, or leave it out")
    return int(value)


def _number_or_text(value: str) -> int | str | None:
    plain = " ".join(value.split())
    return int(plain) if _is_whole(plain) else plain or None


def _is_whole(value: str) -> bool:
    return value.removeprefix("-").isdecimal() and len(value) <= 12


def _range_of_steps(written: str) -> Between:
    try:
        return Between.read("step", written)
    except SpecError:
        raise SpecError("step", f"{written!r:.40} is no step; write a step such as 7, or a range such as 10-20") from None
