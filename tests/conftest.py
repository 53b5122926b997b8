"""What every test runs under: no hub, no telemetry, one tokenizer thread."""

import os

os.environ.update(
    HF_HUB_OFFLINE="1",
    HF_HUB_DISABLE_TELEMETRY="1",
    GRADIO_ANALYTICS_ENABLED="False",
    TOKENIZERS_PARALLELISM="false",
)
