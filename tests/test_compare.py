"""Comparing: what differs, what came of runs, curves put together, and the tasks two runs played."""

import json
import time

import pytest

from backend.cli import main
from backend.comparing import (
    LAST,
    SharedEnvironment,
    difference,
    differing,
    duel,
    outcome,
    settings,
    shared_environments,
    signs_of,
    together,
)
from backend.comparing.tasks import Task
from backend.records import Episode, Result, RunSpec

BASE = {"model": "starter:catch", "environments": [{"id": "catch", "use": "catch"}],
        "rewards": [{"name": "caught", "value": "1.0 if won else 0.0"}],
        "train": {"steps": 50, "group_size": 4, "episodes_per_step": 4}}


def spec(**changes) -> RunSpec:
    return RunSpec.model_validate({**BASE, **changes})


def episode(step, sample, status="won", seed=0, **changes):
    gone = status.startswith("env")
    return Episode(**{
        "id": f"{step}-{seed}-{sample}", "step": step, "group": seed, "sample": sample, "environment": "catch",
        "seed": seed, "task": str(seed), "fingerprint": f"t{seed}", "status": status, "facts": {"won": status == "won"},
        "scores": {"caught": None if gone else float(status == "won")}, "total": None if gone else float(status == "won"),
        "tokens": 10, "seconds": 0.5, "started": time.time(), **changes})


def recorded(store, episodes, asked=None, ended=True):
    run = store.create(asked or spec())
    writer = run.writer()
    for step in sorted({one.step for one in episodes}):
        writer.record([one for one in episodes if one.step == step])
    if ended:
        writer.finish(Result(status="finished", step=1, ended=time.time()))
    writer.close()
    return run


# -------------------------------------------------------------------------------------------------------- settings


def test_only_settings_that_differ_are_named():
    told = differing([spec(name="a", seed=1), spec(name="b", seed=2)])
    assert [(setting.path, setting.values) for setting in told] == [("seed", (1, 2))]


def test_terms_and_environments_are_matched_by_name_and_not_by_place():
    win, near = {"name": "win", "value": "1.0 if won else 0.0"}, {"name": "near", "value": "nearness"}
    assert not differing([spec(rewards=[win, near]), spec(rewards=[near, win])])
    told = differing([spec(rewards=[win]), spec(rewards=[near, {**win, "weight": 2}])])
    assert {setting.path: setting.values for setting in told}["rewards.win.weight"] == (1.0, 2.0)


def test_what_a_run_does_not_have_is_not_set():
    told = {setting.path: setting.values for setting in settings([spec(), spec(warm_up={"games": 5})])}
    assert told["warm_up.games"] == (None, 5)
    other = spec(environments=[{"id": "catch", "use": "catch"}, {"id": "w", "use": "wordle", "options": {"a": {"b": 1}}}])
    told = {setting.path: setting.values for setting in settings([spec(), other])}
    assert told["environments.w.use"] == (None, "wordle") and told["environments.w.options.a.b"] == (None, 1)


def test_what_some_runs_lack_is_one_difference_and_its_settings_are_held_only_against_those_that_have_it():
    words = {"id": "w", "use": "wordle", "tasks": {"count": 600}, "options": {"hard": True}}
    near = {"name": "near", "value": "nearness", "weight": 0.5}
    one, other = spec(), spec(environments=[words], rewards=[near], warm_up={"games": 5})
    told = {setting.path: setting for setting in differing([one, other])}
    assert {path: setting.values for path, setting in told.items()} == {
        "environments.catch": ("catch", None), "environments.w": (None, "wordle · Tasks 600 · Options {\"hard\": true}"),
        "rewards.caught": ("1.0 if won else 0.0", None), "rewards.near": (None, "nearness · Weight 0.5"),
        "warm_up": (None, "Games 5")}
    assert told["environments.w"].title == "Environment w" and all(setting.whole for setting in told.values())
    listed = [setting.path for setting in settings([one, other])]
    assert listed.index("warm_up") < listed.index("warm_up.games"), "what is lacking stands before its settings"
    third = spec(environments=[words | {"max_turns": 3}], rewards=[near], warm_up={"games": 5})
    told = {setting.path: setting for setting in differing([one, other, third])}
    assert told["environments.w.max_turns"].values == (None, None, 3)
    assert told["environments.w.max_turns"].there == (False, True, True) and "environments.w.use" not in told


