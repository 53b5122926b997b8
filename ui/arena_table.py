"""What a match comes to, as HTML: a line a player, and two of them held against each other in words."""

from collections.abc import Sequence

from backend.standings import Against, Standing
from ui.arena_boards import Column
from ui.written import attribute, counted, number, text

NONE = '<span class="o-faint" title="Nothing that tells">–</span>'


def table(columns: Sequence[Column], standings: Sequence[Standing], terms: Sequence[str], tasks: int) -> str:
    """The best of each column is bold, where players differ and all of them played every task."""
    failures = any(each.failures is not None for each in standings)
    invalid = any(each.invalid is not None for each in standings)
    won = any(each.won is not None for each in standings)
    heads = [("player", "")]
    heads += [("won", "Of the games that were scored")] if won else []
    heads += [("total", "Mean of the scored games"), *((name, "Mean, before its weight") for name in terms),
              ("turns", "Mean a game")]
    heads += [("invalid moves", "A game")] if invalid else []
    heads += [("failed calls", "Tool calls that failed, a game; one after its end isn't counted")] if failures else []
    heads += [("tokens", "Generated, a game"), ("time", "A game, environment included")]
    head = "".join(f'<th{"" if n == 0 else " class=o-right"} title="{attribute(hint)}" scope="col">{text(name)}</th>'
                   for n, (name, hint) in enumerate(heads))
    best = max((each.total for each in standings if each.total is not None), default=None)
    rows = "".join(_line(column, each, terms, tasks, best, won, invalid, failures)
                   for column, each in zip(columns, standings, strict=True))
    return (f'<div class="o-card o-flush o-scroll"><table class="o-table o-standings"><thead><tr>{head}</tr></thead><tbody>'
            f"{rows}</tbody></table></div>")


def _line(column: Column, each: Standing, terms: Sequence[str], tasks: int, best: float | None, won: bool, invalid: bool,
          failures: bool) -> str:
    notes = []
    if each.games < tasks:
        notes.append(f"{each.games} of {counted(tasks, 'task')}")
    if each.scored < each.games:
        notes.append(f"{each.games - each.scored} not scored")
    sub = f'<small class="o-muted">{text(column.kind)}{"".join(f" · {note}" for note in notes)}</small>'
    name = f'<th scope="row" title="{attribute(column.name)}"><b>{text(column.label)}</b>{sub}</th>'
    cells = []
    if won:
        cells.append(NONE if each.won is None else f'<b class="o-num">{each.won}</b> <span class="o-muted">of {each.scored}'
                                                   "</span>")
    total = NONE if each.total is None else number(each.total + 0.0)
    cells.append(f"<b>{total}</b>" if each.total is not None and each.total == best else total)
    cells += [_mean(each.terms.get(name)) for name in terms]
    cells.append(_mean(each.turns, 1))
    cells += [_mean(each.invalid)] if invalid else []
    cells += [_mean(each.failures)] if failures else []
    cells.append(_mean(each.tokens, 0))
    cells.append(NONE if each.seconds is None else
                 f"{each.seconds * 1000:.0f} ms" if each.seconds < 1 else f"{each.seconds:.1f} s")
    return f"<tr>{name}{''.join(f'<td class=o-right>{cell}</td>' for cell in cells)}</tr>"


def _mean(value: float | None, digits: int = 2) -> str:
    return NONE if value is None else number(value + 0.0, digits=digits)


def pair(columns: Sequence[Column], first: Column, second: Column, held: Against) -> str:
    """Two selects, four counts, and what the counts say."""
    better, worse = ("better", "worse") if held.by_total else ("fixed", "broken")
    alike = [(held.both_won, "same total")] if held.by_total else [(held.both_won, "both won"), (held.both_lost, "both lost")]
    counts = [(held.fixed, better, "o-fixed", "↑"), (held.broken, worse, "o-broken", "↓"),
              *((count, words, "o-alike", "=") for count, words in alike)]
    stats = "".join(
        f'<div class="{css}{" o-none-so" * (not count)}"><b class="o-stat">{count}</b><span><i aria-hidden="true">{sign}</i> '
        f"{words}</span></div>" for count, words, css, sign in counts)
    apart = [f"{counted(count, 'task')} {words}" for count, words in (
        (held.unscored, "not scored for one of them"), (held.other, "not the same task for both"),
        (held.unplayed, "not played by both")) if count]
    left_out = f'<p class="o-muted o-small">Counted apart: {text("; ".join(apart))}.</p>' if apart else ""
    return (f'<div class="o-card o-pair"><header><h2 class="o-h2">From</h2>{_select("first", columns, first.key)}'
            f'<span class="o-h2">to</span>{_select("second", columns, second.key)}</header><div class="o-stats">{stats}</div>'
            f'<p class="o-pair-words">{text(words(first.label, second.label, held))}</p>{left_out}</div>')


def _select(name: str, columns: Sequence[Column], chosen: str) -> str:
    options = "".join(f'<option value="{attribute(column.key)}"{" selected" * (column.key == chosen)}>{text(column.label)}'
                      "</option>" for column in columns)
    label = "First of the pair" if name == "first" else "Second of the pair"
    return f'<select name="o-{name}" aria-label="{label}">{options}</select>'


def words(first: str, second: str, held: Against) -> str:
    """What the counts say, with the sign test; never that nothing differs, only that nothing was shown."""
    compared = held.fixed + held.broken + held.both_won + held.both_lost
    if not compared:
        return f"No task was played and scored for both {first} and {second} yet."
    does, did = ("does better on", "worse on") if held.by_total else ("wins", "loses")
    than = "than" if held.by_total else "that"
    if not held.fixed + held.broken:
        return f"On {counted(compared, 'common task')} {second} and {first} came out alike; nothing tells them apart."
    if held.by_total:
        said = (f"{second} {does} {counted(held.fixed, 'task')} {than} {first}, and {did} {held.broken}")
    else:
        said = (f"{second} {does} {counted(held.fixed, 'task')} {than} {first} lost, and {did} {held.broken} {than} it won")
    chance = held.chance or 0.0
    odds = (f"If the two were equally good, so uneven a split would come about in {_share(chance)} of such matches "
            f"(exact sign test, p = {_p(chance)})")
    strength = "strong evidence" if chance < 0.01 else "some evidence" if chance < 0.05 else \
        "weak evidence" if chance < 0.2 else "no evidence"
    return f"{said}. {odds}: {strength} of a difference."


def _share(chance: float) -> str:
    if chance >= 0.995:
        return "all"
    if chance >= 0.01:
        return f"{chance:.0%}"
    return f"1 in {1 / chance:,.0f}" if chance > 1e-6 else "fewer than 1 in a million"


def _p(chance: float) -> str:
    return f"{chance:.2f}" if chance >= 0.01 else f"{chance:.1g}"
