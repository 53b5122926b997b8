"""What a page costs as a run grows, and what counting costs the trainer. `python tests/bench/watch_speed.py [STEPS]`

Writes a run of that many steps of 16 episodes and asks it what Watch asks, at a tenth of its length and at its end: what
only looks at a window must not cost more. Prints milliseconds of CPU, the best of five, beside the goal.
"""

import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from backend.records import Episode, RunSpec, Turn  # noqa: E402
from backend.store import Store  # noqa: E402
from backend.trainer.lookout import Lookout  # noqa: E402
from ui.lines import View  # noqa: E402
from ui.watch import Asked, Cursor, answer  # noqa: E402

GROUP, STEP = 8, 16
SPEC = RunSpec.model_validate({
    "name": "long", "model": "starter:catch", "environments": [{"id": "catch", "use": "catch"}],
    "rewards": [{"name": "caught", "value": "1.0 if won else 0.0"}, {"name": "near", "value": "nearness"}],
    "train": {"steps": 1_000_000, "group_size": GROUP, "episodes_per_step": STEP}})
TURNS = tuple(Turn(index=k, tool="move", arguments={"direction": "left"}, result=f"row {k}", facts={"row": k})
              for k in range(9))


def episode(step: int, place: int, luck: random.Random) -> Episode:
    won, near = luck.random() < 0.5, luck.random()
    return Episode.model_construct(
        id=f"{step}-{place // GROUP}-{place % GROUP}", step=step, group=place // GROUP, sample=place % GROUP,
        environment="catch", fingerprint=f"{step}.{place // GROUP}", status="won" if won else "lost",
        facts={"won": won, "truncated": False}, scores={"caught": float(won), "near": near}, total=won + near,
        advantage=luck.gauss(0, 1), tokens=54, seconds=0.5, turns=TURNS)


def best(work) -> float:
    times = []
    for _ in range(5):
        before = time.process_time()
        work()
        times.append(time.process_time() - before)
    return min(times) * 1000


def asked(store: Store) -> dict[str, float]:
    """Milliseconds of the first answer, and of one after news."""
    first = Asked(run="latest", charts={"learning": None, "play": None, "terms": None})
    told = answer(store, first)
    known = {name: mark for name, (mark, _) in told["parts"].items()} | {"charts": told["charts"]["mark"]}
    cursors = {name: Cursor(bucket=points["bucket"], step=points["step"]) for name, points in told["points"].items()}
    again = Asked(run="latest", version="older", parts=known, charts=cursors, newest=told["newest"])
    other = again.model_copy(update={"view": View(x="tokens", smooth=0.99)})
    return {"first paint": best(lambda: answer(store, first)), "news": best(lambda: answer(store, again)),
            "smoothed": best(lambda: answer(store, other))}


def main(steps: int) -> None:
    luck = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)
        run = store.create(SPEC)
        writer, lookout = run.writer(), Lookout(run.path, run.spec, {"catch": 9})
        recording = looking = 0.0
        told = {}
        for step in range(1, steps + 1):
            batch = [episode(step, place, luck) for place in range(STEP)]
            before = time.process_time()
            writer.record(batch)
            between = time.process_time()
            lookout.of(batch)
            recording, looking = recording + between - before, looking + time.process_time() - between
            writer.metrics(step, {"entropy": luck.random(), "step_time": 1.0, "kl": 0.0})
            if step == steps // 10:
                told[step] = asked(store)
        writer.close()
        told[steps] = asked(store)
    print(f"{steps:,} steps of {STEP} episodes")
    rows = [("record an episode", 1, recording / steps / STEP * 1000),
            ("look for alarms, an episode", 1, looking / steps / STEP * 1000),
            (f"first paint after {steps:,} steps", 500, told[steps]["first paint"]),
            (f"news after {steps:,} steps", 50, told[steps]["news"]),
            (f"news after {steps // 10:,} steps", 50, told[steps // 10]["news"]),
            (f"news, smoothed most and by tokens, after {steps:,} steps", 50, told[steps]["smoothed"])]
    for name, goal, taken in rows:
        print(f"{taken:9.2f} ms   goal {goal:4} ms   {'' if taken <= goal else 'SLOW '}{name}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
