"""The Arena's answers: what is offered, what it takes, and a match as it stands, sent once."""

import json
from urllib.parse import parse_qs, urlsplit

import pytest

from backend.errors import OrtamError, SpecError
from backend.launcher import Launcher, from_fields
from backend.play import Sittings, chosen
from backend.standings.following import Matches
from backend.store import Run, Store
from tests.test_match import CATCH, PERFECT, RANDOM, launched, played
from ui import arena, arena_form
from ui.arena_boards import Column
from ui.arena_table import words


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return Store(tmp_path_factory.mktemp("arena") / "runs")


@pytest.fixture(scope="module")
def match(store) -> Run:
    return played(store, PERFECT, RANDOM, {"kind": "script", "name": "random", "label": "<b>x</b>"},
                  environment={**CATCH, "tasks": {"count": 7}})


def looked(store, run: Run, read_only=False, **asked):
    return arena.answer(Matches(store), run, arena.Asked(id=run.id, **asked), read_only)


class Page:
    """What a browser that shows a match asks, again and again."""

    def __init__(self, store, run: Run):
        self.store, self.run, self.matches = store, run, Matches(store)
        self.version, self.rows = "", {}

    def look(self):
        asked = arena.Asked(id=self.run.id, version=self.version, rows=self.rows)
        told = arena.answer(self.matches, self.store.run(self.run.id), asked, False)
        self.version = told.get("version", self.version)
        self.rows |= {str(group): mark for group, mark, _ in told.get("rows", ())}
        return told


def form(**changes):
    return {"environment": "catch", "which": "seed", "tasks": "5", "seed": "3", "players": [PERFECT, RANDOM], **changes}


# ------------------------------------------------------------------------------------------------------------ the form


def test_what_is_offered_suits_the_environment(store, match):
    told = arena_form.choices(store, "catch")
    assert told["first"] == [{"kind": "model", "model": "starter:catch"}, PERFECT, RANDOM]
    assert "starter:wordle" not in told["offers"] and 'value="held-out"' not in told["which"]
    assert "solver" in arena_form.choices(store, "wordle")["offers"]


def test_a_trained_run_offers_its_base_its_checkpoints_and_held_out_tasks(tmp_path):
    store = Store(tmp_path)
    run = store.create(from_fields({"name": "first", "model": "starter:catch", "environments": [CATCH]}))
    for name in ("warm-up", "final"):
        folder = run.path / "checkpoints" / name
        folder.mkdir(parents=True)
        (folder / "config.json").write_text("{}")
    told = arena_form.choices(store, f"run:{run.id}:catch")
    assert [player.get("label") for player in told["first"]] == ["base", "warm-up", "final", None]
    assert "+ starter:catch" not in told["offers"], "it is base"
    assert told["which"].index("held-out") < told["which"].index("daily") and run.id in told["note"]
    spec = arena_form.spec_of(store, form(environment=f"run:{run.id}:catch", which="held-out"))
    assert spec.match.held_out == 5 and spec.environments[0].tasks.count == 4 and spec.name == "first-match"


def test_a_run_whose_environment_cant_be_started_is_not_offered(tmp_path):
    store = Store(tmp_path)
    runs = [store.create(from_fields({"name": "one", "model": "imported", "environments": [{"id": "mine", "use": use}]}))
            for use in ("import:openai", "catch")]
    offered = arena_form.front(store, Launcher(store), {})["environments"]
    assert f"run:{runs[1].id}:mine" in offered and f"run:{runs[0].id}:mine" not in offered
    with pytest.raises(SpecError, match="import:openai"):
        arena_form.choices(store, f"run:{runs[0].id}:mine")


def test_the_form_makes_a_spec_that_starts(store):
    spec = arena_form.spec_of(store, form())
    assert (spec.environments[0].tasks.count, spec.environments[0].tasks.first_seed) == (5, 3)
    run = store.run(Launcher(store).launch(spec))
    assert run.status() == "queued" and [term.name for term in run.spec.rewards] == ["caught", "near"]
    store.queue.move(run.id, "waiting", "ended")
    assert arena_form.spec_of(store, form(which="daily")).match.daily == "today"


