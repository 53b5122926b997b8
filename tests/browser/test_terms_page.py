"""Reward terms by clicking: written with completion, tried, saved, re-priced on a played run, and launched again."""

import re

from playwright.sync_api import expect

from backend.records import EnvironmentSpec, Episode, RunSpec
from backend.store import Store

RESULT = "document.querySelector('[data-slot=summary]').innerText"


def played(runs):
    """A run of Catch in which one group of two caught nothing, some balls nearly."""
    spec = RunSpec(name="stored", model="starter:catch", rewards=[{"name": "caught", "value": "1.0 if won else 0.0"}],
                   train={"group_size": 4, "episodes_per_step": 8}, environments=[EnvironmentSpec(id="catch", use="catch")])
    run = Store(runs).create(spec)
    with run.writing() as writer:
        for step in (1, 2, 3):
            writer.record([episode(step, n // 4, n % 4) for n in range(8)])
    return run


def episode(step, group, sample):
    won = group == 1 and sample < 2
    return Episode(id=f"{step}-{group}-{sample}", step=step, group=group, sample=sample, environment="catch",
                   status="won" if won else "lost", total=float(won), scores={"caught": float(won)}, advantage=0.0,
                   facts={"won": won, "nearness": 1.0 if won else sample / 8, "turns": 9})


def test_write_try_save_re_price_and_launch(shared_application, page, seen):
    run = played(shared_application.runs)
    page.goto(f"{shared_application.url}/launch?use=catch")
    rows = page.locator(".o-term")
    expect(rows.first).to_be_visible(timeout=30_000)

    page.get_by_role("button", name="Won or lost").click()
    expect(rows).to_have_count(1, timeout=30_000)
    expect(rows.first.get_by_label("Value")).to_have_value("1.0 if won else 0.0")
    page.get_by_role("button", name="Add term").click()
    value = rows.nth(1).get_by_label("Value")
    value.press_sequentially("0.5 * near")
    expect(rows.nth(1).get_by_role("option").first).to_contain_text("nearness", timeout=30_000)
    value.press("Enter")
    expect(value).to_have_value("0.5 * nearness", timeout=30_000)
    expect(page.locator("[data-facts]")).to_contain_text("nearness", timeout=30_000)
    expect(page.locator("[data-fact=nearness] i")).to_have_text("0.375", timeout=30_000)

    value.fill("0.5 * nearnes")
    expect(rows.nth(1).locator(".o-wrong")).to_contain_text("did you mean nearness", timeout=30_000)
    value.fill("0.5 * nearness")
    expect(rows.nth(1).locator(".o-wrong")).to_have_count(0, timeout=30_000)

    page.get_by_role("button", name="Try these terms").click()
    verdict = page.locator(".o-trial-verdict")
    expect(verdict).to_contain_text("Good play is worth more", timeout=60_000)
    expect(page.locator(".o-trial table")).to_contain_text("perfect player")
    expect(page.locator(".o-trial table")).to_contain_text("starter:catch")

    page.get_by_role("button", name="Saved sets").click()
    page.get_by_label("Name of the set").fill("near ones")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved as near ones.")).to_be_visible(timeout=30_000)

    page.goto(f"{shared_application.url}/run?id={run.id}")
    page.get_by_role("link", name="Re-price").click()
    expect(page.locator("h1")).to_have_text("Re-price", timeout=30_000)
    page.wait_for_function(f"{RESULT}.includes('own terms')")
    page.get_by_role("button", name="Saved sets").click()
    page.get_by_role("button", name="Use near ones").click()
    expect(page.get_by_text("3 gain it")).to_be_visible(timeout=30_000)
    page.wait_for_function("""() => [...document.querySelectorAll('[data-section=learning] .js-plotly-plot')]
        .flatMap(plot => plot.data).filter(line => line.name === 'now' || line.name === 'was').length === 2""")
    first = page.locator("[data-slot=moved] a").first
    expect(first).to_have_attribute("href", re.compile(r"/episode\?run=.*&id=\d-0-\d"))

    page.reload()
    expect(page.get_by_text("3 gain it")).to_be_visible(timeout=30_000)
    page.get_by_role("link", name="Launch with these terms").click()
    expect(page.locator("h1")).to_have_text("Launch a run", timeout=30_000)
    expect(page.locator(".o-term").nth(1).get_by_label("Value")).to_have_value("0.5 * nearness", timeout=30_000)
    expect(page.get_by_label("Name", exact=True).first).to_have_value("stored", timeout=30_000)
    assert not seen.errors and not seen.elsewhere
