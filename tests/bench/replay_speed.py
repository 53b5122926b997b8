"""How fast Replay opens and scrubs long episodes, in a real browser. `python tests/bench/replay_speed.py`

Two things beside a naive page in the same run, so that the machine's own pace falls out:

    open     from the click on a row to the painted board of an episode of 200 turns and 1 MB; naive: the same HTML with every
             turn laid out at once
    scrub    frames a second while the arrow key is held, and while the line is dragged, over 400 turns; naive: every turn
             draws the whole episode anew

Needs the system's Chromium and playwright.
"""

import shutil
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from backend.records import Episode, RunSpec, Turn  # noqa: E402
from backend.store import Store  # noqa: E402
from tests.browser.conftest import FLAGS, NAMES, served  # noqa: E402

SPEC = RunSpec.model_validate({
    "name": "long", "model": "starter:catch", "environments": [{"id": "catch", "use": "catch"}],
    "rewards": [{"name": "caught", "value": "1.0 if caught else 0.0"}]})
OPENED, TURNS, SCRUBBED = 5, 200, 400
TEXT = "\n".join("lorem ipsum dolor sit amet" for _ in range(190))

PAINTED = """(id) => new Promise((done) => {
    const began = performance.now();
    const look = () => document.querySelector(`.o-player[data-id="${id}"]`)
        ? requestAnimationFrame(() => setTimeout(() => done(performance.now() - began))) : requestAnimationFrame(look);
    document.querySelector(`tr[data-id="${id}"] a`).click();
    look();
})"""
NAIVELY_PAINTED = """() => new Promise((done) => {
    const player = document.querySelector(".o-player"), html = player.outerHTML;
    const all = document.createElement("style");
    all.textContent = ".o-turn, .o-frame { display: block !important; content-visibility: visible !important; }";
    document.head.append(all);
    const began = performance.now();
    player.outerHTML = html;
    requestAnimationFrame(() => setTimeout(() => { const took = performance.now() - began; all.remove(); done(took); }));
})"""
FRAMES = """(how) => new Promise((done) => {
    const key = (name) => document.body.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
    const line = document.querySelector(".o-scrub"), box = line.getBoundingClientRect();
    const turns = +line.getAttribute("aria-valuemax");
    const pointer = (kind, k) => line.dispatchEvent(new PointerEvent(kind, { bubbles: true, pointerId: 1, isPrimary: true,
        clientX: box.left + (k + .5) / (turns + 1) * box.width, clientY: box.top + 4 }));
    line.setPointerCapture = () => {};
    line.hasPointerCapture = () => how === "drag";
    const html = document.querySelector(".o-player").outerHTML;
    key("Home");
    if (how === "drag") pointer("pointerdown", 0);
    let n = 0, before = 0;
    const deltas = [];
    const step = (now) => {
        if (before) deltas.push(now - before);
        before = now;
        n++;
        if (how === "keys") key("ArrowRight");
        else if (how === "drag") pointer("pointermove", n);
        else { document.querySelector(".o-player").outerHTML = html; }
        n < Math.min(turns, how === "naive" ? 40 : 200) ? requestAnimationFrame(step) : done(deltas);
    };
    requestAnimationFrame(step);
})"""


def walk(turns: int, text: str) -> tuple[Turn, ...]:
    return tuple(Turn(index=k, tool="move", arguments={"direction": "left"}, thought="I think so", result=f"{k}\n{text}",
                      reward=(k % 7 - 3) / 3, facts={"rows": 10, "columns": 5, "ball_row": k % 10, "ball_column": k % 5,
                                                     "paddle_column": (k * 3) % 5, "caught": None}) for k in range(turns))


def episode(id: str, turns: tuple[Turn, ...]) -> Episode:
    return Episode(id=id, step=1, group=0, sample=int(id[-1]), environment="catch", status="out_of_turns", total=0.0,
                   scores={"caught": 0.0}, advantage=0.0, turns=turns)


def rate(deltas: list[float]) -> tuple[float, float]:
    """Frames a second, of all frames and of the slowest in twenty."""
    return 1000 / statistics.fmean(deltas), 1000 / sorted(deltas)[int(len(deltas) * 0.95)]


def main() -> None:
    from playwright.sync_api import sync_playwright

    found = next(filter(None, map(shutil.which, NAMES)), None)
    if not found:
        sys.exit("no Chromium on the PATH; on Debian and Ubuntu: apt install chromium")
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as application, sync_playwright() as playwright:
        run = Store(application.runs).create(SPEC)
        writer = run.writer()
        writer.record([episode(f"1-0-{n}", walk(TURNS, TEXT)) for n in range(OPENED)])
        writer.record([episode("1-0-8", walk(SCRUBBED, TEXT[:600])), episode("1-0-9", walk(3, "x"))])
        writer.close()
        browser = playwright.chromium.launch(executable_path=found, args=list(FLAGS))
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(f"{application.url}/episode?run={run.id}&id=1-0-9")
        page.locator("tr[data-id='1-0-0']").wait_for()
        page.wait_for_load_state("networkidle")
        opened = [page.evaluate(PAINTED, f"1-0-{n}") for n in range(OPENED)]
        naive = min(page.evaluate(NAIVELY_PAINTED) for _ in range(3))
        page.evaluate(PAINTED, "1-0-8")
        page.wait_for_load_state("networkidle")
        keys, drag = (rate(page.evaluate(FRAMES, how)) for how in ("keys", "drag"))
        redrawn = rate(page.evaluate(FRAMES, "naive"))
        browser.close()
    took = statistics.median(opened)
    print(f"click to painted, {TURNS} turns and 1 MB: {took:6.0f} ms (median of {OPENED}; slowest {max(opened):.0f} ms)   "
          f"goal 500 ms{'' if took <= 500 else '   SLOW'}")
    print(f"   laying out every turn takes the browser alone {naive:.0f} ms: {naive / took:.1f}x as long as all of that")
    for name, (mean, slow) in (("key held", keys), ("line dragged", drag)):
        print(f"scrub, {name}, {SCRUBBED} turns: {mean:5.1f} frames a second (slowest in twenty {slow:.1f})   goal 30"
              f"{'' if mean >= 30 else '   SLOW'}")
    print(f"   drawing the whole episode anew for each turn: {redrawn[0]:.1f} frames a second: {keys[0] / redrawn[0]:.0f}x fewer")


if __name__ == "__main__":
    main()
