"""What every test runs under: no hub, no telemetry, one tokenizer thread; and what many tests begin with."""

import os

import pytest

from backend.environments.serving import serve_module
from backend.store import Store

os.environ.update(
    HF_HUB_OFFLINE="1",
    HF_HUB_DISABLE_TELEMETRY="1",
    GRADIO_ANALYTICS_ENABLED="False",
    TOKENIZERS_PARALLELISM="false",
)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "runs")


@pytest.fixture
def writer(run):
    """The one writer of the test's run, as a trainer has it."""
    with run.writing() as writer:
        yield writer


@pytest.fixture(scope="module")
def odd():
    """The address of environments that do what none should."""
    with serve_module("tests.odd_servers", 40, "odd") as server:
        yield server.url
