"""Watch: what a browser is told, and that it is told only what is new."""

import contextlib
import html
import json
import re
import sqlite3
import time

import pytest

from backend.launcher import Launcher
from backend.records import EnvironmentSpec, Episode, Fault, Result, RunSpec, Turn
from backend.store import sums
from backend.store.printed import printed
from ui import console, shell, watch, watch_parts
from ui.episodes import Asked as Wanted
from ui.lines import View
from ui.watch import Asked, Cursor, answer, step_of

SPEC = RunSpec(
    name="first",
    model="starter:catch",
    environments=[{"id": "catch", "use": "catch"}],
    rewards=[{"name": "caught", "value": "1.0 if won else 0.0"}, {"name": "near", "value": "nearness", "weight": 0.5}],
    train={"steps": 50, "group_size": 4, "episodes_per_step": 8},
)
NASTY = "<img src=x onerror=alert(1)>"


def episode(step, group, sample, status="won", **changes):
    scored = not status.startswith("env")
    near = None if step == 3 else 0.5
    scores = {"caught": float(status == "won"), "near": near} if scored else {"caught": None, "near": None}
    total = sum(v for v in scores.values() if v is not None) if scored else None
    return Episode(
        **{
            "id": f"{step}-{group}-{sample}",
            "step": step,
            "group": group,
            "sample": sample,
            "environment": "catch",
            "seed": group,
            "task": f"seed {group}",
            "fingerprint": f"f{group}",
            "status": status,
            "scores": scores,
            "total": total,
            "advantage": None if total is None else 0.1,
            "tokens": 54,
            "seconds": 0.5,
            "started": time.time(),
            "facts": {"won": status == "won"},
            **changes,
        }
    )


def play(writer, *steps):
    for step in steps:
        writer.record([episode(step, g, s, "won" if (s + step) % 3 else "lost") for g in range(2) for s in range(4)])
        writer.metrics(step, {"entropy": 1.0 / step, "kl": None if step == 2 else 0.01, "step_time": 2.0})


@pytest.fixture
def run(store):
    return store.create(SPEC)


def first(run="latest", **changes):
    return Asked(run=run, charts={"learning": None, "play": None, "terms": None}, **changes)


def then(told, **changes):
    """What the browser asks after it was told that."""
    cursors = {name: Cursor(bucket=p["bucket"], step=p["step"]) for name, p in told["points"].items()}
    parts = {name: mark for name, (mark, _) in told["parts"].items()} | {"charts": told["charts"]["mark"]}
    return Asked(
        **{
            "run": told["run"],
            "version": told["version"],
            "parts": parts,
            "newest": told.get("newest", 0),
            "charts": cursors,
            **changes,
        }
    )


def shown(told, part):
    return told["parts"][part][1]


def test_a_page_opened_in_mid_run_gets_everything_at_once(store, run, writer):
    writer.phase("playing step 4")
    play(writer, 1, 2, 3)
    told = answer(store, first())
    assert (
        told["run"] == run.id
        and told["status"] == "running"
        and told["live"]
        and (told["step"], told["steps"]) == (3, 50)
    )
    assert "first" in shown(told, "head") and "Stop after this step" in shown(told, "head")
    assert "playing step 4" in shown(told, "progress") and "of 50" in shown(told, "progress")
    assert "groups with signal" in shown(told, "health")
    assert len(told["cards"]) == watch.CARDS and "3-1-3" in told["cards"][0]
    assert told["points"]["learning"]["lines"]["curve:total"]["x"] == [1, 2, 3]
    json.dumps(told, allow_nan=False)


def test_while_nothing_changes_a_tick_is_a_few_bytes(store, writer):
    play(writer, 1, 2)
    told = answer(store, first())
    idle = answer(store, then(told))
    assert idle == {"version": told["version"]}
    assert len(json.dumps(idle)) < 500 and len(then(told).model_dump_json()) < 2000


