"""What every test runs under: no hub, no telemetry, one tokenizer thread; and what many tests begin with."""

import os

import pytest

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
