"""Environments by clicking: search, one alone, an address tried and saved, a catalog imported, and on to a run."""

import json

from playwright.sync_api import expect

from backend.environments.serving import serve


def catalog(folder):
    """With one entry that can be read and one that can't."""
    entry = {"type": "application/vnd.openenv.environment-card+json", "displayName": "<b>maze</b>", "data": {
        "description": "Find the way out.", "license": "MIT",
        "source": {"uri": "https://github.com/someone/envs.git", "path": "envs/maze", "revision": "a" * 40}}}
    file = folder / "catalog.json"
    file.write_text(json.dumps({"entries": [entry, 3]}), encoding="utf-8")
    return file


def test_search_try_save_import_and_use(shared_application, page, seen, tmp_path):
    page.goto(f"{shared_application.url}/environments")
    cards = page.locator(".o-env:visible")
    expect(cards.first).to_be_visible()
    everything = cards.count()
    assert everything > 20

    page.get_by_label("Search environments").fill("tile wordle")
    expect(page.get_by_text("No environment matches")).to_be_visible()
    page.get_by_label("Search environments").fill("best_greens")
    expect(cards).to_have_count(2)
    page.get_by_label("Search environments").fill("")
    page.locator("label", has_text="Not run here").click()
    assert 0 < cards.count() < everything and "status=not+run+here" in page.url
    page.reload()
    expect(cards.first).to_contain_text("not run here")
    page.locator("label", has_text="All").first.click()

    cards.filter(has_text="wordle").first.get_by_role("link", name="Wordle", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Wordle")
    page.get_by_label("Turn of the sample game").fill("1")
    expect(page.locator(".o-env-sample [data-turn]")).to_have_text("turn 1 of 3")
    page.locator("[data-one]").get_by_text("JSON Schema").first.click()
    expect(page.locator("[data-one] .o-env-schema pre").first).to_contain_text('"name": "guess"')
    page.go_back()
    expect(cards.first).to_be_visible()

    page.get_by_role("button", name="Try an address").click()
    page.get_by_label("Address").fill("openenv+http://127.0.0.1:1")
    page.get_by_role("button", name="Try it").click()
    expect(page.get_by_role("alert")).to_contain_text("Nothing answers at http://127.0.0.1:1")
    with serve("catch", 1) as server:
        page.get_by_label("Address").fill(f"openenv+{server.url}")
        page.get_by_role("button", name="Try it").click()
        expect(page.locator(".o-env-found")).to_contain_text("paddle_column")
    page.get_by_label("Name", exact=True).fill("Catch at home")
    page.get_by_role("button", name="Save", exact=True).click()
    mine = cards.filter(has_text="Catch at home")
    expect(mine).to_have_count(1)

    page.get_by_role("button", name="Import a catalog").click()
    page.locator("input[type=file]").set_input_files(catalog(tmp_path))
    expect(page.locator("[data-imported]")).to_contain_text("1 environment imported, 1 skipped")
    expect(page.locator("[data-imported]")).to_contain_text("Entry 2: it is no object")
    expect(cards.filter(has_text="<b>maze</b>")).to_have_count(1)
    page.get_by_label("Where https://github.com/someone/envs was cloned to").fill("/somewhere")
    page.get_by_role("button", name="Set", exact=True).click()
    expect(cards.filter(has_text="folder:/somewhere/envs/maze")).to_have_count(1)

    mine.get_by_role("link", name="Use in a run").click()
    expect(page.locator("h1")).to_have_text("Launch a run")
    expect(page.locator("label.o-pick", has_text="Catch at home").locator("input")).to_be_checked()
    expect(page.get_by_label("Name", exact=True).first).to_have_value("catch-at-home")
    expect(page.locator("[data-facts]")).to_contain_text("paddle_column")

    page.goto(f"{shared_application.url}/environments?saved=Catch+at+home")
    page.get_by_role("button", name="Change").click()
    page.get_by_label("Name", exact=True).fill("Catch")
    page.get_by_role("button", name="Save changes").click()
    expect(cards.filter(has_text="Catch at home")).to_have_count(0)
    page.goto(f"{shared_application.url}/environments?saved=Catch")
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Really delete").click()
    expect(cards.first).to_be_visible()
    expect(page.get_by_role("heading", name="Yours")).to_have_count(0)
    assert not seen.elsewhere and not seen.errors