def test_a_new_step_sends_only_its_own_points_and_episodes(store, writer):
    play(writer, *range(1, 21))
    told = answer(store, first())
    play(writer, 21)
    more = answer(store, then(told))
    assert more["points"]["learning"]["from"] == 20 and not more["points"]["learning"]["whole"]
    assert more["points"]["learning"]["lines"]["curve:total"]["x"] == [20, 21]
    assert len(more["cards"]) == 8 and all("21-" in card for card in more["cards"])
    assert "charts" not in more and "head" not in more["parts"] and "progress" in more["parts"]
    assert len(json.dumps(more["points"])) < 2500


def test_the_health_strip_shows_four_alarms_folds_the_rest_and_leads_to_their_episodes(store, run, writer):
    letters = [["env_error"] * 4, *[["lost"] * 4] * 4, *[["truncated"] * 4] * 4, ["won", "invalid", "invalid", "invalid"]]
    ends = {"truncated": {"truncated": True}}
    writer.record([
        episode(1, g, s, status, facts=ends.get(status, {}), scores={"caught": float(status == "won"), "near": 0.0},
                total=None if status == "env_error" else float(status == "won"),
                fingerprint=f"{g}.{s}" if g == 9 else f"{g}", turns=(Turn(index=0, said="no"),))
        for g, statuses in enumerate(letters) for s, status in enumerate(statuses)])
    strip = shown(answer(store, first()), "health")
    seen, folded = strip.split('<details class="o-health-more">')
    assert seen.count("<li") == 4 and folded.count("<li") == 1 and "<summary>1 more</summary>" in folded
    assert seen.index("mixed several tasks") < seen.index("4 of 10 groups lost every episode")
    [address] = re.findall(r'href="(/episode[^"]*all\+lost[^"]*)"', strip)
    asked = Wanted.read(html.unescape(address).partition("?")[2])
    assert asked.run == run.id and {row.group for row in run.episodes(**asked.filters())} == {1, 2, 3, 4}


def test_of_a_step_that_arrives_at_once_every_group_is_seen(store, writer):
    writer.record([episode(1, g, s) for g in range(4) for s in range(16)])
    told = answer(store, first())
    assert len(told["cards"]) <= watch.CARDS and told["newest"] == 64
    assert {group for group in range(4) for card in told["cards"] if f"id=1-{group}-" in card} == {0, 1, 2, 3}


def test_a_step_in_which_nothing_was_scored_is_a_gap_and_not_zero(store, writer):
    play(writer, 1)
    told = answer(store, first())
    writer.record(
        [
            episode(2, g, s, "env_error", fault=Fault(where="environment", kind="EnvironmentFailed", message="full"))
            for g in range(2)
            for s in range(4)
        ]
    )
    more = answer(store, then(told))
    lines = more["points"]["learning"]["lines"]
    assert lines["curve:total"]["y"][-1] is None and lines["curve:caught"]["y"][-1] is None
    assert more["points"]["play"]["lines"]["share:won"]["y"][-1] is None
    assert more["points"]["play"]["lines"]["cause:unscored"]["y"][-1] == 1
    assert "EnvironmentFailed: full" in shown(more, "health")


def test_a_term_that_did_not_apply_is_a_gap_in_its_own_curve_only(store, writer):
    play(writer, 1, 2, 3, 4)
    lines = answer(store, first())["points"]["learning"]["lines"]
    assert lines["curve:near"]["y"] == [0.5, 0.5, None, 0.5] and None not in lines["curve:caught"]["y"]
    assert lines["curve:total"]["low"][0] <= lines["curve:total"]["y"][0] <= lines["curve:total"]["high"][0]


def test_a_metric_that_appears_later_brings_its_chart_with_all_its_points(store, writer):
    play(writer, 1)
    asked = first(**{"parts": {}})
    told = answer(store, asked)
    writer.metrics(1, {"grad_norm": 0.3})
    play(writer, 2)
    more = answer(store, then(told, charts={**then(told).charts, "optimiser": Cursor(bucket=1, step=1)}))
    assert "gradient" in [chart["id"] for chart in more["charts"]["shown"]]
    assert more["points"]["optimiser"]["whole"] and more["points"]["optimiser"]["lines"]["metric:entropy"]["x"] == [
        1,
        2,
    ]


