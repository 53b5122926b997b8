"""Compare: what a browser is told, and that it is told only what is new."""

import contextlib
import json
import sqlite3

import pytest

from tests.test_compare import BASE, episode, recorded, spec
from ui import compare, compare_curves
from ui.compare import Asked, AskedPoints, AskedTables, AskedTasks, answer, points_of, tables_of, tasks_of
from ui.compare_chosen import MOST, chosen

NASTY = "<img src=x onerror=alert(1)>"


def steps(*numbers, won=lambda step, sample: (step + sample) % 2):
    return [episode(step, sample, "won" if won(step, sample) else "lost") for step in numbers for sample in range(4)]


@pytest.fixture
def runs(store):
    """Two seeds of one learning rate, and a shorter run of another."""
    rate = {**BASE["train"], "learning_rate": 1e-4}
    return [recorded(store, steps(1, 2, 3), spec(name="a", seed=1)), recorded(store, steps(1, 2, 3), spec(name="a", seed=2)),
            recorded(store, steps(1, 2), spec(name="b", seed=1, train=rate))]


def ids(runs):
    return ",".join(run.id for run in runs)


def outcomes(run):
    return compare.Outcomes()(run)


def test_a_match_among_the_runs_says_why_it_has_no_curve(store, runs):
    players = [{"kind": "script", "name": "solver"}, {"kind": "script", "name": "random"}]
    match = recorded(store, [], spec(name="arena", model="", match={"players": players}))
    told = answer(store, Asked(runs=f"{runs[0].id},{match.id}"))["chosen"]
    first, second = told.split("</li>")[:2]
    assert "o-compare-line" in first and f'href="/run?id={runs[0].id}"' in first
    assert "a match: it has no curves" in second and "o-compare-line" not in second and f'href="/arena?id={match.id}"' in second


# ---------------------------------------------------------------------------------------------------------- asking


def test_an_unchanged_page_is_answered_with_its_mark_however_many_runs(store, runs):
    mark = answer(store, Asked(runs=ids(runs)))["mark"]
    assert answer(store, Asked(runs=ids(runs), mark=mark)) == {"mark": mark}


def test_twenty_runs_idle_under_two_kilobytes(store):
    many = [recorded(store, steps(1), spec(name=f"run-{k}")) for k in range(20)]
    asked = Asked(runs=ids(many))
    mark = answer(store, asked)["mark"]
    sent = json.dumps(asked.model_copy(update={"mark": mark, "shape": "0123456789"}).model_dump())
    assert len(sent) + len(json.dumps(answer(store, Asked(runs=ids(many), mark=mark)))) < 2000


def test_runs_of_one_name_are_told_apart_by_what_differs(store, runs):
    told = answer(store, Asked(runs=ids(runs)))
    assert [run["label"] for run in told["runs"]] == ["a · Seed 1", "a · Seed 2", "b"]


def test_runs_that_differ_in_nothing_are_called_by_their_ids(store):
    two = [recorded(store, steps(1), spec(name="a")) for _ in range(2)]
    assert [run["label"] for run in answer(store, Asked(runs=ids(two)))["runs"]] == [run.id for run in two]


def test_an_unknown_run_is_one_sentence_and_the_others_show(store, runs):
    told = answer(store, Asked(runs=f"{ids(runs)},nosuch"))
    assert len(told["runs"]) == 3 and told["missing"] == ["nosuch"]
    assert told["html"]["problems"].count("o-problem") == 1 and "nosuch" in told["html"]["problems"]


def test_a_run_that_cannot_be_read_is_named_with_the_reason(store, runs):
    (runs[0].path / "spec.yaml").write_text("name: [")
    (runs[1].path / "run.db").write_bytes(b"no database at all" * 100)
    told = answer(store, Asked(runs=ids(runs)))
    assert [run["label"] for run in told["runs"]] == ["b"]
    for run in runs[:2]:
        assert run.id in told["html"]["problems"]
    assert "spec.yaml" in told["html"]["problems"] and "run.db" in told["html"]["problems"]


def test_a_file_that_is_broken_further_on_hides_no_other_run(store, runs):
    file = runs[0].path / "run.db"
    whole = file.read_bytes()
    file.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    asked = Asked(runs=ids(runs))
    told = answer(store, asked)
    shown = [run["label"] for run in told["runs"]]
    assert "b" in shown and runs[0].id in told["html"]["problems"] + tables(store, runs)["outcome"]
    lines = points(store, runs)["lines"]
    assert lines[runs[2].id]["y"] == [0.5, 0.5]


