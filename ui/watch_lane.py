"""Now playing: the episodes in play as small boards, and one of them followed turn by turn.

The browser says which state of each board it has and how many turns of the one it follows; the answer holds what changed.
When the batch ends its boards become the recorded episodes.
"""

import hashlib
import time
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from backend.records import Episode, RunSpec
from backend.store import EpisodeRow, live
from ui import shell, turns
from ui import watch_parts as parts
from ui.replay import viewer_of
from ui.viewers import viewer
from ui.written import as_json, attribute, block, text

STAGES: dict[live.Stage, str] = {"opening": "opening", "generating": "generating", "environment": "at the environment",
          "waiting": "waiting for the others", "scoring": "scoring", "ended": "played"}


LAST = 60
"""Turns that are sent of a recorded episode at most."""


class Followed(BaseModel):
    model_config = ConfigDict(extra="ignore")
    id: str = Field(max_length=200)
    turns: int = Field(-1, ge=-1)
    """How many of its turns the browser has; -1 where it has nothing of it yet."""
    over: bool = False
    """Whether it has its end too."""


class AskedLane(BaseModel):
    model_config = ConfigDict(extra="ignore")
    mark: str = ""
    boards: dict[str, str] = Field({}, max_length=64)
    """Id -> what of it is shown."""
    follow: Followed | None = None


def lane(run, asked: AskedLane) -> dict[str, Any]:
    """Nothing where nothing changed."""
    mark, training = live.mark(run.path), run.training()
    if mark:
        mark += "" if training else "!"
    anew = asked.follow is not None and asked.follow.turns < 0
    if mark == asked.mark and not anew:
        return {}
    told = live.read(run.path, training) if mark else None
    if told is None:
        return {"lane": {"mark": mark, "playing": False, "boards": _recorded(run, list(asked.boards))},
                **_followed(run, None, asked.follow)}
    spec = run.spec
    boards = {}
    for seated in told.shown:
        state = _state(seated)
        if asked.boards.get(seated.episode.id) != state:
            boards[seated.episode.id] = [state, _board(seated, spec)]
    return {"lane": {"mark": mark, "playing": True, "head": _head(told), "boards": boards,
                     "order": [seated.episode.id for seated in told.shown]},
            **_followed(run, told, asked.follow)}


def _head(told: live.Live) -> str:
    counts = " · ".join(f"{STAGES[stage]} {told.counts[stage]:,}" for stage in STAGES if told.counts.get(stage))
    of = f" of the {told.playing:,} that the first of {told.processes} processes plays" if told.processes > 1 else \
        f" of {told.playing:,}"
    what = f"step {told.step:,}" if told.phase == "train" else f"evaluation after step {told.step:,}"
    stale = '<b class="o-live-stale">The trainer has said nothing for a while.</b> ' if told.stale else ""
    return f'{stale}<span class="o-num">{len(told.shown)}{of} · {what}</span><span class="o-num">{counts}</span>'


def _state(seated: live.Seated) -> str:
    facts = (seated.stage, round(seated.since, 1), seated.left_out + len(seated.episode.turns), len(seated.calls))
    return hashlib.sha1(repr(facts).encode()).hexdigest()[:8]


def _turns(seated: live.Seated) -> int:
    return seated.left_out + len(seated.episode.turns)


def _stage(seated: live.Seated) -> str:
    """Where it is and for how long; the browser lets the clock go on."""
    words = STAGES[seated.stage]
    if seated.stage in ("generating", "environment"):
        words = f"{'generating' if seated.stage == 'generating' else 'playing'} turn {_turns(seated) + 1}"
    passed = max(0.0, time.time() - seated.since)
    clock = "" if seated.stage == "ended" else \
        f' · <span class="o-num o-live-clock" data-clock="up" data-seconds="{passed:.0f}">{shell.duration(passed)}</span>'
    return f'<span class="o-live-stage o-stage-{seated.stage}">{words}{clock}</span>'


def _board(seated: live.Seated, spec: RunSpec) -> str:
    episode = seated.episode
    shown = viewer(episode, viewer_of(spec, episode.environment)).thumbnail(episode)
    if seated.stage == "opening":
        shown = '<span class="o-live-empty"></span>'
    played = _turns(seated)
    return (f'<button type="button" class="o-watch-episode o-live" data-follow="{attribute(episode.id)}" '
            f'title="{attribute(f"Follow episode {episode.id}, {_task(episode)}")}">'
            f'<span class="o-watch-episode-board" aria-hidden="true">{shown}</span>{_stage(seated)}'
            f'<span class="o-watch-episode-line"><b class="o-num">{played}</b>'
            f'<span class="o-small o-muted">{"turn" if played == 1 else "turns"} played</span></span></button>')


