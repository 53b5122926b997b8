"""The parts of a reward, where an OpenEnv server reports them: each becomes a fact `rubric_<name>`.

OpenEnv sends one reward and has no field for what it is made of; servers that tell put a mapping of names to numbers
under one of the names below, in the observation or its metadata.
"""

import re
from collections.abc import Mapping
from typing import Any

from backend.environments.adapters import number
from backend.records import FactValue

NAMES = ("rubrics", "rubric", "rubric_scores", "reward_breakdown", "reward_components")
MOST = 50
"""Parts of one reward that are kept."""


def rubrics(*told: Mapping[str, Any]) -> dict[str, FactValue]:
    """From the first mapping that holds any. A part that isn't a finite number is None."""
    for fields in told:
        for name in NAMES:
            if isinstance(parts := fields.get(name), Mapping) and parts:
                return {_fact(str(part)): number(value) for part, value in list(parts.items())[:MOST]}
    return {}


def _fact(part: str) -> str:
    return "rubric_" + re.sub(r"\W", "_", part)[:60]
