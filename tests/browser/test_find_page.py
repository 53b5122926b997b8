"""Finding episodes in a real browser: words and their marks, chips, saved filters, views, notes and tags."""

import re

import pytest
from playwright.sync_api import expect

from backend.records import Episode, Turn
from backend.store import Store
from tests.recording import record, wordle_run

HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"


def game(step: int, sample: int, *said: str) -> Episode:
    won = sample == 0
    return Episode(id=f"{step}-0-{sample}", step=step, group=0, sample=sample, environment="wordle", seed=step,
                   status="won" if won else "lost", total=float(won), scores={"win": float(won)}, advantage=1.0 - 2 * sample,
                   turns=[Turn(index=k, thought=text, tool="guess", arguments={"guess": "[crane]"}, result="G X Y X X")
                          for k, text in enumerate(said)])


@pytest.fixture(scope="module")
def run(shared_application) -> str:
    run = wordle_run(Store(shared_application.runs), "sought")
    record(run, game(1, 0, "It may be plaid.", "Perhaps slate?"), game(1, 1, "Işık güzel, İstanbul'da.", "日本語を話す"),
           game(1, 2, "hm", f"needle {HOSTILE}"), *(game(2, sample, "nothing") for sample in range(4)))
    return run.id


@pytest.fixture
def replay(visit, run):
    return lambda rest="": visit(f"/episode?run={run}{rest}", ".o-episodes")


def rows(page):
    return page.locator("[data-slot=list] tr[data-id]")


def marked(page) -> list[str]:
    return page.evaluate("[...(CSS.highlights.get('o-found') ?? [])].map(range => range.toString())")


def test_slash_goes_to_the_words_and_a_row_opens_at_the_turn_with_the_words_marked(replay, seen):
    page = replay()
    page.keyboard.press("/")
    expect(page.get_by_label("Words")).to_be_focused()
    page.keyboard.type("slate")
    page.keyboard.press("Enter")
    expect(rows(page)).to_have_count(1)
    expect(page.locator(".o-under mark")).to_have_text("slate")
    page.locator(".o-under a").click()
    expect(page.locator(".o-turn.o-now")).to_have_attribute("data-turn", "2")
    page.wait_for_function("CSS.highlights.get('o-found')?.size === 1")
    assert marked(page) == ["slate"]
    expect(page.locator(".o-turn.o-now details.o-thought")).to_have_attribute("open", "")
    assert "find=slate" in page.url and "turn=2" in page.url
    assert seen.errors == [] and seen.elsewhere == []


@pytest.mark.parametrize(("find", "turn", "found"), [("istanbul isik", 1, ["Işık", "İstanbul"]), ("日本", 2, ["日本"])])
def test_words_of_any_script_are_marked_as_they_were_written(replay, find, turn, found):
    page = replay(f"&find={find}")
    expect(rows(page)).to_have_count(1)
    expect(page.locator(".o-turn.o-now")).to_have_attribute("data-turn", str(turn))
    page.wait_for_function("CSS.highlights.get('o-found')?.size > 0")
    assert sorted(marked(page)) == sorted(found)


def test_what_is_found_stays_text(replay, seen):
    page = replay("&find=needle+img")
    expect(page.locator(".o-under mark")).to_have_count(2)
    expect(page.locator(".o-under")).to_contain_text("<img src=x")
    assert "owned" not in page.title() and page.locator(".o-under img, .o-turn img").count() == 0
    assert seen.errors == []


def test_filters_are_chips_that_can_be_taken_away_and_the_fold_stays_open(replay):
    page = replay()
    page.get_by_text("More filters").click()
    page.get_by_label("Total").fill("> 0.5")
    page.get_by_label("Total").press("Enter")
    expect(rows(page)).to_have_count(2)
    expect(page.locator("details.o-more")).to_have_attribute("open", "")
    page.get_by_label("Step", exact=True).fill("2-9")
    page.get_by_label("Step", exact=True).press("Enter")
    expect(rows(page)).to_have_count(1)
    expect(page.locator(".o-filter-chip")).to_have_count(2)
    page.get_by_role("link", name="Take away the filter total: > 0.5").click()
    expect(rows(page)).to_have_count(4)
    expect(page.get_by_label("Total")).to_have_value("")
    page.go_back()
    expect(rows(page)).to_have_count(1)