def _task(episode: Episode) -> str:
    task = episode.task if isinstance(episode.task, str) else as_json(episode.task)
    where = f"group {episode.group}, sample {episode.sample}, {episode.environment}"
    if episode.task is not None:
        return f"{where}, task {task:.200}"
    return where if episode.seed is None else f"{where}, seed {episode.seed}"


def _recorded(run, ids: list[str]) -> dict[str, list[str]]:
    """The cards of those that were recorded meanwhile."""
    rows = run.episodes(id=ids, sort="seq", limit=len(ids)) if ids else []
    if not rows:
        return {}
    spec = run.spec
    return {row.id: ["recorded", parts.card(run.id, run.episode(row.id), viewer_of(spec, row.environment))]
            for row in rows}


# ----------------------------------------------------------------------------------------------------------- followed


def _followed(run, told: live.Live | None, asked: Followed | None) -> dict[str, Any]:
    if asked is None or asked.over:
        return {}
    seated = next((one for one in told.shown if one.episode.id == asked.id), None) if told else None
    if seated is None:
        rows = run.episodes(id=asked.id, limit=1)
        over, said = _ended(run, rows[0] if rows else None)
        recorded = _news(run, run.episode(asked.id), 0, asked.turns) if rows else {}
        return {"followed": {"id": asked.id, "ended": said, "over": over, **recorded}}
    return {"followed": {"id": seated.episode.id, "stage": _stage(seated), "calls": _calls(seated),
                         **_news(run, seated.episode, seated.left_out, asked.turns)}}


def _news(run, episode: Episode, left_out: int, known: int) -> dict[str, Any]:
    """Its board now, and the turns after those that are `known`, -1 for nothing. `left_out`: turns before the episode's
    first here."""
    played = len(episode.turns)
    have = max(0, known - left_out, played - LAST)
    shown = viewer(episode, viewer_of(run.spec, episode.environment))
    frames = shown.frames(episode)
    told = {"turns": left_out + played,
            "board": f'<div class="o-follow-frame o-now">{frames[-1] if frames else shown.thumbnail(episode)}</div>',
            "new": [f'<section class="o-follow-turn"><b class="o-num">Turn {left_out + have + nth}</b>{card}</section>'
                    for nth, card in enumerate(turns.cards_after(episode, have, played), 1)]}
    if known < 0:
        told["head"] = _follow_head(episode, left_out + have)
    return told


def _follow_head(episode: Episode, skipped: int) -> str:
    left_out = opening = ""
    if skipped:
        told = f"Its first {skipped} turns are left out here; the recording has them."
        left_out = f'<p class="o-small o-muted">{told}</p>'
    if episode.opening:
        opening = f'<details class="o-fold"><summary>How it began</summary>{block(episode.opening)}</details>'
    return (f'<p class="o-small o-muted">Episode <span class="o-mono">{text(episode.id)}</span>, {text(_task(episode))}</p>'
            f"{opening}{left_out}")


def _calls(seated: live.Seated) -> str:
    """Asked of the environment, and not answered yet."""
    return "".join(f'<div class="o-follow-call"><b class="o-mono">{text(tool)}</b> <span class="o-mono">'
                   f"{text(sent if isinstance(sent, str) else as_json(sent))}</span></div>" for tool, sent in seated.calls)


def _ended(run, row: EpisodeRow | None) -> tuple[bool, str]:
    """Whether that is settled, and what became of an episode that isn't in play. None: it isn't recorded."""
    if row is not None:
        total = "not scored" if row.total is None else f"total {row.total:.3g}"
        return True, (f'{shell.chip(row.status)} <span class="o-num">{total}</span> '
                      f'<a class="o-button o-small o-primary" href="{parts.address("episode", run=run.id, id=row.id)}">'
                      "Replay this episode</a>")
    if run.training():
        return False, '<span class="o-muted">It isn\'t among the episodes that are shown now, and not recorded.</span>'
    return True, '<span class="o-muted">It was not recorded: the trainer ended before its batch did.</span>'
