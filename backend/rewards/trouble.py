"""Reward terms that fail, as events of a run: said when it begins, and again only after a batch without it."""

import time
from collections.abc import Sequence

from backend.records import Episode, Event, Fault


class Trouble:
    def __init__(self) -> None:
        self._before: set[tuple[str, str]] = set()

    def of(self, episodes: Sequence[Episode]) -> list[Event]:
        """Of one recorded batch."""
        found: dict[tuple[str, str], list[Fault]] = {}
        for episode in episodes:
            for name, judged in episode.judged.items():
                if judged.fault:
                    found.setdefault((name, judged.fault.kind), []).append(judged.fault)
            if episode.fault and episode.fault.where == "reward" and not any(j.fault for j in episode.judged.values()):
                found.setdefault((episode.fault.message, episode.fault.kind), []).append(episode.fault)
        events = [self._event(episodes, *key, faults) for key, faults in found.items() if key not in self._before]
        self._before = set(found)
        return events

    def _event(self, episodes: Sequence[Episode], name: str, kind: str, faults: list[Fault]) -> Event:
        said = name if name == faults[0].message else f"reward term {name}: {faults[0].message}"
        text = f"{said}; so {len(faults)} of {len(episodes)} episodes have no score from it"
        return Event(at=time.time(), kind="reward", level="warning", step=episodes[0].step, text=text, fault=faults[0])
