"""How long the store takes: recording, and lists of many episodes. `python tests/bench/store_speed.py [EPISODES]`

Prints milliseconds beside the goal, the best of five.
"""

import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from backend.records import Episode, RunSpec, Turn  # noqa: E402
from backend.store import Store  # noqa: E402

GROUP, STEP = 8, 64
GREETING = ({"role": "user", "content": "You play Wordle. Use the tool guess. " * 20},)


def episode(step: int, place: int, luck: random.Random) -> Episode:
    won, guesses = luck.random() < 0.5, luck.randint(1, 6)
    facts = {"won": won, "guesses": guesses, "best_greens": luck.randint(0, 5), "invalid_moves": luck.randint(0, 2),
             "last_guess": "crane", "last_feedback": "GXYXX", "turns": guesses, "tool_failures": 0, "env_reward": None,
             "env_reward_total": None, "done": True, "truncated": False, "completion_tokens": luck.randint(50, 400)}
    turns = [Turn(index=k, thought="It may start with CR. " * 5, tool="guess", arguments={"guess": "[crane]"},
                  result="Feedback:\nC R A N E\nG X Y X X\n", facts={"won": won, "guesses": k}, seconds=0.01)
             for k in range(guesses)]
    scores = {"win": float(won), "partial": None if won else 0.1 * guesses, "invalid": -0.1 * facts["invalid_moves"]}
    return Episode(id=f"{step}-{place // GROUP}-{place % GROUP}", step=step, group=place // GROUP, sample=place % GROUP,
                   environment="wordle", status="won" if won else "lost", prompt=GREETING, facts=facts, scores=scores,
                   total=sum(score for score in scores.values() if score is not None), advantage=luck.gauss(0, 1),
                   turns=turns)


def best(work) -> float:
    times = []
    for _ in range(5):
        before = time.perf_counter()
        work()
        times.append(time.perf_counter() - before)
    return min(times) * 1000


def main(episodes: int) -> None:
    luck = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)
        run = store.create(RunSpec.model_validate({"model": "starter:wordle", "environments": [
            {"id": "wordle", "use": "wordle"}], "train": {"episodes_per_step": STEP, "group_size": GROUP}}))
        writer = run.writer()
        recording, steps = 0.0, max(1, episodes // STEP)
        for step in range(1, steps + 1):
            batch = [episode(step, place, luck) for place in range(STEP)]
            before = time.perf_counter()
            writer.record(batch)
            recording += time.perf_counter() - before
        middle = f"{steps // 2 + 1}-3-3"
        rows = [
            ("record one episode", 1, recording / (steps * STEP) * 1000),
            ("newest 50", 100, best(lambda: run.episodes())),
            ("won and guesses <= 3, best first", 100,
             best(lambda: run.episodes(where="won and guesses <= 3", sort="-total"))),
            ("few of many", 100,
             best(lambda: run.episodes(where="guesses == 1 and invalid_moves == 2 and best_greens == 5"))),
            ("count of won and guesses <= 3", 100, best(lambda: run.count_episodes(where="won and guesses <= 3"))),
            ("sorted by a reward term", 100, best(lambda: run.episodes(sort="-partial"))),
            ("neighbours in the list", 100, best(lambda: run.neighbours(middle))),
            ("one episode", 10, best(lambda: run.episode(middle))),
            ("all curve points", 100, best(lambda: run.term_curves())),
            ("has anything changed", 1, best(lambda: run.version())),
            ("a run's line in the list", 10, best(lambda: store.summary(run))),
        ]
        writer.close()
        size = (run.path / "run.db").stat().st_size / (steps * STEP)
    print(f"{steps * STEP} episodes, {size / 1000:.1f} kB each")
    for name, goal, taken in rows:
        print(f"{taken:9.2f} ms   goal {goal:4} ms   {'' if taken <= goal else 'SLOW '}{name}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
