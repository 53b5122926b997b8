"""What one more game costs a page that shows a match, as the match grows. `python tests/bench/arena_speed.py [GAMES]`

Writes a match of three players with a hundred games and one with many more, each beside as many games played by hand, and
asks both what a browser asks after a further game. Prints milliseconds of CPU, the median of several games, and bytes.
"""

import json
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from backend.records import Episode, Policy, RunSpec, Turn  # noqa: E402
from backend.store import Run, Store  # noqa: E402
from tests.test_arena import Page  # noqa: E402

PLAYERS = 3
FEW = 99
FACTS = {f"fact_{k}": k for k in range(12)}
TURNS = tuple(Turn(index=k, tool="move", arguments={"direction": "left"}, result=f"row {k}", facts={"row": k})
              for k in range(9))
CATCH = {"id": "catch", "use": "catch"}
TERMS = [{"name": "caught", "value": "1.0 if won else 0.0"}, {"name": "near", "value": "nearness"}]
GOAL = 1.5


def game(place: int, player: int, luck: random.Random, policy: Policy) -> Episode:
    won = luck.random() < 0.5
    return Episode.model_construct(
        id=f"play-{place}-{player}", phase="play", step=0, group=place, sample=player, environment="catch", task=str(place),
        seed=place, fingerprint=f"task {place}", policy=policy, status="won" if won else "lost", tokens=54, seconds=0.5,
        facts=FACTS | {"won": won, "tool_failures": 0, "invalid_moves": 0}, started=float(place),
        scores={"caught": float(won), "near": luck.random()}, total=luck.random(), turns=TURNS)


def filled(folder: Path, games: int, luck: random.Random) -> tuple[Store, Run]:
    store = Store(folder)
    players = [{"kind": "script", "name": "random", "label": f"player {place}"} for place in range(PLAYERS)]
    match = store.create(RunSpec.model_validate({
        "name": "match", "environments": [CATCH | {"tasks": {"count": 100_000}}], "match": {"players": players},
        "rewards": TERMS}))
    hand = store.create(RunSpec.model_validate({"name": "played", "model": "by-hand", "environments": [CATCH],
                                                "rewards": TERMS}))
    for run, episodes in ((match, [game(n // PLAYERS, n % PLAYERS, luck, Policy(kind="script")) for n in range(games)]),
                          (hand, [game(10 * n, 0, luck, Policy(kind="human")) for n in range(games)])):
        with run.writing() as writer:
            writer.record(episodes)
    return store, match


def taken(folder: Path, games: int, luck: random.Random) -> dict[str, list[float]]:
    """Of the first answer, of one after another game, of one when nothing is new: milliseconds, and bytes of the second."""
    store, match = filled(folder, games, luck)
    page = Page(store, match)
    told: dict[str, list[float]] = {"first": [], "news": [], "idle": [], "bytes": []}
    told["first"].append(timed(page.look)[0])
    with match.writing() as writer:
        for n in range(games, games + 15):
            writer.record([game(n // PLAYERS, n % PLAYERS, luck, Policy(kind="script"))])
            news, answer = timed(page.look)
            told["news"].append(news)
            told["bytes"].append(len(json.dumps(answer)))
            told["idle"].append(timed(page.look)[0])
    return told


def timed(work) -> tuple[float, dict]:
    before = time.process_time()
    answer = work()
    return (time.process_time() - before) * 1000, answer


def main(many: int) -> None:
    luck = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        few, more = (taken(Path(folder) / str(games), games, luck) for games in (FEW, many))
    print(f"a match of {FEW} games and one of {many:,}, each beside as many games by hand; {PLAYERS} players")
    for name, words in (("news", "one more game"), ("idle", "nothing new"), ("first", "the first look, which reads all")):
        one, other = statistics.median(few[name]), statistics.median(more[name])
        ratio = other / one
        said = f"goal {GOAL}" + "  MUCH" * (ratio > GOAL) if name != "first" else ""
        print(f"{one:8.1f} ms {other:8.1f} ms   {ratio:5.2f} times   {words}   {said}")
    print(f"{statistics.median(few['bytes']):8,.0f} B  {statistics.median(more['bytes']):8,.0f} B    one more game's answer")


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]), *(5000,)[len(sys.argv) - 1:])
