"""Which curves a run has, and the points a browser is sent."""

import math
import random

import pytest

from backend.store import counting
from ui import charts
from ui.charts import LIMIT, Point, width
from ui.points import memory, smoothed


def wave(steps, gaps=()):
    rng = random.Random(0)
    return [Point(step, None if step in gaps else math.sin(step / 50) + rng.random()) for step in range(1, steps + 1)]


def thinned(points, bucket):
    return charts.line([p.step for p in points], [p.value for p in points], bucket)


def columns_of(step, **told):
    """Steps as the store counts them; what isn't said is 0."""
    names = ("episodes", "judged", "groups", *counting.STATUSES, *map(counting.column, counting.CAUSES))
    return {**{name: [0] * len(step) for name in names}, "step": list(step), **told}


def test_a_short_line_is_sent_whole():
    assert width(LIMIT) == 1 and thinned(wave(LIMIT), 1) == wave(LIMIT)


@pytest.mark.parametrize("steps", [1001, 3000, 10_000, 100_000])
def test_a_long_line_is_about_a_thousand_points_with_its_peaks(steps):
    line = wave(steps)
    kept = thinned(line, width(steps))
    assert len(kept) <= LIMIT + 2
    assert set(kept) <= set(line), "points are chosen, not made up"
    assert max(p.value for p in kept) == max(p.value for p in line)
    assert min(p.value for p in kept) == min(p.value for p in line)
    assert kept[-1] == line[-1]
    assert [p.step for p in kept] == sorted({p.step for p in kept})


def test_gaps_stay_gaps():
    kept = thinned(wave(4000, gaps={1234, *range(2000, 2400)}), width(4000))
    assert any(p.step == 1234 and p.value is None for p in kept)
    assert all(p.value is None for p in kept if 2000 <= p.step < 2400)
    assert any(2000 <= p.step < 2400 for p in kept)


def test_the_points_are_the_same_each_time_and_new_steps_change_only_the_end():
    before, after = wave(3000), wave(3003)
    bucket = width(3003)
    assert bucket == width(3000)
    kept, more = thinned(before, bucket), thinned(after, bucket)
    start = 3000 // bucket * bucket
    assert [p for p in kept if p.step < start] == [p for p in more if p.step < start]
    tail = thinned([p for p in after if p.step >= start], bucket)
    assert tail == [p for p in more if p.step >= start], "what is sent later is what would have been sent at once"


def test_shares_that_are_stacked_keep_the_same_steps():
    n = range(1, 5001)
    steps = columns_of(n, won=[step % 97 for step in n], lost=[97 - step % 97 for step in n], episodes=[97] * 5000)
    points = charts.points_of(steps, ["status:won", "status:lost"], width(5000))
    assert [p.step for p in points["status:won"]] == [p.step for p in points["status:lost"]]
    assert len(points["status:won"]) <= LIMIT + 2
    assert all(a.value + b.value == 1 for a, b in zip(points["status:won"], points["status:lost"], strict=True))


def test_columns_keep_none_and_say_nothing_of_what_is_not_finite():
    told = charts.columns([Point(1, 0.123456789), Point(2, None), Point(3, float("nan")), Point(4, 0.0)])
    assert told == {"x": [1, 2, 3, 4], "y": [0.123457, None, None, 0.0]}
    assert charts.columns([Point(1, 1.0, 0.5, 1.5), Point(2, None)])["low"] == [0.5, None]


def test_a_run_has_a_curve_for_each_term_in_the_order_of_the_spec():
    shown = charts.charts(["win", "partial"], [])
    assert [series.label for series in shown[0].series] == ["total", "win", "partial"]
    assert [chart.title for chart in shown if chart.section == "terms"] == ["win", "partial"]


def test_charts_without_points_are_left_out_and_unknown_metrics_have_a_place():
    shown = charts.charts([], ["metric:entropy", "metric:sampling/odd", "metric:rewards/win/mean", "metric:epoch"])
    assert [chart.id for chart in shown] == ["rewards", "entropy", "metric:sampling/odd"]
    assert shown[-1].section == "other"


def test_every_chart_has_its_own_name_and_a_colour_that_is_a_token():
    from ui import shell
    from ui.watch import CSS

    ids = [chart.id for chart in charts.CHARTS]
    assert len(ids) == len(set(ids))
    css = "".join(path.read_text("utf-8") for path in (*CSS, shell.HERE / "style.css"))
    for chart in charts.charts([f"t{n}" for n in range(9)], [s.key for c in charts.CHARTS for s in c.series]):
        for series in chart.series:
            assert css.count(f"--o-{series.colour}:") == 2, f"{series.colour} in light and dark"


def test_shares_by_step_leave_nothing_out_and_count_only_the_judged_as_won_or_not():
    steps = columns_of([1, 2], episodes=[8, 8], judged=[6, 0], won=[3, 0], lost=[3, 0], env_lost=[2, 8], groups=[1, 1],
                       groups_signal=[1, 0], groups_unscored=[0, 1])
    keys = ["share:won", *(series.key for chart in charts.CHARTS if chart.kind == "shares" for series in chart.series)]
    points = charts.points_of(steps, keys)
    assert points["share:won"] == [Point(1, 0.5), Point(2, None)]
    assert points["status:env_lost"] == [Point(1, 0.25), Point(2, 1.0)]
    for prefix in ("status:", "cause:"):
        assert sum(points[key][0].value for key in points if key.startswith(prefix)) == 1
    assert points["cause:signal"] == [Point(1, 1.0), Point(2, 0.0)]


