"""What the trainer tells of a batch while it plays it: an environment that answers only when it is let."""

import asyncio
import threading
import time

import pytest

from backend.environments import Task
from backend.environments.catalog import entry
from backend.environments.sources import in_process
from backend.records import EnvironmentSpec, Policy, RunSpec, Turn
from backend.store import Store, live
from backend.trainer import live as telling
from backend.trainer.live import Lane
from backend.trainer.rollout import Rounds, Seat, Table, said_in

CATCH = EnvironmentSpec(id="catch", use="catch")
SPEC = RunSpec(name="told", model="starter:catch", environments=[CATCH])
NAMES = [(f"3-0-{n}", 0, n) for n in range(4)]
LEFT = {"role": "assistant", "content": "I go left.", "tool_calls": [
    {"type": "function", "function": {"name": "move", "arguments": {"direction": "left"}}}]}
WORDS = {"role": "assistant", "content": "I am done."}


class Gated:
    """The built-in Catch in this process, whose answers wait until the gate is open."""

    def __init__(self):
        self.inner, self.gate = in_process(CATCH), threading.Event()
        self.describe = self.inner.describe

    async def open(self):
        session = await self.inner.open()
        answer = session.call

        async def call(tool, arguments):
            await asyncio.to_thread(self.gate.wait)
            return await answer(tool, arguments)

        session.call = call
        return session


class Names(list):
    """They count the looks at the batch."""

    def __init__(self, names):
        super().__init__(names)
        self._looks = threading.Semaphore(0)

    def __getitem__(self, place):
        if place == 0:
            self._looks.release()
        return super().__getitem__(place)

    def wait_for_looks(self, so_many: int):
        """Until so many have begun, and all before the last are over."""
        for _ in range(so_many):
            assert self._looks.acquire(timeout=60)


@pytest.fixture
def loop():
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    yield loop
    loop.call_soon_threadsafe(loop.stop)
    thread.join()


@pytest.fixture
def run(tmp_path):
    return Store(tmp_path).create(SPEC)


@pytest.fixture
def lane(run):
    return Lane(run.path, Policy(name="starter:catch"), every=0.01)


def seats(source):
    return [Seat(Table(CATCH, source.describe(), source)) for _ in NAMES]


def sat(seats, loop):
    async def all_of_them():
        await asyncio.gather(*(seat.sit(Task(f"{n}", n)) for n, seat in enumerate(seats)))

    asyncio.run_coroutine_threadsafe(all_of_them(), loop).result()


def told(run, so):
    """What the file says, once it says so."""
    for _ in range(6000):
        found = live.read(run.path, training=True)
        if found and so(found):
            return found
        time.sleep(0.01)
    raise AssertionError(f"it never said so, but {found}")


def test_a_batch_is_told_from_its_opening_to_its_end_and_then_nothing_is(run, lane, loop):
    source = Gated()
    batch = seats(source)
    assert live.mark(run.path) == ""
    with lane.playing("train", 3, batch, NAMES):
        first = told(run, lambda now: now.counts == {"opening": 4})
        assert [one.episode.id for one in first.shown] == [name for name, _, _ in NAMES] and first.playing == 4
        sat(batch, loop)
        lane.doing("generating")
        told(run, lambda now: now.counts == {"generating": 4})
        completions = [[LEFT.copy()] for _ in batch[1:]] + [[WORDS]]
        rounds = Rounds(batch, completions, loop)
        lane.turns_of(rounds)
        lane.doing("playing")
        rounds.tools(0)["move"](direction="left").close()
        waits = told(run, lambda now: now.counts == {"environment": 3, "ended": 1})
        assert waits.shown[0].calls == (("move", {"direction": "left"}),) and not waits.shown[0].episode.turns
        source.gate.set()
        answered = told(run, lambda now: now.counts == {"waiting": 3, "ended": 1})
        [turn] = answered.shown[0].episode.turns
        assert (turn.said, turn.tool) == ("I go left.", "move") and turn.result and turn.facts["ball_row"] == 1
        assert answered.shown[0].episode.seed == 0 and answered.shown[3].episode.task == "3"
        lane.doing("scoring")
        told(run, lambda now: now.counts == {"scoring": 4})
    assert live.mark(run.path) == ""


def test_the_episodes_of_the_last_batch_are_not_told_as_those_of_the_next(run, lane, loop):
    source = Gated()
    batch = seats(source)
    sat(batch, loop)
    with lane.playing("train", 4, batch, NAMES):
        assert told(run, lambda now: True).counts == {"opening": 4}


def test_an_error_of_the_batch_goes_on_to_the_trainer_and_the_file_goes(run, lane):
    with pytest.raises(ValueError, match="broke"), lane.playing("train", 1, seats(Gated()), NAMES):
        told(run, lambda now: True)
        raise ValueError("it broke")
    assert not (run.path / "live.json").exists()


def test_a_folder_that_cannot_be_written_means_no_lane_and_no_error(run, lane, capsys):
    (run.path / "live.json").mkdir()
    names = Names(NAMES)
    with lane.playing("train", 1, seats(Gated()), names):
        names.wait_for_looks(2)
    assert live.read(run.path, training=True) is None


def test_a_look_that_fails_is_said_once_and_ends_nothing(run, lane, capsys):
    names = Names(NAMES[:1])  # the others are missing
    with lane.playing("train", 1, seats(Gated()), names):
        names.wait_for_looks(2)
    assert capsys.readouterr().out.count("couldn't be told") == 1


def test_only_the_first_process_tells_and_says_how_many_there_are(run, tmp_path):
    with Lane(None, Policy(), processes=2).playing("train", 1, seats(Gated()), NAMES):
        assert live.mark(run.path) == ""
    with Lane(run.path, Policy(), processes=2, every=0.01).playing("train", 1, seats(Gated()), NAMES):
        assert told(run, lambda now: True).processes == 2


