"""A group in a real browser: all boards in step, the turn where they part, two side by side, the groups of a step."""

import re

import pytest
from playwright.sync_api import expect

from backend.store import Store
from tests.browser.pages import Work
from tests.recording import record, wordle_run
from tests.test_group import game

MANY = 64


@pytest.fixture(scope="module")
def run(shared_application) -> str:
    run = wordle_run(Store(shared_application.runs), "played")
    words = ("crane slate plaid", "crane slate mourn stone", "crane", "crane beach plaid mourn")
    record(run, *(game(n, played, "won" if n == 1 else "lost", n / 10) for n, played in enumerate(words)))
    record(run, *(game(n, "crane slate plaid mourn stone beach", total=n / 100, id=f"3-3-{n}", group=3) for n in range(MANY)))
    return run.id


@pytest.fixture
def group(visit, run):
    return lambda rest="&step=3&group=2": visit(f"/group?run={run}{rest}", ".o-group-card, .o-problem")


def expect_rows(page, rows: list[int]):
    """Guessed rows on each board, in the order of the cards."""
    page.wait_for_function("""rows => JSON.stringify([...document.querySelectorAll('.o-group-board')].map(
        board => board.querySelectorAll('.o-wordle-row:has(.o-g, .o-y, .o-x)').length)) === JSON.stringify(rows)""", arg=rows)


def test_one_scrubber_moves_all_boards_and_one_that_ended_says_so(group, seen):
    page = group()
    expect(page.locator(".o-group-said")).to_have_text(
        "1 of the 4 won; the winner played guess mourn at turn 3, and nobody else did.")
    expect_rows(page, [4, 1, 4, 3])
    page.keyboard.press("Home")
    expect_rows(page, [0, 0, 0, 0])
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect_rows(page, [2, 1, 2, 2])
    ended = page.locator(".o-group-card", has_text="episode 2")
    expect(ended).to_have_class(re.compile("o-ended"))
    expect(ended.locator(".o-group-line")).to_contain_text("ended after 1 turn")
    expect(page.locator(".o-group-card", has_text="episode 0").locator(".o-group-line")).to_have_text("guess slate")
    page.wait_for_url(re.compile("turn=2"))
    assert seen.errors == [] and seen.elsewhere == []


def test_the_turn_where_they_part_is_a_press_away(group):
    page = group()
    expect(page.locator(".o-parting")).to_contain_text("All 4 begin with guess crane; they part at turn 2")
    page.keyboard.press("p")
    expect(page.locator(".o-where")).to_have_text("2 / 4")
    expect(page.locator(".o-scrub > .o-part-here")).to_have_count(1)


def test_an_address_with_turn_and_order_opens_so(group):
    page = group("&step=3&group=2&turn=1&sort=sample")
    expect_rows(page, [1, 1, 1, 1])
    expect(page.locator(".o-group-card > header a").first).to_have_text("episode 0")
    page.get_by_label("Sorted by").select_option("turns")
    expect(page.locator(".o-group-card > header a").first).to_have_text("episode 2")
    page.wait_for_url(re.compile("sort=turns"))


def test_two_episodes_are_compared_and_the_address_keeps_them(group):
    page = group()
    boxes = page.get_by_label("compare", exact=True)
    boxes.nth(0).check()
    boxes.nth(1).check()
    expect(page.locator(".o-first-difference")).to_contain_text("Turn 2: the first difference: what was done")
    page.wait_for_url(re.compile("pair="))
    page.reload()
    expect(page.locator(".o-first-difference")).to_contain_text("Turn 2")
    page.get_by_role("button", name="Close", exact=True).click()
    expect(page.locator(".o-versus")).to_have_count(0)
    page.keyboard.press("c")
    expect(page.locator(".o-versus")).to_contain_text("episode 3")


def test_keys_are_the_page_s_own_where_nothing_else_wants_them(group, seen):
    page = group()
    page.keyboard.press("Home")
    where = page.locator(".o-where")
    page.get_by_label("compare").first.check()
    page.keyboard.press("ArrowRight")
    expect(where).to_have_text("1 / 4")
    page.keyboard.press("Control+ArrowRight")
    page.keyboard.press("Space")
    expect(page.get_by_label("compare").first).not_to_be_checked()
    page.locator("[name=order]").focus()
    page.keyboard.press("End")
    expect(where).to_have_text("1 / 4")
    page.locator("[name=order]").blur()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("ArrowRight")
    page.get_by_role("button", name="Close").click()
    expect(where).to_have_text("1 / 4")
    page.keyboard.press("P")
    expect(where).to_have_text("2 / 4")
    assert not seen.errors


def test_up_and_down_go_through_the_groups_of_the_step_and_back_comes_back(group):
    page = group()
    page.keyboard.press("ArrowDown")
    expect(page.locator("h1")).to_have_text("group 3")
    expect(page.locator(".o-group-card")).to_have_count(MANY)
    page.go_back()
    expect(page.locator("h1")).to_have_text("group 2")


def test_sixty_four_episodes_move_in_step_without_freezing(group):
    page = group("&step=3&group=3")
    page.wait_for_function("document.querySelectorAll('.o-group-card').length === 64")
    page.wait_for_load_state("networkidle")
    page.keyboard.press("Home")
    work = Work(page)
    for _ in range(6):
        page.keyboard.press("ArrowRight")
        assert work.done() < 0.2


def test_a_group_that_isnt_there_is_a_sentence_with_a_way_on(group):
    page = group("&step=3&group=77")
    expect(page.locator(".o-problem")).to_contain_text("has no group 77 at step 3; its groups are 2 to 3")
    page.get_by_role("link", name="See the run's episodes").click()
    expect(page.locator(".o-player")).to_be_visible()


def test_replay_leads_to_the_group_and_back_at_the_same_turn(group, shared_application, run, page):
    page.goto(f"{shared_application.url}/episode?run={run}&id=3-2-1")
    page.locator(".o-peers").wait_for()
    page.keyboard.press("g")
    expect(page.locator("h1")).to_have_text("group 2")
    page.locator(".o-group-line").first.wait_for()
    page.keyboard.press("p")
    page.locator(".o-group-card", has_text="episode 1").get_by_role("link").click()
    expect(page.locator(".o-where")).to_have_text("2 / 4")


@pytest.mark.parametrize("width", [390, 1024, 1440])
def test_nothing_overflows(group, page, width):
    page.set_viewport_size({"width": width, "height": 844})
    group("&step=3&group=2&pair=3-2-0+3-2-1")
    page.locator(".o-versus").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
