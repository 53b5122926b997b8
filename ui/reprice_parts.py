"""What the Re-price page shows below the terms, as HTML."""

from html import escape
from urllib.parse import urlencode

from backend.records import RunSpec
from backend.repricing import Groups, Moved, Numbers, Priced, Repricing
from ui import shell
from ui.episodes import Asked
from ui.written import counted, number, text

SOURCES = {"facts": "worked out anew from the facts of each episode", "turns": "worked out anew from the facts of every "
           "turn", "stored": "the scores that were stored", "nothing": "can't be re-priced"}
ANEW = {"facts": "facts", "turns": "turns", "stored": "stored scores", "nothing": "left out"}


def head(run: str, spec: RunSpec, may_launch: bool) -> str:
    watch = escape(f"/run?{urlencode({'id': run})}")
    act = ('<button type="button" class="o-button" data-do="save-as">Save as a set</button>'
           '<a class="o-button o-primary" data-launch href="#">Launch with these terms</a>' if may_launch else "")
    return f"""
<div class="o-top">
  <div class="o-watch-name">
    <nav class="o-crumbs" aria-label="Run"><a href="{watch}">{text(spec.name)}</a><i aria-hidden="true">›</i>
      <a href="{escape(Asked(run=run).to())}">episodes</a></nav>
    <h1 class="o-title">Re-price</h1>
    <p class="o-lede">What these episodes would have been worth by other terms. What the trainer really used stays as it
      was: nothing here changes the run.</p>
  </div>
  <div class="o-row">{act}</div>
</div>"""


def summary(run: str, told: Repricing, same: bool) -> str:
    """The numbers that matter, and what they leave out."""
    hint = ('<p class="o-fieldnote">These are the run\'s own terms. Change a value or a weight to see what that would '
            "have done.</p>" if same else "")
    left_out = "".join(shell.problem(f"{line}.", kind="warning") for line in told.left_out)
    return (f'<dl class="o-priced">{_reward(told.total_before, told.total_after)}{_signal(run, told.groups)}'
            f"{_order(run, told.groups)}</dl>{hint}{left_out}"
            f'<p class="o-fieldnote">{counted(told.episodes, "training episode")}; advantages scaled by '
            f"{text(told.scale_rewards)}, as the run's settings say.</p>")


def _reward(before: Numbers, after: Numbers) -> str:
    scored = "" if after.scored == before.scored else f" · {after.scored:,} scored, {before.scored:,} before"
    return (f'<div class="o-wide"><dt>Mean reward</dt><dd>{_change(before.mean, after.mean)}'
            f'</dd><dd class="o-small o-muted">10–90 %: {_band(before)} → {_band(after)}{scored}</dd></div>')


def _change(before: float | None, after: float | None) -> str:
    return (f'<span class="o-was">{number(before)}</span><i aria-label="becomes">→</i>'
            f'<b class="o-stat">{number(after)}</b>')


def _band(numbers: Numbers) -> str:
    return f"{number(numbers.low)} to {number(numbers.high)}" if numbers.mean is not None else "not scored"


def _signal(run: str, groups: Groups) -> str:
    """Of all groups: with signal as before, gained, lost, and without."""
    kept = groups.signal_before - groups.lost
    parts = (("o-kept", kept, "keep it"), ("o-gained", groups.gained, "gain it"), ("o-gone", groups.lost, "lose it"))
    bar = "".join(f'<i class="{css}" style="width:{100 * count / groups.all:.2f}%" title="{count:,} {words}"></i>'
                  for css, count, words in parts if count)
    said = [f'<span class="{css if count else ""}">{count:,} {words}</span>' for css, count, words in parts[1:]]
    return (f'<div class="o-wide"><dt>Groups with signal, of {groups.all:,}</dt><dd>'
            f'<span class="o-was">{groups.signal_before:,}</span><i aria-label="becomes">→</i>'
            f'<b class="o-stat">{groups.signal_after:,}</b></dd><dd class="o-signalbar">{bar}</dd>'
            f'<dd class="o-small o-muted">{" · ".join(said)}{_examples(run, groups, "gained")}'
            f'{_examples(run, groups, "lost")}</dd></div>')


def _order(run: str, groups: Groups) -> str:
    share = f"{groups.order_changed / groups.all:.0%} of them" if groups.all else ""
    return (f'<div class="o-wide"><dt>Groups that change their order</dt><dd><b class="o-stat">{groups.order_changed:,}</b>'
            f'<span class="o-was">of {groups.all:,}</span></dd><dd class="o-small o-muted">{share}'
            f'{_examples(run, groups, "order_changed")}</dd></div>')


