"""Runs an OpenEnv image for as long as the one who asked for it lives.

`python -m backend.environments.servers.container --image registry.hf.space/openenv-echo-env:latest --sessions 64`

The container is Docker's child, not ours: this process stays beside it and stops it, even where the trainer was killed.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from urllib.request import ProxyHandler, build_opener

from backend.environments.servers import READY, stop_with

USUAL_PORT = "8000/tcp"
START_SECONDS, BETWEEN = 300.0, 0.5


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["docker", *arguments], capture_output=True, text=True, errors="replace",
                          stdin=subprocess.DEVNULL)


def docker(*arguments: str) -> str:
    """What it printed. Ends this process with Docker's own words where it fails."""
    ran = _run(*arguments)
    if ran.returncode:
        sys.exit(f"docker {arguments[0]} failed: {ran.stderr.strip() or ran.stdout.strip()}")
    return ran.stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description="Run an OpenEnv image.")
    parser.add_argument("--image", required=True)
    parser.add_argument("--sessions", type=int, default=64)
    parser.add_argument("--with-parent", type=int, metavar="PID")
    asked = parser.parse_args()

    if _run("image", "inspect", asked.image).returncode:
        print(f"fetching {asked.image}", flush=True)
        docker("pull", "--quiet", asked.image)
    port = _port(docker("image", "inspect", "--format", "{{range $port, $_ := .Config.ExposedPorts}}{{$port}} {{end}}",
                        asked.image))
    container = f"ortam-{os.getpid()}-{time.time_ns()}"

    def stop(*_) -> None:
        _run("kill", container)
        os._exit(0)

    signal.signal(signal.SIGTERM, stop)
    docker("run", "--detach", "--rm", "--name", container, "--publish", f"127.0.0.1::{port}", "--env",
           f"MAX_CONCURRENT_ENVS={asked.sessions}", asked.image)
    address = docker("port", container, port).splitlines()[0]
    url = f"http://127.0.0.1:{address.rsplit(':', 1)[1]}"
    if not _comes_up(url, container):
        logs = _run("logs", "--tail", "15", container)
        print(f"{logs.stdout}{logs.stderr}the container didn't come up", flush=True)
        stop()
    print(READY + url, flush=True)
    stop_with(asked.with_parent or os.getppid(), stop)


def _port(exposed: str) -> str:
    ports = [port for port in exposed.split() if port.endswith("/tcp")]
    return USUAL_PORT if USUAL_PORT in ports or not ports else ports[0]


def _comes_up(url: str, container: str) -> bool:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        try:
            with build_opener(ProxyHandler({})).open(f"{url}/health", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            pass
        if _run("inspect", "--format", "{{.State.Running}}", container).stdout.strip() != "true":
            return False
        time.sleep(BETWEEN)
    return False


if __name__ == "__main__":
    main()
