"""How long a run of many episodes takes to re-price. `python tests/bench/reprice.py [EPISODES]`

Prints processor seconds for reading and working out, and how much longer the same terms take episode by episode.
"""

import random
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parent)]

from store_speed import GROUP, STEP, episode  # noqa: E402

from backend.records import Episode, RunSpec  # noqa: E402
from backend.repricing import reprice  # noqa: E402
from backend.rewards import Terms  # noqa: E402
from backend.store import Store  # noqa: E402

GOAL = 1.0
"""Seconds for 100,000 episodes, and for fewer."""
TERMS = [{"name": "win", "value": "1.0 + 0.5 * (1 - guesses / 6) if won else 0.0"},
         {"name": "partial", "value": "0.0 if won else 0.1 * best_greens"},
         {"name": "invalid", "value": "-0.1 * invalid_moves", "weight": 2},
         {"name": "short", "value": "1 - min(completion_tokens, 400) / 400 if last_guess != '' else None"}]


def main(episodes: int) -> None:
    luck = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        run = Store(folder).create(RunSpec.model_validate({
            "model": "starter:wordle", "environments": [{"id": "wordle", "use": "wordle"}], "rewards": TERMS,
            "train": {"episodes_per_step": STEP, "group_size": GROUP}}))
        writer = run.writer()
        for step in range(1, episodes // STEP + 1):
            writer.record([bare(episode(step, place, luck)) for place in range(STEP)])
        writer.close()
        at_once = []
        for _ in range(3):
            before = time.process_time()
            told = reprice(run, run.spec.rewards)
            at_once.append(time.process_time() - before)
        before = time.process_time()
        terms = Terms(run.spec.rewards)
        totals = [terms.total(terms.score(row.facts, row.environment)) for row in run.episodes(limit=None, sort="seq")]
        one_by_one = time.process_time() - before
    assert all(abs(a - b) < 1e-9 for a, b in zip(totals, told.totals, strict=True))
    taken, goal = min(at_once), GOAL * max(1, told.episodes / 100_000)
    print(f"{told.episodes} episodes, {len(TERMS)} terms")
    print(f"{taken:9.2f} s    goal {goal:.2f} s   {'' if taken <= goal else 'SLOW '}all at once: terms, totals, "
          "advantages, curves, groups, episodes that moved")
    print(f"{one_by_one:9.2f} s    terms and totals episode by episode: {one_by_one / taken:.0f} times as long")


def bare(one: Episode) -> Episode:
    """Its turns aren't read."""
    return one.model_copy(update={"turns": ()})


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
