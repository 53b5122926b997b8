"""Compare in a real browser: runs chosen on the list, drawn, grouped, and live."""

import json

import pytest
from playwright.sync_api import expect

from backend.store import Store
from tests.test_compare import BASE, recorded, spec
from tests.test_compare_page import NASTY, steps

LINES = """key => { const plot = [...document.querySelectorAll('.o-compare-charts figure')].find(figure => figure.querySelector(
    '.o-chart-title').textContent.startsWith(key))?.querySelector('.js-plotly-plot'); return plot?.data ? plot.data
    .filter(trace => trace.name && trace.mode === 'lines' && trace.hoverinfo !== 'skip' && !trace.fill)
    .map(trace => ({name: trace.name, y: [...trace.y], x: [...trace.x], n: trace.customdata.map(each => each[4])})) : [] }"""


@pytest.fixture(scope="module")
def store(shared_application):
    return Store(shared_application.runs)


@pytest.fixture(scope="module")
def runs(store):
    """Two seeds of one learning rate and a shorter run of another, with a name and a model that are markup."""
    rate = {**BASE["train"], "learning_rate": 1e-4}
    return [recorded(store, steps(1, 2, 3), spec(name="first", seed=1)),
            recorded(store, steps(1, 2, 3, won=lambda *_: True), spec(name="second", seed=2)),
            recorded(store, steps(1, 2), spec(name="third", seed=1, train=rate, model=NASTY))]


def address(application, runs, **more):
    return f"{application.url}/compare?runs={','.join(run.id for run in runs)}" + "".join(
        f"&{name}={value}" for name, value in more.items())


def lines(page, title, count):
    """The lines of a chart, once there are so many."""
    page.wait_for_function(f"([title, count]) => ({LINES})(title).length === count", arg=[title, count])
    return page.evaluate(LINES, title)


def test_runs_are_chosen_on_the_list_and_compared(shared_application, page, seen, runs):
    page.goto(shared_application.url)
    button = page.get_by_role("link", name="Compare 2 runs")
    page.get_by_role("checkbox", name="Choose first to compare").check()
    expect(button).to_be_hidden()
    page.get_by_role("checkbox", name="Choose third to compare").check()
    button.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Compare")
    drawn = lines(page, "Total reward", 2)
    assert [line["name"] for line in drawn] == ["first", "third"] and drawn[1]["x"] == [1, 2]
    outcome = page.locator(".o-compare-outcome")
    expect(outcome.locator("tbody tr")).to_have_count(2)
    expect(page.locator("[data-part=settings]")).to_contain_text(NASTY)
    assert page.locator("img[src=x]").count() == 0
    outcome.get_by_role("button", name="Episodes").click()
    expect(outcome.locator("tbody tr").first).to_contain_text("first")
    outcome.get_by_role("button", name="Episodes").click()
    expect(outcome.locator("tbody tr").first).to_contain_text("third")
    expect(outcome.locator("th[aria-sort=ascending]")).to_have_text("Episodes↑")
    assert not seen.errors and not seen.elsewhere


def test_lines_are_there_while_plotlys_script_is_on_its_way(shared_application, page, seen, runs):
    held = []
    page.route("**/plotly.min.js*", lambda asked: held.append(asked))
    page.goto(address(shared_application, runs))
    sketch = page.locator(".o-compare-charts figure").first.locator(".o-sketch path")
    expect(sketch).to_have_count(3)
    assert sketch.first.get_attribute("d").count("L") == 2, "three steps are two strokes"
    for asked in held:
        asked.continue_()
    lines(page, "Total reward", 3)
    expect(page.locator(".o-sketch")).to_have_count(0)
    assert not seen.errors