def _examples(run: str, groups: Groups, what: str) -> str:
    found = groups.examples.get(what, ())
    if not found:
        return ""
    links = ", ".join(f'<a class="o-link" href="{escape(Asked(run=run, step=step, group=group).to())}">'
                      f"step {step:,} group {group:,}</a>" for step, group in found[:2])
    return f'<span class="o-eg">such as {links}</span>'


# ------------------------------------------------------------------------------------------------------------- tables


def table(told: Repricing) -> str:
    rows = _row("reward", None, told.total_before, told.total_after, None)
    rows += "".join(_row(term.name, term.weight, term.before, term.after, term) for term in told.terms)
    return f"""<section class="o-card o-flush"><div class="o-scroll"><table class="o-table">
<thead><tr><th scope="col">Term</th><th class="o-right" scope="col">Weight</th><th class="o-right" scope="col">Mean was</th>
<th class="o-right" scope="col">Mean now</th><th class="o-right" scope="col">10–90 % was</th>
<th class="o-right" scope="col">10–90 % now</th><th class="o-right" scope="col">Scored</th><th scope="col">From</th></tr></thead>
<tbody>{rows}</tbody></table></div></section>"""


def _row(name: str, weight: float | None, before: Numbers | None, after: Numbers, term: Priced | None) -> str:
    was = number(before.mean) if before else '<span class="o-muted" title="The run had no such term">–</span>'
    band = _band(before) if before else '<span class="o-muted">–</span>'
    source = f'<span class="o-muted" title="{SOURCES[term.source]}">{ANEW[term.source]}</span>' if term else ""
    css = "" if term else ' class="o-total"'
    return (f'<tr{css}><td>{text(name)}</td><td class="o-right">{"" if weight is None else number(weight)}</td>'
            f'<td class="o-right">{was}</td><td class="o-right"><b>{number(after.mean)}</b></td>'
            f'<td class="o-right">{band}</td><td class="o-right">{_band(after)}</td>'
            f'<td class="o-right">{after.scored:,} of {after.all:,}</td><td>{source}</td></tr>')


def moved(run: str, told: Repricing, same: bool, several: bool) -> str:
    if not told.moved:
        return "" if same else ('<section class="o-card"><h2 class="o-h2">Episodes that moved most</h2><p class="o-muted">'
                                "None: every episode keeps its advantage.</p></section>")
    where = '<th scope="col">Environment</th>' if several else ""
    rows = "".join(_moved(run, one, several) for one in told.moved)
    return f"""<section class="o-card o-flush"><div class="o-cardhead"><h2 class="o-h2">Episodes that moved most</h2>
<p class="o-fieldnote">By the change of their advantage: how much better than its group an episode is.</p></div>
<div class="o-scroll"><table class="o-table"><thead><tr><th scope="col">Episode</th>{where}<th scope="col">Ended</th>
<th class="o-right" scope="col">Reward was</th><th class="o-right" scope="col">now</th>
<th class="o-right" scope="col">Advantage was</th><th class="o-right" scope="col">now</th></tr></thead>
<tbody>{rows}</tbody></table></div></section>"""


def _moved(run: str, one: Moved, several: bool) -> str:
    where = f"<td>{text(one.environment)}</td>" if several else ""
    link = escape(Asked(run=run, id=one.id).to())
    side, arrow = _way(one.advantage_before, one.advantage_after)
    return (f'<tr><td><a class="o-link" href="{link}">step {one.step:,} · group {one.group:,} · episode {one.sample:,}'
            f"</a></td>{where}<td>{shell.chip(one.status)}</td>"
            f'<td class="o-right">{number(one.total_before)}</td><td class="o-right">{number(one.total_after)}</td>'
            f'<td class="o-right">{number(one.advantage_before, signed=True)}</td>'
            f'<td class="o-right {side}"><b>{number(one.advantage_after, signed=True)}</b> '
            f'<span aria-hidden="true">{arrow}</span></td></tr>')


def _way(before: float | None, after: float | None) -> tuple[str, str]:
    """Class and arrow of a move; none where one side was not scored, since that is no number to rise or fall from."""
    if before is None or after is None:
        return "", ""
    return ("o-rises", "▲") if after > before else ("o-falls", "▼")
