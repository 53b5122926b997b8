"""Arena: the same tasks played by several players, boards side by side and in step.

`/arena` sets a match up, `/arena?id=RUN` shows one: how it goes, a line a player, two players held against each other, and
the boards a page of tasks at a time. The page asks `look` with a mark of all it shows; while nothing changed the answer
is empty.
"""

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from backend.environments.catalog import CATALOG
from backend.environments.listing import found
from backend.errors import OrtamError, SpecError
from backend.records import (
    ENDED,
    CheckpointPlayer,
    EndpointPlayer,
    EnvironmentSpec,
    PlayerSpec,
    RunSpec,
    ScriptPlayer,
)
from backend.standings import Against
from backend.standings.following import BY_HAND, PARENT, Followed, Matches
from backend.store import Run
from ui import arena_boards as boards
from ui import arena_form as form
from ui import arena_table, shell
from ui.arena_boards import Column
from ui.timeline import Mark, transport
from ui.written import attribute, block, counted, query, text

HERE = Path(__file__).parent
CSS = [HERE / "arena.css"]
JS = [HERE / "arena.js"]

ROWS = 5
"""Tasks on a page."""
LAST_LINES = 20
"""Of the log, under what went wrong."""
PLAYER = re.compile(r"^match\.players\.(\d+)(\.\w+)*: ")
"""How a spec's errors name a player, whom the form knows by place."""
ONLY = ("all", "fixed", "broken", "both_won", "both_lost")
KINDS = {"script": "scripted", "model": "model", "checkpoint": "checkpoint", "endpoint": "endpoint"}


class Asked(BaseModel):
    """What a browser shows of a match, and what it wants to see."""

    model_config = ConfigDict(extra="ignore")
    id: str = Field("", max_length=200)
    version: str = ""
    page: int = Field(0, ge=0, le=1_000_000)
    only: str = "all"
    first: str = Field("", max_length=20)
    second: str = Field("", max_length=20)
    rows: dict[str, str] = {}
    """Task's place -> mark of its row."""


def build(store, launcher) -> None:
    matches = Matches(store)

    def front(asked: dict[str, Any]) -> dict[str, Any]:
        return form.front(store, launcher, asked)

    def choices(asked: dict[str, Any]) -> dict[str, Any]:
        return said(lambda: form.choices(store, str(asked.get("environment", ""))))

    def cost(asked: dict[str, Any]) -> dict[str, Any]:
        return said(lambda: {"html": form.cost(store, asked)})

    def start(asked: dict[str, Any]) -> dict[str, Any]:
        return said(lambda: {"id": may(launcher).launch(form.spec_of(store, asked))})

    def stop(asked: dict[str, Any]) -> dict[str, Any]:
        return said(lambda: {"told": may(launcher).stop(str(asked.get("id", "")))})

    def look(asked: dict[str, Any]) -> dict[str, Any]:
        return looked(matches, asked, read_only=launcher is None)

    shell.html(form.page(read_only=launcher is None), ["ortamArena"],
               server_functions=[front, choices, cost, start, stop, look])


def looked(matches: Matches, asked: dict[str, Any], read_only: bool) -> dict[str, Any]:
    try:
        question = Asked.model_validate(asked)
        return answer(matches, matches.store.run(question.id), question, read_only)
    except ValidationError as error:
        return {"gone": shell.misread(error)}
    except OrtamError as error:
        return {"gone": shell.problem(_sentence(error), link=shell.RUNS)}


def said(work) -> dict[str, Any]:
    """What `work` gives, or a sentence."""
    try:
        return work()
    except OrtamError as error:
        return {"problem": shell.problem(_sentence(error))}


def may(launcher):
    if launcher is None:
        raise OrtamError("This site only shows runs; start it without --read-only to play a match.")
    return launcher


def _sentence(error: Exception) -> str:
    said = PLAYER.sub(lambda place: f"player {int(place[1]) + 1}: ", str(error))
    return said[:1].upper() + said[1:]


# ---------------------------------------------------------------------------------------------------------- a match


def answer(matches: Matches, run: Run, asked: Asked, read_only: bool) -> dict[str, Any]:
    """Only what is new. Raises OrtamError."""
    with matches.follow(run) as match:
        if match.spec.match is None:
            raise SpecError("", f"{run.id} is no match but a run that trains; watch it at /run?id={run.id}")
        version = "|".join((match.version(), str(asked.page), asked.only, asked.first, asked.second))
        if version == asked.version:
            return {}
        match.look()
        return {"version": version, **_shown(match, asked, read_only)}


