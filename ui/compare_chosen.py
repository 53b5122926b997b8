"""The runs a comparison is of: found by what the address calls them, told apart by name, and drawn as lines."""

import contextlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from backend.comparing import Setting, settings
from backend.errors import OrtamError
from backend.records import ENDED, RunSpec
from backend.store import Run, compared
from ui.compare_curves import Drawn

MOST = 40
"""Runs at once; lines of more can't be told apart."""


@dataclass
class Chosen:
    runs: list[Run] = field(default_factory=list)
    specs: list[RunSpec] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    """What was asked for and isn't here, and why, in a sentence."""

    def live(self) -> bool:
        return any(run.status() not in ENDED for run in self.runs)

    @cached_property
    def terms(self) -> list[list[str]]:
        """The names of each run's reward terms, those of its spec first."""
        told = []
        for run, spec in zip(self.runs, self.specs, strict=True):
            own = [term.name for term in spec.rewards]
            recorded: list[str] = []
            with contextlib.suppress(OrtamError):  # a file that is broken further on is named where its curve is asked for
                recorded = compared.curve_names(run.path)
            told.append([*own, *sorted(set(recorded) - {"total", *own})])
        return told

    @cached_property
    def metrics(self) -> list[list[str]]:
        """What each run's trainer logged."""
        told: list[list[str]] = [[] for _ in self.runs]
        for place, run in enumerate(self.runs):
            with contextlib.suppress(OrtamError):
                told[place] = run.metric_names()
        return told

    @cached_property
    def differing(self) -> list[Setting]:
        return [setting for setting in settings(self.specs) if setting.differs]

    @cached_property
    def names(self) -> list[tuple[str, str]]:
        """Each run's name, and what tells it from others of that name: what is set differently, else the id."""
        told = []
        for place, spec in enumerate(self.specs):
            same = [k for k, other in enumerate(self.specs) if other.name == spec.name]
            words = "" if len(same) == 1 else self._in_words(telling(self.differing, same), place)
            told.append((spec.name, words))
        return [(self.runs[place].id, "") if told.count(label) > 1 else label for place, label in enumerate(told)]

    @cached_property
    def labels(self) -> list[str]:
        return [" · ".join(filter(None, name)) for name in self.names]

    @staticmethod
    def _in_words(by: Sequence[Setting], place: int) -> str:
        return ", ".join(f"{setting.title} {spelled(setting.values[place])}" for setting in by)

    # ----------------------------------------------------------------------------------------------------- as lines

    def groupings(self) -> list[tuple[str, str]]:
        """(value of `by`, in words) of each way to take means that makes fewer lines than there are runs."""
        if len(self.runs) < 2:
            return []
        found = [("*", "Mean of all")]
        if any(setting.path == "seed" for setting in self.differing) and len(self._by("-seed")) < len(self.runs):
            found.append(("-seed", "Mean over seeds"))
        return found + [(setting.path, f"Mean by {setting.title}") for setting in self.differing
                        if len(self._by(setting.path)) < len(self.runs)]

    def pair(self, asked: str) -> tuple[int, int] | None:
        """The two that are held against each other: those asked for, else the first two."""
        if len(self.runs) < 2:
            return None
        ids = [run.id for run in self.runs]
        wanted = [ids.index(id) for id in asked.split(",") if id in ids]
        first = wanted[0] if wanted else 0
        second = wanted[1] if len(wanted) > 1 else next(k for k in range(len(ids)) if k != first)
        return (first, second) if first != second else (first, next(k for k in range(len(ids)) if k != first))

    def drawn(self, by: str, pair: str) -> tuple[list[Drawn], list[str]]:
        """The lines, and a sentence where they can't be drawn as asked."""
        one_each = [Drawn(run.id, label, (place,)) for place, (run, label) in
                    enumerate(zip(self.runs, self.labels, strict=True))]
        if not by or not self.runs:
            return one_each, []
        if by == "difference":
            if (two := self.pair(pair)) is None:
                return one_each, ["A difference needs two runs; add another."]
            first, second = two
            label = f"{self.labels[second]} − {self.labels[first]}"
            return [Drawn(f"{self.runs[second].id}-{self.runs[first].id}", label, two, "difference")], []
        paths = {setting.path for setting in self.differing}
        if by not in ("*", "-seed") and by not in paths:
            return one_each, [f"These runs can't be grouped by {by[:80]}: it is the same in all of them, so each has a "
                              "line of its own."]
        return [Drawn(key, label, tuple(members), "mean") for key, (label, members) in self._by(by).items()], []

    def _by(self, by: str) -> dict[str, tuple[str, list[int]]]:
        """What runs have in common -> that in words, and the places of those runs."""
        if by == "*":
            asked: Sequence[Setting] = ()
        elif by == "-seed":
            asked = [setting for setting in self.differing if setting.path != "seed"]
        else:
            asked = [setting for setting in self.differing if setting.path == by]
        found: dict[str, list[int]] = {}
        for place in range(len(self.runs)):
            found.setdefault(json.dumps([setting.values[place] for setting in asked], default=str), []).append(place)
        short = telling(asked, [members[0] for members in found.values()])
        return {key: (self._in_words(short, members[0]) or "all runs", members) for key, members in found.items()}


def telling(settings_: Sequence[Setting], places: Sequence[int]) -> list[Setting]:
    """The few short ones that tell these runs apart, as far as any do."""
    short = sorted(settings_, key=lambda setting: max(len(spelled(setting.values[place])) for place in places))
    chosen_: list[Setting] = []
    apart = 1
    for setting in short:
        together = len({json.dumps([one.values[place] for one in (*chosen_, setting)], default=str) for place in places})
        if together > apart:
            chosen_.append(setting)
            apart = together
    return chosen_


def spelled(value: object, most: int = 40) -> str:
    """A setting's value in a few words."""
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= most else f"{text[:most - 1]}…"


def chosen(store, asked: str) -> Chosen:
    """Those that can be read; why the others can't is in `missing`."""
    runs, missing = found(store, asked)
    group = Chosen(missing=missing)
    for run in runs:
        try:
            spec, _ = run.spec, compared.last_step(run.path)
        except OrtamError as error:
            group.missing[run.id] = f"{run.id} is left out: {error}"
            continue
        group.runs.append(run)
        group.specs.append(spec)
    return group


def found(store, asked: str) -> tuple[list[Run], dict[str, str]]:
    """The runs between commas, each once; and for each that isn't there a sentence."""
    runs: dict[str, Run] = {}
    missing = {}
    refs = list(dict.fromkeys(ref.strip() for ref in asked.split(",") if ref.strip()))
    for ref in refs[:MOST]:
        try:
            run = store.run(ref)
            runs[run.id] = run
        except OrtamError as error:
            missing[ref] = f"A run is left out: {error}"
    if len(refs) > MOST:
        missing[""] = (f"{len(refs)} runs were asked for; the first {MOST} are here, since lines of more can't be told "
                       "apart.")
    return list(runs.values()), missing
