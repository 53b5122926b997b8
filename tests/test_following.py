"""A match that is followed tells at each look what reading all of it again would, and reads only what is new."""

import contextlib
import random
import shutil
import sqlite3
import statistics
import threading

import pytest

from backend.records import Episode, Match, Policy, RunSpec, ScriptPlayer, Turn
from backend.standings.following import BY_HAND, Followed, Matches
from backend.store import Run
from tests.bench.arena_speed import taken
from tests.test_standings import against, standing

CATCH = {"id": "catch", "use": "catch"}
PLAYERS = (ScriptPlayer(name="random"), ScriptPlayer(name="perfect"))


@pytest.fixture
def match(store) -> Run:
    return store.create(RunSpec(name="match", environments=(CATCH,), match=Match(players=PLAYERS)))


def by_hand(store, **environment) -> Run:
    return store.create(RunSpec(name="played", model="by-hand", environments=({**CATCH, **environment},)))


def game(place: int, player: int, status="won", human=False, **more) -> Episode:
    told = dict(id=f"play-{place}-{player}", phase="play", step=0, group=place, sample=player, environment="catch",
                task=str(place), seed=place, fingerprint=str(place), status=status, total=float(place), started=1.0,
                policy=Policy(kind="human" if human else "script"), facts={"won": status == "won"},
                turns=(Turn(index=0, tool="move"),))
    return Episode(**(told | more))


def written(run: Run, *games: Episode) -> None:
    with run.writing() as writer:
        writer.record(games)


def compared(followed: Followed, first="0", second="1"):
    followed.look()
    one, other = followed.lines[first], followed.lines[second]
    assert followed.against(first, second) == against(one.games, other.games)
    for line in followed.lines.values():
        assert line.standing() == standing(line.games.values(), ())
    return one, other


def test_what_is_told_after_each_game_is_what_all_of_them_tell(store, match):
    luck, hand, matches = random.Random(3), by_hand(store), Matches(store)
    for place in range(12):
        statuses = [luck.choice(("won", "lost", "env_error", "finished")) for _ in range(3)]
        for player in luck.sample(range(2), luck.randint(1, 2)):
            facts = {"won": statuses[player] == "won"} if place > 3 else {}
            written(match, game(place, player, statuses[player], facts=facts, fingerprint=luck.choice(("a", "b", None))))
        written(hand, game(luck.randrange(12), place, statuses[2], human=True))
        with matches.follow(match) as followed:
            one, other = compared(followed)
            assert len(one.games) + len(other.games) == match.count_episodes()
            compared(followed, "1", "0")
            if BY_HAND in followed.lines:
                compared(followed, "0", BY_HAND)


def test_a_game_written_again_takes_its_place(store, match):
    written(match, game(0, 0), game(0, 1), game(1, 0), game(1, 1))
    matches = Matches(store)
    with matches.follow(match) as followed:
        compared(followed)
    written(match, game(1, 1, "lost"))
    with matches.follow(match) as followed:
        _, other = compared(followed)
        assert other.standing().games == 2 and other.standing().won == 1 and followed.against("0", "1").broken == 1


def test_a_game_by_hand_counts_whether_it_or_the_match_came_first(store, match):
    early, matches = by_hand(store), Matches(store)
    written(early, game(0, 0, human=True, started=5.0), game(7, 0, human=True))
    written(match, game(1, 0))
    with matches.follow(match) as followed:
        followed.look()
        assert BY_HAND not in followed.lines
    written(match, game(0, 0))
    late = by_hand(store)
    written(late, game(1, 0, human=True), game(0, 9, "lost", human=True, started=4.0), game(0, 8, "cancelled", human=True,
                                                                                            started=1.0))
    written(by_hand(store, options={"size": 3}), game(0, 0, human=True, started=0.0))
    with matches.follow(match) as followed:
        followed.look()
        line = followed.lines[BY_HAND]
        assert {place: (line.runs[place].id, found.status) for place, found in line.games.items()} == {
            0: (late.id, "lost"), 1: (late.id, "won")}


def test_a_run_by_hand_that_is_thrown_away_and_a_match_copied_anew_are_read_anew(store, match, tmp_path):
    hand, matches = by_hand(store), Matches(store)
    written(hand, game(0, 0, human=True))
    written(match, game(0, 0))
    with matches.follow(match) as followed:
        followed.look()
        assert followed.lines[BY_HAND].games
    shutil.rmtree(hand.path)
    with matches.follow(match) as followed:
        followed.look()
        assert BY_HAND not in followed.lines
    shutil.copy(match.path / "run.db", tmp_path / "kept.db")
    written(match, game(1, 0))
    (tmp_path / "kept.db").replace(match.path / "run.db")
    with matches.follow(match) as followed:
        followed.look()
        assert list(followed.lines["0"].games) == [0]


def test_a_match_put_back_from_an_older_copy_under_the_same_file_is_read_anew(store, match, tmp_path):
    matches = Matches(store)
    written(match, game(0, 0))
    shutil.copy(match.path / "run.db", tmp_path / "kept.db")
    written(match, game(1, 0))
    with matches.follow(match) as followed:
        followed.look()
    shutil.copyfile(tmp_path / "kept.db", match.path / "run.db")
    with matches.follow(match) as followed:
        followed.look()
        assert list(followed.lines["0"].games) == [0]


def test_runs_played_by_hand_may_come_while_others_look(store, match):
    matches, over, broken = Matches(store), threading.Event(), []

    def look():
        while not over.is_set():
            try:
                with matches.follow(match) as followed:
                    followed.look()
            except RuntimeError as error:
                return broken.append(error)

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        written(by_hand(store), game(0, 0, human=True))
    over.set()
    for thread in threads:
        thread.join()
    assert not broken


def test_only_games_after_the_last_look_are_read(store, match):
    written(match, *(game(place, 0) for place in range(5)))
    matches = Matches(store)
    with matches.follow(match) as followed:
        followed.look()
    with contextlib.closing(sqlite3.connect(match.path / "run.db")) as file, file:
        file.execute("UPDATE episodes SET facts = 'what nobody can read again'")
    written(match, game(5, 0))
    with matches.follow(match) as followed:
        followed.look()
        assert sorted(followed.lines["0"].games) == list(range(6))


def test_two_who_look_at_once_see_each_game_once(store, match):
    written(match, *(game(place, player) for place in range(50) for player in range(2)))
    matches, told = Matches(store), []

    def look():
        with matches.follow(match) as followed:
            followed.look()
            told.append([line.standing().games for line in followed.lines.values()])

    threads = [threading.Thread(target=look) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == [[50, 50]] * 8


def test_one_more_game_costs_no_more_in_a_long_match(tmp_path):
    luck = random.Random(0)
    few, many = (statistics.median(taken(tmp_path / str(games), games, luck)["news"]) for games in (30, 1500))
    assert many < 2.5 * few + 5, "reading all of it again costs about eight times as much"
