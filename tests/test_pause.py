"""A run waits for an environment that went away, says so, and goes on when it is back."""

import asyncio

import pytest

from backend.environments import Task
from backend.environments.serving import serve
from backend.environments.sources import source
from backend.errors import EnvironmentFailed
from backend.records import EnvironmentSpec, Episode, Fault
from backend.trainer.pause import STEPS, Pause, StoppedWaiting
from backend.trainer.rollout import Seat, Table

ASKED = EnvironmentSpec(id="catch", use="catch")
NOWHERE = "http://127.0.0.1:9"


class Run:
    """Four seats at a table whose server is at `address`; reached anew, it is at the next of `later`."""

    def __init__(self, address: str, *later: str, stop=lambda: False, share=0.5):
        there = source(ASKED, address)
        self.table = Table(ASKED, there.describe(), there)
        self.seats = [Seat(self.table) for _ in range(4)]
        self.later, self.tries, self.events, self.phases = list(later), 0, [], []
        self.pause = Pause(share, self.again, stop, self.phases.append, self.events.append, every=0.01)

    def again(self, name: str) -> str:
        self.tries += 1
        if not self.later:
            return "still away"
        self.table.source = source(ASKED, self.later.pop(0))
        return ""

    def sit(self, seats: list[Seat]) -> None:
        async def together():
            await asyncio.gather(*(seat.sit(Task("0", 0)) for seat in seats))

        asyncio.run(together())

    def batch(self) -> None:
        self.sit(self.seats)
        self.pause.until_open(self.seats, self.sit)


@pytest.fixture(scope="module")
def server():
    with serve("catch", sessions=40) as running:
        yield running.url


def move(run: Run, address: str) -> None:
    run.table.source = source(ASKED, address)


def test_a_run_whose_environment_is_there_neither_waits_nor_says_anything(server):
    run = Run(server)
    run.batch()
    assert (run.events, run.phases, run.tries) == ([], [], 0)


def test_a_run_waits_for_an_environment_until_its_episodes_open(server):
    run = Run(server, NOWHERE, server)
    run.batch()
    move(run, NOWHERE)
    run.batch()
    assert run.tries == 2 and all(seat.play.fault is None for seat in run.seats)
    paused, resumed = run.events
    assert (paused.kind, paused.level, resumed.kind) == ("pause", "error", "resumed")
    assert paused.text.startswith("paused: 4 of 4 episodes of catch can't start: Nothing that speaks OpenEnv answers")
    assert run.phases == [f"waiting for catch since 0 min: {paused.text.removeprefix('paused: ')}"]


def test_a_run_that_waits_stops_when_asked(server):
    answers = iter([False, False, True])
    run = Run(server, stop=lambda: next(answers))
    run.batch()
    move(run, NOWHERE)
    with pytest.raises(StoppedWaiting, match="4 of 4 episodes of catch"):
        run.batch()
    assert run.tries == 2


def test_an_environment_that_was_never_there_fails_the_run_at_once():
    with pytest.raises(EnvironmentFailed, match="no run can start: 4 of 4 episodes of catch can't start: Nothing"):
        Run(NOWHERE).batch()


def test_a_few_failures_pause_nothing(server):
    run = Run(server)
    run.batch()
    run.sit(run.seats)
    for seat in run.seats[:2]:
        seat.play.fault = Fault(where="environment", kind="EnvironmentFailed", message="lost")
    run.pause.until_open(run.seats, run.sit)
    assert not run.events


def step(*statuses: str, environment: str = "catch") -> list[Episode]:
    return [Episode(id=str(k), step=1, group=0, sample=k, environment=environment, status=status,
                    fault=Fault(where="environment", kind="EnvironmentFailed", message="it burns"))
            for k, status in enumerate(statuses)]


def test_steps_that_stay_unscored_are_said_and_end_the_run(server):
    run = Run(server)
    bad = step("env_error", "env_lost", "env_error", "won")
    for _ in range(STEPS - 1):
        run.pause.after(bad)
    run.pause.after(step("won", "lost", "env_error", "env_lost"))
    for _ in range(STEPS - 1):
        run.pause.after(bad)
    with pytest.raises(EnvironmentFailed, match="3 of 4 episodes of catch in this step are unscored: it burns"):
        run.pause.after(bad)
    assert all(event.level == "error" and event.kind == "unscored" for event in run.events)
    assert len(run.events) == 2 * STEPS - 1


def test_one_environment_of_a_mix_can_be_away_alone(server):
    run = Run(server)
    run.pause.after([*step(*["env_error"] * 4, environment="wordle"), *step(*["won"] * 60)])
    assert [event.text.split(" in this")[0] for event in run.events] == ["4 of 4 episodes of wordle"]
