"""Which curves a run has, what they are called, and the points a browser is sent.

To add a chart: a `Chart` in CHARTS. A series' key says where its points come from: `curve:NAME` a reward term's curve
("total" is one), `metric:NAME` what the trainer logged, `status:`, `cause:` and those in COUNTED what the store counted
of each step. Charts whose series the run doesn't have are left out, and metrics that no chart names go under "Other".
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, NamedTuple

from backend.signal import CAUSE_COLUMNS, win_share

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
            Series("cause:all invalid", "all invalid", "invalid"),
            Series("cause:all truncated", "all cut short", "invalid-2"),
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
    Chart(
        "turns",
        "lengths",
        "Turns an episode",
        "turns",
        (Series("mean:turns", "all", "lost"), Series("mean:calls", "with a tool call", "series-1")),
        "A turn without a call is words only, often the last one.",
    ),
    Chart(
        "cut",
        "lengths",
        "Cut by the token budget",
        "of the episodes",
        (Series("share:clipped", "cut", "invalid"),),
        "Games that stop early are usually this.",
        share=True,
    ),
    Chart(
        "failures",
        "lengths",
        "Calls that came to nothing",
        "of the calls",
        (
            Series("share:failed", "failed", "error"),
            Series("share:unparsed", "couldn't be parsed", "invalid"),
            Series("share:repeated", "repeated without effect", "series-4"),
        ),
        "Failed: unknown tool, wrong arguments, or an error at the environment.",
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
    "completions/clipped_ratio",
    "completions/mean_terminated_length",
    "completions/min_terminated_length",
    "completions/max_terminated_length",
    "clip_ratio/low_min",
    "clip_ratio/high_max",
    "tools/call_frequency",
    "tools/failure_frequency",
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


Columns = Mapping[str, Sequence[Any]]
"""Of steps, as the store counted them: one entry a step."""


def _ratio(part: str, *whole: str) -> Callable[[Columns], list[float | None]]:
    """None where the part isn't known, or there is nothing to divide by."""

    def of(steps: Columns) -> list[float | None]:
        parts = zip(*(steps[name] for name in whole), strict=True)
        below = [sum(number or 0 for number in numbers) for numbers in parts]
        return [None if a is None or not b else a / b for a, b in zip(steps[part], below, strict=True)]

    return of


def _wins(steps: Columns) -> list[float | None]:
    told = zip(*(steps[name] for name in ("judged", "won", "lost", "out_of_turns")), strict=True)
    return [win_share(*numbers) for numbers in told]


COUNTED: dict[str, Callable[[Columns], list[float | None]]] = {
    "share:won": _wins,
    "share:clipped": _ratio("clipped", "judged"),
    "share:failed": _ratio("failures", "tool_calls"),
    "share:unparsed": _ratio("unparsed_calls", "tool_calls", "unparsed_calls"),
    "share:repeated": _ratio("repeated_calls", "tool_calls"),
    "mean:turns": _ratio("turns", "judged"),
    "mean:calls": _ratio("tool_calls", "judged"),
    "mean:seconds": _ratio("seconds", "with_seconds"),
}
"""Key -> its values, from what the store counted of each step."""


def counted(key: str) -> bool:
    return key in COUNTED or key.startswith(("status:", "cause:"))


def points_of(steps: Columns, keys: Sequence[str], bucket: int = 1) -> dict[str, list[Point]]:
    """Key -> its points, thinned. Parts that are stacked keep the same steps: those of the first, which says most."""
    at = steps["step"]
    points = {key: line(at, COUNTED[key](steps), bucket) for key in keys if key in COUNTED}
    for prefix, whole, column in (("status:", "episodes", str), ("cause:", "groups", CAUSE_COLUMNS.__getitem__)):
        stacked = {key: steps[column(key.removeprefix(prefix))] for key in keys if key.startswith(prefix)}
        if stacked:
            all_ = steps[whole]
            first = next(iter(stacked.values()))
            places = kept(at, [part / (n or 1) for part, n in zip(first, all_, strict=True)], bucket)
            for key, part in stacked.items():
                points[key] = [Point(at[place], part[place] / (all_[place] or 1)) for place in places]
    return points


def line(steps: Sequence[int], values: Sequence[float | None], bucket: int, low: Sequence[float | None] = (),
         high: Sequence[float | None] = ()) -> list[Point]:
    """The points of a line that `kept` keeps."""
    places = kept(steps, values, bucket)
    if not low:
        return [Point(steps[place], values[place]) for place in places]
    return [Point(steps[place], values[place], low[place], high[place]) for place in places]


def width(last_step: int, limit: int = LIMIT) -> int:
    """Steps in a bucket: 1 while a line has at most `limit` steps, then the smallest power of two that brings it there,
    with a smallest and a largest point for each bucket."""
    if last_step <= limit:
        return 1
    return 2 ** math.ceil(math.log2(2 * last_step / limit))


def kept(steps: Sequence[int], values: Sequence[float | None], bucket: int) -> Sequence[int]:
    """The same places each time: of each bucket of steps the first smallest, the first largest and the first gap, and
    of the last bucket also the last, so that a line ends where the run is."""
    if bucket <= 1:
        return range(len(steps))
    places: list[int] = []
    start = 0
    while start < len(steps):
        end = bisect_left(steps, (steps[start] // bucket + 1) * bucket, start)
        inside = values[start:end]
        measured = [value for value in inside if value is not None]
        chosen = {start + inside.index(None)} if len(measured) < len(inside) else set()
        if measured:
            chosen |= {start + inside.index(min(measured)), start + inside.index(max(measured))}
        if end == len(steps):
            chosen.add(end - 1)
        places += sorted(chosen)
        start = end
    return places


def columns(points: Sequence[Point]) -> dict[str, list]:
    """x, y and, where there is a band, low and high; rounded to 6 digits, None for gaps and for what isn't finite."""
    told: dict[str, list] = {"x": [point.step for point in points], "y": [_number(point.value) for point in points]}
    if any(point.low is not None for point in points):
        told |= {"low": [_number(point.low) for point in points], "high": [_number(point.high) for point in points]}
    return told


def _number(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(f"{value:.6g}")
