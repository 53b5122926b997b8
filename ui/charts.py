"""Which curves a run has and what they are called; ui/points.py and ui/lines.py make their points.

To add a chart: a `Chart` in CHARTS. A series' key says where its points come from: `curve:NAME` a reward term's curve
("total" is one), `metric:NAME` what the trainer logged, `status:`, `cause:` and those in points.COUNTED what the store
counted of each step, `time:` a part of the step's time; `@ID` behind it takes one environment of a mix. Charts whose
series the run doesn't have are left out, and metrics that no chart names go under "Other".
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from ui.points import LIMIT, Point, columns, counted, kept, line, points_of, width

__all__ = ["BAND", "CHARTS", "LIMIT", "Chart", "Point", "Series", "charts", "columns", "counted", "described", "kept",
           "line", "points_of", "width"]

Kind = Literal["lines", "shares", "parts"]
COLOURS = 7
"""Of lines without a meaning of their own, in watch.css."""


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
    """`shares`: parts of a whole, stacked up to 100 %; `parts`: stacked in their unit."""
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
        "scored",
        "play",
        "Scored",
        "of all episodes",
        (Series("share:scored", "scored", "series-5"),),
        "Episodes that got a total; the others count as nothing, not as 0.",
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
            Series("share:late", "after the end", "lost"),
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
            Series("time:opening", "opening episodes", "series-4"),
            Series("time:model", "generation", "series-1"),
            Series("time:environment", "environment", "series-3"),
            Series("time:scoring", "scoring", "series-2"),
            Series("time:optimiser", "optimiser", "lost-2"),
        ),
        "Environment: waiting for its calls while nothing is generated. Optimiser: what is left of the step, which is "
        "the passes over its episodes, and scoring in runs that didn't time it.",
        "parts",
    ),
    Chart("whole", "time", "Step time", "seconds", (_metric("step_time", "whole", "lost"),)),
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


PARTS_OF_STEP = ("opening", "model", "environment", "scoring")
"""Metrics seconds/... that `time:` draws; time:optimiser is the rest of step_time."""


def charts(terms: Sequence[str], have: Iterable[str], environments: Sequence[str] = (), chosen: str = "") -> list[Chart]:
    """Those with something to draw. `terms` are reward terms in the order of the spec, `have` the keys with points.

    Of a mix of `environments` one may be `chosen`, or * for a line each; what isn't known by environment says so.
    """
    have = set(have)
    if {"metric:seconds/model", "metric:step_time"} <= have:
        have |= {f"time:{part}" for part in PARTS_OF_STEP if f"metric:seconds/{part}" in have} | {"time:optimiser"}
        have.remove("metric:step_time")
    shown = _all(terms, have)
    if not chosen or len(environments) < 2:
        return shown
    if chosen == "*":
        return [each for chart in shown for each in _by_environment(chart, environments)]
    return [_of_all(chart) if _logged(chart) else chart for chart in shown]


def _logged(chart: Chart) -> bool:
    """Whether the trainer logged it, which knows no environments."""
    return all(series.key.startswith(("metric:", "time:")) for series in chart.series)


def _of_all(chart: Chart) -> Chart:
    return replace(chart, unit=" · ".join(filter(None, (chart.unit, "all environments"))))


def _by_environment(chart: Chart, environments: Sequence[str]) -> list[Chart]:
    """With a line for each environment; what is stacked becomes a chart each."""
    coloured = [(name, f"series-{1 + k % COLOURS}") for k, name in enumerate(environments)]
    if chart.id == "endings":
        return [replace(chart, id=f"endings@{name}", title=f"{chart.title}: {name}",
                        series=tuple(replace(one, key=f"{one.key}@{name}") for one in chart.series))
                for name in environments]
    if chart.id == "signal":
        lines = tuple(Series(f"share:signal@{name}", name, colour) for name, colour in coloured)
        return [replace(chart, id="signal@", series=lines, kind="lines")]
    if chart.section in ("learning", "terms") or chart.id in ("won", "scored"):
        key = chart.series[0].key
        lines = tuple(Series(f"{key}@{name}", name, colour) for name, colour in coloured)
        about = ("Mean total of each environment's scored episodes." if chart.id == "rewards" else
                 chart.about.replace(f" and {BAND}", ""))
        return [replace(chart, id=f"{chart.id}@", series=lines, about=about)]
    return [_of_all(chart)]


def _all(terms: Sequence[str], have: set[str]) -> list[Chart]:
    lines = [Series(f"curve:{name}", name, f"series-{1 + k % COLOURS}") for k, name in enumerate(terms)]
    shown = [
        Chart(
            "rewards",
            "learning",
            "Reward",
            "an episode · band: 10–90 % of the totals",
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
    named = {f"metric:seconds/{part}" for part in PARTS_OF_STEP} if "time:model" in have else set()
    named |= {series.key for chart in CHARTS for series in chart.series} | {f"metric:{name}" for name in SAID_ELSEWHERE}
    for key in sorted(have - named):
        name = key.partition(":")[2]
        if key.startswith("metric:") and not name.startswith(("rewards/", "eval_")):
            shown.append(Chart(key, "other", name, "", (_metric(name, name),)))
    return shown


def described(shown: Sequence[Chart]) -> list[dict[str, Any]]:
    """As the browser reads it."""
    return [asdict(chart) for chart in shown]
