"""Watch in a real browser, on a run that is being written while the page looks at it."""

import time

import pytest

from backend.records import Episode, Result, RunSpec, Turn
from backend.store import Store
from backend.store.live import Live, LiveFile, Seated

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
                tokens=50,
            )
        )
    writer.record(episodes)
    writer.metrics(step, {"entropy": 1 / step})


@pytest.fixture
def run(shared_application):
    shared_application.runs.mkdir(exist_ok=True)
    return Store(shared_application.runs).create(SPEC)


def test_a_run_is_watched_from_its_first_word_to_its_end(shared_application, page, seen, run, writer):
    writer.phase("loading the model")
    page.goto(f"{shared_application.url}/run?id={run.id}")
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


def test_what_the_trainer_printed_is_text_and_follows_its_end(shared_application, page, seen, run, writer):
    writer.phase("loading the model")
    with open(run.path / "trainer.log", "ab", buffering=0) as log:
        log.write(b"\x1b[33mcareful\x1b[0m <img src=x onerror=alert(1)>\n\r 10%|#  |\r 20%|## |")
        page.goto(f"{shared_application.url}/run?id={run.id}#log")
        page.get_by_text(" 20%|## |").wait_for()
        assert page.locator(".o-watch-log img").count() == 0 and page.get_by_text("10%|#").count() == 0
        assert page.locator(".o-watch-log .o-ansi-yellow").inner_text() == "careful"
        log.write(b"\r100%|###|\n" + b"".join(b"line %d\n" % n for n in range(300)))
        page.get_by_text("line 299").wait_for()
        assert page.get_by_text("20%|## |").count() == 0 and page.get_by_text("100%|###|").count() == 1
        below = "(log) => log.scrollHeight - log.scrollTop - log.clientHeight"
        assert page.locator(".o-watch-log").evaluate(below) < 2
    assert seen.errors == []


def smallest_tick(page) -> int:
    """Bytes asked and answered, of some; the first ones still bring what there is."""
    sizes = []
    for _ in range(3):
        with page.expect_response(lambda response: "component_server" in response.url) as asked:
            pass
        sizes.append(len(asked.value.body()) + len(asked.value.request.post_data))
    return min(sizes)


def test_a_tick_without_news_is_under_two_kilobytes(shared_application, page, run, writer):
    play(writer, 1)
    page.goto(f"{shared_application.url}/run?id={run.id}")
    page.locator(".o-watch-episode").first.wait_for()
    assert smallest_tick(page) < 2000


FIGURE = "document.querySelector('.o-chart-large .o-plot')"


def test_zoom_and_legend_stay_while_axis_smoothing_and_scale_change(shared_application, page, seen, run, writer):
    for step in range(1, 41):
        play(writer, step)
    page.goto(f"{shared_application.url}/run?id={run.id}")
    page.locator(".o-chart-large .scatterlayer .js-line").first.wait_for()
    page.locator(".o-chart-large .o-line-key", has_text="near").click()
    box = page.locator(".o-chart-large .nsewdrag").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.75, box["y"] + 60, steps=4)
    page.mouse.up()
    page.wait_for_function(f"{RANGE} !== '1,40'")
    steps = [int(edge) for edge in page.evaluate(RANGE).split(",")]

    page.get_by_label("Across").select_option("episodes")
    page.wait_for_function(f"{FIGURE}._fullLayout.xaxis.range[1] > 100")
    first, last = page.evaluate(f"{FIGURE}._fullLayout.xaxis.range")
    assert abs(first - 8 * steps[0]) < 8 and abs(last - 8 * steps[1]) < 8 and page.locator(HIDDEN).count() == 1
    page.get_by_label("Smoothing").fill("0.9")
    page.wait_for_function(f"{FIGURE}.data.some((trace) => (trace.hovertemplate ?? '').includes('smoothed'))")
    assert "x=episodes" in page.url and "smooth=0.9" in page.url
    play(writer, 41)
    page.locator(".o-watch-progress").get_by_text("step 41").wait_for()
    assert abs(page.evaluate(f"{FIGURE}._fullLayout.xaxis.range[0]") - first) < 1
    page.get_by_label("Across").select_option("step")
    page.wait_for_function(f"{RANGE} === '{steps[0]},{steps[1]}'")
    assert page.locator(HIDDEN).count() == 1

    page.get_by_role("button", name="Log scale").click()
    page.get_by_text("linear, since some values are 0 or less").first.wait_for()
    page.locator("[data-tab=optimiser]").click()
    entropy = "[...document.querySelectorAll('[data-section=optimiser] .js-plotly-plot')][0]"
    page.wait_for_function(f"{entropy}?._fullLayout.yaxis.type === 'log'")
    page.goto(f"{shared_application.url}/run?id={run.id}")
    page.wait_for_function(f"{FIGURE}?.data?.some((trace) => (trace.hovertemplate ?? '').includes('smoothed'))")
    assert page.get_by_role("button", name="Log scale").get_attribute("aria-pressed") == "true", "remembered"
    assert seen.errors == [] and seen.elsewhere == []