def test_a_tab_opened_later_gets_its_curves_although_nothing_changed(store, writer):
    play(writer, 1, 2)
    told = answer(store, first())
    more = answer(store, then(told, charts={"optimiser": None}))
    assert more["points"]["optimiser"]["lines"]["metric:kl"] == {"x": [1, 2], "y": [0.01, None]}


def test_a_long_run_is_thinned_and_a_wider_bucket_sends_the_curves_again(store, writer):
    for step in range(1, 1200):
        writer.metrics(step, {"entropy": float(step % 7)})
    writer.record([episode(1199, 0, 0)])
    told = answer(store, Asked(run="latest", charts={"optimiser": Cursor(bucket=1, step=999)}))
    points = told["points"]["optimiser"]
    assert points["whole"] and points["bucket"] > 1
    assert len(points["lines"]["metric:entropy"]["x"]) <= 1002


def test_before_the_first_episode_the_page_says_what_is_happening_and_how_long_it_takes(store, run):
    waiting = shown(answer(store, first()), "waiting")
    assert "Waiting to start" in waiting
    writer = run.writer()
    with writer.hold_lock():
        for phase, title in (
            ("loading the model", "Loading the model"),
            ("warming up", "Warming up"),
            ("playing step 1", "The first episodes are being played"),
        ):
            writer.phase(phase)
            assert title in shown(answer(store, first()), "waiting")
        writer.record([episode(1, 0, 0)])
        assert shown(answer(store, first()), "waiting") == ""
    writer.close()


def test_a_failed_run_shows_its_cause_its_remedy_and_its_last_words(store, run, writer):
    play(writer, 1)
    (run.path / "trainer.log").write_text(f"loading\n{NASTY}\nTraceback: it broke\n", "utf-8")
    writer.finish(Result(status="failed", reason=f"CUDA out of memory {NASTY}", step=1, ended=time.time()))
    told = answer(store, first())
    alert = shown(told, "alert")
    assert "failed after step 1" in alert and "CUDA out of memory" in alert and "Lower micro_batch" in alert
    assert "Traceback: it broke" in alert and "<img" not in alert
    assert "Launch again" in shown(told, "head") and "Stop" not in shown(told, "head")


def test_a_killed_run_says_that_it_was_lost(store, run):
    writer = run.writer()
    with writer.hold_lock():
        play(writer, 1, 2)
    writer.close()
    told = answer(store, first())
    assert told["status"] == "lost" and not told["live"]
    assert "lost after step 2" in shown(told, "alert")


def test_stopping_is_said_at_once_and_what_can_be_done_then(store, run, writer):
    play(writer, 1)
    told = answer(store, first())
    Launcher(store).stop(run.id)
    more = answer(store, then(told))
    assert more["status"] == "stopping" and "Stopping after this step" in shown(more, "head")
    assert 'data-call="end"' in shown(more, "head")


def test_a_read_only_page_offers_no_stop(store, run, writer):
    play(writer, 1)
    head = shown(answer(store, first(), may_stop=False), "head")
    assert "Stop" not in head and "Replay episodes" in head


def test_an_unknown_run_and_an_empty_folder_are_said_without_naming_the_disk(store, tmp_path):
    nothing = answer(store, first(""))
    assert "There is no run yet" in nothing["gone"]
    store.create(SPEC)
    gone = answer(store, first(NASTY))["gone"]
    assert "There is no such run" in gone and str(tmp_path) not in gone and "<img" not in gone


@pytest.mark.parametrize("asked", [{"run": "x" * 3000}, {"run": None}, {"view": {"x": "<b>"}},
                                   {"lane": {"follow": {"id": "x" * 900}}}])
def test_an_address_of_a_run_that_somebody_changed_is_one_sentence(store, run, asked):
    told = watch.looked(store, asked, may_stop=True)
    assert told["version"] == "none" and "can't be read" in html.unescape(told["gone"])


def test_a_run_whose_spec_or_file_is_spoilt_says_so(store, run, writer):
    play(writer, 1)
    writer.close()
    (run.path / "run.db").write_bytes(b"not a database at all" * 100)
    assert "run.db can&#x27;t be read" in answer(store, first())["gone"]
    (run.path / "spec.yaml").write_text("name: [")
    assert "spec.yaml can&#x27;t be read" in answer(store, first())["gone"]


