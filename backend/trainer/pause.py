"""What a run does while an environment is away: it says so, waits, and goes on when episodes can be opened again.

All processes wait together, with a word to each other every few seconds, so that none of them gives the others up.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Sequence

from accelerate.utils import gather_object

from backend.errors import EnvironmentFailed
from backend.records import UNSCORED, Episode, Event
from backend.trainer.rollout import Seat

EVERY = 10.0
"""Seconds between two tries."""

SAID_EVERY = 60.0
"""Seconds between two signs of life, so that a run that waits isn't taken for one that hangs."""

STEPS = 3
"""Steps in a row in which an environment opens its episodes and then fails most of them: it won't get better."""


class StoppedWaiting(Exception):
    """The run was asked to stop while it waited."""


class Pause:
    """`share`: of an environment's episodes, above which it counts as away. `again` reaches it anew and gives what is
    in the way, or nothing; `say` and `event` tell the person."""

    def __init__(self, share: float, again: Callable[[str], str], stop: Callable[[], bool], say: Callable[[str], None],
                 event: Callable[[Event], None], every: float = EVERY):
        self.share, self.again, self.stop, self.say, self.event, self.every = share, again, stop, say, event, every
        self._began = False
        self._bad_steps: dict[str, int] = defaultdict(int)

    def until_open(self, seats: Sequence[Seat], sit: Callable[[list[Seat]], None]) -> None:
        """Returns when few enough of these seats failed to open their episode; those of an environment that was away
        sit down anew. Raises EnvironmentFailed if it is so in the first batch, and StoppedWaiting."""
        away, since, said = self._away(seats), time.monotonic(), -SAID_EVERY
        if away and not self._began:
            raise EnvironmentFailed(f"no run can start: {_sentence(away)}")
        if away:
            self._tell("pause", "error", f"paused: {_sentence(away)}")
        waited = bool(away)
        while away:
            if time.monotonic() - said > SAID_EVERY:
                said = time.monotonic()
                self.say(f"waiting for {' and '.join(away)} since {(said - since) / 60:.0f} min: {_sentence(away)}")
            if self.stop():
                raise StoppedWaiting(_sentence(away))
            for name in [name for name in away if not self.again(name)]:
                sit([seat for seat in seats if seat.table.environment.id == name])
            away = self._away(seats)
            if away:
                time.sleep(self.every)
        if waited:
            self._tell("resumed", "info", f"going on after {time.monotonic() - since:.0f} s")
        self._began = True

    def after(self, episodes: Sequence[Episode]) -> None:
        """Looks back on a step. Raises EnvironmentFailed when an environment fails most episodes again and again."""
        for name, (failed, whole, why) in _counted(
                (episode.environment, episode.status in UNSCORED, episode.fault.message if episode.fault else episode.stop)
                for episode in episodes).items():
            if failed <= self.share * whole:
                self._bad_steps[name] = 0
                continue
            self._bad_steps[name] += 1
            told = f"{failed} of {whole} episodes of {name} in this step are unscored: {why}"
            self._tell("unscored", "error", told)
            if self._bad_steps[name] == STEPS:
                raise EnvironmentFailed(f"{told} It was so in {STEPS} steps in a row")

    def _away(self, seats: Sequence[Seat]) -> dict[str, str]:
        """Environment -> how many episodes can't start, and why; over all processes."""
        mine = [(seat.table.environment.id, bool(seat.play and seat.play.fault),
                 seat.play.fault.message if seat.play and seat.play.fault else "") for seat in seats]
        counts = _counted(gather_object(mine))
        return {name: f"{failed} of {whole} episodes of {name} can't start: {why}"
                for name, (failed, whole, why) in counts.items() if failed > self.share * whole}

    def _tell(self, kind: str, level, text: str) -> None:
        self.event(Event(at=time.time(), kind=kind, level=level, text=text))


def _counted(told) -> dict[str, tuple[int, int, str]]:
    """(environment, whether it failed, why) of each episode -> environment: failed, all, why the last one did."""
    counts: dict[str, tuple[int, int, str]] = {}
    for name, failed, why in told:
        before = counts.get(name, (0, 0, ""))
        counts[name] = before[0] + failed, before[1] + 1, why if failed else before[2]
    return counts


def _sentence(away: dict[str, str]) -> str:
    return "; ".join(away.values())
