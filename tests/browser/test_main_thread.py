"""The main job by clicking, with a real run: launch the quickstart, watch it, replay an episode, reload, stop."""

import json
import re

import pytest
from playwright.sync_api import expect

from backend.launcher import load_spec
from tests.browser.pages import Replay, Runs, Watch

FIRST_STEP = 240
"""Seconds until the first step is on screen, on a machine that is busy with other tests."""


@pytest.mark.slow
def test_launch_watch_replay_reload_and_stop(application, page, seen):
    runs = Runs(page)
    runs.open(application.url)
    launch = runs.new()
    launch.choose("Quickstart")
    watch = launch.go()
    run = watch.run

    watch.newest(FIRST_STEP).first.wait_for()
    watch.wait_past(1, FIRST_STEP)
    total = watch.wait_for_curve("total", points=2)
    terms = [(term.weight, watch.wait_for_curve(term.name, points=2)) for term in load_spec("quickstart").rewards]
    for k, value in enumerate(total):
        assert value == pytest.approx(sum(weight * raw[k] for weight, raw in terms), abs=1e-6)

    before = watch.step()
    page.reload()
    watch = Watch(page)
    watch.wait_past(before, FIRST_STEP)
    assert watch.run == run
    assert len(watch.wait_for_curve("total", points=before)) >= before, "the curve is whole again after a reload"

    watch.newest(FIRST_STEP).first.click()
    replay = Replay(page)
    step_through(replay)

    watch = replay.up_to_the_run()
    watch.stop()
    expect(watch.chip).to_have_text(re.compile("stopped"), timeout=120_000)

    told = json.loads(application.command("show", run, "--json"))
    assert told["status"] == "stopped"
    assert told["episodes"] == 64 * told["step"], "each episode is there exactly once"
    runs.open(application.url)
    expect(runs.row(run)).to_contain_text("stopped")
    assert not seen.elsewhere and not seen.errors


def step_through(replay: Replay):
    """By buttons, by keys, and to the next episode and back."""
    last = replay.turns()
    assert last > 1
    replay.expect_turn(0)
    replay.press("Last turn")
    replay.expect_turn(last)
    replay.press("Start")
    replay.expect_turn(0)
    replay.press("Next turn")
    replay.expect_turn(1)
    replay.key("ArrowRight")
    replay.expect_turn(2)
    replay.key("ArrowLeft")
    replay.expect_turn(1)
    replay.key("End")
    replay.expect_turn(last)
    replay.press("Previous turn")
    replay.expect_turn(last - 1)
    expect(replay.page).to_have_url(re.compile(rf"[?&]turn={last - 1}\b"))

    replay.page.reload()
    replay = Replay(replay.page)
    replay.expect_turn(last - 1)

    here = replay.episode()
    replay.key("ArrowDown")
    expect(replay.player).not_to_have_attribute("data-id", here)
    replay.key("ArrowUp")
    expect(replay.player).to_have_attribute("data-id", here)