def test_what_a_run_did_not_keep_is_a_gap_and_not_zero():
    steps = columns_of([1, 2], judged=[4, 4], clipped=[None, 1], tool_calls=[None, 0], failures=[None, 0],
                       unparsed_calls=[None, 2])
    points = charts.points_of(steps, ["share:clipped", "share:failed", "share:unparsed"])
    assert points["share:clipped"] == [Point(1, None), Point(2, 0.25)]
    assert points["share:failed"] == [Point(1, None), Point(2, None)], "of no call none can fail"
    assert points["share:unparsed"] == [Point(1, None), Point(2, 1.0)]


# ---------------------------------------------------------------------------------------------------------- smoothing


def test_smoothing_starts_at_the_first_value_and_not_at_zero():
    made = smoothed([1.0, 1.0, 1.0], 0.99)
    assert made == pytest.approx([1.0, 1.0, 1.0])
    assert smoothed([0.0, 1.0], 0.5)[1] == pytest.approx(1 / 1.5), "weights 0.5 and 1, divided by their sum"


def test_a_gap_stays_a_gap_and_nothing_is_carried_over_it():
    made = smoothed([5.0, 5.0, None, 1.0, float("nan"), 3.0], 0.9)
    assert made[2] is None and made[4] is None
    assert made[3] == 1.0 and made[5] == 3.0


@pytest.mark.parametrize("weight", [0.5, 0.9, 0.99])
def test_what_is_sent_later_is_smoothed_as_if_all_had_been_read(weight):
    points = wave(5000, gaps={4100})
    steps, values, bucket = [p.step for p in points], [p.value for p in points], width(5000)
    whole = charts.line(steps, values, bucket, weight=weight)
    start = 4500 // bucket * bucket
    since = max(0, sum(step < start for step in steps) - memory(weight))
    tail = charts.line(steps[since:], values[since:], bucket, weight=weight, start=start)
    expected = [p for p in whole if p.step >= start]
    assert [p.step for p in tail] == [p.step for p in expected]
    assert charts.columns(tail) == charts.columns(expected)


def test_a_smoothed_line_is_smoothed_over_every_step_and_then_thinned():
    points = wave(5000)
    values = [p.value for p in points]
    sent = charts.line([p.step for p in points], values, width(5000), weight=0.9)
    every = smoothed(values, 0.9)
    assert all(p.smooth == every[p.step - 1] and p.value == values[p.step - 1] for p in sent)
    assert charts.columns(sent)["smooth"][-1] == pytest.approx(every[-1], rel=1e-5)


# ------------------------------------------------------------------------------------------------------- environments

MIX = ["wordle", "catch"]
HAVE = ["metric:kl", *(series.key for chart in charts.CHARTS for series in chart.series)]


def test_of_a_mix_each_environment_can_have_a_line_of_its_own():
    shown = {chart.id: chart for chart in charts.charts(["win"], HAVE, MIX, "*")}
    assert [series.key for series in shown["rewards@"].series] == ["curve:total@wordle", "curve:total@catch"]
    assert [series.label for series in shown["term win@"].series] == MIX
    assert [series.key for series in shown["won@"].series] == ["share:won@wordle", "share:won@catch"]
    assert shown["signal@"].kind == "lines" and shown["signal@"].series[1].key == "share:signal@catch"
    assert shown["endings@catch"].kind == "shares" and shown["endings@catch"].series[0].key == "status:won@catch"


def test_what_is_not_known_by_environment_says_that_it_is_of_all():
    one = {chart.id: chart for chart in charts.charts(["win"], HAVE, MIX, "catch")}
    assert "all environments" in one["kl"].unit and "all environments" not in one["won"].unit + one["rewards"].unit
    assert one["rewards"].series[0].key == "curve:total", "the same chart, so that zoom and hidden lines stay"
    alone = {chart.id: chart for chart in charts.charts(["win"], HAVE, ["catch"], "catch")}
    assert "all environments" not in alone["kl"].unit


def test_the_time_of_a_step_is_split_where_its_parts_were_measured():
    parts = ["metric:seconds/opening", "metric:seconds/model", "metric:seconds/environment", "metric:seconds/scoring"]
    [split] = [chart for chart in charts.charts([], ["metric:step_time", *parts]) if chart.section in ("time", "other")]
    assert split.kind == "parts" and [series.label for series in split.series] == [
        "opening episodes", "generation", "environment", "scoring", "optimiser"]
    [whole] = [chart for chart in charts.charts([], ["metric:step_time"]) if chart.section == "time"]
    assert [series.key for series in whole.series] == ["metric:step_time"]


def test_each_kind_of_number_that_matters_has_a_chart():
    have = ["metric:kl", "metric:entropy", "metric:clip_ratio/region_mean", "metric:completions/mean_length", *HAVE]
    ids = {chart.id for chart in charts.charts(["win"], have)}
    assert {"rewards", "term win", "won", "endings", "signal", "scored", "tokens", "turns", "cut", "failures", "kl",
            "entropy", "clip"} <= ids
