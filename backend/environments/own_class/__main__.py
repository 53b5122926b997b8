"""`python -m backend.environments.own_class USE [OPTIONS]`: a class's description as JSON, or why it can't be used.

A process of its own, so that whoever asks runs none of the class's code, and sees the file as it is now.
"""

import json
import os
import sys
from typing import Any

from backend.environments.listing import to_plain
from backend.environments.own_class import load
from backend.environments.own_class.contract import described
from backend.errors import SpecError


def main() -> None:
    told: dict[str, Any]
    use, options = sys.argv[1], json.loads(sys.argv[2]) if len(sys.argv) > 2 else {}
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the class prints is no part of the answer
    try:
        told = {"described": to_plain(described(load(use), options))}
    except SpecError as error:
        told = {"field": error.field, "wrong": error.said}
    answer.write(json.dumps(told, default=str))
    answer.close()
    os._exit(0)  # whatever threads the class has started


if __name__ == "__main__":
    main()