def test_a_run_from_elsewhere_can_put_no_markup_into_the_page(store, run, writer):
    play(writer, 1)
    writer.close()
    with contextlib.closing(sqlite3.connect(run.path / "run.db", isolation_level=None)) as file:
        file.execute("UPDATE episodes SET status = ?, environment = ?, task = ?, stop = ?",
                     (NASTY, NASTY, json.dumps(NASTY), NASTY))
    drawn = step_of(run, 1)
    assert "<img" not in drawn and "&lt;img" in drawn


def test_what_a_model_or_an_environment_wrote_is_text(store, writer):
    writer.phase(f"playing {NASTY}")
    writer.record(
        [
            episode(
                1,
                0,
                s,
                "env_lost" if s else "won",
                task=NASTY,
                stop=f'"{NASTY}',
                environment="catch",
                fault=Fault(where="environment", kind="SessionLost", message=NASTY) if s else None,
            )
            for s in range(4)
        ]
    )
    told = answer(store, first())
    everything = json.dumps(told) + step_of(store.run("latest"), 1)
    assert "<img" not in everything and "&lt;img" in everything


def test_an_episode_whose_id_no_address_can_hold_as_it_is_hides_no_other(store, run, writer):
    play(writer, 1)
    writer.record([episode(1, 0, 9, id="half \ud800", task="half \ud800")])
    assert len(answer(store, first())["cards"]) > 1 and "half+%EE%83%BFd800" in step_of(run, 1)


def test_the_episodes_of_a_step_stand_in_groups_the_best_first(store, run, writer):
    play(writer, 1, 2, 3)
    writer.record([episode(2, 1, 0, "env_lost")])
    html = step_of(run, 2)
    assert html.index("Group 0") < html.index("Group 1")
    second = html[html.index("Group 1") :]
    assert second.index("o-won") < second.index("o-lost") < second.index("o-env_lost")
    assert 'data-step="1"' in html and 'data-step="3"' in html and f"run={run.id}&amp;step=2" in html
    assert "No episodes were recorded at this step" in step_of(run, 17)


def test_the_spec_is_shown_whole_and_can_be_launched_again(run):
    html = watch_parts.spec_panel(run.id, run.spec_text + f"# {NASTY}\n")
    assert "1.0 if won else 0.0" in html and f"/launch?from={run.id}" in html and "<img" not in html


def test_a_large_step_is_shown_by_pages_of_whole_groups_and_counted_whole(store, run, writer):
    writer.record([episode(1, g, s) for g in range(100) for s in range(12)])
    first_page, last_page = step_of(run, 1), step_of(run, 1, 84)
    assert "1,200 episodes" in first_page and "groups 1 to 42 of 100" in first_page and "Group 42<" not in first_page
    assert "groups 85 to 100 of 100" in last_page and "Group 99<" in last_page and last_page.count("o-watch-pill o-") == 192
    assert "groups 1 to 42 of 100" in step_of(run, 1, -7) and "groups 1 to 42 of 100" in step_of(run, 1, 4000)
    assert "Groups after" not in step_of(run, 2)


# ------------------------------------------------------------------------------------------------ how curves are drawn


def drawn(store, section="learning", **view):
    return answer(store, Asked(run="latest", charts={section: None}, view=View(**view)))["points"][section]["lines"]


def test_the_x_axis_can_be_episodes_tokens_or_time(store, writer):
    play(writer, 1, 2, 3)
    assert "at" not in drawn(store)["curve:total"]
    assert drawn(store, x="episodes")["curve:total"]["at"] == [8, 16, 24]
    assert drawn(store, x="tokens")["curve:total"]["at"] == [8 * 54, 16 * 54, 24 * 54]
    seconds = drawn(store, x="time")["curve:total"]["at"]
    assert seconds == sorted(seconds) and seconds[0] >= 0
    assert drawn(store, "optimiser", x="episodes")["metric:entropy"]["at"] == [8, 16, 24]


