"""Setting up a match: what is played, who plays, and what that takes, in words; below it the matches there are."""

import json
from collections.abc import Sequence
from typing import Any

from backend.environments import Description
from backend.environments.catalog import CATALOG
from backend.environments.listing import found
from backend.errors import OrtamError, SpecError
from backend.launcher import from_fields, matches, starters
from backend.play import players_of
from backend.play.keeping import NAME
from backend.records import EnvironmentSpec, Match, RunSpec
from backend.rewards import applying
from backend.store import Run
from ui import shell
from ui.launch_choices import slug
from ui.outlook import listed
from ui.written import attribute, counted, text

RUNS, MATCHES = 40, 30
"""Of the newest that are offered, and listed."""
TASKS = 20
MOST_TASKS = 1000
TOKENS = 4096
"""That a model may write in one game of an environment no run was trained in."""
KEYS = (("← →", "turn, on all boards"), ("Home End", "start, last turn"), ("Space", "play or pause"),
        ("N P", "more tasks, previous tasks"), ("?", "this help"))


def page(read_only: bool) -> str:
    """The frame of both views; the script fills one of them."""
    notice = shell.problem("This site only shows runs.", "Start it without --read-only to play a match.", "warning")
    return f"""<div class="o-arena"{" data-read-only" * read_only}>
  <div data-view="front" hidden>
    <h1 class="o-title">Arena</h1>
    <p class="o-lede">The same tasks for every player, boards side by side and in step: a model before and after training,
      a scripted solver, an endpoint, you.</p>
    {notice if read_only else ""}
    <div data-slot="trouble"></div>
    <form class="o-arena-form" autocomplete="off" hidden>
      <section class="o-card"><h2 class="o-h2">What is played</h2>
        <div class="o-arena-fields">
          <label class="o-arena-where"><span>Environment</span><select name="environment"></select></label>
          <label class="o-arena-use"><span>or where it comes from</span><input type="text" name="use" spellcheck="false"
            placeholder="openenv+http://…"></label>
          <div class="o-segments" role="radiogroup" aria-label="Which tasks" data-slot="which"></div>
          <label><span>Tasks</span><input type="text" name="tasks" inputmode="numeric" value="{TASKS}"></label>
          <label data-for="seed"><span>First seed</span><input type="text" name="seed" inputmode="numeric" value="0"></label>
        </div>
        <p class="o-fieldnote" data-slot="note"></p></section>
      <section class="o-card o-arena-players"><h2 class="o-h2">Who plays</h2>
        <ul class="o-chosen" data-slot="players" aria-label="Players" aria-live="polite"></ul>
        <div data-slot="offers"></div>
        <div class="o-arena-fields o-arena-more">
          <label class="o-arena-model"><span>Another model</span><input type="text" name="model" spellcheck="false"
            placeholder="Hub id or folder"></label><button type="button" class="o-button" data-do="model">Add</button>
          <label><span>Models take</span><select name="temperature"><option value="0">the likeliest token</option>
            <option value="1">a sample, temperature 1</option></select></label>
        </div>
        <details class="o-arena-endpoint"><summary>Add a model at an endpoint</summary><div class="o-arena-fields">
          <label class="o-arena-use"><span>Base URL</span><input type="text" name="url" spellcheck="false"
            placeholder="http://localhost:8000/v1"></label>
          <label><span>Model</span><input type="text" name="served" spellcheck="false"></label>
          <label><span>Key from</span><input type="text" name="key" spellcheck="false" placeholder="OPENAI_API_KEY"
            title="The environment variable that holds the key, where the worker runs; never the key itself"></label>
          <button type="button" class="o-button" data-do="endpoint">Add</button></div>
          <p class="o-fieldnote">Any endpoint that speaks OpenAI's chat completions with tools. The key stays in an environment
            variable of the worker; only the variable's name is kept.</p></details>
      </section>
      <section class="o-card o-arena-go"><div data-slot="cost" class="o-arena-cost" aria-live="polite"></div>
        <button type="submit" class="o-button o-primary">Start match</button></section>
    </form>
    <section data-slot="matches"></section>
  </div>
  <div data-view="match" hidden>
    <div data-slot="gone"></div>
    <header class="o-arena-head" data-slot="head">{shell.skeleton(2)}</header>
    <div class="o-arena-results"><div data-slot="table"></div><div data-slot="pair"></div></div>
    <div class="o-bouts"><div data-slot="pager"></div><div data-slot="rows"></div></div>
    <div data-slot="transport"></div>
  </div>
  {shell.keys(KEYS)}
</div>"""