def test_more_runs_than_can_be_told_apart_are_said_to_be_too_many(store, runs):
    group = chosen(store, ",".join([ids(runs), *(f"no{k}" for k in range(MOST))]))
    assert f"{MOST + 3} runs were asked for" in " ".join(group.missing.values())


def test_no_runs_at_all_is_no_error(store):
    told = answer(store, Asked())
    assert told["runs"] == [] and told["lines"] == []
    assert tables_of(store, AskedTables(), outcomes) == {"parts": {}}
    assert points_of(store, AskedPoints(key="curve:total"))["lines"] == {}


def test_a_prefix_and_the_id_it_stands_for_are_one_run(store, runs):
    assert len(answer(store, Asked(runs=f"{runs[2].id},b"))["runs"]) == 1


def test_curves_are_those_that_any_of_the_runs_has(store, runs):
    other = recorded(store, [], spec(rewards=[{"name": "odd", "value": "1.0"}]))
    writer = other.writer()
    writer.metrics(1, {"kl": 0.5, "strange": 1.0})
    writer.close()
    told = answer(store, Asked(runs=ids([*runs, other])))
    keys = [measure["key"] for measure in told["measures"]]
    assert {"curve:total", "curve:caught", "curve:odd", "share:won", "metric:kl", "metric:strange"} <= set(keys)
    assert told["usual"] == ["curve:total", "share:won", "curve:caught", "share:signal"]
    assert len(keys) == len(set(keys))


# ---------------------------------------------------------------------------------------------------------- points


def points(store, runs, key="curve:total", known=(), **changes):
    return points_of(store, AskedPoints(runs=ids(runs), key=key, known=list(known), **changes))


def test_each_run_has_a_line_of_its_own(store, runs):
    lines = points(store, runs)["lines"]
    assert list(lines) == [run.id for run in runs]
    assert lines[runs[2].id]["x"] == [1, 2] and lines[runs[0].id]["y"] == [0.5, 0.5, 0.5]


def test_only_what_is_new_is_sent_again(store, runs):
    first = points(store, runs)
    assert points(store, runs, known=first["known"])["lines"] == {}
    writer = runs[2].writer()
    writer.record(steps(3, won=lambda *_: True))
    writer.close()
    told = points(store, runs, known=first["known"])
    assert list(told["lines"]) == [runs[2].id]
    line = told["lines"][runs[2].id]
    assert line["from"] == 2 and line["x"] == [2, 3] and line["y"] == [0.5, 1.0]


def test_a_step_in_which_nothing_was_scored_is_a_gap(store):
    run = recorded(store, [*steps(1), episode(2, 0, "env_error"), *steps(3)])
    assert points(store, [run])["lines"][run.id]["y"] == [0.5, None, 0.5]
    assert points(store, [run], "share:won")["lines"][run.id]["y"] == [0.5, None, 0.5]


def test_a_curve_that_a_run_does_not_have_is_empty(store, runs):
    for key in ("curve:nosuch", "metric:nosuch", "share:nosuch", "nosuch"):
        assert points(store, runs, key)["lines"][runs[0].id]["x"] == []


def test_runs_of_one_value_become_one_mean_that_says_how_many(store, runs):
    told = points(store, runs, by="*")
    [line] = told["lines"].values()
    assert line["x"] == [1, 2, 3] and line["n"] == [3, 3, 2]
    drawn = answer(store, Asked(runs=ids(runs), by="train.learning_rate"))["lines"]
    assert [(line["label"], line["n"]) for line in drawn] == [("Learning rate 1e-06", 2), ("Learning rate 0.0001", 1)]
    assert [line["label"] for line in answer(store, Asked(runs=ids(runs), by="-seed"))["lines"]] == [
        "Learning rate 1e-06", "Learning rate 0.0001"]


def test_a_mean_is_told_anew_from_where_one_of_its_runs_went_on(store, runs):
    first = points(store, runs, by="*")
    writer = runs[2].writer()
    writer.record(steps(3, won=lambda *_: True))
    writer.close()
    [line] = points(store, runs, by="*", known=first["known"])["lines"].values()
    assert line["from"] == 2 and line["n"] == [3, 3]
    assert line["y"][1] == pytest.approx(2 / 3, abs=1e-5) and (line["low"][1], line["high"][1]) == (0.5, 1.0)


