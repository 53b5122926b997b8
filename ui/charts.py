"""Which curves a run has, what they are called, and the points a browser is sent.

To add a chart: a `Chart` in CHARTS. A series' key says where its points come from: `curve:NAME` a reward term's curve
("total" is one), `metric:NAME` what the trainer logged, `share:`, `status:` and `cause:` what `points_of` works out
from outcomes and groups, `mean:NAME` the mean episode. Charts whose series the run doesn't have are left out, and
metrics that no chart names go under "Other".
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, NamedTuple

from backend.signal import Outcome, causes_by_step, statuses_by_step, win_share

LIMIT = 1000
"""Points a line, about."""

Kind = Literal["lines", "shares"]


class Point(NamedTuple):
    step: int
    value: float | None
    """None is a gap: nothing was scored or measured."""
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Series:
    key: str
    label: str
    colour: str
    """A token of watch.css or style.css, without its dashes: `series-1`, `won`."""
    band: str = ""
    """What low and high are; "" where no band is drawn."""
    dots: bool = False
    """Points that lie far apart, such as evaluations."""


@dataclass(frozen=True)
class Chart:
    id: str
    section: str
    title: str
    unit: str
    series: tuple[Series, ...]
    about: str = ""
    kind: Kind = "lines"
    """`shares`: parts of a whole, stacked up to 100 %."""
    share: bool = False
    """Values are fractions of 1, shown as percentages."""


BAND = "10–90 % of episodes"


def _metric(name: str, label: str, colour: str = "series-1") -> Series:
    return Series(f"metric:{name}", label, colour)


CHARTS = (
    Chart(
        "won",
        "play",
        "Win share",
        "of the scored episodes",
        (Series("share:won", "training", "won"), Series("share:eval won", "held-out tasks", "series-3", dots=True)),
        "Won among the episodes that could be scored.",
        share=True,
    ),
    Chart(
        "endings",
        "play",
        "How episodes end",
        "of all episodes",
        (
            Series("status:won", "won", "won"),
            Series("status:finished", "finished", "series-1"),
            Series("status:lost", "lost", "lost"),
            Series("status:out_of_turns", "out of turns", "lost-2"),
            Series("status:truncated", "cut by the token budget", "invalid-2"),
            Series("status:invalid", "invalid", "invalid"),
            Series("status:env_error", "environment failed", "env"),
            Series("status:env_lost", "connection lost", "env-2"),
            Series("status:cancelled", "cancelled", "unscored"),
        ),
        "Faults of the environment say nothing about the policy.",
        "shares",
        share=True,
    ),
    Chart(
        "signal",
        "play",
        "Groups with signal",
        "of the groups",
        (
            Series("cause:signal", "with signal", "accent"),
            Series("cause:all won", "all won", "won"),
            Series("cause:all lost", "all lost", "lost"),
            Series("cause:same total", "same total", "lost-2"),
            Series("cause:unscored", "not scored", "unscored"),
        ),
        "A group teaches only where its totals differ.",
        "shares",
        share=True,
    ),
    Chart(
        "tokens",
        "lengths",
        "Tokens an episode",
        "tokens",
        (
            _metric("completions/max_length", "longest", "lost"),
            _metric("completions/mean_length", "mean"),
            _metric("completions/min_length", "shortest", "lost"),
        ),
        "The whole conversation after the prompt, tool results included.",
    ),
    Chart("turns", "lengths", "Turns an episode", "tool calls", (Series("mean:turns", "mean", "series-1"),)),
    Chart(
        "cut",
        "lengths",
        "Cut by the token budget",
        "of the episodes",
        (_metric("completions/clipped_ratio", "cut", "invalid"),),
        "Games that stop early are usually this.",
        share=True,
    ),
    Chart("calls", "lengths", "Tool calls", "an episode", (_metric("tools/call_frequency", "calls"),)),
    Chart(
        "failures",
        "lengths",
        "Failed tool calls",
        "of the calls",
        (_metric("tools/failure_frequency", "failed", "error"),),
        "Calls whose JSON can't be parsed are not among them.",
        share=True,
    ),
    Chart("kl", "optimiser", "KL to the starting model", "nats a token", (_metric("kl", "KL"),)),
    Chart(
        "entropy",
        "optimiser",
        "Entropy",
        "nats a token",
        (_metric("entropy", "entropy", "series-2"),),
        "How undecided the policy is; near 0 it stops exploring.",
    ),
    Chart("gradient", "optimiser", "Gradient norm", "", (_metric("grad_norm", "norm", "series-3"),)),
    Chart(
        "clip",
        "optimiser",
        "Clipped tokens",
        "of the tokens",
        (
            _metric("clip_ratio/region_mean", "either side", "series-1"),
            _metric("clip_ratio/low_mean", "low side", "series-4"),
            _metric("clip_ratio/high_mean", "high side", "series-5"),
        ),
        "Always 0 with one iteration a batch.",
        share=True,
    ),
    Chart(
        "spread",
        "optimiser",
        "Spread of rewards",
        "standard deviation",
        (_metric("reward_std", "in a batch", "series-2"),),
    ),
    Chart("rate", "optimiser", "Learning rate", "", (_metric("learning_rate", "learning rate", "series-4"),)),
    Chart(
        "loss",
        "optimiser",
        "Loss",
        "",
        (_metric("loss", "loss", "lost"),),
        "Says little in GRPO: 0 is normal with no KL and one iteration.",
    ),
    Chart(
        "mismatch",
        "optimiser",
        "Engine mismatch",
        "log-probability",
        (
            _metric("sampling/sampling_logp_difference/max", "largest", "invalid"),
            _metric("sampling/sampling_logp_difference/mean", "mean", "series-1"),
        ),
        "How far the generating engine is from the trainer.",
    ),
    Chart(
        "step",
        "time",
        "Step time",
        "seconds",
        (
            _metric("step_time", "whole", "lost"),
            _metric("seconds/model", "model", "series-1"),
            _metric("seconds/environment", "environment", "series-3"),
        ),
        "The rest is scoring and the optimiser.",
    ),
    Chart("seconds", "time", "Episode time", "seconds", (Series("mean:seconds", "mean", "series-2"),)),
    Chart("seen", "time", "Tokens so far", "tokens", (_metric("num_tokens", "tokens", "series-4"),)),
)

SAID_ELSEWHERE = {
    "reward",
    "frac_reward_zero_std",
    "epoch",
    "policy_loss",
    "total_flos",
    "train_loss",
    "train_runtime",
    "train_samples_per_second",
    "train_steps_per_second",
    "completions/mean_terminated_length",
    "completions/min_terminated_length",
    "completions/max_terminated_length",
    "clip_ratio/low_min",
    "clip_ratio/high_max",
}


def charts(terms: Sequence[str], have: Iterable[str]) -> list[Chart]:
    """Those with something to draw. `terms` are reward terms in the order of the spec, `have` the keys with points."""
    have = set(have)
    lines = [Series(f"curve:{name}", name, f"series-{1 + k % 7}") for k, name in enumerate(terms)]
    shown = [
        Chart(
            "rewards",
            "learning",
            "Reward",
            "an episode",
            (Series("curve:total", "total", "accent", BAND), *lines),
            "Mean of each step's scored episodes, with the 10–90 % band of the total. Terms are raw, before their "
            "weight; gaps are steps where nothing was scored.",
        )
    ]
    shown += [
        Chart(
            f"term {line.label}",
            "terms",
            line.label,
            "raw value",
            (replace(line, band=BAND),),
            f"Mean and {BAND}, before the weight; a gap where the term applied to no episode.",
        )
        for line in lines
    ]
    for chart in CHARTS:
        if kept := tuple(series for series in chart.series if series.key in have):
            shown.append(replace(chart, series=kept))
    named = {series.key for chart in CHARTS for series in chart.series} | {f"metric:{name}" for name in SAID_ELSEWHERE}
    for key in sorted(have - named):
        name = key.partition(":")[2]
        if key.startswith("metric:") and not name.startswith(("rewards/", "eval_")):
            shown.append(Chart(key, "other", name, "", (_metric(name, name),)))
    return shown


def described(shown: Sequence[Chart]) -> list[dict[str, Any]]:
    """As the browser reads it."""
    return [asdict(chart) for chart in shown]


# -------------------------------------------------------------------------------------------------------------- points


def points_of(outcomes: Sequence[Outcome], evaluated: Sequence[Outcome], groups: Sequence) -> dict[str, list[Point]]:
    """Shares by step: how episodes ended, the wins among the scored, and what the groups had to teach."""
    points: dict[str, list[Point]] = {}
    for step, statuses in sorted(statuses_by_step(outcomes).items()):
        points.setdefault("share:won", []).append(Point(step, win_share(statuses)))
        for status, share in _shares(statuses, "status"):
            points.setdefault(status, []).append(Point(step, share))
    for step, statuses in sorted(statuses_by_step(evaluated).items()):
        points.setdefault("share:eval won", []).append(Point(step, win_share(statuses)))
    for step, causes in sorted(causes_by_step(groups).items()):
        for cause, share in _shares(causes, "cause"):
            points.setdefault(cause, []).append(Point(step, share))
    return points


def _shares(counted, prefix: str):
    known = [
        series.key.partition(":")[2]
        for chart in CHARTS
        for series in chart.series
        if series.key.startswith(f"{prefix}:")
    ]
    whole = sum(counted.values())
    return [(f"{prefix}:{name}", counted[name] / whole) for name in known]


def width(last_step: int, limit: int = LIMIT) -> int:
    """Steps in a bucket: 1 while a line has at most `limit` steps, then the smallest power of two that brings it there,
    with a smallest and a largest point for each bucket."""
    if last_step <= limit:
        return 1
    return 2 ** math.ceil(math.log2(2 * last_step / limit))


def thinned(points: Sequence[Point], bucket: int) -> list[Point]:
    """The same points each time: of each bucket of steps the first smallest, the first largest and the first gap, and
    of the last bucket also the last point, so that a line ends where the run is."""
    if bucket <= 1:
        return list(points)
    kept: list[Point] = []
    start = 0
    while start < len(points):
        number, end = points[start].step // bucket, start
        while end < len(points) and points[end].step // bucket == number:
            end += 1
        inside = points[start:end]
        measured = [point for point in inside if point.value is not None]
        chosen = {next(point for point in inside if point.value is None)} if len(measured) < len(inside) else set()
        if measured:
            chosen |= {min(measured, key=lambda p: (p.value, p.step)), max(measured, key=lambda p: (p.value, -p.step))}
        if end == len(points):
            chosen.add(inside[-1])
        kept += sorted(chosen, key=lambda point: point.step)
        start = end
    return kept


def thinned_alike(lines: dict[str, list[Point]], bucket: int) -> dict[str, list[Point]]:
    """Lines that are drawn upon each other need the same steps: those of the first, which says most."""
    if bucket <= 1 or not lines:
        return lines
    steps = {point.step for point in thinned(next(iter(lines.values())), bucket)}
    return {key: [point for point in line if point.step in steps] for key, line in lines.items()}


def columns(points: Sequence[Point]) -> dict[str, list]:
    """x, y and, where there is a band, low and high; rounded to 6 digits, None for gaps and for what isn't finite."""
    told: dict[str, list] = {"x": [point.step for point in points], "y": [_number(point.value) for point in points]}
    if any(point.low is not None for point in points):
        told |= {"low": [_number(point.low) for point in points], "high": [_number(point.high) for point in points]}
    return told


def _number(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(f"{value:.6g}")
