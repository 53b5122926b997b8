"""Launch: what the form is told about a draft, and what the button does with it. And Runs, the list it ends in."""

import contextlib
import html
import re
import socket
import sqlite3
from typing import get_args

import pytest

from backend.launcher import Launcher, load_spec, load_terms, recipes, starters, to_yaml
from backend.play.rehearsal import Rehearsals
from backend.records import (
    EnvironmentSpec,
    Episode,
    Evaluation,
    Event,
    GenerationSettings,
    JudgeSettings,
    Resources,
    Result,
    RewardTerm,
    RunSpec,
    TaskSelection,
    TrainSettings,
    WarmUp,
)
from ui import forms, launch, runs, terms, trial
from ui.launch_form import page
from ui.outlook import Pace, outlook, pace


def a_spec(name, model="starter:catch"):
    return RunSpec(name=name, model=model, environments=[EnvironmentSpec(id="catch", use="catch")])


def draft(**changes):
    return {"spec": {"name": "mine", "model": "starter:catch", "environments": [{"id": "catch", "use": "catch"}],
                     "rewards": [{"name": "caught", "value": "1.0 if won else 0.0", "weight": 1}], **changes}}


def fields(answer):
    return {problem["field"]: problem["message"] for problem in answer["problems"]}


# ----------------------------------------------------------------------------------------------------------- the form


@pytest.mark.parametrize("record", [RunSpec, TrainSettings, GenerationSettings, EnvironmentSpec, WarmUp, Evaluation,
                                    Resources])
def test_every_field_of_a_record_can_be_drawn_with_its_own_label_and_help(record):
    for name, info in record.model_fields.items():
        if info.title:
            drawn = forms.field(record, name)
            assert f">{info.title}<" in drawn and f'data-note="{name}"' in drawn


@pytest.mark.parametrize(("name", "said"), [("steps", "1 to 1,000,000"), ("learning_rate", "above 0, up to 1"),
                                            ("kl", "0 or more"), ("scale_rewards", "")])
def test_bounds_are_read_from_the_record(name, said):
    assert forms.bounds(TrainSettings.model_fields[name]) == said


def test_every_setting_of_a_run_has_a_place_in_the_form():
    form = page(recipes(), starters())
    for prefix, record in (("train.", TrainSettings), ("generation.", GenerationSettings), ("warm_up.", WarmUp),
                           ("evaluate.", Evaluation), ("tasks.", TaskSelection)):
        for name in record.model_fields:
            assert f'data-key="{prefix}{name}"' in form, prefix + name


def test_the_form_starts_from_the_quickstart_or_what_the_address_asks_for(store):
    assert launch.started(store, {})["recipe"] == "quickstart"
    assert launch.started(store, {"recipe": "wordle"})["spec"]["environments"][0]["use"] == "wordle"
    run = store.create(load_spec("echo"))
    assert launch.started(store, {"from": run.id})["spec"]["name"] == "echo"
    assert "no-such" in launch.started(store, {"from": "no-such"})["problems"][0]["message"]
    assert "no recipe" in launch.started(store, {"recipe": "../../etc/passwd"})["problems"][0]["message"]


def test_what_isnt_there_is_said_beside_the_first_recipe(store):
    answer = launch.started(store, {"from": "no-such"})
    assert answer["problems"] and answer["recipe"] == "quickstart"
    assert answer["spec"] == launch.started(store, {})["spec"]


# ---------------------------------------------------------------------------------------------------- what it is told


@pytest.mark.parametrize("name", recipes())
def test_a_shipped_recipe_says_what_will_happen(store, name):
    spec = load_spec(name)
    answer = launch.looked(store, {"spec": spec.model_dump(mode="json")})
    assert f"{spec.train.steps * spec.train.episodes_per_step:,}" in answer["outlook"]
    assert answer["yaml"] == to_yaml(spec)


