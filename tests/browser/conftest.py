"""A real Chromium and the real application on a free port, with a runs folder of its own.

The browser is the system's, not one that playwright fetches. Without one these tests are skipped, on CI they fail.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from backend.store import Store

ROOT = Path(__file__).parents[2]
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync")
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def pytest_collection_modifyitems(items):
    """The browser's own event loop goes on until the last test, and others want to start theirs: browser tests come last,
    in each of several processes too, since `--dist load` hands tests out in this order."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)


@pytest.fixture(scope="session")
def chromium():
    """Starts a browser when called."""
    from playwright.sync_api import expect, sync_playwright

    found = next(filter(None, map(shutil.which, NAMES)), None)
    if not found:
        reason = "no Chromium on the PATH; on Debian and Ubuntu: apt install chromium"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    expect.set_options(timeout=30_000)
    with sync_playwright() as playwright:
        yield lambda: playwright.chromium.launch(executable_path=found, args=list(FLAGS))


@pytest.fixture(scope="session")
def started():
    """The browser of all tests, once there is one."""
    return []


@pytest.fixture
def browser(chromium, started):
    """One for all tests, and another when it crashed: then one test fails and not all that come after it."""
    if not started or not started[-1].is_connected():
        started.append(chromium())
    return started[-1]


@dataclass
class Seen:
    """What a page did behind the person's back."""

    elsewhere: list[str] = field(default_factory=list)
    """Addresses asked for that aren't the application's own."""
    errors: list[str] = field(default_factory=list)
    """Exceptions no script caught."""


@pytest.fixture
def seen():
    return Seen()


@pytest.fixture
def page(browser, seen):
    """A fresh visitor at 1280 x 900."""
    visitor = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    page = visitor.new_page()
    page.set_default_timeout(30_000)
    page.on("request", lambda request: seen.elsewhere.append(request.url) if third_party(request.url) else None)
    page.on("pageerror", lambda error: seen.errors.append(str(error)))
    yield page
    visitor.close()


def third_party(url: str) -> bool:
    return not url.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:", "about:"))


@dataclass
class Application:
    url: str
    runs: Path

    def command(self, *words: str) -> str:
        """`python -m backend ...` on the same runs folder; its output."""
        ran = subprocess.run([sys.executable, "-m", "backend", *words, "--runs", str(self.runs)], cwd=ROOT,
                             capture_output=True, text=True, timeout=120)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout


@pytest.fixture
def application(tmp_path):
    with served(tmp_path) as started:
        yield started


@pytest.fixture(scope="session")
def shared_application(tmp_path_factory):
    """For tests with runs of their own: one application for all, whose folder holds what others made too."""
    with served(tmp_path_factory.mktemp("shared")) as started:
        yield started


@pytest.fixture
def visit(shared_application, page):
    """Opens an address and waits until this is there."""
    def opened(address: str, there: str):
        page.goto(shared_application.url + address)
        page.locator(there).first.wait_for()
        return page
    return opened


@contextlib.contextmanager
def served(folder: Path):
    """`python app.py`, stopped with everything it started."""
    runs, log = folder / "runs", folder / "app.log"
    with open(log, "wb") as out:
        serving = subprocess.Popen([sys.executable, "app.py", "--port", str(port := free_port()), "--runs", str(runs)],
                                   cwd=ROOT, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        url = f"http://127.0.0.1:{port}"
        wait_until_served(url, serving, log)
        yield Application(url, runs)
    finally:
        end(serving)
        end_trainers(runs)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until_served(url: str, serving: subprocess.Popen, log: Path, seconds: float = 60):
    deadline = time.monotonic() + seconds
    while serving.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    pytest.fail(f"the application isn't served at {url}:\n{log.read_text(errors='replace')}")


def end_trainers(runs: Path):
    """They live on when the application ends; a test that failed must leave none behind."""
    store = Store(runs)
    for summary in store.runs():
        if pid := store.run(summary.id).trainer_pid():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)


def end(serving: subprocess.Popen):
    if serving.poll() is None:
        os.killpg(serving.pid, signal.SIGTERM)
    try:
        serving.wait(20)
    except subprocess.TimeoutExpired:
        os.killpg(serving.pid, signal.SIGKILL)
        serving.wait()
