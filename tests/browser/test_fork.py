"""Forks in a real browser: from a turn on Replay by hand and by a script, kept with their parent; refused with the reason."""

import re

import pytest
from playwright.sync_api import expect

from backend.play import Sittings, chosen
from backend.records import Episode, RunSpec
from backend.store import Store

SPEC = {
    "name": "parents", "model": "starter:catch", "environments": [{"id": "catch", "use": "catch"}],
    "rewards": [{"name": "caught", "value": "2.0 if caught else 0.0"}],
}


@pytest.fixture(scope="module")
def parent(shared_application) -> Episode:
    """A game of Catch that was lost, played by nobody's wish to the left, and kept as if a model had."""
    store = Store(shared_application.runs)
    run = store.create(RunSpec.model_validate(SPEC))
    sittings = Sittings(store)
    id = sittings.begin(chosen(store, "catch", seed=4))
    sitting = sittings.look(id).sitting
    while not sitting.ended:
        sittings.call(id, "move", {"direction": "left"})
    played = sitting.episode(id="1-0-0", step=1, group=0, sample=0, phase="train")
    odd = played.model_copy(update={"id": "1-0-1", "sample": 1, "turns": (
        played.turns[0].model_copy(update={"result": "ball 9 9 paddle 9"}), *played.turns[1:])})
    sittings.close()
    with run.writing() as writer:
        writer.record([played, odd])
    return played.model_copy(update={"environment": run.id})


@pytest.fixture
def replay(visit, parent):
    return lambda rest: visit(f"/episode?run={parent.environment}{rest}", ".o-player")


def test_a_fork_is_played_on_by_hand_and_names_its_parent(replay, parent, shared_application, seen):
    page = replay("&id=1-0-0&turn=2")
    page.get_by_role("button", name="Fork here").click()
    expect(page.locator("dialog.o-fork")).to_contain_text("Go on from turn 2")
    page.get_by_role("link", name="Play on").click()
    expect(page.locator(".o-tabled-head")).to_contain_text("turn 2 of at most 9", timeout=60_000)
    expect(page.locator(".o-tabled-head")).to_contain_text("forked from parents › 1-0-0 at turn 2")
    expect(page.locator(".o-cards .o-turn[data-turn='1']")).to_contain_text("repeated")
    page.reload()
    expect(page.locator(".o-tabled-head")).to_contain_text("turn 2 of at most 9")
    for k in range(7):
        page.keyboard.press("ArrowRight" if k < 4 else "ArrowDown")
        expect(page.locator(".o-tabled-head")).to_contain_text(f"turn {3 + k} of at most 9")
    expect(page.locator(".o-over")).to_contain_text("Won")
    page.get_by_role("link", name="Replay it").click()
    expect(page.locator(".o-player .o-chip").first).to_have_text(re.compile("won"))
    expect(page.locator(".o-worth .o-stat")).to_have_text("2.00")
    page.get_by_role("link", name="forked from").click()
    expect(page.locator(".o-player")).to_have_attribute("data-id", "1-0-0")
    expect(page.locator(".o-where")).to_have_text("2 / 9")
    expect(page.locator(".o-forks")).to_contain_text("at turn 2 by hand")
    assert seen.errors == [] and seen.elsewhere == []


def test_a_script_plays_a_fork_to_its_end_and_the_new_episode_opens(replay, shared_application):
    page = replay("&id=1-0-0&turn=1")
    page.keyboard.press("f")
    page.locator("dialog.o-fork").get_by_role("link", name="perfect").click()
    page.wait_for_url(re.compile("/episode.*id=play-4-"), timeout=60_000)
    expect(page.locator(".o-player")).to_contain_text("forked from parents › 1-0-0 at turn 1")
    expect(page.locator(".o-player")).to_have_attribute("data-turn", "1")
    expect(page.locator(".o-player .o-chip").first).to_have_text(re.compile("won"))
    page.go_back()
    expect(page.locator(".o-player")).to_have_attribute("data-id", "1-0-0")


def test_an_environment_that_answers_differently_is_refused_and_nothing_is_kept(replay, shared_application):
    before = [len(run.episodes(limit=None)) for run in Store(shared_application.runs).named("played")]
    page = replay("&id=1-0-1&turn=2")
    page.keyboard.press("f")
    page.get_by_role("link", name="Play on").click()
    expect(page.locator("[data-slot=trouble]")).to_contain_text(
        re.compile("Turn 1 answered differently: .* instead of 'ball 9 9 paddle 9'"), timeout=60_000)
    assert [len(run.episodes(limit=None)) for run in Store(shared_application.runs).named("played")] == before


def test_what_cannot_be_forked_says_why(replay):
    page = replay("&id=1-0-0&turn=9")
    page.keyboard.press("f")
    expect(page.locator("dialog.o-fork")).to_contain_text("The episode is over at turn 9; fork it before that.")
    page.keyboard.press("Escape")
    expect(page.locator("dialog.o-fork")).to_be_hidden()