def test_form_and_yaml_say_the_same(store):
    written = launch.looked(store, draft(train={"steps": 7, "extra": "epsilon: 0.3"}))["yaml"]
    read = launch.looked(store, {"yaml": written})["spec"]
    assert read["train"]["steps"] == 7 and read["train"]["extra"] == {"epsilon": 0.3}


@pytest.mark.parametrize(("changes", "field", "said"), [
    ({"name": "1st run"}, "name", "letter"),
    ({"train": {"group_size": 15}}, "train.episodes_per_step", "use 60 or 75"),
    ({"train": {"micro_batch": 7}}, "train.micro_batch", "doesn't divide"),
    ({"train": {"steps": "many"}}, "train.steps", "whole number"),
    ({"train": {"learning_rate": 0}}, "train.learning_rate", "above 0"),
    ({"train": {"extra": "epsilonn: 0.3"}}, "train.extra.epsilonn", "did you mean epsilon?"),
    ({"environments": [{"id": "catch", "use": "catchh"}]}, "environments.0.use", "did you mean catch?"),
    ({"environments": []}, "environments", "at least one"),
    ({"rewards": [{"name": "x", "value": "1 +"}]}, "rewards.0.value", "1 +"),
    ({"rewards": [{"name": "x", "value": "wonn"}]}, "rewards.0.value", "did you mean won"),
    ({"resources": {"gpus": 64}}, "resources.gpus", "64 asked for"),
])
def test_a_wrong_setting_is_named_with_its_remedy(store, changes, field, said):
    answer = launch.looked(store, draft(**changes))
    assert said in fields(answer)[field]
    assert answer["yaml"]


def test_every_wrong_term_is_told_at_once(store):
    terms = [{"name": "a", "value": "wonn"}, {"name": "b", "value": "won"}, {"name": "c", "value": "(("}]
    assert set(fields(launch.looked(store, draft(rewards=terms)))) == {"rewards.0.value", "rewards.2.value"}


def test_text_that_is_no_spec_leaves_the_form_as_it_is(store):
    for text in ("", "- a\n- b", "name: [", "just words", "/etc/passwd"):
        answer = launch.looked(store, {"yaml": text})
        assert answer["problems"] and "spec" not in answer


def test_the_wait_is_told_from_an_earlier_run_only(store):
    spec = a_spec("x")
    assert pace(store, spec) is None
    assert "About" not in outlook(spec)
    assert "About <b>40 min</b>, at the pace of the run first." in outlook(spec, Pace("first", 0.0, 16.0, 64))


def timed(store, name, start, step, steps=6, **train):
    """A finished run whose trainer needed so many seconds to begin, and for each step."""
    spec = a_spec(name).model_copy(update={"train": TrainSettings(steps=steps, **train)})
    run = store.create(spec)
    with run.writing() as writer:
        writer.phase("loading the model")
        for n in range(1, steps + 1):
            writer.record([Episode(id=f"{n}-0-0", step=n, group=0, sample=0, environment="catch", status="won")])
        writer.finish(Result(status="finished", step=steps, ended=2000.0))
    with contextlib.closing(sqlite3.connect(run.path / "run.db")) as file, file:
        file.execute("UPDATE events SET at = 1000")
        file.execute("UPDATE steps SET at = 1000 + ? + step * ?", (start, step))
    return run


def test_the_wait_is_told_from_the_run_most_alike_and_its_start_apart(store):
    timed(store, "whole", start=10, step=3)
    timed(store, "small", start=12, step=2, episodes_per_step=16)
    timed(store, "tiny", start=1, step=1, steps=2)
    spec = a_spec("x")
    assert pace(store, spec) == ("whole", pytest.approx(10), pytest.approx(3), 64)
    said = outlook(spec, pace(store, spec))
    assert "About <b>7 min 40 s</b>, 10 s of it before the first step, at the pace of the run whole." in said
    fewer = spec.model_copy(update={"train": TrainSettings(steps=2, episodes_per_step=32)})
    newest = pace(store, fewer)
    assert newest == ("small", pytest.approx(12), pytest.approx(4), 16), "of those equally alike the newest"
    assert "20 s</b>, 12 s of it before the first step" in outlook(fewer, newest)
    assert "scaled from its 16 episodes a step" in outlook(fewer, newest)
    elsewhere = spec.model_copy(update={"environments": [EnvironmentSpec(id="catch", use="wordle")]})
    assert pace(store, elsewhere) is None


