"""A match as its games come in: each look reads only what was written since the last, and adds it to what is known.

    with matches.follow(run) as match:  # nobody else's until the block ends
        match.look()
        match.lines["0"].standing()
        match.against("0", BY_HAND)
"""

import contextlib
import json
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from backend.errors import OrtamError
from backend.records import EnvironmentSpec, Fork, RewardTerm, RunSpec
from backend.standings import Against, Standing, Tally, counted, says_who_won, verdict
from backend.store import Game, Run, Store

MOST = 16
"""Matches that are kept in mind; the one that was looked at the longest ago is forgotten, and read whole next time."""
BY_HAND, PARENT = "by-hand", "parent"

TaskKey = tuple[int | None, str]


class Matches:
    """Of a store, for all who look."""

    def __init__(self, store: Store):
        self.store = store
        self._known: OrderedDict[str, Followed] = OrderedDict()
        self._turn = threading.Lock()

    @contextlib.contextmanager
    def follow(self, run: Run) -> Iterator["Followed"]:
        """Raises OrtamError where the match can't be read."""
        with self._turn:
            match = self._known.get(run.id)
            if match is None or match.changed():
                match = self._known[run.id] = Followed(self.store, run)
            self._known.move_to_end(run.id)
            while len(self._known) > MOST:
                self._known.popitem(last=False)
        with match.turn:
            yield match


class Line:
    """A player's games, and what they come to."""

    def __init__(self, terms: Sequence[str]):
        self.terms = terms
        self.games: dict[int, Game] = {}
        """By the task's place."""
        self.runs: dict[int, Run] = {}
        """Where each is kept."""
        self.says_who_won = False
        self._tally: Tally | None = Tally(terms)

    def take(self, game: Game, place: int, run: Run) -> None:
        again = place in self.games
        self.games[place], self.runs[place] = game, run
        self.says_who_won |= says_who_won(game)
        if again:
            self._tally = None
        elif self._tally:
            self._tally.add(game)

    def standing(self) -> Standing:
        if self._tally is None:
            self._tally = Tally(self.terms)
            for game in self.games.values():
                self._tally.add(game)
        return self._tally.standing()


@dataclass
class _Pair:
    by_total: bool
    tasks: dict[int, str]
    seen: int
    """How much of what changed is in `tasks`."""


class Followed:
    """One match. Its lines are the players' by their place in it, people's, and of a fork its parent's."""

    def __init__(self, store: Store, run: Run):
        self.store, self.run, self.spec = store, run, run.spec
        self.turn = threading.Lock()
        self.lines: dict[str, Line] = {}
        self.tasks: set[int] = set()
        """Places of those that somebody played."""
        match = self.spec.match
        if match and match.fork:
            self._take_parent(match.fork)
        for place in range(len(match.players) if match else 0):
            self.lines[str(place)] = self._line()
        self._hands = None if match and match.fork else _Hands(store, self.spec)
        self._places: dict[TaskKey, int] = {}
        self._changes: list[int] = []
        """Places, in the order in which something happened there."""
        self._pairs: dict[tuple[str, str], _Pair] = {}
        self._file = self._made()
        self._seq = 0

    def changed(self) -> bool:
        """Whether it is no longer the one that was read: its file is another, or holds fewer games than were read, or a run
        played by hand is gone. Raises OrtamError."""
        read = sum(len(line.games) for name, line in self.lines.items() if name not in (BY_HAND, PARENT))
        return self._file != self._made() or self.run.count_episodes() < read or bool(self._hands and self._hands.gone())

    def version(self) -> str:
        """Changes when something may be new."""
        return "|".join((self.run.id, self.run.version(), *(self._hands.versions() if self._hands else ())))

    def look(self) -> None:
        """Takes what is new. Raises OrtamError."""
        for game in self.run.games(after=self._seq):
            self._seq = game.seq
            if (line := self.lines.get(str(game.sample))) is not None:
                self._take(line, game, game.group, self.run)
            key = task_of(game)
            if key not in self._places:
                self._places[key] = game.group
                self._by_hand(key)
        for key in self._hands.look() if self._hands else ():
            self._by_hand(key)

    def against(self, first: str, second: str) -> Against:
        one, other = self.lines[first], self.lines[second]
        by_total = not (one.says_who_won or other.says_who_won)
        pair = self._pairs.get((first, second))
        if pair is None or pair.by_total != by_total:
            pair = self._pairs[first, second] = _Pair(by_total, {}, 0)
        for place in dict.fromkeys(self._changes[pair.seen:]):
            here = one.games.get(place), other.games.get(place)
            if here != (None, None):
                pair.tasks[place] = verdict(*here, by_total)
        pair.seen = len(self._changes)
        return counted(by_total, pair.tasks)

    def _take(self, line: Line, game: Game, place: int, run: Run) -> None:
        line.take(game, place, run)
        self.tasks.add(place)
        self._changes.append(place)

    def _by_hand(self, key: TaskKey) -> None:
        found = self._hands.first.get(key) if self._hands else None
        if found and key in self._places:
            self._take(self.lines.setdefault(BY_HAND, self._line()), found[1], self._places[key], found[0])

    def _take_parent(self, fork: Fork) -> None:
        with contextlib.suppress(OrtamError):  # its run is gone, or on another machine
            there = self.store.run(fork.run)
            game = Game.of(there.episode(fork.episode))
            self.lines[PARENT] = self._line()
            self._take(self.lines[PARENT], game, 0, there)

    def _line(self) -> Line:
        return Line([term.name for term in self.spec.rewards])

    def _made(self) -> int | None:
        try:
            return (self.run.path / "run.db").stat().st_ino
        except OSError:
            return None


