"""Shared files in a real browser with no network, the Share menus, and the dialog that imports."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from backend.cli import main
from backend.records import Episode, Fault, Policy, Turn
from backend.store import Store
from tests.recording import facts_after, record, wordle_run

ATTACK = ("</script></textarea></template></style><script>window.__pwn = 1</script><img src=x onerror='window.__pwn = 2'>"
          "\"><svg onload=window.__pwn=3>' onmouseover='window.__pwn=4' <a href='javascript:window.__pwn=7'>x</a>"
          "<link rel=stylesheet href=https://example.com/x.css> \u202e\x00\ud800")
WORDS = (("crane", "GXYXX"), ("cabal", "GGXYX"), ("caper", "GGGGG"))


def game(step: int, sample: int, text: str = "hm") -> Episode:
    turns = [Turn(index=k, thought=text, said=text, tool="guess", arguments={"guess": word}, result=f"{text} {k}",
                  facts={**facts_after(WORDS, k + 1), "secret": text}) for k, (word, _) in enumerate(WORDS)]
    return Episode(id=f"{step}-0-{sample}", step=step, group=0, sample=sample, environment="wordle", status="won", seed=1,
                   fingerprint="x", stop=text, facts=turns[-1].facts, scores={"win": 1.0, text: None}, total=1.0 - sample / 10,
                   advantage=0.5 - sample, prompt=({"role": "user", "content": text},), policy=Policy(name=text), turns=turns,
                   fault=Fault(where="model", kind=text, message=text, traceback=text) if sample == 2 else None)


@pytest.fixture(scope="module")
def run(shared_application):
    run = wordle_run(Store(shared_application.runs), "shared", model=ATTACK[:60])
    record(run, *(game(1, sample) for sample in range(3)))
    return record(run, *(game(2, sample, ATTACK) for sample in range(3)))


@pytest.fixture
def offline(browser):
    """A visitor without any network, who notes what a page asks for and complains about."""
    visitor = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce", offline=True)
    page = visitor.new_page()
    page.set_default_timeout(15_000)
    page.troubles = []
    page.on("request", lambda request: page.troubles.append(request.url[:200])
            if not request.url.startswith(("file:", "data:")) else None)
    page.on("console", lambda said: page.troubles.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: page.troubles.append(str(error)))
    yield page
    visitor.close()


def saved(run, folder: Path, *words: str) -> str:
    path = folder / "shared.html"
    assert main(["export", run.id, "--to", str(path), "--runs", str(run.path.parent), *words]) == 0
    return path.as_uri()


def test_an_episode_plays_from_a_file_without_any_network(run, tmp_path, offline):
    offline.goto(saved(run, tmp_path, "--episode", "1-0-0"))
    offline.keyboard.press("End")
    expect(offline.locator(".o-where")).to_have_text("3 / 3")
    expect(offline.locator(".o-frame:visible .o-verdict")).to_have_text("Solved in 3 guesses")
    offline.keyboard.press("Home")
    offline.keyboard.press("ArrowRight")
    expect(offline.locator(".o-frame:visible .o-tile.o-g")).to_have_count(1)
    expect(offline.locator(".o-turn:visible")).to_have_attribute("data-turn", "1")
    offline.get_by_label("Speed").select_option("8")
    offline.locator("h1").first.click()
    offline.keyboard.press(" ")
    expect(offline.locator(".o-where")).to_have_text("3 / 3")
    offline.get_by_role("button", name="Transcript").click()
    expect(offline.locator(".o-turn:visible")).to_have_count(4)
    offline.keyboard.press("?")
    expect(offline.locator("dialog.o-keys")).to_be_visible()
    assert offline.troubles == []


def test_a_group_and_a_run_open_each_of_their_episodes(run, tmp_path, offline):
    for words in (("--group", "1-0"), ()):
        offline.goto(saved(run, tmp_path, *words, "--replace"))
        boards = offline.locator("a[data-n]")
        assert boards.count() >= 3
        boards.nth(1).click()
        expect(boards.nth(1)).to_have_attribute("aria-current", "true")
        offline.keyboard.press("ArrowDown")
        expect(boards.nth(2)).to_have_attribute("aria-current", "true")
        if words:
            offline.keyboard.press("Home")
            offline.keyboard.press("ArrowRight")
            expect(offline.locator(".o-side .o-tile.o-g:visible")).to_have_count(3)
    expect(offline.locator(".o-drawn figure").first).to_contain_text("total reward")
    expect(offline.locator("text=/episodes of 6|6 episodes/").first).to_be_visible()
    assert offline.troubles == []


def test_hostile_text_in_a_file_is_shown_and_never_run(run, tmp_path, offline):
    for words in (("--group", "2-0"), ()):
        offline.goto(saved(run, tmp_path, *words, "--replace"))
        for n in range(offline.locator("a[data-n]").count()):
            offline.locator("a[data-n]").nth(n).click()
            offline.get_by_role("button", name="Transcript").click()
            for fold in offline.locator("details > summary:visible").all():
                fold.click()
        assert offline.evaluate("window.__pwn") is None
        assert offline.locator("a[href^='javascript:']").count() == 0
        assert offline.locator("script").count() == 1 and offline.locator("link[rel=stylesheet], iframe").count() == 0
        if words:
            assert "<script>window.__pwn = 1</script>" in offline.locator(".o-turn").nth(1).inner_text()
    assert offline.troubles == []


def test_the_policy_of_a_file_stops_a_script_that_is_put_in(run, tmp_path, offline):
    address = saved(run, tmp_path, "--episode", "1-0-0")
    path = tmp_path / "shared.html"
    path.write_text(path.read_text("utf-8").replace("</main>", "<img src=x onerror='window.__pwn=1'><script>window.__pwn=2"
                                                     "</script></main>"), "utf-8")
    offline.goto(address)
    expect(offline.locator(".o-where")).to_have_text("0 / 3")
    assert offline.evaluate("window.__pwn") is None and offline.troubles != []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_file_follows_the_system_s_theme_and_fits_a_phone(run, tmp_path, offline, theme):
    offline.emulate_media(color_scheme=theme)
    offline.set_viewport_size({"width": 390, "height": 844})
    offline.goto(saved(run, tmp_path))
    assert offline.evaluate("document.body.classList.contains('dark')") is (theme == "dark")
    offline.get_by_label("Light or dark").click()
    assert offline.evaluate("document.body.classList.contains('dark')") is (theme != "dark")
    assert offline.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_menu_offers_files_with_their_sizes_on_replay_watch_and_group(shared_application, run, page, seen):
    for address, offered in ((f"/episode?run={run.id}&id=1-0-0&turn=1", "PNG"), (f"/run?id={run.id}", "Parquet"),
                             (f"/group?run={run.id}&step=1&group=0", "TRL")):
        page.goto(shared_application.url + address)
        share = page.locator(".o-share")
        share.locator("summary").click()
        expect(share.locator("li", has_text="JSON").locator("em")).to_have_text(re.compile(r"^(about )?\d+ k?B$"))
        expect(share.locator("li", has_text=offered)).to_be_visible()
        with page.expect_download() as waiting:
            share.locator("li", has_text=offered).locator("a").click()
        assert waiting.value.suggested_filename.startswith(run.id)
        if offered == "PNG":
            assert "turn=1" in waiting.value.url
        page.keyboard.press("Escape")
        expect(share.locator(".o-share-menu")).to_be_hidden()
    assert seen.errors == [] and seen.elsewhere == []


def test_a_file_is_imported_on_the_page_of_runs_and_its_odd_lines_are_named(shared_application, page, tmp_path, seen):
    row = json.dumps({"messages": [{"role": "user", "content": ATTACK}, {"role": "assistant", "content": ATTACK}]})
    (tmp_path / "mine<b>.jsonl").write_text(f"{row}\n{{torn <img src=x onerror='window.__pwn=1'>\n{row}")
    page.goto(shared_application.url)
    page.get_by_role("button", name="Import").first.click()
    dialog = page.get_by_role("dialog", name="Import episodes")
    expect(dialog.get_by_role("button", name="Import")).to_be_disabled()
    dialog.locator("input[type=file]").set_input_files(tmp_path / "mine<b>.jsonl")
    expect(dialog.locator(".o-drop b")).to_contain_text("mine<b>.jsonl")
    dialog.get_by_role("button", name="Import").click()
    expect(dialog.locator(".o-import-said")).to_contain_text("2 episodes imported")
    expect(dialog.locator(".o-skipped")).to_contain_text("Line 2")
    dialog.get_by_role("link", name="Replay them").click()
    expect(page.locator(".o-player")).to_be_visible()
    assert page.evaluate("window.__pwn") is None
    assert seen.errors == [] and seen.elsewhere == []