# ------------------------------------------------------------------------------------------------------- reward terms


def played_before(store, facts, policy="starter:catch", phase="train"):
    """A run of Catch with two episodes."""
    run = store.create(a_spec("before"))
    kind = "human" if phase == "play" else "model"
    with run.writing() as writer:
        writer.record([Episode(id=f"{phase}-{n}", phase=phase, step=1, group=0, sample=n, environment="catch", facts=facts,
                               status="won" if facts["won"] else "lost", policy={"kind": kind, "name": policy})
                       for n in range(2)])
    return run


def catch(*terms):
    return RunSpec(name="tried", model="starter:catch", environments=[EnvironmentSpec(id="catch", use="catch")],
                   rewards=terms or [{"name": "caught", "value": "1.0 if won else 0.0"},
                                     {"name": "near", "value": "nearness", "weight": 0.5}])


def until_played(store, rehearsals, spec):
    told = trial.tried(store, rehearsals, {}, spec)
    for environment in spec.environments:
        assert rehearsals.of(environment).ended.wait(60)
        told = trial.tried(store, rehearsals, {}, spec)
    assert not told["playing"]
    return html.unescape(told["html"])


def test_a_row_has_a_place_for_every_setting_of_a_term():
    drawn = terms.editor()
    for name in ("name", "kind", "value", "weight", "scope", *(f"judge.{field}" for field in JudgeSettings.model_fields)):
        assert f'data-key="{name}"' in drawn
    for kind in get_args(RewardTerm.model_fields["kind"].annotation):
        assert f'<option value="{kind}"' in drawn


def test_python_terms_can_be_chosen_in_trusted_mode_only(monkeypatch):
    monkeypatch.delenv("ORTAM_TRUSTED", raising=False)
    assert 'value="python" disabled' in terms.editor()
    monkeypatch.setenv("ORTAM_TRUSTED", "1")
    assert 'value="python" disabled' not in terms.editor()


def test_facts_come_with_their_meaning_and_their_value_in_the_last_episode(store):
    environments = [EnvironmentSpec(id="catch", use="catch")]
    assert not terms.facts(store, environments)["seen"]
    played_before(store, {"won": True, "nearness": 1.0, "turns": 9, "done": None})
    told = terms.facts(store, environments)
    known = {fact["name"]: fact for group in told["groups"] for fact in group["facts"]}
    assert told["seen"] and known["won"]["last"] == "True" and known["nearness"]["last"] == "1" and known["turns"]["meaning"]
    assert known["done"]["last"] == "None" and known["paddle_column"]["last"] == ""


def test_a_fact_is_written_so_that_nothing_in_it_is_hidden():
    assert terms.spelled("a\u202eb\ud83d\0") == r"'a\u202eb\ud83d\x00'"
    assert len(terms.spelled("x" * 10_000)) < 100


def test_presets_of_a_mix_keep_to_their_environments(store):
    told = terms.presets(store, [EnvironmentSpec(id="one", use="wordle"), EnvironmentSpec(id="two", use="catch")])
    assert [group["id"] for group in told["groups"]] == ["one", "two"]
    for group in told["groups"]:
        assert all(term["environments"] == (group["id"],) or term["environments"] == [group["id"]]
                   for preset in group["presets"] for term in preset["terms"])
    alone = terms.presets(store, [EnvironmentSpec(id="one", use="wordle")])["groups"][0]["presets"]
    assert [term["name"] for term in alone[0]["terms"]] == ["win", "partial", "invalid"]


