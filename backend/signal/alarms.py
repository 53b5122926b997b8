"""All alarms, the most serious first, and when to raise them. To add one: write a function in `groups`, `conduct` or
`terms`, name it in ALARMS, and give its threshold and the reason for it in `thresholds`."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from backend.records import Event
from backend.signal import conduct, groups, terms
from backend.signal.evidence import Evidence
from backend.signal.saying import Alarm
from backend.signal.thresholds import WINDOW
from backend.signal.words import capital

ALARMS: tuple[Callable[[Evidence], Iterable[Alarm]], ...] = (
    groups.mixed, groups.lost, groups.invalid, groups.truncated, groups.same_total, conduct.unscored, conduct.unparsed,
    conduct.silent, conduct.failed, groups.alike, groups.small_batch, conduct.truncated, conduct.invalid,
    conduct.out_of_turns, conduct.repeated, conduct.late, conduct.drift, terms.apart, terms.dominates, groups.solved)
"""In the order of weight among alarms of one level."""
SERIOUS = {"bad": 0, "warn": 1, "plain": 2, "good": 3}
LEVELS = {"bad": "error", "warn": "warning", "plain": "info", "good": "info"}


def alarms(told: Evidence) -> list[Alarm]:
    """The most serious first; in a mix, those of each environment by themselves."""
    several = len(told.environments) > 1
    found = []
    for environment in told.environments:
        of_it = told.of_environment(environment)
        for look in ALARMS:
            found += [_placed(alarm, environment if several else "") for alarm in look(of_it)]
    return sorted(found, key=lambda alarm: SERIOUS[alarm.level])


def _placed(alarm: Alarm, environment: str) -> Alarm:
    if not environment:
        return replace(alarm, text=capital(alarm.text))
    return replace(alarm, text=f"In {environment}, {alarm.text}", environment=environment,
                   look={**alarm.look, "environment": environment})


class Raised:
    """Which alarms were told: each is told once, again when it gets worse, and once more when it is over."""

    def __init__(self) -> None:
        self._told: dict[tuple[str, str], Alarm] = {}
        self._seen: dict[tuple[str, str], int] = {}

    def news(self, step: int, now: Iterable[Alarm], at: float) -> list[Event]:
        """`at`: Unix time."""
        events = []
        for alarm in now:
            key = (alarm.kind, alarm.environment)
            before = self._told.get(key)
            if before is None or SERIOUS[alarm.level] < SERIOUS[before.level]:
                events.append(Event(at=at, kind=f"alarm:{alarm.kind}", text=f"{alarm.text} {alarm.remedy}".strip(),
                                    level=LEVELS[alarm.level], step=step))
                self._told[key] = alarm
            self._seen[key] = step
        for key in [key for key, seen in self._seen.items() if step - seen >= WINDOW]:
            over = self._told.pop(key)
            del self._seen[key]
            events.append(Event(at=at, kind=f"alarm:{over.kind}", text=f"No longer so: {over.text}", step=step))
        return events