def _shown(match: Followed, asked: Asked, read_only: bool) -> dict[str, Any]:
    run, spec, columns, tasks = match.run, match.spec, columns_of(match), sorted(match.tasks)
    assert spec.match is not None
    status, progress = run.status(), run.progress()
    open_ = status not in ENDED
    whole = max(len(tasks), -(-progress.steps // len(spec.match.players)))
    first, second = _pair(columns, asked.first, asked.second)
    held = match.against(first.key, second.key) if first and second else None
    play = "" if read_only else unplayed(run, columns, tasks)
    told: dict[str, Any] = {
        "title": spec.name, "open": open_, "head": head(run, spec, status, progress, read_only, play),
        "table": arena_table.table(columns, [match.lines[column.key].standing() for column in columns],
                                   [term.name for term in spec.rewards], whole),
        "pair": arena_table.pair(columns, first, second, held) if first and second and held else "",
    }
    return told | _boards(run, spec, columns, tasks, held, asked, open_)


def _boards(run: Run, spec: RunSpec, columns: list[Column], tasks: list[int], held: Against | None, asked: Asked,
            open_: bool) -> dict[str, Any]:
    outcome = held.tasks if held else {}
    only = asked.only if asked.only in ONLY and held else "all"
    wanted = [group for group in tasks if only == "all" or outcome.get(group) == only]
    pages = max(1, -(-len(wanted) // ROWS))
    page = min(asked.page, pages - 1)
    shown = wanted[page * ROWS:(page + 1) * ROWS]
    asked_of = spec.environments[0]
    viewer_name = CATALOG[asked_of.use].description.viewer if asked_of.use in CATALOG else _known_viewer(asked_of)
    rows = [boards.row(columns, group, outcome.get(group, ""), bool(held and held.by_total), viewer_name,
                       play_link(run, asked_of, columns, group), open_, asked.rows.get(str(group), "")) for group in shown]
    names = boards.BY_TOTAL if held and held.by_total else boards.VERDICTS
    choices = [("all", "all", len(tasks))]
    choices += [(kind, names[kind][1], count) for kind in ONLY[1:] if held and kind in names
                and (count := getattr(held, kind))]
    last = max((game.turns for group in shown for column in columns if (game := column.games.get(group))), default=0)
    places = list(range(page * ROWS, page * ROWS + len(shown)))
    return {"rows": [[row.group, row.mark, row.html] for row in rows], "last": last,
            "pager": boards.pager(page, pages, places, len(wanted), only, choices, play_link),
            "transport": transport([Mark("o-zero", "Start"), *(Mark(hint=f"Turn {k}") for k in range(1, last + 1))], last)
            if last else "", "empty": "" if shown else _nothing(open_, only)}


def _nothing(open_: bool, only: str) -> str:
    if only != "all":
        return shell.empty("No such task", "No task came out so between the two; choose all.")
    return shell.empty("No game has ended yet", "Boards come here as games end.") if open_ else \
        shell.empty("No game was played", "The log of this run says why.")


def columns_of(match: Followed) -> list[Column]:
    """The episode a fork goes on from, the players in their order, and what people played of the same tasks."""
    asked = match.spec.match
    assert asked is not None
    told = {str(place): (label, KINDS[player.kind], full_name(player))
            for place, (player, label) in enumerate(zip(asked.players, asked.labels(), strict=True))}
    told[BY_HAND] = "by hand", "people, first try", "what people played of these tasks on the Play page"
    if asked.fork:
        told[PARENT] = ("as it was", "its parent", f"{asked.fork.episode} of {asked.fork.run}, which this goes on from after "
                        f"turn {asked.fork.turn}")
    return [Column(key, *told[key], line.games, line.runs) for key, line in match.lines.items()]


def full_name(player: PlayerSpec) -> str:
    """Who it is, whatever its label."""
    if isinstance(player, ScriptPlayer):
        return f"the scripted player {player.name}"
    how = "always the likeliest token" if not player.temperature else f"temperature {player.temperature:g}"
    if isinstance(player, EndpointPlayer):
        return f"{player.model} at {player.url}, {how}"
    if isinstance(player, CheckpointPlayer):
        return f"checkpoint {player.checkpoint} of {player.run}, {how}"
    return f"{player.model}, {how}"


def _pair(columns: list[Column], first: str, second: str) -> tuple[Column | None, Column | None]:
    """As asked for; else the first player and the last checkpoint, the last that is no script, or the last of all."""
    if len(columns) < 2:
        return None, None
    by_key = {column.key: column for column in columns}
    one = by_key.get(first) or columns[0]
    others = [column for column in columns if column is not one]
    models = [column for column in others if column.key.isdigit() and column.kind != KINDS["script"]]
    trained = [column for column in models if column.kind == KINDS["checkpoint"]] or models
    asked = by_key.get(second)
    return one, asked if asked and asked is not one else (trained or others)[-1]


def _known_viewer(asked: EnvironmentSpec) -> str:
    one = found(asked.use)
    return one.description.viewer if one and one.description else "transcript"


def play_link(run: Run, asked: EnvironmentSpec, columns: list[Column], group: int) -> str:
    """Where a person plays this very task by the same terms; "" where it is a fork's."""
    game = next((column.games[group] for column in columns if group in column.games), None)
    if game is None or (run.spec.match and run.spec.match.fork):
        return ""
    where = {"use": asked.use, "worth": f"run:{run.id}", "match": run.id}
    where |= {"seed": str(game.seed)} if game.seed is not None else {"task": str(game.task)}
    where |= {"options": json.dumps(asked.options)} if asked.options else {}
    return f"/play?{query(where)}"


# ------------------------------------------------------------------------------------------------------------- head


def unplayed(run: Run, columns: list[Column], tasks: list[int]) -> str:
    """Where a person plays the first of these tasks that nobody played by hand; "" where none is left."""
    done = next((column.games for column in columns if column.key == BY_HAND), {})
    left = next((group for group in tasks if group not in done), None)
    return "" if left is None else play_link(run, run.spec.environments[0], columns, left)


def head(run: Run, spec: RunSpec, status: str, progress, read_only: bool, play: str = "") -> str:
    """`play`: where to play the tasks oneself."""
    asked, fork = spec.environments[0], spec.match.fork if spec.match else None
    share = min(1.0, progress.step / progress.steps) if progress.steps else 0.0
    left = f" · about {shell.duration(progress.left)} left" if progress.left else ""
    going = status not in ENDED
    bar = (f'<div class="o-arena-bar"><span class="o-muted">{text(progress.phase or "waiting to start")}{left}</span>'
           f'<div class="o-bar" role="progressbar" aria-label="Games played" aria-valuemin="0" '
           f'aria-valuemax="{progress.steps}" aria-valuenow="{progress.step}"><i style="width:{share:.1%}"></i></div></div>'
           if going else "")
    stop = ('<button type="button" class="o-button o-small" data-do="stop">Stop after these games</button>'
            if going and not read_only and status != "stopping" else "")
    mine = f'<a class="o-button o-small" href="{attribute(play)}">Play these tasks yourself</a>' if play else ""
    again = "" if read_only else f'<a class="o-button o-small" href="/arena?like={attribute(run.id)}">Play it again</a>'
    why = ""
    if progress.reason and not (status == "finished" and "given up" not in progress.reason):
        kind = "error" if status in ("failed", "lost") else "warning" if status == "finished" else "hint"
        why = shell.problem(_sentence(Exception(progress.reason)), kind=kind)
    if status in ("failed", "lost") and (log := run.log_tail(LAST_LINES)):
        why += (f'<details class="o-arena-log"><summary>The last lines of its log</summary><div class="o-mono">{block(log)}</div>'
                "</details>")
    tags = "".join(f'<span class="o-tag">{text(tag)}</span>' for tag in (asked.id, *what_is_played(spec, progress)))
    if fork:
        where = query({"run": fork.run, "id": fork.episode, "turn": fork.turn})
        tags += f'<a class="o-link o-small" href="/episode?{attribute(where)}">See its parent</a>'
    return (f'<nav class="o-crumbs" aria-label="Where this match belongs"><a href="/arena">Arena</a>'
            f'<i aria-hidden="true">›</i><h1 class="o-crumb">{text(spec.name)}</h1></nav>'
            f'<div class="o-row">{shell.chip(status, run=True)}{tags}<span class="o-arena-acts">{stop}{mine}{again}'
            f'<a class="o-button o-small" href="/episode?{attribute(urlencode({"run": run.id}))}">All episodes</a>'
            f"{shell.HELP}</span></div>"
            f"{bar}{why}")


def what_is_played(spec: RunSpec, progress) -> list[str]:
    match, tasks = spec.match, spec.environments[0].tasks
    assert match is not None
    if match.fork:
        return [f"goes on from {match.fork.episode} of {match.fork.run} after turn {match.fork.turn}"]
    count = -(-progress.steps // len(match.players))
    said = [counted(count, "task")] if count else []
    if match.held_out:
        return [*said, "held out: none that training drew"]
    if match.daily:
        return [*said, f"the tasks of {match.daily}"]
    if tasks.indices is None:
        return [*said, f"from seed {tasks.first_seed}"]
    return said


