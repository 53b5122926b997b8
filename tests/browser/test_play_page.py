"""Playing by hand in a real browser: keys, buttons and forms; two people at once; and what was played is replayed."""

import re

import pytest
from playwright.sync_api import expect

from backend.store import Store


@pytest.fixture
def play(shared_application, page):
    """Opens an address of the Play page and waits for its game."""
    def opened(rest: str = ""):
        page.goto(f"{shared_application.url}/play{rest}")
        if rest:
            page.locator(".o-move").wait_for(timeout=60_000)
        return page
    return opened


def rows(page):
    """The letters on the board, row by row."""
    return [re.sub(r"\s", "", row) for row in page.locator(".o-stage .o-wordle-row").evaluate_all(
        "rows => rows.map(row => [...row.querySelectorAll('.o-tile')].map(tile => tile.firstChild?.textContent ?? '').join(''))")]


@pytest.fixture
def line(page):
    """Makes the page's line so slow, in ms, or cuts it."""
    browser = page.context.new_cdp_session(page)
    browser.send("Network.enable")

    def is_like(latency: int = 0, offline: bool = False):
        browser.send("Network.emulateNetworkConditions", {"offline": offline, "latency": latency, "downloadThroughput": -1,
                                                          "uploadThroughput": -1})
    return is_like


def test_wordle_is_played_with_the_keyboard_on_the_screen_and_a_word_is_kept(play, shared_application, seen):
    page = play("?use=wordle&seed=5")
    for letter in "cranx":
        page.locator(f".o-key:text-is('{letter}')").click()
    page.get_by_role("button", name="Delete a letter").click()
    page.keyboard.type("e")
    assert rows(page)[0] == "CRANE"
    page.keyboard.press("Enter")
    expect(page.locator(".o-stage .o-tile.o-g, .o-stage .o-tile.o-y, .o-stage .o-tile.o-x")).to_have_count(5)
    expect(page.locator(".o-after tbody tr")).to_have_count(1)
    page.keyboard.type("olive")
    page.keyboard.press("Enter")
    expect(page.locator(".o-over")).to_contain_text("Won")
    expect(page.locator(".o-play-worth .o-stat")).to_have_text("1.33")
    page.get_by_role("link", name="Replay it").click()
    expect(page.locator(".o-player .o-chip")).to_have_text(re.compile("won"))
    expect(page.locator(".o-player")).to_contain_text("human")
    assert not seen.errors and not seen.elsewhere


def test_catch_is_played_with_arrow_keys_and_a_script_takes_the_seat(play):
    page = play("?use=catch&seed=3")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".o-tabled-head")).to_contain_text("turn 1 of at most 9")
    page.get_by_role("button", name="stay").click()
    expect(page.locator(".o-tabled-head")).to_contain_text("turn 2 of at most 9")
    page.get_by_role("button", name="Stop here").click()
    expect(page.locator(".o-over")).to_contain_text("stopped by hand")
    page.get_by_role("button", name="Next seed").click()
    expect(page.locator(".o-tabled-head")).to_contain_text("seed 4")
    assert "seed=4" in page.url
    page.get_by_role("button", name="perfect").click()
    expect(page.locator(".o-over")).to_contain_text("Won", timeout=30_000)
    expect(page.locator(".o-tabled-head")).to_contain_text("played by the perfect player")


def test_a_game_outlives_a_reload_and_nobody_else_sees_it(play, browser, shared_application):
    page = play("?use=wordle&seed=1")
    page.locator(".o-guess input").fill("crane")
    page.keyboard.press("Enter")
    expect(page.locator(".o-tabled-head")).to_contain_text("turn 1 of at most 12")
    page.reload()
    expect(page.locator(".o-tabled-head")).to_contain_text("turn 1 of at most 12")
    assert rows(page)[0] == "CRANE"
    other = browser.new_context().new_page()
    other.goto(page.url)
    expect(other.locator(".o-tabled-head")).to_contain_text("turn 0 of at most 12")
    other.context.close()


def test_tools_are_forms_and_what_comes_back_is_text(play):
    page = play("?use=echo")
    page.get_by_label("message").fill("<img src=x onerror=alert(1)>")
    page.get_by_role("button", name="echo").click()
    expect(page.locator(".o-told")).to_have_text("<img src=x onerror=alert(1)>")
    expect(page.locator(".o-tabled img")).to_have_count(0)


def test_a_baseline_fills_a_table(play, shared_application):
    page = play("?use=catch&seed=0")
    page.get_by_label("Games").fill("5")
    page.get_by_role("button", name="Play them").click()
    expect(page.locator(".o-baseline tbody tr").first).to_contain_text("perfect")
    expect(page.get_by_role("link", name="Replay their games")).to_be_visible(timeout=30_000)
    assert any(summary.name == "played" for summary in Store(shared_application.runs).runs())


def test_what_cannot_be_played_is_a_sentence(play):
    page = play()
    expect(page.locator(".o-play-cards a").first).to_be_visible()
    page.get_by_label("Another environment").fill("wordel")
    page.keyboard.press("Enter")
    expect(page.locator("[data-slot=trouble]")).to_contain_text("did you mean wordle?")


def test_on_a_slow_line_a_press_counts_once_and_a_lost_line_is_a_sentence(play, line):
    page = play("?use=catch&seed=3")
    line(latency=400)
    stay, head = page.get_by_role("button", name="stay"), page.locator(".o-tabled-head")
    stay.click()
    page.keyboard.press("ArrowDown")
    expect(head).to_contain_text("turn 1 of")
    line(offline=True)
    stay.click()
    expect(page.locator("[data-slot=trouble]")).to_contain_text("The server doesn't answer")
    line()
    stay.click()
    expect(head).to_contain_text("turn 2 of")
    expect(page.locator(".o-turn[data-turn]")).to_have_count(3)
    expect(page.locator(".o-after tbody tr")).to_have_count(2)
    expect(page.locator("[data-slot=trouble]")).to_be_empty()


def test_a_word_typed_while_the_game_starts_is_guessed_and_the_next_waits_for_the_answer(play, line, seen):
    page = play("?use=wordle&seed=5")
    line(latency=400)
    page.get_by_role("button", name="New game").click()
    page.keyboard.type("crank")
    expect(page.locator(".o-starting b")).to_have_text("CRANK")
    page.keyboard.press("Backspace")
    page.keyboard.type("e\noli")
    expect(page.locator(".o-stage .o-tile.o-g, .o-stage .o-tile.o-y, .o-stage .o-tile.o-x")).to_have_count(5)
    page.keyboard.type("ve")
    assert rows(page)[:2] == ["CRANE", "OLIVE"]
    page.keyboard.press("Enter")
    expect(page.locator(".o-over")).to_contain_text("Won")
    assert not seen.errors


@pytest.mark.parametrize("seed, said", [("5-9", "Seed must be one whole number"), ("9" * 12, "Seed: must be 0 to")])
def test_a_field_that_is_no_number_is_a_sentence(play, seed, said):
    page = play()
    page.get_by_label("Another environment").fill("catch")
    page.get_by_label("Seed").fill(seed)
    page.keyboard.press("Enter")
    expect(page.locator("[data-slot=trouble]")).to_contain_text(said)
