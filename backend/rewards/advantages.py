"""Advantages as TRL's GRPOTrainer works them out, for a whole run at once.

The source is `_generate_and_score_completions` in trl/trainer/grpo_trainer.py, 1.16. NaN stands for what wasn't scored.
TRL works in single precision, this in double.
"""

from typing import Literal

import numpy as np

EPSILON = 1e-4
"""What TRL adds to a spread before it divides by it."""

Scale = Literal["group", "batch", "none"]
Aggregation = Literal["sum_then_normalize", "normalize_then_sum"]


def totals(scores: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weighted sum along the last axis of what was scored; NaN where nothing was. `scores`: episodes x terms."""
    made = np.nansum(scores * weights, axis=1)
    made[np.isnan(scores).all(axis=1)] = np.nan
    return made


def advantages(scores: np.ndarray, weights: np.ndarray, group: np.ndarray, batch: np.ndarray, scale: Scale,
               aggregation: Aggregation) -> np.ndarray:
    """NaN where the episode wasn't scored, which TRL gives 0.

    `group` and `batch` number, from 0, the episodes played on one task and those generated together.
    """
    worth = totals(scores, weights)
    with np.errstate(all="ignore"):
        if aggregation == "normalize_then_sum":
            apart = np.stack([_scaled(column, group) for column in scores.T], axis=1) if scores.size else scores
            summed = np.nansum(apart * weights, axis=1)
            summed[np.isnan(worth)] = np.nan
            made = _scaled(summed, batch)
        else:
            made = worth - mean_and_spread(worth, group)[0][group]
            if scale != "none":
                of = group if scale == "group" else batch
                made = made / (mean_and_spread(worth, of)[1][of] + EPSILON)
    return np.where(np.isnan(worth), np.nan, np.nan_to_num(made))


def mean_and_spread(values: np.ndarray, part: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each part, NaN left out: mean (NaN where nothing is left) and standard deviation (NaN below two values)."""
    there = ~np.isnan(values)
    parts = int(part.max()) + 1 if len(part) else 0
    count = np.bincount(part[there], minlength=parts)
    with np.errstate(all="ignore"):
        mean = np.bincount(part[there], values[there], parts) / count
        squares = np.bincount(part[there], (values[there] - mean[part[there]]) ** 2, parts)
        return mean, np.sqrt(np.where(count > 1, squares / (count - 1), np.nan))


def _scaled(values: np.ndarray, part: np.ndarray) -> np.ndarray:
    mean, spread = mean_and_spread(values, part)
    return (values - mean[part]) / (spread[part] + EPSILON)
