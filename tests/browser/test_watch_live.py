"""Watch in a real browser, on a run that is being written while the page looks at it."""

import time

import pytest

from backend.records import Episode, Result, RunSpec
from backend.store import Store

SPEC = RunSpec(
    name="live",
    model="starter:catch",
    environments=[{"id": "catch", "use": "catch"}],
    rewards=[{"name": "caught", "value": "1.0 if won else 0.0"}, {"name": "near", "value": "nearness"}],
    train={"steps": 30, "group_size": 4, "episodes_per_step": 8},
)
RANGE = "document.querySelector('.o-chart-large .o-plot')._fullLayout.xaxis.range.map(Math.round).join()"
HIDDEN = ".o-line-key[aria-pressed=false]"


def play(writer, step):
    episodes = []
    for place in range(8):
        won = (place + step) % 3 == 0
        scores = {"caught": float(won), "near": None if step == 4 else 0.5}
        total = sum(score for score in scores.values() if score is not None)
        episodes.append(
            Episode(
                id=f"{step}-{place // 4}-{place % 4}",
                step=step,
                group=place // 4,
                sample=place % 4,
                environment="catch",
                status="won" if won else "lost",
                fingerprint=f"t{place // 4}",
                facts={"won": won},
                scores=scores,
                total=total,
                started=time.time(),
            )
        )
    writer.record(episodes)
    writer.metrics(step, {"entropy": 1 / step})


@pytest.fixture
def run(application):
    application.runs.mkdir(exist_ok=True)
    return Store(application.runs).create(SPEC)


@pytest.fixture
def writer(run):
    writer = run.writer()
    with writer.hold_lock():
        yield writer
    writer.close()


def test_a_run_is_watched_from_its_first_word_to_its_end(application, page, seen, run, writer):
    writer.phase("loading the model")
    page.goto(f"{application.url}/run?id={run.id}")
    page.get_by_text("Loading the model", exact=True).wait_for()

    for step in range(1, 13):
        play(writer, step)
    page.locator(".o-chart-large .scatterlayer .js-line").first.wait_for()
    page.locator(".o-watch-progress").get_by_text("step 12").wait_for()
    assert page.locator(".o-watch-episode").count() == 9
    assert page.locator(".o-health").get_by_text("groups with signal").is_visible()

    page.locator(".o-chart-large .o-line-key", has_text="near").click()
    box = page.locator(".o-chart-large .nsewdrag").bounding_box()
    across, down = box["x"], box["y"] + 30
    page.mouse.move(across + box["width"] * 0.3, down)
    page.mouse.down()
    page.mouse.move(across + box["width"] * 0.6, down, steps=4)
    page.mouse.up()
    page.wait_for_function(f"{RANGE} !== '1,12'")
    zoomed = page.evaluate(RANGE)
    play(writer, 13)
    page.locator(".o-watch-progress").get_by_text("step 13").wait_for()
    assert page.evaluate(RANGE) == zoomed and page.locator(HIDDEN).count() == 1

    page.mouse.click(across + box["width"] / 2, down)
    page.locator(".o-watch-step .o-watch-group").nth(1).wait_for()
    assert "&step=" in page.url
    chosen = page.locator(".o-watch-step h2").inner_text()
    page.reload()
    page.locator(".o-watch-step .o-watch-group").nth(1).wait_for()
    assert page.locator(".o-watch-step h2").inner_text() == chosen
    page.locator(".o-watch-progress").get_by_text("step 13").wait_for()

    page.get_by_role("button", name="Stop after this step").click()
    page.get_by_role("button", name="Keep running").click()
    assert not run.stop_asked()
    page.get_by_role("button", name="Stop after this step").click()
    page.get_by_role("button", name="Stop", exact=True).click()
    page.get_by_text("Stopping after this step").wait_for()
    assert run.stop_asked()
    writer.finish(Result(status="stopped", step=13, ended=time.time()))
    page.locator(".o-watch-head").get_by_text("stopped").wait_for()
    assert seen.errors == [] and seen.elsewhere == []


def test_what_the_trainer_printed_is_text_and_follows_its_end(application, page, seen, run, writer):
    writer.phase("loading the model")
    with open(run.path / "trainer.log", "ab", buffering=0) as log:
        log.write(b"\x1b[33mcareful\x1b[0m <img src=x onerror=alert(1)>\n\r 10%|#  |\r 20%|## |")
        page.goto(f"{application.url}/run?id={run.id}#log")
        page.get_by_text(" 20%|## |").wait_for()
        assert page.locator(".o-watch-log img").count() == 0 and page.get_by_text("10%|#").count() == 0
        assert page.locator(".o-watch-log .o-ansi-yellow").inner_text() == "careful"
        log.write(b"\r100%|###|\n" + b"".join(b"line %d\n" % n for n in range(300)))
        page.get_by_text("line 299").wait_for()
        assert page.get_by_text("20%|## |").count() == 0 and page.get_by_text("100%|###|").count() == 1
        below = "(log) => log.scrollHeight - log.scrollTop - log.clientHeight"
        assert page.locator(".o-watch-log").evaluate(below) < 2
    assert seen.errors == []


def test_a_tick_without_news_is_under_two_kilobytes(application, page, run, writer):
    play(writer, 1)
    page.goto(f"{application.url}/run?id={run.id}")
    page.locator(".o-watch-episode").first.wait_for()
    with page.expect_response(lambda response: "component_server" in response.url) as asked:
        pass
    answer = asked.value
    assert len(answer.body()) + len(answer.request.post_data) < 2000
