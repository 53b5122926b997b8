"""Does a page that is watched for an hour grow? `python tests/bench/soak.py [--minutes 60] [--rate 2] [--allowed 0.1]`

Writes a run, a step every `--rate` seconds and a batch in play between, and watches it in a real browser, which changes
its tab, axis and followed episode now and then as a person does. After each sixtieth of the time garbage is collected
and the page's heap, nodes and listeners are counted. Prints a table; exits 1 when the last quarter is above the first by
more than the allowed share. The first tenth, in which the page is warming up, doesn't count.
"""

import argparse
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from backend.records import Episode, RunSpec, Turn  # noqa: E402
from backend.store import Store  # noqa: E402
from backend.store.live import Live, LiveFile, Seated  # noqa: E402

GROUP, STEP = 8, 32
BEFORE = 9000
"""Steps the run has when the page is opened. A line then has 560 points and gains one in 16 steps: what grows is no line."""
SAMPLES = 60
SPEC = RunSpec.model_validate({
    "name": "soak", "model": "starter:catch", "environments": [{"id": "catch", "use": "catch"}],
    "rewards": [{"name": "caught", "value": "1.0 if won else 0.0"}, {"name": "near", "value": "nearness"}],
    "train": {"steps": 1_000_000, "group_size": GROUP, "episodes_per_step": STEP}})
WATCHED = ("JSHeapUsedSize", "Nodes", "JSEventListeners")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--js-flags=--expose-gc"]


def turn(k: int) -> Turn:
    return Turn(index=k, tool="move", arguments={"direction": "left"}, result=f"row {k}", facts={
        "rows": 9, "columns": 5, "ball_row": k, "ball_column": 2, "paddle_column": k % 5, "won": None})


TURNS = [turn(k) for k in range(9)]


def episode(step: int, place: int, luck: random.Random, turns: int = 9) -> Episode:
    won, near = luck.random() < 0.5, luck.random()
    return Episode.model_construct(
        id=f"{step}-{place // GROUP}-{place % GROUP}", step=step, group=place // GROUP, sample=place % GROUP,
        environment="catch", fingerprint=f"{step}.{place // GROUP}", status="won" if won else "lost",
        facts={"won": won, "truncated": False}, scores={"caught": float(won), "near": near}, total=won + near,
        advantage=luck.gauss(0, 1), tokens=54, seconds=0.5, opening="A ball falls.", turns=tuple(TURNS[:turns]))


def write(run, rate: float, begun: threading.Event, over: threading.Event) -> None:
    luck, lane = random.Random(0), LiveFile(run.path)
    writer = run.writer()
    with writer.hold_lock(), open(run.path / "trainer.log", "a", buffering=1) as log:
        step = 0
        while not over.is_set():
            step += 1
            if step > BEFORE:
                begun.set()
                for turns in (2, 5, 8):
                    shown = tuple(Seated(episode=episode(step, 4 * n, luck, turns), stage="generating", since=time.time())
                                  for n in range(8))
                    lane.write(Live(phase="train", step=step, began=time.time(), counts={"generating": STEP},
                                    playing=STEP, shown=shown))
                    over.wait(rate / 3)
            writer.phase(f"playing step {step}")
            writer.record([episode(step, place, luck) for place in range(STEP if step > BEFORE else 2)])
            writer.metrics(step, {"entropy": luck.random(), "kl": luck.random() / 100, "step_time": 1.0 + luck.random(),
                                  "seconds/model": 0.5, "grad_norm": luck.random(), "completions/mean_length": 54.0})
            log.write(f"step {step}\n")
            lane.remove()
    writer.close()


def served(runs: Path) -> tuple[subprocess.Popen, str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    app = subprocess.Popen([sys.executable, "app.py", "--port", str(port), "--runs", str(runs), "--no-worker"], cwd=ROOT,
                           stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
    url = f"http://127.0.0.1:{port}"
    for _ in range(600):
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return app, url
        except OSError:
            time.sleep(0.1)
    app.kill()
    raise SystemExit("the application isn't served")


def used(page, place: int) -> None:
    """What a person does now and then."""
    tabs = ("lengths", "optimiser", "time", "log", "terms")
    page.locator(f"[data-tab={tabs[place % len(tabs)]}]").click()
    if place % 3 == 0:
        page.get_by_label("Across").select_option(("step", "episodes", "tokens", "time")[place // 3 % 4])
    if place % 4 == 1:
        page.evaluate("document.querySelector('.o-live')?.click()")
    if place % 4 == 3:
        page.evaluate("document.querySelector('[data-do=unfollow]')?.click()")
    if place % 5 == 2:
        page.evaluate("document.getElementById('o-theme').click()")


def watch(url: str, run: str, minutes: float) -> list[dict[str, float]]:
    from playwright.sync_api import sync_playwright

    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))))
    told = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_page(viewport={"width": 1440, "height": 2400})
        page.goto(f"{url}/run?id={run}")
        page.locator(".o-chart-large .scatterlayer .js-line").first.wait_for(timeout=60_000)
        client = page.context.new_cdp_session(page)
        client.send("Performance.enable")
        for place in range(SAMPLES):
            page.wait_for_timeout(minutes * 60_000 / SAMPLES)
            used(page, place)
            page.wait_for_timeout(500)
            for _ in range(2):
                client.send("HeapProfiler.collectGarbage")
            metrics = {each["name"]: each["value"] for each in client.send("Performance.getMetrics")["metrics"]}
            step = page.locator(".o-watch-progress b").first.inner_text()
            told.append({"minute": (place + 1) * minutes / SAMPLES, **{name: metrics[name] for name in WATCHED}})
            print(f"{told[-1]['minute']:7.1f} min  {step:>12}  {metrics['JSHeapUsedSize'] / 1e6:8.1f} MB  "
                  f"{metrics['Nodes']:8,.0f} nodes  {metrics['JSEventListeners']:7,.0f} listeners", flush=True)
        browser.close()
    return told


def grown(told: list[dict[str, float]], allowed: float) -> bool:
    told = told[len(told) // 10:]
    quarter = max(1, len(told) // 4)
    worse = False
    for name in WATCHED:
        first = statistics.median(each[name] for each in told[:quarter])
        last = statistics.median(each[name] for each in told[-quarter:])
        share = last / first - 1
        worse |= share > allowed
        print(f"{'GROWS' if share > allowed else 'flat '}  {name:18} {first:14,.0f} -> {last:14,.0f}  {share:+.1%} "
              f"(allowed {allowed:+.0%})")
    return worse


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--minutes", type=float, default=60)
    asked.add_argument("--rate", type=float, default=2.0, help="seconds a step")
    asked.add_argument("--allowed", type=float, default=0.10, help="share by which the last quarter may be above the first")
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = Store(folder).create(SPEC)
        begun, over = threading.Event(), threading.Event()
        writing = threading.Thread(target=write, args=(run, given.rate, begun, over), daemon=True)
        writing.start()
        begun.wait()
        app, url = served(Path(folder))
        try:
            told = watch(url, run.id, given.minutes)
        finally:
            over.set()
            writing.join(10)
            app.terminate()
            app.wait(20)
    return int(grown(told, given.allowed))


if __name__ == "__main__":
    sys.exit(main())