def test_a_difference_is_b_minus_a(store):
    a, b = recorded(store, steps(1, 2, 3, won=lambda *_: False)), recorded(store, steps(1, 2, won=lambda *_: True))
    [line] = points(store, [a, b], by="difference")["lines"].values()
    assert line["y"] == [1.0, 1.0, None]
    [line] = points(store, [a, b], by="difference", pair=f"{b.id},{a.id}")["lines"].values()
    assert line["y"] == [-1.0, -1.0, None]


def test_a_grouping_that_is_none_is_said_and_each_run_has_its_line(store, runs):
    told = answer(store, Asked(runs=ids(runs), by="train.steps"))
    assert "can&#x27;t be grouped by train.steps" in told["html"]["problems"] and len(told["lines"]) == 3
    assert told["by"] == ""


def test_lines_lie_over_episodes_tokens_and_time_too(store, runs):
    assert points(store, runs[:1], view={"x": "episodes"})["lines"][runs[0].id]["at"] == [4, 8, 12]
    assert points(store, runs[:1], view={"x": "tokens"})["lines"][runs[0].id]["at"] == [40, 80, 120]
    assert len(points(store, runs[:1], view={"x": "time"})["lines"][runs[0].id]["at"]) == 3


def test_smoothed_is_the_same_however_it_came(store):
    run = recorded(store, steps(1, 2, 3, won=lambda step, sample: step > 1))
    whole = points(store, [run], view={"smooth": 0.5})["lines"][run.id]["smooth"]
    assert whole == pytest.approx([0.0, 2 / 3, 6 / 7], abs=1e-5)
    [[bucket, _, _]] = points(store, [run])["known"]
    part = points(store, [run], known=[[bucket, 3, "older"]], view={"smooth": 0.5})["lines"][run.id]
    assert part["smooth"] == whole[2:]


def test_forty_lines_in_a_row_all_look_different():
    from ui.compare_parts import look_of

    assert len({tuple(look_of(place).values()) for place in range(MOST)}) == MOST


def test_long_lines_are_thinned_and_kept_for_the_next_visit(store, monkeypatch):
    run = store.create(spec())
    writer = run.writer()
    writer._connection.executemany("INSERT INTO curves VALUES (?, 'total', '', ?, NULL, NULL, 1, 1)",
                                   [(step, (step * 7919) % 1000 / 1000) for step in range(1, 5001)])
    writer._connection.execute("INSERT INTO steps VALUES (5000, 0)")
    writer.close()
    lately, asked = compare_curves.Lines(), AskedPoints(runs=run.id, key="curve:total")
    told = points_of(store, asked, lately)["lines"][run.id]
    assert 600 < len(told["x"]) <= 1100 and told["x"][-1] == 5000
    assert min(told["y"]) == 0.0 and max(told["y"]) == 0.999
    monkeypatch.setattr(compare_curves, "full", None)
    assert points_of(store, asked, lately)["lines"][run.id] == told


# ---------------------------------------------------------------------------------------------------------- tables


def tables(store, runs, **changes):
    return {name: html for name, (_, html) in
            tables_of(store, AskedTables(runs=ids(runs), **changes), compare.Outcomes())["parts"].items()}


@pytest.mark.parametrize(("table", "column"), [("curves", "mean"), ("curves", "step"), ("metrics", "value"), ("metrics", "step"),
                                               ("tallies", "won"), ("tallies", "total"), ("tallies", "step"), ("steps", "at")])
def test_a_cell_that_holds_no_number_is_one_sentence_beside_the_other_run(store, table, column):
    run, other = recorded(store, steps(1, 2, 3)), recorded(store, steps(1, 2, 3))
    with run.writing() as writer:
        writer.metrics(2, {"kl": 0.5})
    with contextlib.closing(sqlite3.connect(run.path / "run.db")) as file, file:
        file.execute(f"UPDATE {table} SET {column} = 'much' WHERE step = 2")
    assert answer(store, Asked(runs=ids([run, other])))["measures"]
    for key in ("curve:total", "metric:kl", "share:won"):
        told = points(store, [run, other], key)
        assert key == "metric:kl" or told["lines"][other.id]["x"] == [1, 2, 3]
        mine = {"curves": "curve:", "metrics": "metric:", "tallies": "share:"}.get(table, "none") if column != "total" else "none"
        assert ("put back a whole copy" in told.get("problem", "")) == key.startswith(mine), (key, told.get("problem"))
    told = tables(store, [run, other])["outcome"]
    assert ("put back a whole copy" in told) == (table == "tallies")


