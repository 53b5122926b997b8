"""How long it takes to find episodes: words in transcripts, filters, orders. `python tests/bench/find_speed.py [EPISODES]`

Prints milliseconds beside the goal, the best of five, and how many times faster than reading every transcript that is;
then what the index costs when episodes are recorded, in time and in size.
"""

import random
import sqlite3
import sys
import tempfile
import time
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from backend.records import Episode, Fault, RunSpec, Turn  # noqa: E402
from backend.store import Store, indexing  # noqa: E402
from backend.store.filters import Between  # noqa: E402
from backend.store.words import understood  # noqa: E402

GROUP, STEP = 8, 64
SYLLABLES = [a + b for a in "bcdfghklmnprstvz" for b in ("a", "e", "i", "o", "u", "ar", "en", "is")]
GREETING = ({"role": "user", "content": "You play Wordle. Use the tool guess. " * 20},)
PAGE = 50


def vocabulary(luck: random.Random, size: int = 20_000) -> tuple[list[str], list[float]]:
    """Words with the shares natural language has: the k-th is used 1/k as often as the first."""
    found = list(dict.fromkeys("".join(luck.choices(SYLLABLES, k=luck.randint(1, 4))) for _ in range(size * 2)))[:size]
    shares, total = [], 0.0
    for place in range(len(found)):
        total += 1 / (place + 5)
        shares.append(total)
    return found, shares


def episode(step: int, place: int, luck: random.Random, known: tuple[list[str], list[float]]) -> Episode:
    def words(count: int) -> str:
        return " ".join(luck.choices(known[0], cum_weights=known[1], k=count))

    won, turns = luck.random() < 0.5, []
    for k in range(luck.randint(3, 8)):
        guess = words(1)
        fault = Fault(where="model", kind="not_a_word", message=f"{guess} is no word") if luck.random() < 0.05 else None
        turns.append(Turn(index=k, thought=words(40), said=words(6), tool="guess", arguments={"guess": f"[{guess}]"},
                          result=f"Feedback:\n{' '.join(guess.upper())}\nG X Y X X\n{5 - k} guesses left.", fault=fault,
                          facts={"won": won, "guesses": k}, seconds=0.01, tokens=60))
    if luck.random() < 0.001:
        turns[-1] = turns[-1].model_copy(update={"said": "the needle in the haystack"})
    facts = {"won": won, "guesses": len(turns), "best_greens": luck.randint(0, 5), "invalid_moves": luck.randint(0, 2),
             "last_guess": "crane", "last_feedback": "GXYXX", "turns": len(turns), "tool_failures": 0,
             "env_reward": None, "done": True, "truncated": False, "completion_tokens": luck.randint(50, 400)}
    scores = {"win": float(won), "partial": None if won else 0.1 * len(turns), "invalid": -0.1 * facts["invalid_moves"]}
    return Episode(id=f"{step}-{place // GROUP}-{place % GROUP}", step=step, group=place // GROUP, sample=place % GROUP,
                   environment="wordle", seed=step * 100 + place // GROUP, status="won" if won else "lost",
                   prompt=GREETING, facts=facts, scores=scores, tokens=luck.randint(50, 400), turns=turns,
                   total=sum(score for score in scores.values() if score is not None), advantage=luck.gauss(0, 1))


def best(work, times: int = 5) -> float:
    taken = []
    for _ in range(times):
        before = time.perf_counter()
        work()
        taken.append(time.perf_counter() - before)
    return min(taken) * 1000


def recorded(store: Store, episodes: int, seed: int = 0):
    """A run of so many episodes, and the seconds that recording them took."""
    luck = random.Random(seed)
    known = vocabulary(luck)
    run = store.create(RunSpec.model_validate({"model": "starter:wordle", "environments": [
        {"id": "wordle", "use": "wordle"}], "train": {"episodes_per_step": STEP, "group_size": GROUP}}))
    writer, taken = run.writer(), 0.0
    for step in range(1, max(1, episodes // STEP) + 1):
        batch = [episode(step, place, luck, known) for place in range(STEP)]
        before = time.perf_counter()
        writer.record(batch)
        taken += time.perf_counter() - before
    before = time.perf_counter()
    writer.close()
    return run, taken + time.perf_counter() - before, known[0]


def page(run, **asked):
    """What a list shows: how many there are, fifty of them, and where the words stand in those."""
    run.count_episodes(**{name: wanted for name, wanted in asked.items() if name != "sort"})
    rows = run.episodes(limit=PAGE, **asked)
    if asked.get("find"):
        run.excerpts(rows, asked["find"])
    return rows


def naive(run, find: str) -> None:
    with sqlite3.connect(run.path / "run.db") as connection, mock.patch.object(indexing, "SCANNED", 10**9):
        indexing.scan(connection, understood(find))


def main(episodes: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)
        run, recording, known = recorded(store, episodes)
        count = run.count_episodes()
        searches = [("a rare phrase", '"needle in the haystack"'), ("the commonest word", known[0]),
                    ("two common words", f"{known[0]} {known[1]}"), ("a word in every episode", "feedback"),
                    ("a phrase in every episode", '"guesses left"'), ("one that isn't", f"{known[200]} -{known[1]}"),
                    ("said, called", f"said:{known[5]} tool:guess"), ("beginning so", "ba*"), ("nowhere", "xyzzy")]
        slow = best(lambda: naive(run, known[200]), 1)
        print(f"{count} episodes; reading every transcript for a word takes {slow:.0f} ms")
        rows = [(200, f"{name}: {find}", best(lambda find=find: page(run, find=find))) for name, find in searches]
        rows += [(100, name, best(lambda asked=asked: page(run, **asked))) for name, asked in (
            ("newest", {}), ("largest total", {"sort": "-total"}), ("steps 10-20", {"step": Between(10, 20)}),
            ("lost, by advantage", {"status": "lost", "sort": "-advantage"}),
            ("total 0.2..0.5 by turns", {"total": Between(0.2, 0.5), "sort": "-turns"}),
            ("a term's range", {"terms": {"partial": Between(0.4, None)}}), ("that called guess", {"tool": "guess"}),
            ("any fault", {"trouble": "any"}), ("a kind of fault", {"trouble": "not_a_word"}),
            ("a seed", {"task_or_seed": "5003"}), ("won and guesses <= 3", {"where": "won and guesses <= 3"}))]
        rows += [(100, f"worth a look: {view}", best(lambda view=view: run.standouts(view)))
                 for view in ("advantage", "surprising", "suspects", "unscored", "longest")]
        for goal, name, taken in rows:
            print(f"{taken:9.2f} ms   goal {goal:4} ms   {slow / taken:7.0f} times   {'' if taken <= goal else 'SLOW '}{name}")
        size = (run.path / "run.db").stat().st_size
        some = min(episodes, 10_000)
        with_index, without = [], []
        for _ in range(3):
            with_index.append(recorded(store, some)[1])
            with mock.patch.object(indexing, "make", lambda connection: False):
                bare, taken, _ = recorded(store, some)
            without.append(taken)
        each, plain = min(with_index) / some * 1000, min(without) / some * 1000
        print(f"recording {recording / count * 1000:.3f} ms an episode over all; {each:.3f} ms with the index and "
              f"{plain:.3f} ms without: {each / plain:.2f} times")
        print(f"{size / count / 1000:.2f} kB an episode with the index, "
              f"{(bare.path / 'run.db').stat().st_size / bare.count_episodes() / 1000:.2f} kB without")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
