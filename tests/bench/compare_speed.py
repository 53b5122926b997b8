"""Twenty runs of 10,000 steps on one page. `python tests/bench/compare_speed.py [RUNS] [STEPS]`

Writes runs straight into their tables and asks Compare for the first chart, beside a naive answer made of every point;
then opens the page in a real browser and says when the chart was painted, counted from the navigation. Also: an idle
question, and the tasks of two runs of 100,000 episodes. Prints seconds beside the goal.
"""

import json
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from backend.comparing import duel, shared_environments  # noqa: E402
from backend.records import Result, RunSpec  # noqa: E402
from backend.store import Run, Store, curves  # noqa: E402
from backend.store.tables import RUN  # noqa: E402
from tests.browser.conftest import FLAGS, NAMES, served  # noqa: E402
from ui.compare import Asked, AskedPoints, answer, points_of  # noqa: E402

WATCH = """() => {
    const first = {stood: '.o-compare', painted: '.o-chart:first-child .o-sketch path, .o-chart:first-child .scatterlayer .trace',
                   live: '.o-chart:first-child .scatterlayer .trace'};
    window.seen = {};
    new MutationObserver(() => {
        for (const [name, those] of Object.entries(first)) {
            if (seen[name] || document.querySelectorAll(those).length < (name === 'stood' ? 1 : %d)) continue;
            seen[name] = 1;
            requestAnimationFrame(() => setTimeout(() => { seen[name] = performance.now(); }));
        }
    }).observe(document, {childList: true, subtree: true});
}"""
"""Notes when the frame that shows something is painted."""


def insert(connection, table: str, rows) -> None:
    connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(RUN[table]))})", rows)


def make(store: Store, place: int, steps: int, episodes: int = 0) -> Run:
    """A finished run: a curve that rises with noise, and where asked for so many episodes of 600 tasks."""
    luck = random.Random(place)
    run = store.create(RunSpec.model_validate({
        "name": f"wordle-{place}", "model": "starter:wordle", "environments": [{"id": "wordle", "use": "wordle"}],
        "rewards": [{"name": "win", "value": "1.0 if won else 0.0"}, {"name": "partial", "value": "0.1 * best_greens"}],
        "train": {"steps": steps, "group_size": 8, "episodes_per_step": 64}, "seed": place}))
    writer = run.writer()
    connection = writer._connection
    connection.execute("BEGIN")
    shares = [min(64, max(0, round(64 * (step / steps + luck.gauss(0, 0.1))))) / 64 for step in range(1, steps + 1)]
    insert(connection, "curves", (
        (step, name, environment, worth * share, 0.5 * share, min(1.0, 1.5 * share), 64, 64)
        for step, share in enumerate(shares, 1) for name, worth in (("win", 1.0), ("partial", 0.2), ("total", 1.2))
        for environment in ("", "wordle")))
    counted = {"phase": "train", "environment": "wordle", "episodes": 64, "judged": 64, "scored": 64, "groups": 8,
               "groups_signal": 5, "turns": 320, "tokens": 19_200, "with_tokens": 64, "failed_calls": "{}", "spreads": "{}"}
    insert(connection, "tallies", (
        [{**counted, "step": step, "won": int(64 * share), "lost": 64 - int(64 * share)}.get(column, 0)
         for column in RUN["tallies"]] for step, share in enumerate(shares, 1)))
    insert(connection, "steps", ((step, 1.7e9 + 10 * step) for step in range(1, steps + 1)))
    facts = json.dumps({f"fact_{k}": luck.random() for k in range(12)})
    insert(connection, "episodes", (
        [{"seq": seq, "id": str(seq), "phase": "train", "step": 1 + seq % steps, "attempt": 1, "environment": "wordle",
          "seed": str(task), "task": f'"{task}"', "fingerprint": f"{task:012x}", "policy": "model", "facts": facts,
          "status": "won" if luck.random() < 0.4 + 0.1 * place else "lost", "scores": "{}", "turns": 5, "total": 1.0}.get(column)
         for column in RUN["episodes"]] for seq in range(1, episodes + 1) for task in [luck.randrange(600)]))
    connection.execute("COMMIT")
    writer.finish(Result(status="finished", step=steps, ended=time.time()))
    writer.close()
    return run


def best(work, times: int = 3) -> float:
    taken = []
    for _ in range(times):
        before = time.perf_counter()
        work()
        taken.append(time.perf_counter() - before)
    return min(taken)


def naive(store: Store, runs: list[Run]) -> str:
    """The total of every run, every point."""
    return json.dumps({run.id: curves.rewards(run.path)["total"][:2] for run in runs})


def painted(folder: Path, ids: str, lines: int) -> list[tuple[float, ...]]:
    """Seconds from the navigation until the page's frame stood, until the first chart's lines were painted and until they
    were Plotly's, of several visits by a browser that came from the list of runs; [] without a browser."""
    import shutil

    from playwright.sync_api import sync_playwright

    found = next(filter(None, map(shutil.which, NAMES)), None)
    if not found:
        return []
    taken = []
    with served(folder) as application, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(FLAGS))
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.add_init_script(f"({WATCH % lines})()")
        page.goto(application.url)
        page.wait_for_selector("table.o-runs")
        for _ in range(4):
            page.goto(f"{application.url}/compare?runs={ids}")
            told = page.wait_for_function("() => seen.live > 1 && seen", timeout=60_000).json_value()
            taken.append(tuple(told[name] / 1000 for name in ("stood", "painted", "live")))
            page.wait_for_load_state("networkidle")
        browser.close()
    return taken


def main(count: int, steps: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "runs")
        runs = [make(store, place, steps) for place in range(count)]
        ids = ",".join(run.id for run in runs)
        asked = AskedPoints(runs=ids, key="curve:total")
        first, every = best(lambda: points_of(store, asked)), best(lambda: naive(store, runs))
        small, large = len(json.dumps(points_of(store, asked))), len(naive(store, runs))
        looked = best(lambda: answer(store, Asked(runs=ids)))
        mark = answer(store, Asked(runs=ids))["mark"]
        idle = best(lambda: answer(store, Asked(runs=ids, mark=mark)))
        said = len(json.dumps(answer(store, Asked(runs=ids, mark=mark)))) + len(ids)
        two = [make(store, count + place, steps // 10, 100_000) for place in range(2)]
        shared = shared_environments(two[0].spec, two[1].spec)[0]
        tasks = best(lambda: duel(two[0], two[1], shared))
        print(f"{count} runs of {steps:,} steps")
        print(f"{first:8.3f} s              the first chart's points ({small / 1000:,.0f} kB)")
        print(f"{every:8.3f} s              the same without thinning ({large / 1000:,.0f} kB): {every / first:.1f} times as "
              f"long, {large / small:.0f} times as much")
        print(f"{looked:8.3f} s              what there is to draw")
        print(f"{idle:8.3f} s              an idle question; {said:,} bytes with what it asks, goal 2,000")
        print(f"{tasks:8.3f} s              tasks of two runs of 100,000 episodes")
        for place, (stood, seconds, live) in enumerate(painted(Path(folder), ids, count)):
            print(f"{seconds:8.3f} s   goal 1 s   {'' if seconds <= 1 else 'SLOW '}painted in the browser, visit {place + 1}; "
                  f"the page's frame stood after {stood:.3f} s, and Plotly took over after {live:.3f} s")


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]), *(20, 10_000)[len(sys.argv) - 1:])