def test_an_address_shows_the_same_view_again(shared_application, page, seen, runs):
    page.goto(address(shared_application, runs))
    lines(page, "Total reward", 3)
    page.locator("[data-by]").select_option("train.learning_rate")
    drawn = lines(page, "Total reward", 2)
    assert [line["name"] for line in drawn] == ["Learning rate 1e-06", "Learning rate 0.0001"]
    assert drawn[0]["y"] == [0.75, 0.75, 0.75] and drawn[0]["n"] == [2, 2, 2]
    expect(page.locator("[data-x]")).to_be_disabled()
    page.get_by_text("Choose curves").click()
    page.get_by_role("checkbox", name="Turns an episode: all").check()
    page.get_by_role("checkbox", name="Win share", exact=True).uncheck()
    page.reload()
    drawn = lines(page, "Total reward", 2)
    assert [line["name"] for line in drawn] == ["Learning rate 1e-06", "Learning rate 0.0001"]
    expect(page.locator(".o-compare-charts figure:visible .o-chart-title > span:first-child")).to_have_text(
        ["Total reward", "caught", "Groups with signal", "Turns an episode: all"], use_inner_text=True)
    page.locator("[data-by]").select_option("*")
    [line] = lines(page, "Total reward", 1)
    assert line["n"] == [3, 3, 2]
    expect(page.locator(".o-compare-lines")).to_contain_text("at some steps only 2 of them")
    page.locator("[data-by]").select_option("difference")
    page.wait_for_function(f"() => ({LINES})('Total reward')[0]?.name === 'B − A'")
    assert lines(page, "Total reward", 1)[0]["y"] == [0.5, 0.5, 0.5]
    assert not seen.errors


def test_a_live_run_goes_on_and_an_idle_page_asks_for_next_to_nothing(shared_application, page, seen, store, runs):
    going = store.create(spec(name="going", seed=9))
    writer = going.writer()
    with writer.hold_lock():
        writer.record(steps(1))
        page.goto(address(shared_application, [*runs, going]))
        lines(page, "Total reward", 4)
        with page.expect_response(lambda response: said(response) == "look") as idle:
            pass
        while len(idle.value.text()) > 60:  # the first ones still bring what there is
            with page.expect_response(lambda response: said(response) == "look") as idle:
                pass
        assert len(idle.value.text()) + len(idle.value.request.post_data) < 2000
        assets = page.evaluate("performance.getEntriesByType('resource').length")
        writer.record(steps(2, 3, won=lambda *_: True))
        page.wait_for_function(f"() => ({LINES})('Total reward').find(line => line.name === 'going')?.x.length === 3")
        assert page.evaluate("performance.getEntriesByType('resource').length") - assets < 20
        chip = page.locator(".o-compare-runs li", has_text="going")
        expect(chip).to_contain_text("step 3 of 50")
        chip.get_by_role("button", name="Leave out going").click()
        assert [line["name"] for line in lines(page, "Total reward", 3)] == ["first", "second", "third"]
    writer.close()
    assert not seen.errors


def test_runs_are_added_with_the_keyboard_and_an_unknown_one_is_a_sentence(shared_application, page, seen, runs):
    page.goto(f"{shared_application.url}/compare?runs=nosuch")
    expect(page.get_by_text("no run in").first).to_contain_text("nosuch")
    expect(page.locator(".o-compare-body")).to_be_hidden()
    search = page.get_by_role("combobox", name="Add a run")
    search.fill("second")
    expect(page.get_by_role("option")).to_have_count(1)
    search.press("Enter")
    assert [line["name"] for line in lines(page, "Total reward", 1)] == ["second"]
    search.fill("first")
    expect(page.get_by_role("option", name="first")).to_be_visible()
    search.press("ArrowDown")
    page.keyboard.press("Enter")
    assert [line["name"] for line in lines(page, "Total reward", 2)] == ["second", "first"]
    expect(page.locator("[data-part=tasks]")).to_contain_text("1 task of catch was played by both")
    assert not seen.errors


def said(response) -> str:
    """Which of the page's functions was asked."""
    if "component_server" not in response.url:
        return ""
    return json.loads(response.request.post_data or "{}").get("fn_name", "")