def in_play(step, sample, turns, stage="generating"):
    made = [Turn(index=k, tool="move", arguments={"direction": "left"}, result=f"row {k} <b>", facts={
        "rows": 6, "columns": 3, "ball_row": k, "ball_column": 1, "paddle_column": 1}) for k in range(turns)]
    episode = Episode(id=f"{step}-0-{sample}", step=step, group=0, sample=sample, environment="catch", task=f"seed {sample}",
                      status="finished", opening="A ball falls.", turns=made)
    return Seated(episode=episode, stage=stage, since=time.time() - 5)


def batch(step, turns):
    return Live(phase="train", step=step, began=time.time(), counts={"generating": 8}, playing=8,
                shown=tuple(in_play(step, sample, turns) for sample in range(4)))


def test_episodes_are_watched_while_they_are_played_and_one_is_followed_to_its_recording(
        shared_application, page, seen, run, writer):
    file = LiveFile(run.path)
    writer.phase("playing step 1")
    file.write(batch(1, 1))
    page.goto(f"{shared_application.url}/run?id={run.id}")
    boards = page.locator(".o-live")
    boards.first.wait_for()
    assert boards.count() == 4 and page.get_by_text("4 of 8 · step 1").is_visible(), "before any episode was recorded"
    boards.nth(2).focus()
    page.keyboard.press("Enter")
    page.locator(".o-follow-turn").first.wait_for()
    page.wait_for_function("""() => { const box = document.querySelector('.o-follow-board').getBoundingClientRect();
        return box.top >= 0 && box.bottom <= innerHeight; }""")
    assert page.locator(".o-follow-board .o-catch-board").is_visible() and "follow=1-0-2" in page.url
    file.write(batch(1, 3))
    page.locator(".o-follow-turn").nth(2).wait_for()
    assert page.locator(".o-follow-turn").count() == 3 and page.locator(".o-follow b", has_text="Turn 3").count() == 1
    assert page.get_by_text("row 2 <b>").is_visible()

    play(writer, 1)
    whole = in_play(1, 2, 5).episode
    writer.record([whole.model_copy(update={"status": "lost", "total": 0.5})])
    file.remove()
    page.get_by_role("link", name="Replay this episode").wait_for()
    page.locator(".o-lane-place a.o-watch-episode").first.wait_for()
    assert page.locator(".o-live").count() == 0 and page.locator(".o-lane-place").count() == 4
    assert page.locator(".o-follow-turn").count() == 5, "to its last turn"
    assert page.get_by_text("row 4 <b>").is_visible()
    page.get_by_role("button", name="Newest", exact=True).click()
    page.get_by_label("Newest episodes").get_by_role("link").first.wait_for()
    file.write(batch(2, 1))
    page.get_by_role("button", name="Now playing").click()
    page.get_by_text("4 of 8 · step 2").wait_for()
    page.get_by_role("link", name="Replay this episode").click()
    page.wait_for_url("**/episode?run=*id=1-0-2*")
    assert seen.errors == []


def test_a_tick_without_news_is_small_while_a_batch_is_played(shared_application, page, run, writer):
    play(writer, 1)
    LiveFile(run.path).write(batch(2, 3))
    page.goto(f"{shared_application.url}/run?id={run.id}")
    page.locator(".o-live").first.wait_for()
    assert smallest_tick(page) < 2000