def test_tables_come_once(store, runs):
    asked = AskedTables(runs=ids(runs))
    told = tables_of(store, asked, compare.Outcomes())["parts"]
    marks = {name: mark for name, (mark, _) in told.items()}
    assert set(marks) == {"outcome", "settings"}
    assert tables_of(store, asked.model_copy(update={"parts": marks}), compare.Outcomes()) == {"parts": {}}


def test_only_settings_that_differ_are_shown_until_all_are_asked_for(store, runs):
    few, all_ = tables(store, runs)["settings"], tables(store, runs, all=True)["settings"]
    assert "train.learning_rate" in few and "train.group_size" not in few
    assert "train.group_size" in all_ and "differs" in all_


def test_the_best_is_marked_by_a_word(store):
    a, b = recorded(store, steps(1, won=lambda *_: True)), recorded(store, steps(1, won=lambda *_: False))
    html = tables(store, [a, b])["outcome"]
    row = html[html.index(f"/run?id={a.id}"):html.index(f"/run?id={b.id}")]
    assert row.count(">best</span>") == 3  # win share twice, and the mean total


def test_nothing_is_called_best_across_environments_or_rewards(store):
    a = recorded(store, steps(1, won=lambda *_: True))
    b = recorded(store, [], spec(environments=[{"id": "wordle", "use": "wordle"}], rewards=[]))
    c = recorded(store, steps(1, won=lambda *_: False), spec(rewards=[{"name": "odd", "value": "1.0"}]))
    assert ">best</span>" not in tables(store, [a, b])["outcome"]
    assert "different environments" in tables(store, [a, b])["outcome"]
    assert "rewarded differently" in tables(store, [a, c])["outcome"]


def test_what_is_not_known_is_no_zero(store):
    html = tables(store, [store.create(spec()), store.create(spec())])["outcome"]
    assert "not known" in html and "not scored" in html and ">0 %<" not in html


# ----------------------------------------------------------------------------------------------------------- tasks


def test_tasks_link_to_the_episodes_they_were_played_in(store, runs):
    html = tasks_of(store, AskedTasks(runs=ids(runs)))
    assert "1 task of catch was played by both" in html and "seed 0" in html
    assert "/episode?run=" in html and "fingerprint" in html
    assert "equally often" in html


def test_the_p_value_is_in_words(store):
    one = recorded(store, [episode(1, 0, "lost", seed=seed) for seed in range(12)])
    other = recorded(store, [episode(1, 0, "won", seed=seed) for seed in range(12)])
    html = tasks_of(store, AskedTasks(runs=ids([one, other])))
    assert "hardly chance (p = 0.0005)" in html and "B won more often in 12, A in 0" in html
    few = [recorded(store, [episode(1, 0, status, seed=1)]) for status in ("won", "lost")]
    assert "could be chance (p = 1.00)" in tasks_of(store, AskedTasks(runs=ids(few)))


def test_no_tasks_without_a_second_run_or_a_shared_environment(store, runs):
    assert "Add a second run" in tasks_of(store, AskedTasks(runs=runs[0].id))
    other = recorded(store, [], spec(environments=[{"id": "wordle", "use": "wordle"}], rewards=[]))
    assert "no tasks in common" in tasks_of(store, AskedTasks(runs=ids([runs[0], other])))


def test_an_address_that_somebody_changed_is_one_sentence():
    def asked(question):
        return AskedTasks.model_validate(question)

    assert "The address can&#x27;t be read: which: " in compare._refusing(asked)({"runs": "a", "which": "odd"})["problem"]


def test_what_people_and_environments_wrote_is_text(store):
    hostile = spec(model=NASTY, environments=[{"id": "catch", "use": "catch", "prompt": NASTY * 5, "options": {NASTY: NASTY}}])
    odd = {"group": 0, "seed": None, "task": NASTY, "fingerprint": None}
    runs = [recorded(store, [episode(1, 0, **odd)], hostile), recorded(store, [episode(1, 0, **odd)])]
    told = answer(store, Asked(runs=f"{ids(runs)},{NASTY}", by="model"))
    html = [*told["html"].values(), told["chosen"], *tables(store, runs, all=True).values(),
            tasks_of(store, AskedTasks(runs=ids(runs)))]
    assert not any("<img" in part for part in html)
    assert any("&lt;img" in part for part in html)
