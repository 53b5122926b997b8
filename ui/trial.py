"""Try these terms: a part of the Launch page. A good and a random player play a few episodes, and the terms at hand are
scored on them, beside what people and models did before.

The page asks the same question until nothing is being played; the games are kept, so that other terms are scored on
them at once.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from backend.environments.catalog import CATALOG
from backend.errors import OrtamError
from backend.launcher import default_terms
from backend.play.rehearsal import Judgement, Kind, Rehearsal, Rehearsals, Spread, Worth, earlier, judged, worth
from backend.records import EnvironmentSpec, Judged, RewardTerm, RunSpec
from backend.rewards import applies
from ui import shell
from ui.terms import sentence
from ui.written import counted, number, text

HERE = Path(__file__).parent
CSS = [HERE / "trial.css"]
JS = [HERE / "trial.js"]

SIGNS = {"green": ("✓", "well"), "amber": ("!", "to look at"), "red": ("✕", "wrong")}
READ_ONLY = "This site only shows runs; start it without --read-only to try terms."


def function(store, read: Callable[[dict[str, Any]], RunSpec], wrong: Callable[[RunSpec], list[dict[str, str]]],
             problem: Callable[[OrtamError], dict[str, str]], allowed: bool) -> Callable:
    """What the page's script asks. `read` makes a spec of a draft, `wrong` finds wrong terms in it, `problem` tells
    where an error belongs."""
    rehearsals = Rehearsals()
    answers: dict[str, Judged] = {}

    def try_terms(asked: dict[str, Any]) -> dict[str, Any]:
        if not allowed:
            return {"problems": [{"field": "", "message": READ_ONLY}]}
        try:
            spec = read(asked["draft"])
            if problems := wrong(spec):
                return {"problems": problems}
            again = asked.get("again")
            return tried(store, rehearsals, answers, spec, again if again in ("failed", "all") else "")
        except OrtamError as error:
            return {"problems": [problem(error)]}

    return try_terms


def tried(store, rehearsals: Rehearsals, answers: dict[str, Judged], spec: RunSpec,
          again: Literal["", "failed", "all"] = "") -> dict[str, Any]:
    """`html`, and whether something is still `playing`. Environments are played one after another. Raises OrtamError."""
    terms = spec.rewards or default_terms(spec.environments)
    parts: list[str] = []
    for place, asked in enumerate(spec.environments):
        rehearsal = rehearsals.of(asked, again)
        if not rehearsal.ended.is_set():
            waiting = "".join(title(other) + "<p class=o-muted>waits for its turn</p>"
                              for other in spec.environments[place + 1:])
            return {"html": "".join(parts) + title(asked) + progress(rehearsal) + waiting, "playing": True}
        parts.append(title(asked) + outcome(store, rehearsal, asked, terms, answers))
    return {"html": "".join(parts), "playing": False}


def outcome(store, rehearsal: Rehearsal, asked: EnvironmentSpec, terms: tuple[RewardTerm, ...],
            answers: dict[str, Judged]) -> str:
    if rehearsal.problem:
        return shell.problem(f"{rehearsal.problem[:1].upper()}{rehearsal.problem[1:]}", "The terms can't be tried here.")
    try:
        rows = asyncio.run(worths(store, rehearsal, asked, terms, answers))
    except OrtamError as error:
        return shell.problem(sentence(error))
    return verdict(judged(rows)) + table(rows, [term for term in terms if applies(term, asked.id)])


async def worths(store, rehearsal: Rehearsal, asked: EnvironmentSpec, terms: tuple[RewardTerm, ...],
                 answers: dict[str, Judged]) -> list[Worth]:
    rows = []
    for player in rehearsal.players:
        kind: Kind = "random" if player == rehearsal.players[-1] else "best"
        rows.append(await worth(player, kind, rehearsal.episodes(player), terms, asked.id, answers))
    for who_played, who, run, episodes in earlier(store, asked.use):
        rows.append(await worth(who, who_played, episodes, terms, asked.id, answers, where=run, ask=False))
    return rows


# -------------------------------------------------------------------------------------------------------------- drawn


def title(asked: EnvironmentSpec) -> str:
    entry = CATALOG.get(asked.use)
    return f'<h3 class="o-h2">Tried in {text(entry.title if entry else asked.use)}</h3>'


def progress(rehearsal: Rehearsal) -> str:
    done, of = rehearsal.played, rehearsal.games
    doing = f"{done} of {counted(of, 'episode')} played" if done else "Opening the environment…"
    return (f'<div class="o-trial-doing"><span class="o-num">{doing}</span><div class="o-bar">'
            f'<i style="width:{100 * done / of:.0f}%"></i></div></div>')


def verdict(told: Judgement) -> str:
    sign, spoken = SIGNS[told.level]
    remedy = f'<p class="o-muted">{text(told.remedy)}</p>' if told.remedy else ""
    return (f'<div class="o-trial-verdict o-{told.level}"><i role="img" aria-label="{spoken}">{sign}</i>'
            f"<div><p>{text(told.text)}</p>{remedy}</div></div>")


def table(rows: list[Worth], terms: list[RewardTerm]) -> str:
    head = "".join(f'<th class="o-right" scope="col">{words}</th>' for words in map(column, rows))
    body = line("reward", [one.total for one in rows], "o-total")
    body += "".join(line(term.name + (f" × {number(term.weight)}" if term.weight != 1 else ""),
                         [one.terms[term.name] for one in rows]) for term in terms)
    won = "".join(f'<td class="o-right">{"–" if one.won is None else f"{one.won:.0%}"}</td>' for one in rows)
    faults = dict.fromkeys(fault for one in rows for fault in one.faults)
    said = "".join(f'<p class="o-fieldnote o-wrong">{text(fault)}</p>' for fault in list(faults)[:3])
    return (f'<div class="o-scroll"><table class="o-table"><thead><tr><th scope="col">Mean, smallest to largest</th>{head}'
            f'</tr></thead><tbody>{body}<tr><th scope="row">won</th>{won}</tr></tbody></table></div>{said}')


def column(one: Worth) -> str:
    if one.kind == "person":
        who = "played by hand"
    else:
        who = text(one.who) if one.kind == "model" else f"{text(one.who)} player"
    return f'{who}<small>{counted(one.games, "episode")}{f" of {text(one.where)}" if one.where else ""}</small>'


def line(name: str, spreads: list[Spread], css: str = "") -> str:
    cells = "".join(f'<td class="o-right">{cell(one)}</td>' for one in spreads)
    return f'<tr class="{css}"><th scope="row">{text(name)}</th>{cells}</tr>'


def cell(one: Spread) -> str:
    if one.mean is None:
        return number(None)
    some = f"{one.scored} of {one.all} scored" if one.scored < one.all else ""
    band = f"{number(one.low)} to {number(one.high)}" if one.low != one.high else ""
    return f'<b>{number(one.mean)}</b><small>{" · ".join(filter(None, (band, some))) or "always"}</small>'