def test_on_another_axis_too_only_what_is_new_is_sent_and_goes_on_where_the_rest_ended(store, writer):
    play(writer, *range(1, 21))
    told = answer(store, first(view=View(x="tokens")))
    play(writer, 21)
    more = answer(store, then(told, view=View(x="tokens")))["points"]["learning"]
    assert not more["whole"] and more["lines"]["curve:total"]["at"] == [20 * 8 * 54, 21 * 8 * 54]


def test_an_axis_that_is_not_known_is_a_gap_and_says_why(store, writer):
    play(writer, 1)
    writer.record([episode(2, g, s, tokens=None) for g in range(2) for s in range(4)])
    told = answer(store, first(view=View(x="tokens")))
    assert told["points"]["learning"]["lines"]["curve:total"]["at"] == [8 * 54, None]
    assert "how many tokens" in told["unknown"]["tokens"]


def test_an_evaluation_lies_where_the_run_was_when_it_was_made(store, writer):
    writer.record([episode(0, 0, s, phase="eval", id=f"eval-0-0-{s}") for s in range(4)])
    play(writer, 1, 2)
    writer.record([episode(2, 0, s, phase="eval", id=f"eval-2-0-{s}") for s in range(4)])
    line = drawn(store, "play", x="episodes")["share:eval won"]
    assert (line["x"], line["at"]) == ([0, 2], [0, 16])


def test_a_smoothed_line_comes_with_the_line_as_it_was(store, writer):
    play(writer, 1, 2, 3, 4)
    plain, smooth = drawn(store)["curve:near"], drawn(store, smooth=0.5)["curve:near"]
    assert smooth["y"] == plain["y"] == [0.5, 0.5, None, 0.5] and smooth["smooth"] == [0.5, 0.5, None, 0.5]
    assert "smooth" not in plain


def test_what_is_measured_seldom_is_smoothed_the_same_when_it_comes_bit_by_bit_and_when_all_is_read(store, run, writer):
    def value(step):
        return step * 7919 % 1000 / 1000

    told = None
    for last in (1500, 3000):
        for step in range(max(1, last - 1499), last + 1):
            writer._connection.execute("INSERT INTO steps VALUES (?, 0)", (step,))
            if step % 50 == 0:
                writer.metrics(step, {"kl": value(step)})
                writer._connection.execute("INSERT INTO curves VALUES (?, 'total', '', ?, NULL, NULL, 1, 1)", (step, value(step)))
                writer._connection.execute(
                    "INSERT INTO tallies (phase, step, environment, episodes, judged, scored, total, groups, tool_calls, "
                    "failures, failed_calls, spreads) VALUES ('train', ?1, 'catch', 8, 8, 8, 1.0, 0, 1000, ?2, "
                    "json_object('unknown_tool', ?2), '{}')", (step, step * 7919 % 1000))
        sections = {"optimiser": None, "learning": None, "lengths": None}
        whole = answer(store, Asked(run=run.id, view=View(smooth=0.99), charts=sections))
        told = told or whole
    bucket = whole["points"]["learning"]["bucket"]
    some = {name: Cursor(bucket=bucket, step=2700) for name in sections}
    part = answer(store, Asked(run=run.id, view=View(smooth=0.99), charts=some, parts={"charts": whole["charts"]["mark"]}))
    for section, key in (("optimiser", "metric:kl"), ("learning", "curve:total"), ("lengths", "share:failed")):
        old, new = whole["points"][section]["lines"][key], part["points"][section]["lines"][key]
        assert not part["points"][section]["whole"] and 3 < len(new["x"]) < 10 < len(old["x"])
        assert new["smooth"] == old["smooth"][-len(new["smooth"]):], key


@pytest.mark.parametrize(("table", "column", "cell", "key"), [
    ("curves", "mean", "much", "curve:near"), ("curves", "step", "first", "curve:near"), ("curves", "low", b"x", "curve:near"),
    ("metrics", "value", "much", "metric:kl"), ("metrics", "step", "x", "metric:kl"), ("metrics", "value", b"", "metric:kl"),
    ("tallies", "won", "many", "share:won"), ("tallies", "total", "x", ""), ("tallies", "step", "x", "share:won"),
    ("tallies", "failed_calls", "{", "share:failed"), ("tallies", "spreads", "[]", ""), ("tallies", "failed_calls", "3", ""),
    ("steps", "at", "noon", "")])
