"""How long does a batch wait for its environment? 64 Catch episodes on a server that takes 50 ms for every answer, played by
TRL's stock loop with synchronous tools, as its guide shows, and by Ortam's trainer, in one run.

    python tests/bench/environment_time.py [--episodes 64] [--delay 0.05]

Prints the environment's seconds of each batch and their ratio; exits 1 below the goal of 20.
"""

import argparse
import asyncio
import contextlib
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

GOAL = 20
STEPS = 2
GROUP = 16


def serve_slowly() -> None:
    """The Catch server, each answer `delay` seconds late."""
    delay = float(sys.argv.pop(sys.argv.index("--serve") + 1))
    sys.argv.remove("--serve")
    from backend.environments import servers

    plain = servers.environment

    def late(*parts):
        class Late(plain(*parts)):
            async def reset_async(self, *given, **named):
                await asyncio.sleep(delay)
                return await super().reset_async(*given, **named)

            async def step_async(self, *given, **named):
                await asyncio.sleep(delay)
                return await super().step_async(*given, **named)

        return Late

    from backend.environments.servers import catch

    catch.environment = late
    servers.run(catch.build)


def stock(url: str, episodes: int) -> list[float]:
    """Environment seconds of each batch with TRL's own trainer and synchronous tools."""
    from openenv.core.generic_client import GenericEnvClient
    from trl import GRPOTrainer

    from backend.trainer import build

    waited = [0.0]

    class CatchEnv:
        def __init__(self):
            self.client = None

        def reset(self, seed=None, **kwargs) -> str | None:
            """Open a new client for the episode."""
            started = time.perf_counter()
            if self.client:
                self.client.close()
            self.client = GenericEnvClient(base_url=url).sync()
            observation = self.client.reset(seed=seed).observation
            waited[0] += time.perf_counter() - started
            return "\n\n" + observation["text"]

        def move(self, direction: str) -> str:
            """Move the paddle one column and let the ball fall one row.

            Args:
                direction: left or right
            """
            return self._step(direction)

        def stay(self) -> str:
            """Leave the paddle where it is and let the ball fall one row."""
            return self._step("stay")

        def _step(self, move: str) -> str:
            started = time.perf_counter()
            observation = self.client.step({"move": move}).observation
            waited[0] += time.perf_counter() - started
            return observation["text"]

    spec = asked(episodes)
    model, tokenizer = build.load_model(spec)
    with tempfile.TemporaryDirectory() as folder:
        trainer = GRPOTrainer(
            model=model, processing_class=tokenizer, reward_funcs=lambda completions, **_: [float(len(c)) for c in completions],
            args=build.arguments(spec, Path(folder), 1, 9, [1.0]), train_dataset=rows(spec),
            environment_factory={"catch": CatchEnv})
        trainer.train()
    return [waited[0] / STEPS] * STEPS


def ours(url: str, episodes: int) -> list[float]:
    """Environment seconds of each batch with Ortam's trainer: all resets, and all that is not generation in the tool loop."""
    from backend.environments.kinds import shipped
    from backend.store import Store
    from backend.trainer.__main__ import main

    shipped.reach = contextlib.contextmanager(lambda spec, sessions: iter([url]))  # the slow server instead of a new one
    with tempfile.TemporaryDirectory() as folder:
        run = Store(folder).create(asked(episodes))
        main([str(run.path)])
        assert run.result().status == "finished" and run.count_episodes(where="turns >= 8") > 0, run.result()
        seconds = {name: [point.value for point in run.metrics([f"seconds/{name}"])] for name in ("opening", "environment")}
        return [sum(parts) for parts in zip(*seconds.values(), strict=True)]


def asked(episodes: int):
    from backend.records import RunSpec

    return RunSpec.model_validate({
        "name": "bench", "model": "starter:catch",
        "environments": [{"id": "catch", "use": "catch", "tasks": {"count": 64}, "max_turns": 9,
                          "prompt": "Catch the ball with the paddle."}],
        "rewards": [{"name": "turns", "value": "turns"}],
        "train": {"steps": STEPS, "group_size": GROUP, "episodes_per_step": episodes, "learning_rate": 1e-9,
                  "max_completion_tokens": 160}})


def rows(spec):
    from backend.environments.sources import in_process
    from backend.trainer import build

    there = in_process(spec.environments[0])
    return build.rows([(spec.environments[0], there.describe(), there)])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--episodes", type=int, default=64)
    parser.add_argument("--delay", type=float, default=0.05)
    given = parser.parse_args()
    from backend.environments.serving import Server

    command = [sys.executable, __file__, "--serve", str(given.delay), "--port", "0", "--sessions", str(2 * given.episodes)]
    with Server(command, "slow Catch") as server:
        before, after = (statistics.mean(play(server.url, given.episodes)) for play in (stock, ours))
    print(f"{given.episodes} episodes, {given.delay * 1000:.0f} ms an answer: stock {before:.1f} s, Ortam {after:.2f} s of "
          f"environment a batch, {before / after:.0f} times less (goal {GOAL})")
    return 0 if before / after >= GOAL else 1


if __name__ == "__main__":
    if "--serve" in sys.argv:
        serve_slowly()
    else:
        sys.exit(main())
