"""Serves the application of an environment's folder.

`python -m backend.environments.servers.hosted --app server.app:app --root DIR --folder DIR --port 8001 --sessions 64`

The application reads how many sessions it may open from MAX_CONCURRENT_ENVS, as OpenEnv's own do.
"""

import argparse
import os
import sys
from importlib import import_module
from pathlib import Path

from backend.environments.servers import run


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve an OpenEnv environment's folder.", add_help=False)
    parser.add_argument("--app", required=True)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    asked, rest = parser.parse_known_args()

    def build(sessions: int):
        os.environ["MAX_CONCURRENT_ENVS"] = str(sessions)
        os.chdir(asked.folder)
        ours = os.fspath(Path(__file__).parents[3])
        elsewhere = [path for path in sys.path if os.path.realpath(path or ".") != ours]
        sys.path[:] = [os.fspath(asked.root), os.fspath(asked.folder), os.fspath(asked.folder.parent), *elsewhere]
        module, name = asked.app.split(":")
        return getattr(import_module(module), name)

    run(build, rest, ours=False)


if __name__ == "__main__":
    main()