def test_a_filter_that_is_none_is_one_sentence(replay):
    page = replay("&total=much")
    expect(page.locator("[data-slot=list] [role=alert]").last).to_contain_text("'much' is no number and no range")


def test_a_filter_is_saved_used_and_deleted(replay):
    page = replay("&status=won")
    page.get_by_text("Save filters").click()
    expect(page.get_by_label("Name for these filters")).to_be_focused()
    page.get_by_label("Name for these filters").fill("winners <b>")
    page.get_by_label("Name for these filters").press("Enter")
    expect(page.get_by_role("link", name="winners <b>")).to_be_visible()
    page = replay()
    expect(rows(page)).to_have_count(7)
    page.get_by_text("Saved filters").click()
    page.get_by_role("link", name="winners <b>").click()
    expect(rows(page)).to_have_count(2)
    page.get_by_role("button", name="Delete the saved filter winners <b>").click()
    expect(page.get_by_role("link", name="winners <b>")).to_have_count(0)


def test_a_view_says_why_and_the_arrows_follow_it(replay):
    page = replay("&view=surprising")
    expect(rows(page)).to_have_count(2)
    expect(page.locator(".o-under").first).to_have_text("The only one of 4 in its group that won")
    first = page.locator(".o-player").get_attribute("data-id")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".o-player")).not_to_have_attribute("data-id", first)
    assert "view=surprising" in page.url
    page.get_by_role("link", name="Reward hacking suspects").click()
    expect(page.locator(".o-empty")).to_contain_text("Nothing looks like reward hacking here")


def test_n_writes_a_note_and_tags_are_added_and_taken_away(replay, seen):
    page = replay("&id=2-0-1")
    page.locator(".o-notes").wait_for()
    page.keyboard.press("n")
    note = page.get_by_label("Note on this episode")
    expect(note).to_be_focused()
    note.fill(f"**Look** at turn 1\n{HOSTILE}")
    note.press("Control+Enter")
    expect(page.locator(".o-note-text")).to_contain_text("**Look** at turn 1")
    expect(page.locator(".o-note-text")).to_contain_text("<script>")
    tag = page.get_by_label("Add a tag")
    tag.fill("odd one")
    tag.press("Enter")
    expect(page.locator(".o-note-tags .o-by-hand")).to_have_text(["odd one×"])
    row = page.locator("[data-slot=list] tr[data-id='2-0-1']")
    expect(row.locator(".o-by-hand")).to_have_text(["odd one", "note"])
    page = replay("&tag=odd+one")
    expect(rows(page)).to_have_count(1)
    page.get_by_role("button", name="Take away the tag odd one").click()
    expect(page.locator(".o-note-tags .o-by-hand")).to_have_count(0)
    assert "owned" not in page.title() and seen.errors == []


def test_two_browsers_write_one_note_and_nothing_is_lost(replay, page, browser):
    replay("&id=2-0-2")
    page.get_by_role("button", name="+ note").click()
    page.get_by_label("Note on this episode").fill("mine")
    other = browser.new_context().new_page()
    other.goto(page.url)
    other.get_by_role("button", name="+ note").click()
    other.get_by_label("Note on this episode").fill("theirs")
    other.get_by_role("button", name="Save note").click()
    expect(other.locator(".o-note-text")).to_have_text("theirs")
    other.context.close()
    page.get_by_role("button", name="Save note").click()
    expect(page.locator(".o-notes .o-warning")).to_contain_text("Somebody changed this note")
    expect(page.get_by_label("Note on this episode")).to_have_value("mine")
    page.get_by_role("button", name="Put mine below theirs").click()
    expect(page.locator(".o-note-text")).to_contain_text(re.compile(r"theirs\s+mine"))


def test_what_was_typed_is_still_there_after_a_look_at_another_episode(replay):
    page = replay("&id=2-0-3&sort=id")
    page.get_by_role("button", name="+ note").click()
    page.get_by_label("Note on this episode").fill("half a thought")
    page.get_by_role("link", name="Previous episode").click()
    expect(page.locator(".o-player")).to_have_attribute("data-id", "2-0-2")
    page.get_by_role("link", name="Next episode").click()
    expect(page.get_by_label("Note on this episode")).to_have_value("half a thought")


def test_nothing_is_wider_than_a_phone(replay, page):
    page.set_viewport_size({"width": 390, "height": 844})
    replay("&find=plaid&view=surprising")
    page.get_by_text("More filters").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