def test_opening_a_link_asks_no_server(store):
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        use = f"openenv+http://127.0.0.1:{server.getsockname()[1]}"
        assert launch.started(store, {"use": use})["spec"]["environments"][0]["use"] == use
        assert terms.presets(store, [EnvironmentSpec(id="one", use=use)])["groups"][0]["presets"] == []
        with pytest.raises(BlockingIOError):
            server.accept()


def test_a_set_is_saved_exported_and_deleted(store):
    asks = {each.__name__: each for each in terms.functions(store, may_save=True)}
    given = {"environments": [{"id": "catch", "use": "catch"}], "rewards": [{"name": "a", "value": "won", "weight": 2}]}
    assert asks["set_save"]({**given, "name": "mine"})["sets"][0]["terms"][0]["weight"] == 2
    [kept] = asks["term_sets"]({})["sets"]
    assert load_terms(kept["yaml"], a_spec("x").environments)[0].name == "a"
    assert asks["terms_yaml"](given)["yaml"] == kept["yaml"]
    assert "name" in asks["set_save"]({**given, "name": ""})["problem"]
    assert asks["set_save"]({"name": "none", "rewards": []})["problem"]
    judge = {"name": "kind", "kind": "judge", "value": "Is it kind?", "judge": {"url": "", "model": "m"}}
    assert asks["set_save"]({"name": "x", "rewards": [judge]})["problem"].startswith("Judge.url of the term kind: is empty")
    assert asks["set_delete"]({"name": "mine"})["sets"] == []


def test_a_read_only_page_saves_no_set(store):
    asks = {each.__name__: each for each in terms.functions(store, may_save=False)}
    given = {"name": "mine", "rewards": [{"name": "a", "value": "won"}]}
    assert "only shows runs" in asks["set_save"](given)["problem"] and "problem" in asks["set_delete"]({"name": "mine"})
    assert store.reward_sets() == []


def test_terms_over_an_environment_elsewhere_are_looked_at_by_themselves(store):
    wanted = {"environments": [{"id": "far", "use": "openenv+http://127.0.0.1:1"}],
              "rewards": [{"name": "a", "value": "anything"}, {"name": "b", "value": "(("}]}
    assert set(fields(launch.looked(store, draft(**wanted)))) == {"rewards.1.value"}


def test_a_good_player_is_told_from_a_random_one_and_from_what_was_played_before(store):
    played_before(store, {"won": False, "nearness": 0.25, "turns": 9})
    played_before(store, {"won": True, "nearness": 1.0, "turns": 9}, policy="", phase="play")
    rehearsals = Rehearsals()
    shown = until_played(store, rehearsals, catch())
    assert "Good play is worth more: the perfect player earns 1.50" in shown and "pairs of episodes" in shown
    assert "starter:catch" in shown and "played by hand" in shown and "o-green" in shown
    before = rehearsals.of(catch().environments[0]).episodes("perfect")
    against = until_played(store, rehearsals, catch({"name": "miss", "value": "0.0 if won else 1.0"}))
    assert "Good play isn't worth more" in against and "o-red" in against
    assert rehearsals.of(catch().environments[0]).episodes("perfect") == before, "the games were not played again"


def test_terms_that_give_a_random_player_nothing_to_learn_from_are_told(store):
    same = ({"name": "same", "value": "1.0 if done else 0.0"},)
    assert "isn't worth more" in until_played(store, rehearsals := Rehearsals(), catch(*same))
    unknown = until_played(store, rehearsals, catch({"name": "never", "value": "None if done else 1.0"}))
    assert "was scored" in unknown and "not scored" in unknown and "0.00" not in unknown


def test_an_environment_that_can_not_be_opened_is_told(store):
    spec = catch().model_copy(update={"environments": (EnvironmentSpec(id="catch", use="openenv+http://127.0.0.1:1"),)})
    assert 'role="alert"' in until_played(store, Rehearsals(), spec)