@pytest.mark.parametrize(("changes", "said"), [
    ({"tasks": "many"}, "tasks: must be a whole number from 1 to 1,000"), ({"tasks": "0"}, "tasks: must be"),
    ({"seed": "-1"}, "seed: must be"), ({"players": []}, "players: are missing"), ({"players": "all"}, "players: are"),
    ({"environment": ""}, "environment: is missing"), ({"environment": "run:nothing:x"}, "no run in"),
    ({"players": [RANDOM, RANDOM]}, "two players are called random"),
    ({"players": [{"kind": "endpoint", "url": "x", "model": "m"}]}, "begin with http")])
def test_what_is_wrong_in_the_form_is_a_sentence(store, match, changes, said):
    with pytest.raises(OrtamError) as error:
        arena_form.spec_of(store, form(**changes))
    assert said in str(error.value)


def test_a_match_played_again_has_the_same_tasks_terms_and_players(store):
    run = launched(store, PERFECT, RANDOM, held_out=3, tokens=77)
    like = arena_form.front(store, Launcher(store), {"like": run.id})["like"]
    assert "held-out" in arena_form.choices(store, like["environment"])["which"]
    again = arena_form.spec_of(store, {**form(), **like})
    assert again.match == run.spec.match and again.environments == run.spec.environments
    assert again.train.max_completion_tokens == 77 and again.rewards == run.spec.rewards


def test_what_it_takes_is_told_in_words(store):
    told = arena_form.cost(store, form(players=[PERFECT, {"kind": "model", "model": "starter:catch"}, {
        "kind": "endpoint", "url": "http://localhost:1/v1", "model": "far"}]))
    assert "<b>15 games</b>: 3 players on 5 tasks, at most 9 turns each." in told
    assert "follows a script" in told and "this machine's CPU" in told and "up to 45 times over the network" in told


def test_a_read_only_site_says_so_and_lists_the_matches(store, match):
    told = arena_form.front(store, None, {})
    assert "environments" not in told and match.id in told["matches"]
    with pytest.raises(OrtamError, match="only shows runs"):
        arena.may(None)
    assert "Stop" not in looked(store, match, read_only=True)["head"]


# ----------------------------------------------------------------------------------------------------------- a match


def test_a_match_is_sent_once_and_then_nothing_until_something_changes(store, match):
    told = looked(store, match)
    again = looked(store, match, version=told["version"])
    assert again == {}
    paged = looked(store, match, version=told["version"], page=1)
    assert [group for group, _, _ in told["rows"]] == [0, 1, 2, 3, 4] and [group for group, _, _ in paged["rows"]] == [5, 6]


def test_a_row_the_browser_has_is_not_drawn_again(store, match):
    told = looked(store, match)
    have = {str(group): mark for group, mark, _ in told["rows"]}
    assert all(html == "" for _, _, html in looked(store, match, rows=have)["rows"])


def test_boards_standings_and_pair_are_there_and_names_are_text(store, match):
    told = looked(store, match)
    assert told["rows"][0][2].count("o-catch-board") > 20 and told["last"] == 9 and not told["open"]
    assert "7</b> <span class=\"o-muted\">of 7" in told["table"] and "fixed" in told["pair"]
    assert "<b>x</b>" not in told["table"] + told["pair"] + told["rows"][0][2] and "&lt;b&gt;x" in told["table"]
    link = told["rows"][0][2].split('href="')[1].split('"')[0].replace("&amp;", "&")
    assert parse_qs(urlsplit(link).query)["use"] == ["catch"] and parse_qs(urlsplit(link).query)["seed"] == ["0"]


def test_a_pair_is_the_first_player_and_the_last_checkpoint_unless_others_are_asked_for():
    columns = [Column(str(n), kind, kind, kind) for n, kind in enumerate(("model", "checkpoint", "model", "scripted"))]
    assert [column.key for column in arena._pair(columns, "", "")] == ["0", "1"]
    assert [column.key for column in arena._pair(columns[:1] + columns[2:], "", "")] == ["0", "2"]
    assert [column.key for column in arena._pair(columns, "3", "2")] == ["3", "2"]