def test_what_an_attempt_left_behind_is_cleared_by_the_next(run):
    (run.path / "live.json").write_text("{}")
    Lane(run.path, Policy())
    assert not (run.path / "live.json").exists()


def test_a_long_episode_is_told_by_its_newest_turns_within_a_budget():
    turns = [Turn(index=k, tool="look", result=f"{k} " * 5000, facts={"page": "x" * 9000}) for k in range(100)]
    kept = telling._last(turns)
    assert kept[-1].index == 99 and 1 < len(kept) < 10
    assert sum(len(turn.result) + len(turn.facts["page"]) for turn in kept) < telling.BUDGET + 2 * telling.LONGEST
    huge = telling._last([Turn(index=0, arguments={"a": ["x" * 1_000_000]}, images=("data:image/png;base64," + "A" * 10**6,))])
    assert len(huge[0].arguments) < 2 * telling.LONGEST and huge[0].images == ()


def test_what_was_said_goes_to_the_first_call_of_its_message(loop):
    two = {**LEFT, "tool_calls": LEFT["tool_calls"] * 2}
    source = Gated()
    source.gate.set()
    [seat] = seats(source)[:1]
    sat([seat], loop)
    rounds = Rounds([seat], [[two]], loop)
    rounds.tools(0)["move"](direction="left").close()
    rounds.played[0][id(two)].answers.result(60)
    assert [turn.said for turn in said_in(rounds, 0, seat.play.turns)] == ["I go left.", ""]


def test_what_was_said_after_calls_without_end_goes_to_the_call_it_was_said_with(loop):
    many, next_ = {**LEFT, "tool_calls": LEFT["tool_calls"] * 100}, {**LEFT, "content": "Left again."}
    source = Gated()
    source.gate.set()
    [seat] = seats(source)[:1]
    sat([seat], loop)
    rounds = Rounds([seat], [[]], loop)
    for message in (many, next_):
        rounds.completions[0].append(message)
        rounds.tools(0)["move"](direction="left").close()
        rounds.played[0][id(message)].answers.result(60)
    told = said_in(rounds, 0, seat.play.turns)
    assert {k: turn.said for k, turn in enumerate(told) if turn.said} == {0: "I go left.", 33: "Left again."}


CATCH_OF_ONES_OWN = '''
import time
from pathlib import Path

from backend.environments.games.catch import Catch


class Own:
    """Catch, whose third answer waits until the second was told."""

    max_turns = 12

    def __init__(self):
        self._game, self._moves = Catch(), 0
        self.won = None
        self.done = False

    def reset(self, seed=0, **kwargs) -> str:
        self._moves = 0
        return self._show(self._game.reset(seed))

    def move(self, direction: str) -> str:
        """
        Move the paddle.

        Args:
            direction: "left" or "right".
        """
        return self._step(direction)

    def stay(self) -> str:
        """Leave the paddle where it is."""
        return self._step("stay")

    def _step(self, move):
        self._moves += 1
        deadline = time.monotonic() + 20
        while self._moves == 3 and not self._told() and time.monotonic() < deadline:
            time.sleep(0.02)
        return self._show(self._game.step(move))

    def _told(self):
        try:
            return '"index": 1' in Path(LIVE).read_text()
        except FileNotFoundError:
            return False

    def _show(self, seen):
        self.done, self.won = bool(seen.get("done")), seen["caught"]
        return seen["text"]
'''


@pytest.mark.slow
def test_a_real_run_tells_what_it_plays_under_the_names_it_records(tmp_path, monkeypatch):
    from backend.trainer.__main__ import main

    monkeypatch.setenv("ORTAM_TRUSTED", "1")
    own = tmp_path / "own.py"
    catch = {"id": "catch", "use": f"python:{own}:Own", "tasks": {"count": 8}, "prompt": entry("catch").description.prompt}
    train = {"steps": 2, "group_size": 4, "episodes_per_step": 16, "learning_rate": 1e-4, "max_completion_tokens": 200}
    run = Store(tmp_path).create(RunSpec(
        name="real", model="starter:catch", environments=[catch],
        rewards=[{"name": "caught", "value": "1.0 if won else 0.0"}], evaluate={"every": 2, "tasks": 4}, train=train))
    own.write_text(CATCH_OF_ONES_OWN.replace("LIVE", repr(str(run.path / "live.json"))))
    seen, over = [], threading.Event()

    def look():
        while not over.wait(0.05):
            if (now := live.read(run.path, run.training())) and (not seen or now != seen[-1]):
                seen.append(now)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        main([str(run.path)])
    finally:
        over.set()
        looking.join()
    assert run.result().status == "finished", run.result().reason
    assert not (run.path / "live.json").exists()
    turns = [len(one.episode.turns) for now in seen for one in now.shown]
    assert len(seen) >= 4 and max(turns) >= 2 and {now.playing for now in seen} <= {16, 4}
    recorded = {row.id: row for row in run.episodes(limit=None)}
    for one in (one for now in seen for one in now.shown):
        row = recorded[one.episode.id]
        assert (row.group, row.sample, row.step, row.phase) == (one.episode.group, one.episode.sample, one.episode.step,
                                                               one.episode.phase)
        if one.episode.turns:
            assert row.seed == one.episode.seed
            played = run.episode(row.id).turns[:len(one.episode.turns)]
            assert [turn.result for turn in played] == [turn.result for turn in one.episode.turns]
    assert {"seconds/opening", "seconds/model", "seconds/environment", "seconds/scoring"} <= set(run.metric_names())
