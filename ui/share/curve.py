"""A run's curves as small drawings: mean and 10-90 % band, a gap where nothing was scored, at most POINTS columns."""

from collections.abc import Sequence

from ui.written import number, text

POINTS = 240
WIDTH, HEIGHT, LEFT, BELOW = 360, 132, 44, 18

Value = float | None


def figure(name: str, steps: Sequence[int], means: Sequence[Value], low: Sequence[Value] = (),
           high: Sequence[Value] = ()) -> str:
    """"" where nothing was ever measured."""
    if not any(value is not None for value in means):
        return ""
    steps, means, low, high = _thinned(steps, means, low or means, high or means)
    seen = [value for values in (means, low, high) for value in values if value is not None]
    bottom, top = min(seen), max(seen)
    if bottom / 2 == top / 2:
        beside = max(0.5, abs(bottom) / 1000)
        bottom, top = bottom - beside, top + beside
    first, last = steps[0], steps[-1]

    def at(step: int, value: float) -> str:
        x = LEFT + (WIDTH - LEFT) * ((step - first) / (last - first) if last > first else 0.5)
        y = 4 + (HEIGHT - 8) * (1 - (value / 2 - bottom / 2) / (top / 2 - bottom / 2))  # halves: the whole span may be no float
        return f"{x:.1f} {y:.1f}"

    band, mean, lone = [], [], []
    for run in _runs(steps, means, low, high):
        if len(run) == 1:
            x, y = at(run[0][0], run[0][1]).split()
            lone.append(f'<circle class="o-lone" cx="{x}" cy="{y}" r="2.5"/>')
            continue
        mean.append("M" + "L".join(at(step, value) for step, value, _, _ in run))
        band.append("M" + "L".join([*(at(step, above) for step, _, _, above in run),
                                    *(at(step, below) for step, _, below, _ in reversed(run))]) + "Z")
    latest = next(value for value in reversed(means) if value is not None)
    rules = "".join(f'<path class="o-rule" d="M{LEFT} {y}H{WIDTH}"/>' for y in (4, HEIGHT - 4))
    return (
        f'<figure><figcaption><span>{text(name)}</span><b title="At the last step it was measured">{number(latest)}</b>'
        f'</figcaption><svg viewBox="0 0 {WIDTH} {HEIGHT + BELOW}" role="img" aria-label="{text(name)}: from '
        f'{number(next(v for v in means if v is not None))} to {number(latest)} over steps {first} to {last}">{rules}'
        f'<path class="o-band" d="{"".join(band)}"/><path class="o-mean" d="{"".join(mean)}"/>{"".join(lone)}'
        f'<text x="{LEFT - 6}" y="10" text-anchor="end">{number(top)}</text>'
        f'<text x="{LEFT - 6}" y="{HEIGHT}" text-anchor="end">{number(bottom)}</text>'
        f'<text x="{LEFT}" y="{HEIGHT + 13}">step {first:,}</text>'
        f'<text x="{WIDTH}" y="{HEIGHT + 13}" text-anchor="end">{last:,}</text></svg></figure>')


def _thinned(steps, means, low, high):
    """Neighbouring steps together: the mean of means, the outermost of the bands; None where none of them has a value."""
    width = max(1, -(-len(steps) // POINTS))
    if width == 1:
        return steps, means, low, high
    parts = [slice(start, start + width) for start in range(0, len(steps), width)]

    def of(values, pick):
        return [pick(known) if (known := [v for v in values[part] if v is not None]) else None for part in parts]

    return ([steps[part][-1] for part in parts], of(means, lambda known: sum(known) / len(known)), of(low, min),
            of(high, max))


def _runs(steps, means, low, high):
    run = []
    for step, value, below, above in zip(steps, means, low, high, strict=True):
        if value is None:
            if run:
                yield run
            run = []
        else:
            run.append((step, value, value if below is None else below, value if above is None else above))
    if run:
        yield run
