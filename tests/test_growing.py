"""What is asked again and again costs no more in a long run; counts and neighbours are as right as when all is read."""

import contextlib
import random
import sqlite3

import pytest

from backend.records import Episode, Policy
from backend.store import Store
from tests.bench import growing

MORE, FREE = 3.0, 12.0
"""Times as long, and milliseconds, that any question may cost more in a run twenty times as long: reading all of it again
costs far beyond both."""


@pytest.fixture(scope="module")
def costs(tmp_path_factory):
    folder, luck = tmp_path_factory.mktemp("grown"), random.Random(0)
    return [growing.asked(growing.grown(folder / str(steps), steps, luck), steps, luck) for steps in (40, 800)]


@pytest.mark.parametrize("question", [
    "Watch, nothing new", "Watch, a new step", "Watch, a step opened", "Runs, nothing new", "Runs, a new step",
    "Find, a new step", "Find, an episode opened", "Find, a step", "Find, lost, newest", "Find, largest total", "Group"])
def test_a_long_run_costs_no_more_to_look_at(costs, question):
    short, long = (told[question] for told in costs)
    assert long.milliseconds < max(MORE * short.milliseconds, short.milliseconds + FREE)
    assert long.bytes < 1.1 * short.bytes + 500
    assert question != "Watch, nothing new" or long.bytes < growing.MOST_BYTES


def episode(place: int, **more) -> Episode:
    told = dict(id=f"{place // 4}-{place % 4}-0", step=place // 4, group=place % 4, sample=0, environment="catch",
                status="won" if place % 3 else "lost", policy=Policy(), total=None if place % 5 == 0 else float(place % 7),
                advantage=None if place % 4 == 0 else 0.5 * (place % 3), tokens=None if place % 2 else place % 6)
    return Episode(**(told | more))


@pytest.fixture
def run(tmp_path):
    run = Store(tmp_path).create(growing.SPEC)
    with run.writing() as writer:
        writer.record([episode(place) for place in range(40)])
    return run


@pytest.mark.parametrize("sort", ["step", "-step", "total", "-total", "advantage", "-advantage", "status", "-status", "id", "-id",
                                  "tokens", "-tokens", "seq", "-seq"])
@pytest.mark.parametrize("filters", [{}, {"status": "lost"}])
def test_neighbours_are_those_of_the_list(run, sort, filters):
    ids = [row.id for row in run.episodes(sort=sort, limit=None, **filters)]
    for before, id, after in zip([None, *ids], ids, [*ids[1:], None], strict=False):
        assert run.neighbours(id, sort=sort, **filters) == (before, after)


def test_the_number_of_episodes_holds_when_some_are_written_again_and_in_a_file_that_keeps_none(run):
    assert run.count_episodes() == 40 and run.so_far()[0] == 40
    with run.writing() as writer:
        writer.record([episode(3, status="lost"), episode(40)])
    assert run.count_episodes() == 41 == len(run.episodes(limit=None)) and run.count_episodes(status="lost") == 14
    with contextlib.closing(sqlite3.connect(run.path / "run.db")) as file, file:
        file.execute("UPDATE counts SET number = 'spoilt'")
    assert run.count_episodes() == 41
    with contextlib.closing(sqlite3.connect(run.path / "run.db")) as file, file:
        file.execute("DROP TABLE counts")
    assert run.count_episodes() == 41
    with run.writing() as writer:
        writer.record([episode(41)])
    assert run.count_episodes() == 42


def test_a_curve_in_the_list_follows_steps_that_are_played_again(tmp_path):
    from ui.runs import Curves, spark

    store = Store(tmp_path)
    run, curves = store.create(growing.SPEC), Curves(store)
    for last in (70, 90, 80, 91):
        with run.writing() as writer:
            for step in range(last - 15, last):
                writer.record([episode(4 * step + group, total=float(last + group)) for group in range(4)])
        drawn = curves(store.summary(run))
    assert drawn == spark([point.mean for point in run.term_curves(name="total")])
