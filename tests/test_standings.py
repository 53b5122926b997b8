"""What a match comes to: counts that add up, unscored and differing tasks apart, and an exact test."""

import math

import pytest

from backend.records import EnvironmentSpec, Episode, Match, Policy, RunSpec, ScriptPlayer
from backend.signal.chance import sign_test
from backend.standings import Tally, counted, says_who_won, verdict
from backend.standings.following import BY_HAND, Matches
from backend.store import Game, Store


def game(group=0, status="won", total=1.0, won=True, fingerprint="a", **more):
    known = dict(seq=1, id=f"g{group}", group=group, sample=0, task=str(group), seed=group, fingerprint=fingerprint,
                 policy="x", status=status, total=total, turns=3, tokens=None, started=0.0, seconds=1.0,
                 facts={} if won is None else {"won": won}, scores={"term": total})
    return Game(**{**known, **more})


def standing(games, terms):
    """Of a player, all games at once."""
    tally = Tally(terms)
    for one in games:
        tally.add(one)
    return tally.standing()


def against(first, second):
    """Of two players' games by the task's place, all at once."""
    by_total = not any(map(says_who_won, (*first.values(), *second.values())))
    return counted(by_total, {place: verdict(first.get(place), second.get(place), by_total)
                              for place in sorted(first.keys() | second.keys())})


def lost(group, **more):
    return game(group, "lost", 0.0, False, **more)


def test_fixed_broken_and_the_same_are_counted_and_the_rest_apart():
    first = {0: lost(0), 1: game(1), 2: game(2), 3: lost(3), 4: game(4), 5: game(5), 6: game(6)}
    second = {0: game(0), 1: lost(1), 2: game(2), 3: lost(3), 4: game(4, "env_error", None), 5: game(5, fingerprint="b")}
    held = against(first, second)
    assert (held.fixed, held.broken, held.both_won, held.both_lost) == (1, 1, 1, 1)
    assert (held.unscored, held.other, held.unplayed) == (1, 1, 1) and held.tasks[0] == "fixed" and held.tasks[6] == "unplayed"


def test_where_nothing_is_won_totals_are_compared():
    first = {k: game(k, "finished", total, None) for k, total in enumerate((0.1, 0.5, 0.3, None))}
    second = {k: game(k, "finished", total, None) for k, total in enumerate((0.2, 0.4, 0.3, 1.0))}
    held = against(first, second)
    assert held.by_total and (held.fixed, held.broken, held.both_won, held.unscored) == (1, 1, 1, 1)


def test_a_fingerprint_that_is_not_known_keeps_no_task_from_counting():
    assert against({0: game(0, fingerprint=None)}, {0: game(0)}).both_won == 1


@pytest.mark.parametrize(("ups", "downs", "chance"), [
    (0, 0, None), (5, 5, 1.0), (1, 0, 1.0), (7, 1, 0.0703125), (0, 10, 2 / 1024)])
def test_the_sign_test_is_exact(ups, downs, chance):
    assert sign_test(ups, downs) == chance == sign_test(downs, ups)


def test_the_sign_test_takes_ten_thousand_tasks():
    assert math.isclose(sign_test(4900, 5100), 0.04659, rel_tol=1e-3)


def test_what_is_not_known_is_none_and_not_0():
    told = standing([game(0, "env_error", None)], ["term"])
    assert (told.games, told.scored, told.won, told.total, told.terms, told.turns) == (1, 0, None, None, {"term": None}, None)
    told = standing([game(0), lost(1), game(2, "cancelled", None)], ["term"])
    assert (told.games, told.scored, told.won, told.total, told.tokens) == (3, 2, 1, 0.5, None)


def test_a_task_that_is_a_mapping_is_found_among_those_played_by_hand(tmp_path):
    store, where = Store(tmp_path), EnvironmentSpec(id="catch", use="catch")
    run = store.create(RunSpec(name="played", model="by-hand", environments=(where,)))
    with run.writing() as writer:
        writer.record([Episode(id="play-1-0", phase="play", step=0, group=1, sample=0, environment="catch",
                               task={"level": [1]}, seed=1, policy=Policy(kind="human"), status="won")])
    match = store.create(RunSpec(name="match", environments=(where,), match=Match(players=(ScriptPlayer(name="random"),))))
    with match.writing() as writer:
        writer.record([Episode(id=f"play-{place}-0", phase="play", step=0, group=place, sample=0, environment="catch",
                               task=task, seed=place, status="lost") for place, task in ((1, {"level": [1]}), (2, "2"))])
    with Matches(store).follow(match) as followed:
        followed.look()
    found = followed.lines[BY_HAND].games
    assert list(found) == [1] and found[1].status == "won"