# ---------------------------------------------------------------------------------------------------- what is offered


def front(store, launcher, asked: dict[str, Any]) -> dict[str, Any]:
    """The environments to choose from and the matches there are; `like` is a match to start from."""
    summaries = store.runs()
    told: dict[str, Any] = {"matches": _matches([one for one in summaries if one.match])}
    if launcher is None:
        return told
    trained = [one for one in summaries if not one.match and one.name != NAME][:RUNS]
    shipped = "".join(f'<option value="{attribute(name)}">{text(entry.title)}</option>' for name, entry in CATALOG.items())
    ran = "".join(f'<option value="run:{attribute(one.id)}:{attribute(id)}">{text(one.name)} · {text(id)} · {text(one.id[:15])}'
                  "</option>" for one in trained for id in _playable(store.run(one.id)))
    told["environments"] = (f'<optgroup label="That ship here">{shipped}</optgroup>'
                            + (f'<optgroup label="As a run trained in it">{ran}</optgroup>' if ran else ""))
    if like := str(asked.get("like", ""))[:200]:
        try:
            told["like"] = _like(store.run(like))
        except OrtamError as error:
            told["problem"] = shell.problem(f"No match can be set up like that one: {error}.")
    return told


def _playable(run: Run) -> list[str]:
    try:
        return [asked.id for asked in matches.playable(run)]
    except OrtamError:  # a broken spec must not hide the other runs
        return []


def _like(run: Run) -> dict[str, Any]:
    """The form as it was for this match: its tasks, by their seed where they were those of a day."""
    spec = run.spec
    if spec.match is None:
        return {}
    asked = spec.environments[0]
    return {"environment": f"run:{run.id}:{asked.id}", "title": f"{asked.id} · as in {run.id}",
            "players": [player.model_dump(mode="json") for player in spec.match.players],
            "which": "held-out" if spec.match.held_out else "seed",
            "tasks": spec.match.held_out or asked.tasks.count or TASKS, "seed": asked.tasks.first_seed}


def _matches(summaries) -> str:
    if not summaries:
        return shell.empty("No matches yet", "Choose an environment and two players above; a match of scripted players takes "
                           "seconds.")
    rows = "".join(
        f'<tr><td><a href="/arena?id={attribute(one.id)}" title="{attribute(one.id)}">{text(one.name)}</a></td>'
        f'<td class="o-arena-who">{text(one.model)}</td><td>{text(", ".join(one.environments))}</td>'
        f'<td>{shell.chip(one.status, run=True)}</td><td class="o-right o-num">{one.step:,} / {one.steps:,}</td></tr>'
        for one in summaries[:MATCHES])
    return (f'<h2 class="o-h2">Matches</h2><div class="o-card o-flush o-scroll"><table class="o-table"><thead><tr><th>Match</th>'
            '<th>Players</th><th>Environment</th><th>Status</th><th class="o-right">Games</th></tr></thead>'
            f"<tbody>{rows}</tbody></table></div>")


