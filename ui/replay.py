"""Replay: what one episode did, turn by turn, and what that was worth; beside it its group and the list it is in.

The page asks for an episode once and gets all of it; `replay.js` shows turn k without asking again.
"""

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from backend.errors import EpisodeNotFound, OrtamError, SpecError
from backend.play import unforkable
from backend.records import Episode, RunSpec
from ui import narrowing, notes, shell
from ui.asked import NEWEST, Asked
from ui.episodes import episodes, first, group, neighbours
from ui.forks import dialog, fork_functions
from ui.player import Setting, player
from ui.viewers import viewer
from ui.written import attribute, text

HERE = Path(__file__).parent
CSS = [HERE / "viewers" / "viewers.css", HERE / "replay.css", HERE / "find.css"]
JS = [HERE / "find.js", HERE / "notes.js", HERE / "replay.js"]

GROUP_SHOWN = 64

KEYS = (("← →", "turn"), ("↑ ↓", "episode"), ("Space", "play or pause"), ("Home End", "start, last turn"),
        ("T", "turn or transcript"), ("G", "group"), ("F", "fork"), ("/", "words"), ("N", "note"), ("?", "this help"))


def build(store, launcher) -> None:
    def show(asked: dict[str, Any]) -> dict[str, str]:
        return answer(store, str(asked.get("search", "")), bool(asked.get("list", True)), launcher is not None)

    def peers(asked: dict[str, Any]) -> str:
        return group_of(store, str(asked.get("search", "")))

    shell.html(f'<div class="o-replay"{" data-read-only" * (launcher is None)}><div data-slot="player">'
               f"{shell.skeleton(5, tall=True)}</div>"
               f'<div data-slot="group"></div><div data-slot="list"></div>{shell.keys(KEYS)}{dialog()}</div>',
               ["ortamFind", "ortamReplay"],
               server_functions=[show, peers, *fork_functions(store, launcher),
                                 *narrowing.functions(store, launcher is not None),
                                 *notes.functions(store, launcher is not None)])


def answer(store, search: str, with_list: bool = True, may_change: bool = False) -> dict[str, str]:
    """What the page shows at an address: `player` and, if asked for, `list`, both HTML."""
    try:
        asked = Asked.read(search)
        run = store.run(asked.run or "latest")
        spec = run.spec
    except SpecError as error:
        return {"player": _dead_end(str(error), ("See the episodes", Asked.only_run(search).to())), "list": ""}
    except OrtamError as error:
        return {"player": _dead_end(str(error), shell.RUNS), "list": ""}
    asked = Asked(**{**vars(asked), "run": run.id})
    try:
        id, turn = (asked.id, asked.turn) if asked.id else _instructive(run, asked)
        shown = run.episode(id)
        drawn = player(shown, _setting(store, run, spec, asked, shown), turn)
        asked = Asked(**{**vars(asked), "id": shown.id})
    except EpisodeNotFound as error:
        drawn = _dead_end(str(error), ("See this run's episodes", Asked(run=run.id).to())) if asked.id \
            else _without_episode(run.id, spec.name)
    except OrtamError as error:  # its file is spoilt
        drawn = _dead_end(str(error), ("Watch the run", _watch(run.id)))
    return {"player": drawn, "list": episodes(run, spec, asked, store.saved_filters(), may_change) if with_list else ""}


def group_of(store, search: str) -> str:
    """The strip under the player: the group of the episode at an address; "" where there is none to show."""
    try:
        asked = Asked.read(search)
        run = store.run(asked.run or "latest")
        now = run.episode(asked.id)
        rows = run.episodes(sort="-total", limit=GROUP_SHOWN, step=now.step, group=now.group, phase=now.phase,
                            attempt=now.attempt)
        named = viewer_of(run.spec, now.environment)
        played = [run.episode(row.id) for row in rows]
    except OrtamError:
        return ""
    return group([(episode, viewer(episode, named).thumbnail(episode)) for episode in played], now.id,
                 Asked(**{**vars(asked), "run": run.id}))


def _instructive(run, asked: Asked) -> tuple[str, int | None]:
    """Which episode to open when none is named: the first of a list that was asked for, else of the newest step the one
    with the largest advantage. Raises EpisodeNotFound where there is none."""
    try:
        if top := first(run, asked):
            return top
        rows = run.episodes(sort=asked.sort, limit=1, **asked.filters())
        if rows and asked.sort == NEWEST and "where" not in asked.filters():
            best = run.episodes(sort="-advantage", limit=1, **{**asked.filters(), "step": rows[0].step})
            rows = best or rows
    except OrtamError:
        rows = []
    if not rows:
        raise EpisodeNotFound("")
    return rows[0].id, asked.turn


def _setting(store, run, spec: RunSpec, asked: Asked, shown: Episode) -> Setting:
    try:
        before, after = neighbours(run, asked, shown.id)
    except OrtamError:
        before = after = None
    step = Asked(run=run.id, id=shown.id, step=shown.step, phase="" if shown.phase == "train" else shown.phase)
    return Setting(
        run=run.id, name=spec.name, viewer=viewer_of(spec, shown.environment), terms=spec.rewards,
        tools=_tools(spec, shown.environment),
        previous=before, following=after, unforkable=unforkable(run, shown),
        forked_from=_name_of(store, shown.parent.run) if shown.parent else "",
        links={"watch": _watch(run.id), "reprice": f"/reprice?{urlencode({'run': run.id})}", "step": step.to(),
               "group": Asked(**{**vars(step), "group": shown.group}).to()})


def _name_of(store, run: str) -> str:
    try:
        return store.run(run).spec.name
    except OrtamError:  # deleted since, or another machine's
        return run


def _watch(run: str) -> str:
    return f"/run?{urlencode({'id': run})}"


def _description(spec: RunSpec, environment: str):
    """What the catalog says of an episode's environment; None where it comes from elsewhere."""
    from backend.environments.catalog import CATALOG

    used = next((each.use for each in spec.environments if each.id == environment), "")
    return CATALOG[used].description if used in CATALOG else None


def viewer_of(spec: RunSpec, environment: str) -> str:
    """Names the viewer of an environment of a run, as far as the catalog knows it."""
    description = _description(spec, environment)
    return description.viewer if description else "transcript"


def _tools(spec: RunSpec, environment: str) -> list[dict[str, Any]]:
    description = _description(spec, environment)
    return [tool.schema() for tool in description.tools] if description else []


def _without_episode(run: str, name: str) -> str:
    return (f'<nav class="o-crumbs" aria-label="Run"><a href="{attribute(_watch(run))}">{text(name)}</a>'
            f'<i aria-hidden="true">›</i><h1 class="o-crumb">replay</h1></nav>')


def _dead_end(sentence: str, link: tuple[str, str]) -> str:
    return (f'<div class="o-dead-end">{shell.problem(sentence[:1].upper() + sentence[1:])}'
            f'<p><a class="o-link" href="{attribute(link[1])}">{link[0]}</a></p></div>')