def test_a_setting_carries_the_title_of_its_field():
    told = {setting.path: setting.title for setting in settings([spec(warm_up={})])}
    assert told["train.learning_rate"] == "Learning rate" and told["warm_up.learning_rate"] == "Warm-up · Learning rate"
    assert told["rewards.caught.weight"] == "caught · Weight"


def test_a_whole_number_and_the_same_number_with_a_point_are_one_value_and_true_is_not_1():
    options = [{"a": 1}, {"a": 1.0}, {"a": True}]
    specs = [spec(environments=[{"id": "catch", "use": "catch", "options": one}]) for one in options]
    assert not differing(specs[:2])
    assert len(differing(specs)) == 1


# ----------------------------------------------------------------------------------------------------------- lines


def test_a_mean_says_of_how_many_runs_it_is_and_leaves_gaps():
    told = together([((1, 2, 3), (1.0, None, None)), ((1, 2, 4), (3.0, 5.0, None))])
    assert told.steps == [1, 2, 3, 4]
    assert told.mean == (2.0, 5.0, None, None)
    assert (told.low[0], told.high[0]) == (1.0, 3.0)
    assert told.runs == (2, 1, 0, 0)


def test_a_difference_is_there_where_both_have_a_value():
    assert difference(((1, 2, 3), (1.0, None, 2.0)), ((1, 2, 4), (1.5, 3.0, 1.0))) == (
        [1, 2, 3, 4], [0.5, None, None, None])


def test_nothing_together_is_nothing():
    assert together([]).steps == () and difference(((), ()), ((), ())) == ((), [])


# --------------------------------------------------------------------------------------------------------- outcome


def test_an_outcome_counts_unscored_episodes_only_as_unscored(store):
    run = recorded(store, [episode(1, 0), episode(1, 1, "lost"), episode(1, 2), episode(1, 3, "env_error")])
    told = outcome(run)
    assert (told.episodes, told.last) == (4, 1)
    assert told.win_last == pytest.approx(2 / 3) and told.total_last == pytest.approx(2 / 3)
    assert told.unscored == 0.25 and told.signal == 1.0 and told.tokens == 30


def test_the_best_stretch_is_of_as_many_steps_and_says_where_it_ends(store):
    steps = range(1, 2 * LAST + 1)
    told = outcome(recorded(store, [episode(step, 0, "won" if step <= LAST else "lost") for step in steps]))
    assert (told.win_last, told.win_best, told.best_at) == (0.0, 1.0, LAST)


def test_a_run_without_episodes_has_no_numbers(store):
    told = outcome(store.create(spec()))
    assert (told.status, told.episodes, told.win_last, told.total_last, told.unscored, told.pace) == (
        "queued", 0, None, None, None, None)


def test_an_environment_without_winning_has_no_win_share(store):
    told = outcome(recorded(store, [episode(1, k, "finished") for k in range(4)]))
    assert told.win_last is None and told.win_best is None and told.total_last == 0.0


def test_a_step_in_which_nothing_was_scored_is_no_zero(store):
    told = outcome(recorded(store, [episode(1, 0, "env_lost")]))
    assert told.total_last is None and told.win_last is None and told.unscored == 1.0


# ----------------------------------------------------------------------------------------------------------- tasks


def both(store, first, second):
    one, other = recorded(store, first), recorded(store, second)
    [shared] = shared_environments(one.spec, other.spec)
    return duel(one, other, shared)


