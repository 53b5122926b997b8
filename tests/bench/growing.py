"""What the pages cost a server as a run grows. `python tests/bench/growing.py [STEPS]`

Records a step of 64 episodes and multiplies it inside the file, to a run of a hundred steps and to one of many more; then
asks each page what a browser asks: while nothing happens, after one new step, and of a place in the middle. Prints
milliseconds of CPU, the median of several, and the bytes of an answer; a page whose cost grows with the run is called so.
"""

import json
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from backend.records import Episode, RunSpec, Turn  # noqa: E402
from backend.store import Run, Store  # noqa: E402
from backend.store.tables import RUN  # noqa: E402
from ui import group, replay, runs, watch  # noqa: E402
from ui.lines import View  # noqa: E402

GROUP, STEP, FEW = 8, 64, 100
TIMES = 7
GOAL, MOST_BYTES = 2.0, 2000
"""Times as long in the longer run; bytes of an idle answer."""
FREE = 3.0
"""Milliseconds that a longer run may cost more, whatever that is in times."""
SPEC = RunSpec.model_validate({
    "name": "long", "model": "starter:catch", "environments": [{"id": "catch", "use": "catch"}],
    "rewards": [{"name": "caught", "value": "1.0 if won else 0.0"}, {"name": "near", "value": "nearness"}],
    "train": {"steps": 1_000_000, "group_size": GROUP, "episodes_per_step": STEP}})
TURNS = tuple(Turn(index=k, tool="move", arguments={"direction": "left"}, result=f"row {k}", facts={"row": k})
              for k in range(2))
CHARTS: dict[str, Any] = {"learning": None, "play": None, "terms": None}
SHIFTED = {"seq": "seq + {episodes} * n", "episode": "episode + {episodes} * n", "step": "step + n",
           "id": "(step + n) || '-' || group_ || '-' || sample", "at": "at + 10 * n"}
"""Column -> what it is in the n-th copy of a step."""


class Took(NamedTuple):
    milliseconds: float
    bytes: int


def episode(step: int, place: int, luck: random.Random) -> Episode:
    won, near = luck.random() < 0.5, luck.random()
    return Episode.model_construct(
        id=f"{step}-{place // GROUP}-{place % GROUP}", step=step, group=place // GROUP, sample=place % GROUP,
        environment="catch", fingerprint=f"{place // GROUP}", seed=place // GROUP, status="won" if won else "lost",
        facts={"won": won, "truncated": False}, scores={"caught": float(won), "near": near}, total=won + near,
        advantage=luck.gauss(0, 1), tokens=54, started=time.time(), seconds=0.5, turns=TURNS)


def grown(folder: Path, steps: int, luck: random.Random) -> Run:
    run = Store(folder).create(SPEC)
    with run.writing() as writer:
        record(writer, 1, luck)
    with sqlite3.connect(run.path / "run.db") as file:
        for table in ("episodes", "details", "turns", "curves", "tallies", "steps", "metrics"):
            columns = ", ".join(SHIFTED.get(name, name).format(episodes=STEP) for name in RUN[table])
            file.execute(f"WITH RECURSIVE copies(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM copies WHERE n < {steps - 2}) "
                         f"INSERT INTO {table} ({', '.join(RUN[table])}) SELECT {columns} FROM {table}, copies WHERE "
                         f"{'episode' if 'episode' in RUN[table] else 'rowid'} >= 0")
    file.close()
    return run


def record(writer, step: int, luck: random.Random) -> None:
    writer.record([episode(step, place, luck) for place in range(STEP)])
    writer.metrics(step, {"entropy": luck.random(), "step_time": 1.0, "kl": 0.0})