def choices(store, environment: str) -> dict[str, Any]:
    """Who can play there, which tasks there are, and who is put in first. Raises OrtamError."""
    asked, run = _where(store, environment)
    if run and asked not in matches.playable(run):
        raise SpecError("environment", f"{asked.use:.60} can't be started here; choose another")
    scripts = [{"kind": "script", "name": name} for name in players_of(asked.use)]
    models = _of_run(run) if run else []
    known = {model.get("model") for model in models}  # under another label, such as base
    models += [model for model in _starters(asked.use) if model["model"] not in known]
    saved = _checkpoints(store, asked.use, run)
    first = [*models[:3], scripts[0]] if run else [*models[:1], *scripts]
    ways = ["seed"] if asked.use.startswith(matches.LISTS_TASKS) else ["daily", "seed"]
    knows_training = run is not None and (run.spec.match is None or run.spec.match.held_out is not None)
    note = f"Rewards, prompt and token budget as in the run {run.id}." if run else \
        "Rewards and prompt are the environment's own."
    return {"offers": _offers((("Scripted", scripts), ("Models", models), ("Checkpoints", saved))),
            "first": first[:4], "which": _which(["held-out", *ways] if knows_training else ways), "note": note}


def _where(store, environment: str) -> tuple[EnvironmentSpec, Run | None]:
    """What a choice of the form means: `run:ID:ENVIRONMENT`, or a `use:`."""
    if not environment.startswith("run:"):
        use = environment.strip()
        if not use:
            raise SpecError("environment", "is missing; choose one")
        return EnvironmentSpec(id=slug(use), use=use), None
    _, id, name = environment.split(":", 2)
    run = store.run(id)
    asked = next((asked for asked in run.spec.environments if asked.id == name), None)
    if asked is None:
        raise SpecError("environment", f"the run {run.id} plays no {name!r:.60}; choose another")
    return asked, run


def _of_run(run: Run) -> list[dict[str, Any]]:
    """What it started from, and what it saved."""
    saved = [{"kind": "checkpoint", "run": run.id, "checkpoint": name, "label": name} for name in matches.checkpoints(run)]
    return [{"kind": "model", "model": run.spec.model, "label": "base"}, *saved] if run.spec.model else saved


def _starters(use: str) -> list[dict[str, Any]]:
    """Those that were made for it; a starter is named after its game."""
    return [{"kind": "model", "model": f"starter:{name}"} for name in starters() if name == use]


def _checkpoints(store, use: str, without: Run | None) -> list[dict[str, Any]]:
    offered = []
    for one in store.runs()[:RUNS]:
        run = store.run(one.id)
        if one.match or (without and run.id == without.id) or all(asked.use != use for asked in run.spec.environments):
            continue
        offered += [{"kind": "checkpoint", "run": run.id, "checkpoint": name, "label": f"{one.name} {name}"[:60]}
                    for name in matches.checkpoints(run)]
    return offered


def _offers(groups: Sequence[tuple[str, list[dict[str, Any]]]]) -> str:
    return "".join(
        f'<div class="o-offers"><span class="o-label">{title}</span>'
        + "".join(f'<button type="button" class="o-button o-small" data-player="{attribute(json.dumps(player))}" '
                  f'title="{attribute(_who(player))}">+ {text(_short(player))}</button>' for player in offered) + "</div>"
        for title, offered in groups if offered)


def _short(player: dict[str, Any]) -> str:
    return str(player.get("label") or player.get("name") or player.get("model"))


def _who(player: dict[str, Any]) -> str:
    return {"script": "a scripted player", "model": str(player.get("model")),
            "checkpoint": f"checkpoint {player.get('checkpoint')} of {player.get('run')}"}[player["kind"]]


WAYS = {"held-out": ("Held-out tasks", "None that the run's training drew."),
        "daily": ("Today's tasks", "The same for everyone who plays them today (UTC)."),
        "seed": ("From a seed", "Task k is played with seed first + k.")}


def _which(ways: Sequence[str]) -> str:
    return "".join(f'<label title="{attribute(WAYS[way][1])}"><input type="radio" name="which" value="{way}"'
                   f'{" checked" * (n == 0)}><span>{WAYS[way][0]}</span></label>' for n, way in enumerate(ways))


# ------------------------------------------------------------------------------------------------- what is asked for