@pytest.mark.parametrize("axis", ["step", "tokens"])
def test_a_cell_that_holds_no_number_is_one_sentence_and_the_other_charts_are_drawn(store, run, writer, table, column, cell,
                                                                                  key, axis):
    play(writer, 1, 2, 3)
    for step in (1, 2, 3):
        writer.metrics(step, {"kl": 0.5, "entropy": 1.0})
    writer.close()
    which = {"curves": "AND name = 'near'", "metrics": "AND name = 'kl'"}.get(table, "")
    with contextlib.closing(sqlite3.connect(run.path / "run.db")) as file, file:
        file.execute(f"UPDATE {table} SET {column} = ? WHERE step = 2 {which}", (cell,))
    sections = dict.fromkeys(("learning", "terms", "play", "lengths", "optimiser", "time"))
    told = answer(store, Asked(run=run.id, charts=sections, view=View(x=axis)))
    if "points" not in told:
        assert axis == "tokens" and table in ("tallies", "steps") and "put back a whole copy" in told["gone"]
        return
    lines = {name for points in told["points"].values() for name in points["lines"]}
    assert key not in lines and {"curve:total", "metric:entropy"} <= lines and len(lines) > 4
    if table != "steps":
        assert told["parts"]["alert"][1].count("put back a whole copy") in (1, 2) and "run.db" in told["parts"]["alert"][1]
    assert store.runs() and run.progress().steps


def test_an_environment_of_a_mix_is_watched_alone_or_beside_the_others(store):
    spec = SPEC.model_copy(update={"environments": (
        EnvironmentSpec(id="catch", use="catch"), EnvironmentSpec(id="words", use="wordle"))})
    run = store.create(spec)
    with run.writing() as writer:
        for step in (1, 2):
            writer.record([episode(step, 0, s, "won") for s in range(4)] + [
                episode(step, 1, s, "lost", environment="words") for s in range(4)])
        told = answer(store, first(view=View()))
        assert told["environments"] == ["catch", "words"]
        assert drawn(store, "play")["share:won"]["y"] == [0.5, 0.5]
        assert drawn(store, "play", environment="words")["share:won"]["y"] == [0.0, 0.0]
        assert drawn(store, environment="catch")["curve:caught"]["y"] == [1.0, 1.0]
        each = drawn(store, "play", environment="*")
        assert each["share:won@catch"]["y"] == [1.0, 1.0] and each["status:lost@words"]["y"] == [1.0, 1.0]
        assert drawn(store, environment="gone")["curve:total"]["y"] == drawn(store)["curve:total"]["y"]


def test_a_runs_older_than_its_sums_are_counted_by_environment_too(store):
    run = store.create(SPEC)
    with run.writing() as writer:
        play(writer, 1, 2)
    with contextlib.closing(sqlite3.connect(run.path / "run.db", isolation_level=None)) as file:
        file.execute("DROP TABLE tallies")
    assert drawn(store, "play", environment="")["share:won"] == drawn(store, "play", x="step")["share:won"]
    assert drawn(store, x="tokens")["curve:total"]["at"] == [8 * 54, 16 * 54]
    assert list(sums.steps(run.path, environment="catch")["won"]) == list(sums.steps(run.path)["won"])
    assert sums.steps(run.path, environment="else")["step"] == []


def test_the_parts_of_a_steps_time_add_up_to_the_whole(store, writer):
    play(writer, 1, 2)
    writer.metrics(1, {"seconds/opening": 0.1, "seconds/model": 1.0, "seconds/environment": 0.4, "seconds/scoring": 0.2})
    lines = drawn(store, "time")
    assert lines["time:model"]["y"] == [1.0, 0.0], "step 2 went over an earlier batch"
    assert lines["time:optimiser"]["y"] == pytest.approx([0.3, 2.0])


def test_the_health_strip_and_the_points_say_which_steps_they_are_about(store, writer):
    play(writer, 1, 2, 3)
    assert "over the last step<" in shown(answer(store, first()), "health")


# ------------------------------------------------------------------------------------------------------------- the log