def asked(run: Run, steps: int, luck: random.Random) -> dict[str, Took]:
    store, middle = Store(run.path.parent), steps // 2
    told: dict[str, Took] = {}
    curves = runs.Curves(store)

    def listed() -> str:
        return runs.draw(store.runs(), curves)

    def search(**where: Any) -> dict[str, str]:
        return replay.answer(store, "?" + "&".join(f"{name}={value}" for name, value in {"run": run.id, **where}.items()))

    first = watch.answer(store, watch.Asked(run=run.id, charts=CHARTS))
    listed()
    news: dict[str, list[Took]] = {"Watch, a new step": [], "Watch, a new step, smoothed by tokens": [], "Runs, a new step": [],
                                   "Find, a new step": []}
    with run.writing() as writer:
        for step in range(steps, steps + TIMES):
            record(writer, step, luck)
            question = watch.Asked(
                run=run.id, version="older", newest=first["newest"], parts={
                    name: mark for name, (mark, _) in first["parts"].items()} | {"charts": first["charts"]["mark"]},
                charts={name: watch.Cursor(bucket=points["bucket"], step=points["step"])
                        for name, points in first["points"].items()})
            smoothed = question.model_copy(update={"view": View(x="tokens", smooth=0.99)})
            news["Watch, a new step"].append(timed(partial(watch.answer, store, question)))
            news["Watch, a new step, smoothed by tokens"].append(timed(partial(watch.answer, store, smoothed)))
            news["Runs, a new step"].append(timed(listed))
            news["Find, a new step"].append(timed(search))
            first = watch.answer(store, watch.Asked(run=run.id, charts=CHARTS))
        idle = watch.Asked(run=run.id, version=first["version"], newest=first["newest"], charts={
            name: watch.Cursor(bucket=points["bucket"], step=points["step"]) for name, points in first["points"].items()})
        told["Watch, nothing new"] = middling(lambda: watch.answer(store, idle))
        told["Runs, nothing new"] = middling(listed)
    told |= {name: Took(statistics.median(each.milliseconds for each in took), took[-1].bytes) for name, took in news.items()}
    told["Watch, a step opened"] = middling(lambda: watch.step_of(run, middle))
    told["Watch, first look"] = middling(lambda: watch.answer(store, watch.Asked(run=run.id, charts=CHARTS)))
    told["Find, an episode opened"] = middling(lambda: search(id=f"{middle}-3-3"))
    told["Find, a step"] = middling(lambda: search(step=middle))
    told["Find, lost, newest"] = middling(lambda: search(status="lost"))
    told["Find, largest total"] = middling(lambda: search(sort="-total"))
    told["Find, page 3"] = middling(lambda: search(page=3))
    told["Group"] = middling(lambda: group.answer(store, f"?run={run.id}&step={middle}&group=3"))
    told["Group strip"] = middling(lambda: replay.group_of(store, f"?run={run.id}&id={middle}-3-3"))
    return told


def timed(work: Callable[[], Any]) -> Took:
    before = time.process_time()
    answer = work()
    return Took((time.process_time() - before) * 1000, len(json.dumps(answer)))


def middling(work: Callable[[], Any]) -> Took:
    took = [timed(work) for _ in range(TIMES)]
    return Took(statistics.median(each.milliseconds for each in took), took[-1].bytes)


def main(steps: int) -> None:
    luck = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        few, many = (asked(grown(Path(folder) / str(count), count, luck), count, luck) for count in (FEW, steps))
    print(f"a run of {FEW} steps of {STEP} episodes, and one of {steps:,}")
    for name, one in few.items():
        other = many[name]
        grows = other.milliseconds > max(GOAL * one.milliseconds, one.milliseconds + FREE)
        much = "nothing new" in name and "Watch" in name and other.bytes > MOST_BYTES
        print(f"{one.milliseconds:8.1f} ms {other.milliseconds:8.1f} ms {one.bytes / 1000:9.1f} kB {other.bytes / 1000:9.1f} kB"
              f"   {'GROWS ' if grows else ''}{'MUCH ' if much else ''}{name}")


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]), *(10_000,)[len(sys.argv) - 1:])