def spec_of(store, asked: dict[str, Any]) -> RunSpec:
    """From the form's plain values. Raises OrtamError."""
    environment, run = _where(store, str(asked.get("environment", ""))[:2000])
    count, which = _whole(asked, "tasks", 1, MOST_TASKS), str(asked.get("which", "seed"))
    players = asked.get("players") if isinstance(asked.get("players"), list) else []
    if not players:
        raise SpecError("players", "are missing; add two or more")
    match: dict[str, Any] = {"players": players}
    plain = environment.model_dump(mode="json")
    if which == "held-out" and run:
        match["held_out"] = count
    else:
        plain["tasks"] = {"count": count, "split": environment.tasks.split,
                          "first_seed": 0 if which == "daily" else _whole(asked, "seed", 0, 2**31 - 1 - MOST_TASKS)}
        match["daily"] = "today" if which == "daily" else None
    whole = from_fields({"environments": [plain], "match": match})  # for its sentences, before anything else is added
    assert whole.match is not None
    spec = run.spec if run else None
    name = slug(f"{spec.name if spec else environment.id}-match")
    return matches.spec_of(name, whole.environments[0], whole.match,
                           rewards=applying(spec.rewards, environment.id) if spec else (),
                           tokens=spec.train.max_completion_tokens if spec else TOKENS,
                           thinking=spec.generation.thinking if spec else False, gpus=matches.gpus_for(whole.match))


def _whole(asked: dict[str, Any], name: str, least: int, most: int) -> int:
    written = str(asked.get(name) or 0).strip().replace(",", "")
    if not written.isdecimal() or not least <= int(written) <= most:
        raise SpecError(name, f"must be a whole number from {least:,} to {most:,}, not {written!r:.40}")
    return int(written)


def cost(store, asked: dict[str, Any]) -> str:
    """What it takes, in words. Raises OrtamError."""
    spec = spec_of(store, asked)
    match = spec.match
    assert match is not None
    tasks = match.held_out or spec.environments[0].tasks.count or 0
    turns = spec.environments[0].max_turns or _turns(spec.environments[0].use)
    games = (f"<b>{counted(len(match.players) * tasks, 'game')}</b>: {counted(len(match.players), 'player')} on "
             f"{counted(tasks, 'task')}" + (f", at most {counted(turns, 'turn')} each." if turns else "."))
    return f"<ul>{''.join(f'<li>{line}</li>' for line in (games, *_lines(spec, match, tasks, turns), *_wait(store, spec)))}</ul>"


def _lines(spec: RunSpec, match: Match, tasks: int, turns: int | None) -> list[str]:
    by_kind: dict[str, list[str]] = {}
    for player, label in zip(match.players, match.labels(), strict=True):
        kind = "model" if player.kind == "checkpoint" else player.kind
        by_kind.setdefault(kind, []).append(f"<b>{text(label)}</b>")
    budget = f"{spec.train.max_completion_tokens:,}"
    said = []
    if names := by_kind.get("script"):
        said.append(f"{listed(names)} {'follows a script' if len(names) == 1 else 'follow scripts'}: seconds, and no model.")
    if names := by_kind.get("model"):
        where = "this machine's GPU" if spec.resources.gpus else "this machine's CPU"
        after = ", one after the other" if len(names) > 1 else ""
        said.append(f"{listed(names)} {'is' if len(names) == 1 else 'are'} played on {where}{after}: at most {budget} tokens "
                    "a game.")
    if names := by_kind.get("endpoint"):
        most = f"up to {tasks * turns:,} times" if turns else "once a turn"
        said.append(f"{listed(names)} {'is' if len(names) == 1 else 'are each'} asked {most} over the network, at most "
                    f"{budget} tokens a game; whoever runs it may charge for them.")
    return said


def _wait(store, spec: RunSpec) -> list[str]:
    busy = [place.run for place in store.queue.places("running", "claimed", "waiting") if spec.resources.gpus or not place.gpus]
    return [f"It waits for {counted(len(busy), 'run')} that started or queued before it."] if busy else []


def _turns(use: str) -> int | None:
    described: Description | None = CATALOG[use].description if use in CATALOG else None
    one = found(use)
    described = described or (one.description if one else None)
    return described.max_turns if described else None