def test_tasks_can_be_narrowed_to_those_a_pair_differs_in(store, match):
    told = looked(store, match, only="broken", first="0", second="1")
    assert told["rows"] and all("o-broken" in html for _, _, html in told["rows"])
    back = looked(store, match, first="1", second="0")
    assert "From" in back["pair"] and '<b class="o-stat">0</b><span><i aria-hidden="true">↓' in back["pair"]


def test_what_a_person_plays_of_the_same_tasks_stands_beside_it(store, match):
    sittings = Sittings(store)
    try:
        for _ in range(2):  # only the first try counts
            id = sittings.begin(chosen(store, "catch", seed=2, worth=f"run:{match.id}"))
            while not sittings.look(id).sitting.ended:
                sittings.call(id, "move", {"direction": "left"})
    finally:
        sittings.close()
    told = looked(store, match)
    assert "by hand" in told["table"] and "1 of 7 tasks" in told["table"]
    with Matches(store).follow(match) as followed:
        followed.look()
        columns = arena.columns_of(followed)
    assert columns[-1].key == "by-hand" and list(columns[-1].games) == [2] and columns[-1].games[2].total is not None
    (kept,) = {run.id for run in columns[-1].runs.values()}
    assert columns[-1].games[2].id == sorted(g.id for g in store.run(kept).games("human"))[0]


def test_games_of_different_tasks_are_flagged_and_not_compared(store, tmp_path):
    here = Store(tmp_path / "runs")
    run = played(here, PERFECT, RANDOM)
    with run.writing() as writer:
        writer.record([run.episode("play-1-1").model_copy(update={"fingerprint": "another"})])
    told = looked(here, run)
    assert "not one task" in dict((group, html) for group, _, html in told["rows"])[1]
    assert "1 task not the same task for both" in told["pair"]


def test_a_match_under_way_says_how_far_it_is(store):
    run = launched(store, PERFECT, RANDOM)
    told = looked(store, run)
    assert told["open"] and "queued" in told["head"] and "No game has ended yet" in told["empty"]


def test_a_run_that_trains_is_no_match(store):
    run = store.create(from_fields({"name": "trains", "model": "starter:catch", "environments": [CATCH]}))
    with pytest.raises(SpecError, match="is no match"):
        looked(store, run)


def test_an_environment_without_a_board_shows_calls_and_answers(store):
    run = played(store, {"kind": "script", "name": "obedient"}, {"kind": "script", "name": "random"},
                 environment={"id": "echo", "use": "echo", "tasks": {"count": 2}})
    told = looked(store, run)
    assert "Hello world!" in told["rows"][0][2] and "o-words" in told["rows"][0][2]
    assert json.dumps(told)  # plain values


@pytest.mark.parametrize(("counts", "said"), [
    ((7, 1, 3, 2), "B wins 7 tasks that A lost, and loses 1 that it won. If the two were equally good, so uneven a split would "
     "come about in 7% of such matches (exact sign test, p = 0.07): weak evidence of a difference."),
    ((0, 0, 3, 2), "On 5 common tasks B and A came out alike; nothing tells them apart."),
    ((0, 0, 0, 0), "No task was played and scored for both A and B yet.")])
def test_what_the_counts_say(counts, said):
    from backend.standings import Against

    assert words("A", "B", Against(False, *counts, unscored=0, other=0, unplayed=0, tasks={})) == said


@pytest.mark.parametrize(("asked", "said"), [
    ({"id": "x" * 3000}, "be read: id: "), ({"id": "latest", "page": -1}, "be read: page: "),
    ({"id": "latest", "page": None}, "be read: page: "), ({"id": "nobody"}, "nobody")])
def test_an_address_of_a_match_that_somebody_changed_is_one_sentence(store, match, asked, said):
    told = arena.looked(Matches(store), asked, read_only=False)
    assert list(told) == ["gone"] and said in told["gone"]


def test_a_match_like_one_that_is_gone_is_set_up_from_the_start(store, match):
    told = arena_form.front(store, Launcher(store), {"like": "<b>gone</b>"})
    assert "environments" in told and "&lt;b&gt;gone" in told["problem"] and "like" not in told