def log(run):
    return (run.path / "trainer.log").open("ab", buffering=0)


def test_the_log_comes_in_pieces_that_fit_together(store, run):
    with log(run) as file:
        file.write(b"one\ntwo\nthr")
        text, place = printed(run.path)
        assert text == "one\ntwo\nthr" and place == 8
        file.write("ee\nzwölf".encode())
        text, place = printed(run.path, place)
        assert text == "three\nzwölf" and place == 14
        file.write("\xc3".encode("latin-1"))
        assert printed(run.path, place)[1] == 14


def test_a_progress_bar_is_one_line_and_is_read_again_from_its_last_state(run):
    with log(run) as file:
        file.write(b"start\n" + b"".join(b"\r%3d%%|###|" % n for n in range(60)))
        text, place = printed(run.path)
        assert console.lines(text) == ["start", " 59%|###|"]
        file.write(b"\r 60%|###|\ndone\n")
        assert console.lines(printed(run.path, place)[0]) == [" 60%|###|", "done", ""]


def test_a_large_log_starts_near_its_end_at_a_line(run):
    with log(run) as file:
        file.write(b"".join(b"line %06d\n" % n for n in range(50_000)))
    text, place = printed(run.path)
    assert len(text) < 70_000 and text.startswith("line ") and text.endswith("line 049999\n")
    assert place == (run.path / "trainer.log").stat().st_size


def test_a_log_that_was_cut_is_read_from_its_start_and_a_missing_one_is_empty(run):
    assert printed(run.path) == ("", 0)
    (run.path / "trainer.log").write_text("new\n", "utf-8")
    assert printed(run.path, 5000) == ("new\n", 4)


def test_the_log_is_sent_only_where_it_is_open_and_only_when_it_grew(store, run, writer):
    play(writer, 1)
    (run.path / "trainer.log").write_text("hello\n", "utf-8")
    told = answer(store, first(log=-1))
    assert told["log"] == {"lines": ["hello", ""], "next": 6}
    assert "log" not in answer(store, then(told, log=6)) and "log" not in answer(store, then(told))
    with log(run) as file:
        file.write(b"more\n")
    more = answer(store, then(told, log=6))
    assert more == {"version": told["version"], "log": {"lines": ["more", ""], "next": 11}}


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("\x1b[31mred\x1b[0m plain", '<span class="o-ansi-red">red</span> plain'),
        ("\x1b[1;33mbold yellow\x1b[m", '<span class="o-ansi-yellow">bold yellow</span>'),
        ("\x1b[2K\x1b[1Agone\x1b]0;title\x07", "gone"),
        ("abc\rX", "Xbc"),
        ("<b>&\x00\x07", "&lt;b&gt;&amp;"),
        ("a\r\nb", "a"),
        ("\x1b[31m<script>", '<span class="o-ansi-red">&lt;script&gt;</span>'),
    ],
)
def test_the_log_is_shown_as_a_terminal_would(text, html):
    assert console.lines(text)[0] == html


@pytest.mark.parametrize(("model", "use", "said"), [
    ("by-hand", "catch", "catch · played by hand and by scripts"), ("imported", "import:openai", "imported · catch")])
def test_episodes_that_nothing_was_trained_on_have_no_steps_and_no_curves(store, model, use, said):
    spec = SPEC.model_copy(update={"model": model, "environments": (EnvironmentSpec(id="catch", use=use),)})
    with store.create(spec).writing() as writer:
        writer.record([episode(0, 0, 0, phase="play")])
        writer.finish(Result(status="finished", ended=time.time()))
    told = answer(store, first())
    assert told["untrained"] and said in shown(told, "head") and not shown(told, "progress")
    assert "a step in groups" not in shown(told, "head") and "Launch again" not in shown(told, "head")
    assert ("/arena?" in shown(told, "head")) == (model == "by-hand")


@pytest.mark.parametrize(
    ("seconds", "words"), [(-1, "0 s"), (59.9, "59 s"), (200, "3 min 20 s"), (4320, "1 h 12 min"), (200_000, "2 d 7 h")]
)
def test_times_are_said_in_two_units(seconds, words):
    assert shell.duration(seconds) == words