@dataclass
class _Hand:
    """A run of games played by hand, and how far it was read."""

    run: Run
    alike: bool
    """Whether it is scored by the match's terms; games scored by others keep their outcome and lose their scores."""
    seq: int = 0


class _Hands:
    """What people played of an environment: of each task their first game that came to an end."""

    def __init__(self, store: Store, spec: RunSpec):
        self.store, self.asked, self.rewards = store, spec.environments[0], spec.rewards
        self.first: dict[TaskKey, tuple[Run, Game]] = {}
        self._read: dict[str, _Hand | None] = {}
        """By run; None for one of another environment."""

    def gone(self) -> bool:
        return any(hand and not hand.run.path.exists() for hand in list(self._read.values()))

    def versions(self) -> list[str]:
        self._find()
        return [f"{hand.run.id}{hand.run.version()}" for hand in self._read.values() if hand]

    def look(self) -> list[TaskKey]:
        """Tasks of which there is a first game, or an earlier one, since the last look."""
        self._find()
        found = []
        for hand in filter(None, self._read.values()):
            try:
                new = hand.run.games("human", after=hand.seq)
            except OrtamError:  # one broken folder must not hide the others
                continue
            for game in new:
                hand.seq, key = game.seq, task_of(game)
                if game.forked or game.status == "cancelled":
                    continue
                if key in self.first and self.first[key][1].started <= game.started:
                    continue
                self.first[key] = hand.run, game if hand.alike else game._replace(total=None, scores={})
                found.append(key)
        return found

    def _find(self) -> None:
        for run in sorted(self.store.named("played"), key=lambda run: run.id):
            if run.id not in self._read:
                with contextlib.suppress(OrtamError):
                    self._read[run.id] = self._opened(run)

    def _opened(self, run: Run) -> _Hand | None:
        spec = run.spec
        there: EnvironmentSpec = spec.environments[0]
        if (there.use, there.options) != (self.asked.use, self.asked.options):
            return None
        return _Hand(run, _anywhere(spec.rewards) == _anywhere(self.rewards))


def task_of(game: Game) -> TaskKey:
    """A task may be any JSON where it came from elsewhere."""
    return game.seed, json.dumps(game.task, sort_keys=True, default=str)


def _anywhere(terms: Sequence[RewardTerm]) -> list[RewardTerm]:
    return [term.model_copy(update={"environments": None}) for term in terms]
