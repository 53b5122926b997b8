"""What the reward terms of an imported run count in a total: told by the file, worked out of totals, or not claimed."""

import json
import math
import re

import pytest

from backend import signal
from backend.exchange import FORMATS, Choice, export
from backend.exchange.importing import bring
from backend.exchange.weighing import Weighing, counted_by
from backend.records import Episode, RunSpec
from backend.store import Store, sums
from ui.player import worth

WEIGHTS = {"win": 1.0, "partial": 2.0, "never": -0.5}


def game(sample: int, total: float | None = None, status: str = "lost", **scores: float | None) -> Episode:
    if total is None:
        total = sum(score * WEIGHTS[name] for name, score in scores.items() if score is not None)
    return Episode.model_validate({
        "id": f"1-{sample // 8}-{sample % 8}", "phase": "train", "step": 1, "group": sample // 8, "sample": sample % 8,
        "environment": "wordle", "task": 0, "policy": {"kind": "model", "name": "m"}, "status": status, "started": 0.0,
        "total": total, "scores": scores, "prompt": [{"role": "user", "content": "go"}], "turns": [{"index": 0, "said": "x"}]})


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "runs")


@pytest.fixture
def run(store):
    run = store.create(RunSpec.model_validate({
        "name": "weighed", "model": "m", "environments": [{"id": "wordle", "use": "wordle"}],
        "rewards": [{"name": name, "value": "1.0", "weight": weight} for name, weight in WEIGHTS.items()]}))
    with run.writing() as writer:
        writer.record([game(k, win=float(k % 3 == 0), partial=0.1 * (k % 5), never=0.0, status="truncated")
                       for k in range(64)])
    return run


def told(store, path, format):
    return {term.name: term.weight for term in bring(store, path, format).run.spec.rewards}


@pytest.mark.parametrize(("written", "read"), [("jsonl", "jsonl"), ("parquet", "parquet"), ("trl", "trl")])
def test_an_export_brings_its_weights_back(store, run, tmp_path, written, read):
    path = tmp_path / f"x{FORMATS[written].SUFFIX}"
    export(FORMATS[written], Choice(run), path)
    assert told(store, path, read) == WEIGHTS


def test_weights_a_file_leaves_out_are_worked_out_of_totals_where_they_leave_no_choice(store, run, tmp_path):
    lines = [episode.model_dump_json() for episode in map(run.episode, (row.id for row in run.episodes(limit=None)))]
    (tmp_path / "x.jsonl").write_text("\n".join(lines))
    assert told(store, tmp_path / "x.jsonl", "jsonl") == {"win": 1.0, "partial": 2.0, "never": 1.0}


@pytest.mark.parametrize("games", [
    [game(k, win=float(k), partial=2.0 * k) for k in range(4)],
    [game(k, total=math.sin(k), win=float(k), partial=1.0) for k in range(9)],
    [game(0, win=1e308, partial=1e-308)], []], ids=["go together", "add up to nothing", "huge", "none"])
def test_totals_that_leave_a_choice_tell_no_weight(games):
    weighing = Weighing()
    for one in games:
        weighing.add(one)
    assert weighing.weights({}, ("win", "partial")) == {}


def test_an_episode_that_the_weights_do_not_make_up_shows_none(store, tmp_path):
    """As of a file without weights whose totals leave a choice."""
    games = [game(k, win=float(k), partial=0.1 * k) for k in range(4)]
    (tmp_path / "x.jsonl").write_text("\n".join(one.model_dump_json() for one in games))
    terms = bring(store, tmp_path / "x.jsonl", "jsonl").run.spec.rewards
    assert counted_by(games[1], terms) == {}
    card = worth(games[1], terms)
    assert "×" not in card and re.search("partial</th><td>0.10</td><td></td>", card) and ">1.20<" in card


def test_odd_weights_in_a_file_are_left_out(store, run, tmp_path):
    whole = run.episode("1-0-1").model_dump()
    for odd in ("NaN", "[1]", "\"x\"", "{\"win\": \"y\", \"partial\": NaN, \"never\": 1e999}", "null"):
        (tmp_path / "x.jsonl").write_text(json.dumps(whole)[:-1] + f', "weights": {odd}}}')
        assert set(told(store, tmp_path / "x.jsonl", "jsonl")) == set(WEIGHTS)


def test_no_alarm_speaks_of_a_token_budget_for_an_imported_run(store, run, tmp_path):
    def said(run):
        evidence = signal.Evidence.of(run.spec, {}, **sums.recent(run.path, signal.WINDOW, run.spec.train.message_cap))
        return json.dumps([alarm.text for alarm in signal.health(evidence).notes])

    export(FORMATS["jsonl"], Choice(run), tmp_path / "x.jsonl")
    assert "token budget of" in said(run)
    assert "token" not in said(bring(store, tmp_path / "x.jsonl", "jsonl").run)