def test_tasks_are_counted_for_both_and_the_largest_difference_is_first(store):
    told = both(store, [episode(1, 0, seed=1), episode(1, 1, "lost", seed=1), episode(1, 0, "lost", seed=2)],
                [episode(1, 0, seed=1), episode(1, 0, seed=2), episode(1, 0, seed=3)])
    assert [(task.seed, task.won, task.played) for task in told.tasks] == [(2, (0, 1), (1, 1)), (1, (1, 1), (2, 1))]
    assert (told.only_first, told.only_second, told.torn) == (0, 1, 0)
    assert (told.sign.first, told.sign.second, told.sign.even) == (0, 2, 0)


def test_episodes_that_were_not_scored_played_no_task(store):
    told = both(store, [episode(1, 0, "env_error", seed=1)], [episode(1, 0, seed=1)])
    assert not told.tasks and told.only_second == 1


def test_of_a_step_played_again_only_the_last_attempt_counts(store):
    run = recorded(store, [episode(1, 0, "lost", seed=1), episode(1, 0, seed=1, attempt=2, id="again")])
    [shared] = shared_environments(run.spec, run.spec)
    [task] = duel(run, run, shared).tasks
    assert (task.won, task.played) == ((1, 1), (1, 1))


def test_a_seed_under_which_the_environment_showed_other_things_is_left_out(store):
    told = both(store, [episode(1, 0, seed=1, fingerprint="~a"), episode(1, 0, seed=2, fingerprint="~c")],
                [episode(1, 0, seed=1, fingerprint="~b"), episode(1, 0, seed=2, fingerprint="~c")])
    assert [task.seed for task in told.tasks] == [2] and told.torn == 1


def test_what_the_environment_calls_a_task_is_surer_than_its_seed(store):
    told = both(store, [episode(1, 0, seed=1, fingerprint="word-a")],
                [episode(1, 0, seed=1, fingerprint="word-b"), episode(1, 1, seed=5, fingerprint="word-a")])
    [task] = told.tasks
    assert task.fingerprint == "word-a" and task.played == (1, 1) and told.only_second == 1


def test_an_environment_without_winning_is_said_to_be_so(store):
    told = both(store, [episode(1, 0, "finished")], [episode(1, 0, "finished")])
    assert told.tasks and not told.decided


def test_the_second_half_leaves_out_the_first(store):
    run = recorded(store, [episode(step, 0, "lost" if step <= 5 else "won") for step in range(1, 11)])
    [shared] = shared_environments(run.spec, run.spec)
    [task] = duel(run, run, shared, late=True).tasks
    assert (task.won, task.played) == ((5, 5), (5, 5))


def test_environments_are_shared_where_they_are_used_whatever_they_are_called():
    first = spec(environments=[{"id": "a", "use": "catch", "max_turns": 5}], rewards=[])
    [shared] = shared_environments(first, spec())
    assert (shared.first.id, shared.second.id) == ("a", "catch") and shared.differs == ["max_turns"]
    assert SharedEnvironment(spec().environments[0], spec().environments[0]).differs == []


def test_a_task_that_both_won_as_often_decides_nothing():
    even = Task(1, None, None, (2, 4), (1, 2))
    assert signs_of([even]).even == 1 and signs_of([even]).p is None


# ------------------------------------------------------------------------------------------------------ in a terminal


def test_runs_are_compared_in_a_terminal(store, capsys):
    recorded(store, [episode(1, 0)], spec(name="one", seed=1))
    recorded(store, [episode(1, 0, "env_error")], spec(name="two", seed=2))
    assert main(["compare", "one", "two", "--runs", str(store.folder)]) == 0
    told = capsys.readouterr().out
    assert "seed" in told and "last 20 recorded steps" in told
    assert main(["compare", "one", "two", "one", "--json", "--runs", str(store.folder)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [one["total_last"] for one in told["outcomes"]] == [1.0, None]
    assert [setting["path"] for setting in told["settings"]] == ["seed"]
    assert main(["compare", "one", "nosuch", "--runs", str(store.folder)]) == 2
    assert capsys.readouterr().err.startswith("no run in ")
