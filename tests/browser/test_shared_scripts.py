"""What all pages do alike, in a real browser: they say when the server is away and go on when it is back; keys; dialogs."""

import contextlib
import json
import re
import sqlite3

import pytest
from playwright.sync_api import expect

from backend.store import Store
from tests.test_compare import recorded, spec
from tests.test_compare_page import steps

ASKS_AGAIN = """async times => { for (; times; times--) {
    document.dispatchEvent(new Event("visibilitychange"));
    await new Promise((done) => setTimeout(done, 150));
} }"""
"""What a page does when someone comes back to it."""


@pytest.fixture
def opened(shared_application, page):
    def go(address: str):
        page.goto(shared_application.url + address)
        expect(page.locator(".o-plain :is(.o-empty, .o-problem, h1):visible").first).to_be_visible()
        page.wait_for_load_state("networkidle")
        return page
    return go


@pytest.mark.parametrize("address", ["/", "/run?id=latest", "/compare", "/arena?id=none"])
def test_a_page_says_that_the_server_is_away_until_it_is_back(opened, address, seen):
    page = opened(address)
    away = page.locator(".o-away")
    page.context.set_offline(True)
    page.evaluate(ASKS_AGAIN, 3)
    expect(away.get_by_role("alert")).to_contain_text("This page keeps trying")
    page.context.set_offline(False)
    page.evaluate(ASKS_AGAIN, 1)
    expect(away).to_be_empty()
    assert not seen.errors


def test_a_page_of_a_server_that_was_started_anew_reloads_when_it_is_not_known_any_more(opened):
    page = opened("/")
    page.evaluate("window.before = true")
    page.route(re.compile("component_server"), lambda route: route.fulfill(status=404, body=json.dumps({"detail": "no"})))
    page.evaluate(ASKS_AGAIN, 3)
    expect(page.locator(".o-away").get_by_role("alert")).to_be_visible()
    page.route(re.compile("app_id"), lambda route: route.fulfill(json={"app_id": 1}))
    with page.expect_navigation():
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    assert page.evaluate("window.before") is None


@pytest.mark.parametrize("address", ["/episode?run=none", "/group?run=none", "/environments"])
def test_what_is_asked_once_is_tried_again_by_a_button(shared_application, page, address, seen):
    page.route(re.compile("component_server"), lambda route: route.abort())
    page.goto(shared_application.url + address)
    page.get_by_role("alert").filter(has_text="The server doesn't answer.").wait_for()
    page.unroute(re.compile("component_server"))
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("alert").filter(has_text="The server doesn't answer.")).to_have_count(0)
    assert not seen.errors


def test_what_the_server_can_not_work_out_is_said_as_that_and_not_as_a_server_that_is_away(shared_application, page):
    run = recorded(Store(shared_application.runs), steps(1, 2), spec(name="spoilt"))
    with contextlib.closing(sqlite3.connect(run.path / "run.db", isolation_level=None)) as file:
        file.execute("UPDATE episodes SET turns = 'many'")
    page.goto(f"{shared_application.url}/episode?run={run.id}")
    said = page.get_by_role("alert")
    expect(said).to_contain_text("put back a whole copy")
    expect(said).not_to_contain_text("doesn't answer")


@pytest.mark.parametrize("address", ["/", "/environments"])
def test_a_slash_goes_to_the_search_unless_it_is_typed_into_a_field(opened, address):
    page = opened(address)
    search = page.get_by_role("searchbox").first
    page.keyboard.press("Control+/")
    expect(search).not_to_be_focused()
    page.keyboard.press("/")
    expect(search).to_be_focused()
    page.keyboard.type("a/b")
    expect(search).to_have_value("a/b")


def test_a_press_beside_a_dialog_closes_it_and_one_inside_does_not(opened):
    page = opened("/")
    page.get_by_role("button", name="Import").first.click()
    dialog = page.get_by_role("dialog", name="Import episodes")
    box = dialog.bounding_box()
    page.mouse.click(box["x"] + 6, box["y"] + 6)
    page.keyboard.press("/")
    expect(dialog).to_be_visible()
    expect(page.get_by_role("searchbox").first).not_to_be_focused()
    page.mouse.click(box["x"] - 6, box["y"] + 6)
    expect(dialog).to_be_hidden()
