"""Tells the page which episodes are being played now.

A thread looks at the batch twice a second and writes what it sees to the run's live.json, so the trainer's own work is
only to say what it is doing. It looks at what others change meanwhile and takes nothing away from them; what it can't
make sense of at that moment it tells the next time.
"""

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from backend.environments.playthrough import MOST_CALLS, Playthrough
from backend.records import Episode, Fault, Policy, Turn
from backend.store.live import Live, LiveFile, Seated, Stage
from backend.trainer.rollout import Round, Rounds, Seat, said_in

SHOWN = 8
"""Episodes told of, at most."""
EVERY = 0.5
"""Seconds between two looks."""
SIGN_OF_LIFE = 5.0
"""Seconds after which it says that nothing is new."""
SHARE = 0.02
"""Of the time that looking and writing may take: on a slow disk it looks less often."""
TURNS, LONGEST, BUDGET, PICTURE = 40, 4000, 40_000, 120_000
"""Told of an episode: its last turns, characters of a text, of all its turns, and of its newest picture."""

Named = tuple[str, int, int]
"""An episode's id, group and sample."""


class Lane:
    """`run` is None in all processes but the first: then nothing is told."""

    def __init__(self, run: Path | None, policy: Policy, processes: int = 1, every: float = EVERY):
        self.file = None if run is None else LiveFile(run)
        self.policy, self.processes, self.every = policy, processes, every
        self._doing: tuple[Literal["opening", "playing", "generating", "scoring"], float] = ("opening", 0.0)
        self._rounds: Rounds | None = None
        self._since: dict[int, tuple[Any, float]] = {}
        self._before: list[Playthrough | None] = []
        """What each seat played last: an episode of another batch until it sits down again."""
        self._complained = False
        if self.file:
            self.file.remove()  # of an earlier attempt

    @contextlib.contextmanager
    def playing(self, phase: Literal["train", "eval"], step: int, seats: Sequence[Seat],
                names: Sequence[Named]) -> Iterator[None]:
        """While a batch is played. `names` are those its episodes will be recorded under, in the order of the seats."""
        self._rounds, self._since, self._before = None, {}, [seat.play for seat in seats]
        self.doing("opening")
        if self.file is None:
            yield
            return
        done = threading.Event()
        teller = threading.Thread(target=self._tell, args=(self.file, phase, step, seats, names, done), name="live", daemon=True)
        teller.start()
        try:
            yield
        finally:
            done.set()
            teller.join(2.0)
            self.file.remove()

    def doing(self, what: Literal["opening", "playing", "generating", "scoring"]) -> None:
        self._doing = (what, time.time())

    def turns_of(self, rounds: Rounds) -> None:
        """Where the calls of the batch are from now on."""
        self._rounds = rounds

    # ------------------------------------------------------------------------------------------------------ telling

    def _tell(self, file: LiveFile, phase, step: int, seats: Sequence[Seat], names: Sequence[Named],
              done: threading.Event) -> None:
        began, told, told_at, pause = time.time(), None, 0.0, 0.0
        while not done.wait(pause):
            started = time.perf_counter()
            try:
                now = self._look(phase, step, began, seats, names)
                if done.is_set():
                    return
                if now != told:
                    told, told_at = now if file.write(now) else None, time.time()
                    if done.is_set():  # it was a slow write
                        file.remove()
                elif time.time() - told_at > SIGN_OF_LIFE:
                    file.still()
                    told_at = time.time()
            except Exception as error:  # the batch changed under its eyes, or it is a fault of ours: never training's concern
                self._complain(error)
            pause = max(self.every, (time.perf_counter() - started) / SHARE)

    def _complain(self, error: Exception) -> None:
        if not self._complained:
            print(f"what is being played now couldn't be told: {error!r}", flush=True)
        self._complained = True

    def _look(self, phase, step: int, began: float, seats: Sequence[Seat], names: Sequence[Named]) -> Live:
        stages = [self._stage(place, seat) for place, seat in enumerate(seats)]
        n = min(SHOWN, len(seats))
        places = [k * len(seats) // n for k in range(n)]
        return Live(phase=phase, step=step, began=began, counts=dict(Counter(stages)), playing=len(seats),
                    processes=self.processes,
                    shown=tuple(self._seated(place, seats[place], names[place], phase, step, stages[place]) for place in places))

    def _stage(self, place: int, seat: Seat) -> Stage:
        doing, _ = self._doing
        if doing == "scoring":
            return "scoring"
        play = self._play(place, seat)
        if play is not None and play.fault:
            return "ended"
        if play is None or not play.opened:
            return "opening"
        if self._rounds is None:
            return "generating" if doing == "generating" else "waiting"
        last = self._rounds.completions[place][-1]
        if last["role"] == "tool":
            return "generating" if doing == "generating" else "waiting"
        this = self._rounds.played[place].get(id(last))
        if this is None:
            return "ended" if not last.get("tool_calls") else "waiting"
        return "waiting" if this.answers.done() else "environment"

    def _seated(self, place: int, seat: Seat, name: Named, phase, step: int, stage: Stage) -> Seated:
        play = self._play(place, seat)
        made = [] if play is None else list(play.turns)
        if (before := self._since.get(place)) is None or before[0] != (stage, len(made)):
            self._since[place] = before = ((stage, len(made)), time.time())
        since = self._doing[1] if stage in ("generating", "scoring") else before[1]
        if self._rounds:
            made = said_in(self._rounds, place, made)
        kept = _last(made)
        told: dict[str, Any] = {"status": "cancelled"} if play is None else {
            "opening": _cut(play.opening or ""), "start_facts": _facts(play.start_facts), "facts": _facts(play.facts),
            "images": () if any(turn.images for turn in kept) else _small(play.images), "started": play.started,
            "fault": _brief(play.fault), "task": _short(seat.task.key) if seat.task else None,
            "seed": seat.task.seed if seat.task else None, "status": play.status() if play.opened else "cancelled"}
        episode = Episode(
            id=name[0], phase=phase, step=step, group=name[1], sample=name[2], environment=seat.table.environment.id,
            policy=self.policy, turns=tuple(kept), **told)
        calls = self._unanswered(place, seat) if stage == "environment" else ()
        return Seated(episode=episode, stage=stage, since=since, calls=calls, left_out=len(made) - len(kept))

    def _play(self, place: int, seat: Seat) -> Playthrough | None:
        return None if seat.play is self._before[place] else seat.play

    def _unanswered(self, place: int, seat: Seat) -> tuple[tuple[str, Any], ...]:
        assert self._rounds is not None
        rounds = list(self._rounds.played[place].values())
        this: Round = rounds[-1]
        answered = len(seat.play.turns) - sum(each.makes for each in rounds[:-1])
        return tuple((name, _short(arguments)) for name, arguments in this.calls[max(0, answered):MOST_CALLS])


# -------------------------------------------------------------------------------------------------------- what is cut


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST * 3 // 4]}\n[…]\n{text[-LONGEST // 4:]}"


def _short(value: Any) -> Any:
    """A value of any shape; one that is long, as the text it would be."""
    if isinstance(value, str):
        return _cut(value)
    written = repr(value)
    return value if len(written) <= LONGEST else _cut(written)


def _facts(facts: dict[str, Any]) -> dict[str, Any]:
    return {name: _cut(value) if isinstance(value, str) else value for name, value in list(facts.items())[:200]}


def _brief(fault: Fault | None) -> Fault | None:
    return fault and fault.model_copy(update={"message": _cut(fault.message), "traceback": None})


def _small(images: Sequence[str]) -> tuple[str, ...]:
    return tuple(image for image in images[-1:] if len(image) <= PICTURE)


def _last(turns: Sequence[Turn]) -> list[Turn]:
    """The newest turns, cut, as many as the budget holds; one at least."""
    kept: list[Turn] = []
    room = BUDGET
    for turn in reversed(turns[-TURNS:]):
        cut = _cut_turn(turn, newest=not kept)
        room -= len(repr((cut.said, cut.thought, cut.arguments, cut.result, cut.shown, cut.facts)))
        if kept and room < 0:
            break
        kept.insert(0, cut)
    return kept


def _cut_turn(turn: Turn, newest: bool) -> Turn:
    return turn.model_copy(update={
        "said": _cut(turn.said), "thought": _cut(turn.thought), "arguments": _short(turn.arguments), "facts": _facts(turn.facts),
        "result": None if turn.result is None else _cut(turn.result), "shown": None if turn.shown is None else _cut(turn.shown),
        "fault": _brief(turn.fault),
        "images": _small(turn.images) if newest else ()})
