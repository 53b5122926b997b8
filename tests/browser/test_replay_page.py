"""Stepping through episodes in a real browser: keys, buttons, the scrubber, the address, the list."""

import re
import time

import pytest
from playwright.sync_api import expect

from backend.records import Episode, Fault, Turn
from backend.store import Store
from tests.browser.pages import Work
from tests.recording import facts_after, record, wordle_run

GUESSES = (("crane", "GXYXX"), ("cabal", "GGXYX"), ("caper", "GGGGG"))
LONG = 200


def game(sample: int) -> Episode:
    turns = [Turn(index=k, thought="I think", tool="guess", arguments={"guess": f"[{word}]"}, result=f"answer {k + 1}",
                  facts={**facts_after(GUESSES, k + 1), "invalid_moves": 0}) for k, (word, _) in enumerate(GUESSES)]
    return Episode(id=f"2-0-{sample}", step=2, group=0, sample=sample, environment="wordle", seed=1, fingerprint="x",
                   status="won", facts=turns[-1].facts, scores={"win": 1.0}, total=1.0 - sample / 10,
                   advantage=0.5 - sample, started=time.time(), turns=turns)


@pytest.fixture(scope="module")
def run(shared_application) -> str:
    """Three games of Wordle, one that the environment broke, and one long episode of a megabyte."""
    run = wordle_run(Store(shared_application.runs), "played")
    text = "\n".join("lorem ipsum dolor sit amet" for _ in range(190))
    record(run, *map(game, range(3)),
           Episode(id="2-1-0", step=2, group=1, sample=0, environment="wordle", status="env_error", scores={"win": None},
                   fault=Fault(where="environment", kind="Refused", message="no seat")),
           Episode(id="1-0-0", step=1, group=0, sample=0, environment="wordle", status="out_of_turns", total=0.0,
                   scores={"win": 0.0}, advantage=0.0,
                   turns=[Turn(index=k, tool="echo", arguments={"k": k}, result=text) for k in range(LONG)]))
    return run.id


@pytest.fixture
def replay(visit, run):
    """Opens an address of the Replay page and waits for its episode."""
    return lambda rest="": visit(f"/episode?run={run}{rest}", ".o-player")


def at(page, turn: int, last: int = 3):
    """That the page shows this turn: the board, the card, the scrubber, the count and the address."""
    expect(page.locator(".o-where")).to_have_text(f"{turn} / {last}")
    expect(page.locator(".o-turn:visible")).to_have_attribute("data-turn", str(turn))
    expect(page.locator(".o-scrub")).to_have_attribute("aria-valuenow", str(turn))
    page.wait_for_url(re.compile(rf"[?&]turn={turn}(&|$)"))


def test_keys_and_buttons_step_through_the_turns(replay, seen):
    page = replay("&id=2-0-0&turn=1")
    expect(page.locator(".o-frame:visible .o-tile.o-g")).to_have_count(1)
    page.keyboard.press("ArrowRight")
    at(page, 2)
    expect(page.locator(".o-frame:visible .o-tile.o-g")).to_have_count(3)
    page.keyboard.press("End")
    at(page, 3)
    expect(page.locator(".o-frame:visible .o-verdict")).to_have_text("Solved in 3 guesses")
    page.keyboard.press("Home")
    at(page, 0)
    page.get_by_role("button", name="Next turn").click()
    at(page, 1)
    page.get_by_role("button", name="Previous turn").click()
    at(page, 0)
    assert seen.errors == [] and seen.elsewhere == []


def test_an_address_with_a_turn_opens_exactly_there(replay):
    at(replay("&id=2-0-1&turn=2"), 2)


def test_playing_goes_on_to_the_end_and_starts_over_after_it(replay):
    page = replay("&id=2-0-0&turn=1")
    page.get_by_label("Speed").select_option("8")
    page.locator(".o-crumb").click()
    page.keyboard.press(" ")
    at(page, 3)
    expect(page.locator(".o-player[data-playing]")).to_have_count(0)
    page.get_by_role("button", name="Play").click()
    at(page, 3)