def test_wrong_terms_are_not_tried(store):
    ask = trial.function(store, launch.read, launch.wrong_terms, launch.problem, allowed=True)
    told = ask({"draft": draft(rewards=[{"name": "x", "value": "wonn"}])})
    assert told["problems"][0]["field"] == "rewards.0.value"
    shut = trial.function(store, launch.read, launch.wrong_terms, launch.problem, allowed=False)
    assert "only shows runs" in shut({"draft": draft()})["problems"][0]["message"]


# --------------------------------------------------------------------------------------------------------- the button


def test_a_refused_launch_makes_nothing(store):
    launcher = Launcher(store)
    for asked in (draft(train={"group_size": 15}), draft(model="starter:no-such"), {"yaml": "name: ["}):
        assert launch.launched(launcher, asked)["problems"]
    assert store.runs() == []


def test_a_model_that_cannot_be_loaded_is_told_at_its_field(store):
    assert "no-such" in fields(launch.launched(Launcher(store), draft(model="starter:no-such")))["model"]


def test_a_read_only_page_launches_nothing():
    assert "only shows runs" in launch.launched(None, draft())["problems"][0]["message"]
    assert "disabled" in re.search(r"<button[^>]+data-do=\"launch\"[^>]*>", page(recipes(), [], read_only=True))[0]


# ----------------------------------------------------------------------------------------------------------- the list


def test_an_empty_folder_says_what_to_do(store):
    shown = runs.draw(store.runs(), runs.Curves(store))
    assert 'href="/launch"' in shown
    assert "href" not in runs.draw([], runs.Curves(store), read_only=True)
    assert "<b>x" not in runs.draw([], runs.Curves(store), search="<b>x")


@pytest.mark.parametrize("at", [1e18, -1e18, 1e300])
def test_a_run_from_elsewhere_that_began_beyond_any_calendar_hides_no_other(store, at):
    run = store.create(load_spec("quickstart"))
    with run.writing() as writer:
        writer.event(Event(at=at, kind="start", text="begun"))
    assert run.id in runs.draw(store.runs(), runs.Curves(store)) and "unknown" in runs.when(at)


def test_a_run_in_the_list_is_text_and_links_to_its_page(store):
    run = store.create(a_spec("named", model="<img src=x>"))
    shown = runs.draw(store.runs(), runs.Curves(store))
    assert f'href="/run?id={run.id}"' in shown
    assert "<img" not in shown and "&lt;img src=x&gt;" in shown


def test_a_broken_run_does_not_hide_the_others(store):
    whole, broken = store.create(a_spec("whole")), store.create(a_spec("broken"))
    (broken.path / "run.db").write_bytes(b"not a database at all" * 100)
    shown = runs.draw(store.runs(), runs.Curves(store))
    assert whole.id in shown and broken.id in shown


def test_a_run_that_scored_nothing_has_no_reward_instead_of_0(store):
    run = store.create(a_spec("unscored"))
    writer = run.writer()
    writer.event(Event(at=1000.0, kind="phase", text="playing"))
    writer.record([Episode(id="1-0-0", step=1, group=0, sample=0, environment="catch", status="env_lost")])
    writer.close()
    shown = runs.draw(store.runs(), runs.Curves(store))
    assert "Nothing scored yet" in shown and "0.00" not in shown
    assert 'data-ago="1000"' in shown


def test_a_curve_has_gaps_where_nothing_was_scored():
    assert runs.spark([None, 1.0]) == runs.spark([-1e308, 1e308]) == ""
    assert re.search(r'd="([^"]+)"', runs.spark([0.0, 1.0, None, 0.5, 1.0]))[1].count("M") == 2
    assert len(runs.spark([n / 5000 for n in range(5000)])) < 2000


def test_an_unchanged_list_is_the_same_text(store):
    store.create(load_spec("echo"))
    curves = runs.Curves(store)
    assert runs.draw(store.runs(), curves) == runs.draw(store.runs(), curves)
