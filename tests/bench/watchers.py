"""One writer and five viewers: whether they ever stand in each other's way. `python tests/bench/watchers.py [STEPS]`

A process records steps as fast as it can while five others ask what the pages ask: whether anything changed, the newest
episodes, curves, sums, words in transcripts. Prints how many steps were written, how many questions were answered, the
slowest of each, and how many failed because of a lock; ends with 1 if any did.
"""

import multiprocessing
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from backend.records import Episode, RunSpec, Turn  # noqa: E402
from backend.store import Store, curves, sums  # noqa: E402

VIEWERS, GROUP = 5, 4
PAUSE = 0.02
"""Seconds between two rounds of questions of a viewer; a page asks every one or two seconds."""


def steps(path: Path, count: int) -> None:
    luck = random.Random(0)
    words = [f"word{n}" for n in range(2000)]
    with Store(path.parent).run(path.name).writing() as writer:
        for step in range(1, count + 1):
            writer.record([Episode(
                id=f"{step}-0-{sample}", step=step, group=0, sample=sample, environment="catch", seed=step, fingerprint=str(step),
                status=luck.choice(("won", "lost")), facts={"won": sample == 0, "n": sample}, total=luck.random(),
                scores={"caught": luck.random()}, advantage=luck.gauss(0, 1), tokens=20, seconds=0.5,
                turns=[Turn(index=k, tool="move", arguments={"direction": "left"}, said=" ".join(luck.choices(words, k=12)),
                            result="ball 1 2 paddle 2", facts={"n": k}) for k in range(3)]) for sample in range(GROUP)])
            writer.metrics(step, {"loss": luck.random(), "kl": luck.random()})


def look(path: Path, ended, told) -> None:
    """Until the writer has ended; a viewer remembers what it has, as a page does."""
    run = Store(path.parent).run(path.name)
    luck, seen, step = random.Random(path.name), 0, -1
    asked: Counter[str] = Counter()
    slowest: dict[str, float] = {}
    failed: Counter[str] = Counter()

    def newest():
        nonlocal seen
        rows = run.episodes(sort="-seq", limit=20, after=seen)
        seen = max([seen, *(row.seq for row in rows)])

    def points():
        nonlocal step
        for lines in (curves.rewards(path, step - 2), curves.metrics(path, ["loss", "kl"], step - 2)):
            for line in lines.values():
                step = max([step, *line[0]])

    questions = {
        "has anything changed": run.version, "newest episodes": newest, "curves": points,
        "sums": lambda: sums.steps(path, max(-1, step - 50)), "progress": run.progress,
        "words": lambda: run.excerpts(run.episodes(find=f"word{luck.randint(0, 1999)}", limit=20), "word1"),
        "list": lambda: run.episodes(where="won", sort="-total", limit=20),
        "one episode": lambda: run.episodes(sort="-seq", limit=1) and run.episode(run.episodes(sort="-seq", limit=1)[0].id)}
    rare = {"words": 20, "list": 20, "one episode": 5}
    for turn in range(10**9):
        if ended.is_set():
            break
        for name, ask in questions.items():
            if turn % rare.get(name, 1):
                continue
            before = time.perf_counter()
            try:
                ask()
            except Exception as error:
                failed["lock" if "locked" in str(error) else f"{name}: {error!r}"] += 1
            asked[name] += 1
            slowest[name] = max(slowest.get(name, 0), time.perf_counter() - before)
        time.sleep(PAUSE)
    told.put((asked, slowest, failed))


def main(count: int) -> int:
    processes = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        run = Store(folder).create(RunSpec.model_validate({"model": "starter:catch", "environments": [
            {"id": "catch", "use": "catch"}], "train": {"steps": count, "episodes_per_step": GROUP, "group_size": GROUP}}))
        ended, told = processes.Event(), processes.Queue()
        viewers = [processes.Process(target=look, args=(run.path, ended, told)) for _ in range(VIEWERS)]
        for viewer in viewers:
            viewer.start()
        writer = processes.Process(target=steps, args=(run.path, count))
        before = time.perf_counter()
        writer.start()
        writer.join()
        taken = time.perf_counter() - before
        ended.set()
        answers = [told.get() for _ in viewers]
        for viewer in viewers:
            viewer.join()
        written = run.count_episodes()
        log = run.path / "run.db-wal"
        left = log.stat().st_size if log.exists() else 0
        asked = sum((each[0] for each in answers), Counter())
        failed = sum((each[2] for each in answers), Counter())
        print(f"{written:,} of {count * GROUP:,} episodes in {count:,} steps written in {taken:.0f} s, "
              f"{taken / count * 1000:.2f} ms a step; {left:,} bytes of log left")
        print(f"{asked.total():,} questions of {VIEWERS} viewers, {failed['lock']} lock errors, "
              f"{failed.total() - failed['lock']} others")
        for name in asked:
            print(f"{max(each[1].get(name, 0) for each in answers) * 1000:9.1f} ms at most   {asked[name]:9,} times   {name}")
        for what, times in failed.items():
            print(f"{times} × {what}")
    return 0 if written == count * GROUP and not failed and writer.exitcode == 0 else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 50_000))