def test_the_scrubber_goes_where_it_is_pressed(replay):
    page = replay("&id=2-0-0&turn=0")
    scrub = page.locator(".o-scrub")
    box = scrub.bounding_box()
    scrub.click(position={"x": box["width"] * 0.6, "y": box["height"] / 2})  # once it stands still
    at(page, 2)


def test_up_and_down_go_through_the_list_and_back_comes_back(replay):
    page = replay("&id=2-0-0&sort=-total")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".o-crumb")).to_have_text("episode 1")
    expect(page.locator("tr[aria-current]")).to_have_attribute("data-id", "2-0-1")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".o-crumb")).to_have_text("episode 2")
    page.keyboard.press("ArrowUp")
    expect(page.locator(".o-crumb")).to_have_text("episode 1")
    page.go_back()
    expect(page.locator(".o-crumb")).to_have_text("episode 2")


def test_a_row_and_a_board_of_the_group_open_their_episode(replay):
    page = replay("&id=2-0-0")
    page.locator("tr[data-id='2-1-0']").click()
    expect(page.locator(".o-fault")).to_contain_text("The environment broke this episode")
    page.locator("tr[data-id='2-0-1'] a").first.click()
    expect(page.locator(".o-mini")).to_have_count(3)
    page.locator(".o-mini").first.click()
    expect(page.locator(".o-mini[aria-current]")).to_have_attribute("data-id", "2-0-0")


def test_a_filter_stays_in_the_address_and_through_a_reload(replay):
    page = replay("&id=2-0-0")
    page.get_by_text("More filters").click()
    page.get_by_role("searchbox", name="Where").fill("guesses >= 3 and total < 1")
    page.get_by_role("searchbox", name="Where").press("Enter")
    expect(page.locator("tr[data-id]")).to_have_count(2)
    page.reload()
    expect(page.locator("tr[data-id]")).to_have_count(2)
    expect(page.locator("[name=where]")).to_have_value("guesses >= 3 and total < 1")
    page.get_by_label("Outcome").select_option("lost")
    expect(page.locator(".o-empty")).to_contain_text("No episode matches")


def test_the_transcript_shows_all_turns_and_a_thought_unfolds(replay):
    page = replay("&id=2-0-0")
    page.get_by_role("button", name="Transcript").click()
    expect(page.locator(".o-turn:visible")).to_have_count(4)
    page.locator(".o-thought summary").first.click()
    expect(page.get_by_text("I think").first).to_be_visible()


def test_help_opens_with_a_question_mark_and_keys_rest_meanwhile(replay):
    page = replay("&id=2-0-0&turn=1")
    page.keyboard.press("?")
    expect(page.locator("dialog.o-keys")).to_be_visible()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Escape")
    expect(page.locator("dialog.o-keys")).to_be_hidden()
    at(page, 1) if "turn=1" in page.url else pytest.fail(page.url)


def test_a_long_episode_is_on_screen_quickly_and_scrubs_smoothly(replay):
    page = replay("&id=2-0-0")
    work = Work(page)
    page.locator("tr[data-id='1-0-0'] a").first.click()
    expect(page.locator(".o-where")).to_have_text(f"0 / {LONG}")
    assert work.done() < 1
    page.evaluate("""() => new Promise((done) => {
        const key = (name) => document.body.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
        key("Home");
        let n = 0;
        const step = () => {
            key("ArrowRight");
            ++n < 60 ? requestAnimationFrame(step) : done();
        };
        requestAnimationFrame(step);
    })""")
    assert work.done() < 60 / 30, "30 frames a second"


def test_nothing_overflows_on_a_phone(replay, page):
    page.set_viewport_size({"width": 390, "height": 844})
    replay("&id=2-0-0")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    expect(page.locator(".o-transport")).to_be_in_viewport()
