"""Alarms as events of the run: what backend/signal makes of its last steps, told when it begins."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from backend.records import Episode, Event, RunSpec
from backend.signal import WINDOW, Evidence, Raised, alarms
from backend.store import sums


class Lookout:
    """`turns_allowed` by environment id."""

    def __init__(self, run: Path, spec: RunSpec, turns_allowed: Mapping[str, int]):
        self.run, self.spec, self.turns_allowed = run, spec, turns_allowed
        self._raised = Raised()

    def of(self, episodes: Sequence[Episode]) -> list[Event]:
        """Of a batch that was just recorded. Never raises: a run must not end because of what is said about it."""
        if not episodes or episodes[0].phase != "train":
            return []
        try:
            recent = sums.recent(self.run, WINDOW, self.spec.train.message_cap)
            told = Evidence.of(self.spec, self.turns_allowed, **recent)
            return self._raised.news(episodes[0].step, alarms(told), time.time())
        except Exception as error:
            print(f"the alarms of step {episodes[0].step} couldn't be worked out: {error!r}", flush=True)
            return []
