"""`python -m backend.trainer.starters`: says what the starters are, and makes them anew."""

import argparse
import dataclasses
import sys
from pathlib import Path

from backend.errors import ModelError
from backend.trainer.starters import STARTERS, Starter, starter


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m backend.trainer.starters", description=(
        "Starter policies: toys that make the whole machine visible on two CPU cores. They are not language models."))
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("list", help="name them")
    verbs.add_parser("about", help="what one is and how it was made").add_argument("name")
    making = verbs.add_parser("make", help="make one anew from scripted games; takes some minutes")
    making.add_argument("name")
    making.add_argument("--to", type=Path, help="folder to write; default: where it ships")
    making.add_argument("--games", type=int, help="games in each lesson; default: as it shipped")
    making.add_argument("--epochs", type=int, help="passes over each lesson; default: as it shipped")
    making.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(argv)
    if asked.verb == "list":
        for each in STARTERS.values():
            print(f"starter:{each.name:<10} plays {each.environment}; {_size(each)}")
        return 0
    try:
        chosen = starter(asked.name.removeprefix("starter:"))
    except ModelError as error:
        print(error, file=sys.stderr)
        return 1
    if asked.verb == "about":
        card = chosen.folder / "README.md"
        print(card.read_text() if card.exists() else f"starter:{chosen.name} is not made yet")
        return 0
    from backend.trainer.starters.make import make

    changes = {key: value for key in ("games", "epochs") if (value := getattr(asked, key)) is not None}
    lessons = [dataclasses.replace(lesson, **changes) for lesson in chosen.lessons]
    make(chosen, asked.to or chosen.folder, lessons, asked.seed, lambda text: print(text, flush=True))
    return 0


def _size(each: Starter) -> str:
    weights = each.folder / "model.safetensors"
    return f"{weights.stat().st_size / 1e6:.1f} MB" if weights.exists() else "not made yet"


if __name__ == "__main__":
    sys.exit(main())
