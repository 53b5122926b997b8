"""The pages as a person uses them: what can be pressed, and what can be read."""

import re

from playwright.sync_api import Page, expect

CURVE = """name => [...document.querySelectorAll('[data-section=learning] .js-plotly-plot')].flatMap(plot => plot.data)
    .filter(trace => trace.name === name).flatMap(trace => [...trace.y]).filter(y => y !== null)"""


class Work:
    """What the page's main thread worked since the last look, in seconds of its CPU: a busy machine changes nothing in it."""

    def __init__(self, page: Page):
        self.page, self._client = page, page.context.new_cdp_session(page)
        self._client.send("Performance.enable", {"timeDomain": "threadTicks"})
        self._before = self._now()

    def _now(self) -> float:
        told = {each["name"]: each["value"] for each in self._client.send("Performance.getMetrics")["metrics"]}
        return told["TaskDuration"]

    def done(self) -> float:
        """Once what was asked for is drawn."""
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        before, self._before = self._before, self._now()
        return self._before - before


class Runs:
    def __init__(self, page: Page):
        self.page = page

    def open(self, url: str):
        self.page.goto(url)
        expect(self.page.locator("h1")).to_have_text("Runs")
        expect(self.page.locator("table.o-runs, .o-empty").first).to_be_visible()

    def new(self) -> "Launch":
        """By the button of the list, or of the sentence that stands in for an empty one."""
        self.page.locator("a.o-button[href='/launch']:visible").click()
        return Launch(self.page)

    def row(self, run: str):
        return self.page.locator("table.o-runs tr", has=self.page.locator(f"a[href$='{run}']"))


class Launch:
    def __init__(self, page: Page):
        self.page = page
        expect(page.locator("h1")).to_have_text("Launch a run")

    def choose(self, recipe: str):
        self.page.get_by_role("radiogroup", name="Recipe").locator("label").filter(has_text=recipe).click()
        expect(self.page.get_by_label("Name", exact=True).first).not_to_have_value("")

    def go(self) -> "Watch":
        self.page.get_by_role("button", name="Launch run").click()
        self.page.wait_for_url("**/run?id=*")
        return Watch(self.page)


class Watch:
    def __init__(self, page: Page):
        self.page = page
        self.chip = page.locator(".o-watch-name .o-chip")
        self.episodes = page.get_by_label("Newest episodes").get_by_role("link")
        expect(self.chip).to_be_visible()

    def newest(self, seconds: float):
        """The newest recorded episodes instead of those being played, once there are any."""
        self.page.get_by_role("button", name="Newest", exact=True).click(timeout=seconds * 1000)
        return self.episodes

    @property
    def run(self) -> str:
        return re.search(r"[?&]id=([^&#]+)", self.page.url)[1]

    def step(self) -> int:
        shown = self.page.locator(".o-watch-progress b").first.inner_text()
        return int(re.sub(r"\D", "", shown))

    def wait_past(self, step: int, seconds: float):
        """Until the page itself shows a later step."""
        self.page.wait_for_function(
            "step => Number(document.querySelector('.o-watch-progress b').textContent.replace(/\\D/g, '')) > step",
            arg=step, timeout=seconds * 1000)

    def wait_for_curve(self, name: str, points: int) -> list[float]:
        """The values on the chart that draws the curve of this name, once there are so many."""
        self.page.wait_for_function(f"([name, points]) => ({CURVE})(name).length >= points",
                                    arg=[name, points])
        return self.page.evaluate(CURVE, name)

    def stop(self):
        self.page.get_by_role("button", name="Stop after this step").click()
        self.page.get_by_role("button", name="Stop", exact=True).click()


class Replay:
    def __init__(self, page: Page):
        self.page = page
        self.player = page.locator(".o-player")
        self.where = page.locator(".o-where")
        expect(self.player).to_be_visible()

    def press(self, button: str):
        self.page.get_by_role("button", name=button, exact=True).click()

    def key(self, name: str):
        self.page.keyboard.press(name)

    def expect_turn(self, turn: int):
        """Counter, card and board all show it."""
        expect(self.where).to_have_text(f"{turn} / {self.turns()}")
        expect(self.page.locator(".o-turn.o-now")).to_have_attribute("data-turn", str(turn))
        expect(self.page.locator(".o-frame.o-now")).to_have_count(1)

    def turns(self) -> int:
        return int(self.player.get_attribute("data-turns"))

    def episode(self) -> str:
        return self.player.get_attribute("data-id")

    def up_to_the_run(self) -> Watch:
        self.page.get_by_label("Where this episode belongs").get_by_role("link").first.click()
        return Watch(self.page)
