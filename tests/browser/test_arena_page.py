"""The Arena in a real browser: a match set up, watched as it is played, and all boards moved together."""

import pytest
from playwright.sync_api import expect

from backend.launcher import Launcher, from_fields
from backend.store import Store, to_yaml
from tests.chat_server import chat
from tests.test_match import CATCH, PERFECT, RANDOM, asked

HOSTILE = "<img src=x onerror=window.hurt=1>"


@pytest.fixture(scope="module")
def match(shared_application, tmp_path_factory):
    hostile = {"kind": "script", "name": "random", "label": HOSTILE}
    spec = tmp_path_factory.mktemp("spec") / "match.yaml"
    spec.write_text(to_yaml(asked(PERFECT, RANDOM, hostile, environment={**CATCH, "tasks": {"count": 7}})))
    shared_application.command("run", str(spec))  # a process of its own: the browser's loop runs in this one
    return Store(shared_application.runs).run("match")


def test_a_match_is_set_up_played_and_shown_with_its_boards(application, page, seen):
    page.goto(f"{application.url}/arena")
    page.locator(".o-chosen li").first.wait_for()
    assert page.locator(".o-chosen b").all_text_contents() == ["starter:catch", "perfect", "random"]
    page.get_by_role("button", name="Take starter:catch out").click()
    page.locator("[name=tasks]").fill("3")
    page.locator("[name=tasks]").blur()
    page.get_by_text("6 games").wait_for()
    page.get_by_role("button", name="Start match").click()
    page.wait_for_url("**/arena?id=*")
    page.locator(".o-arena-head .o-chip.o-finished").wait_for(timeout=60_000)
    page.locator(".o-bout").nth(2).wait_for()
    assert page.locator(".o-standings tbody tr").count() == 2
    assert "3 of 3" in page.locator(".o-standings tbody tr").first.inner_text()
    assert not seen.errors and not seen.elsewhere


def test_all_boards_go_in_step_by_key_and_by_line(shared_application, page, match):
    page.goto(f"{shared_application.url}/arena?id={match.id}")
    page.locator(".o-seat.o-ended").first.wait_for()
    assert page.locator(".o-where").inner_text() == "9 / 9"
    page.keyboard.press("Home")
    assert page.locator(".o-seat.o-ended").count() == 0
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    shown = page.locator(".o-seat .o-frame.o-now").evaluate_all("all => all.map(one => [+one.dataset.from, +one.dataset.to])")
    assert len(shown) == 15 and all(first <= 2 <= last for first, last in shown)
    assert "turn=2" in page.locator(".o-seat a").first.get_attribute("href")
    page.locator(".o-speed").select_option("8")
    page.keyboard.press("End")
    page.locator(".o-speed").blur()
    page.keyboard.press(" ")
    page.wait_for_function("document.querySelector('.o-where').textContent === '9 / 9'")
    page.keyboard.press("?")
    page.get_by_role("dialog", name="Keys").get_by_role("button", name="Close").click()
    page.keyboard.press("n")
    page.get_by_text("6–7 of 7").wait_for()
    assert "page=1" in page.url


def test_a_pair_is_chosen_tasks_narrowed_and_a_name_is_only_text(shared_application, page, match):
    page.goto(f"{shared_application.url}/arena?id={match.id}")
    page.locator("[name=o-second]").select_option("2")
    page.wait_for_url("**to=2*")
    page.get_by_text("broken").first.wait_for()
    page.locator(".o-bouts-head label", has_text="broken").click()
    page.wait_for_function("[...document.querySelectorAll('.o-bout')].every(one => one.querySelector('.o-tag.o-broken'))")
    assert page.evaluate("window.hurt") is None and page.locator(".o-arena img").count() == 0
    assert page.locator(".o-standings", has_text=HOSTILE).count() == 1


def test_a_seat_leads_to_replay_and_the_runs_list_to_the_arena(shared_application, page, match):
    page.goto(f"{shared_application.url}/arena?id={match.id}")
    page.locator(".o-seat a").first.click()
    page.wait_for_url("**/episode?*")
    page.locator(".o-player").wait_for()
    page.goto(f"{shared_application.url}/")
    page.get_by_role("link", name="match", exact=True).click()
    page.wait_for_url(f"**/arena?id={match.id}")
    page.get_by_role("link", name="Play it yourself").first.click()
    page.get_by_role("button", name="Stop here").click()
    expect(page.locator(".o-tabled-head")).to_contain_text("task 1 of 7 of the match")
    page.get_by_role("button", name="Next task").click()
    expect(page.locator(".o-tabled-head")).to_contain_text("task 2 of 7 of the match")
    page.get_by_role("button", name="Stop here").click()
    last = max(game.seed for game in match.games())
    page.goto(f"{shared_application.url}/play?use=catch&seed={last}&match={match.id}")
    page.get_by_role("button", name="Stop here").click()
    expect(page.locator(".o-over .o-primary")).to_have_text("Back to the match")
    expect(page.get_by_role("button", name="Next task")).to_have_count(0)
    page.get_by_role("link", name="Back to the match").click()
    page.wait_for_url(f"**/arena?id={match.id}")
    page.goto(f"{shared_application.url}/run?id={match.id}")
    page.get_by_role("link", name="See the match").click()
    page.wait_for_url(f"**/arena?id={match.id}")


def test_a_match_under_way_fills_and_is_stopped_from_the_page(application, page):
    with chat("held") as served:
        player = {"kind": "endpoint", "url": served.url, "model": "slow one", "timeout": 30}
        id = Launcher(Store(application.runs)).launch(from_fields({
            "name": "live", "environments": [{**CATCH, "tasks": {"count": 30}}], "match": {"players": [PERFECT, player]}}))
        page.goto(f"{application.url}/arena?id={id}")
        page.locator(".o-bout").first.wait_for(timeout=60_000)
        page.get_by_text("not played yet").first.wait_for()
        page.get_by_role("button", name="Stop after these games").click()
        page.locator(".o-chip.o-stopping").wait_for()


@pytest.mark.parametrize("width", [390, 1024])
def test_nothing_is_wider_than_the_screen(shared_application, page, match, width):
    page.set_viewport_size({"width": width, "height": 844})
    for address in ("/arena", f"/arena?id={match.id}"):
        page.goto(shared_application.url + address)
        page.locator(".o-bout, .o-chosen li").first.wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_an_address_of_no_match_says_so(shared_application, page, match):
    page.goto(f"{shared_application.url}/arena?id=nothing")
    page.locator(".o-problem").get_by_text("no run in", exact=False).wait_for()
