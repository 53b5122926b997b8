"""Does a starter recipe learn? Trains it once per seed, as a person would start it, and compares the first fifth of steps
with the last.

    python tests/bench/quickstart_learns.py                        quickstart, seeds 0 to 4
    python tests/bench/quickstart_learns.py wordle-cpu --seeds 0 1
    python tests/bench/quickstart_learns.py my.yaml --runs DIR     keep the runs

Exits 1 unless all but one of the seeds learned, each within five minutes.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import mean

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from backend.launcher import load_spec  # noqa: E402
from backend.store import Run, Store  # noqa: E402

SECONDS = 300


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("spec", nargs="?", default="quickstart")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--runs", type=Path, help="where to keep the runs; default: thrown away")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as thrown_away:
        store = Store(asked.runs or thrown_away)
        learned = [trained(store, asked.spec, seed) for seed in asked.seeds]
    print(f"{sum(learned)} of {len(learned)} seeds learned within {SECONDS} s")
    return 0 if sum(learned) >= max(1, len(learned) - 1) else 1


def trained(store: Store, spec_name: str, seed: int) -> bool:
    spec = load_spec(spec_name).model_copy(update={"seed": seed})
    run = store.create(spec)
    started, used = time.monotonic(), _processor_seconds()
    with open(run.path / "trainer.log", "w") as log:
        code = subprocess.run([sys.executable, "-m", "backend.trainer", str(run.path)], cwd=ROOT, stdout=log,
                              stderr=subprocess.STDOUT).returncode
    took, used = time.monotonic() - started, _processor_seconds() - used
    if code:
        print(f"seed {seed}: the trainer failed\n{run.log_tail(20)}")
        return False
    fifths = {name: (mean(curve[:max(1, len(curve) // 5)]), mean(curve[-max(1, len(curve) // 5):]))
              for name, curve in curves(run).items()}
    better = judge(fifths)
    told = "  ".join(f"{name} {first:.3f} -> {last:.3f}" for name, (first, last) in fifths.items())
    print(f"seed {seed}: {told}  {took:.0f} s ({used:.0f} s of processor)  {'learned' if better else 'NOT LEARNED'}",
          flush=True)
    return better and took <= SECONDS


def curves(run: Run) -> dict[str, list[float]]:
    """Mean raw score of each term, step by step."""
    told: dict[str, list[float]] = {}
    for point in run.term_curves():
        if point.name != "total" and point.mean is not None:
            told.setdefault(point.name, []).append(point.mean)
    return told


def judge(fifths: dict[str, tuple[float, float]]) -> bool:
    """Catch: at least twice as many caught, and above 70 %. Wordle: fewer invalid words and more greens."""
    if "caught" in fifths:
        first, last = fifths["caught"]
        return last >= 2 * first and last > 0.7
    return all(last > first for name, (first, last) in fifths.items() if name in ("invalid", "partial"))


def _processor_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


if __name__ == "__main__":
    sys.exit(main())
