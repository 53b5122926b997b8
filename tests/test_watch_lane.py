"""Now playing: what the trainer tells of a batch, who believes it, and what a browser is told of it."""

import json
import os
import time

import pytest

from backend.records import Episode, RunSpec, Turn
from backend.store import Store, live
from backend.store.live import Live, LiveFile, Seated
from ui.watch import Asked, answer
from ui.watch_lane import AskedLane, Followed, lane

SPEC = RunSpec(name="first", model="starter:catch", environments=[{"id": "catch", "use": "catch"}],
               train={"group_size": 4, "episodes_per_step": 8})
NASTY = "<img src=x onerror=alert(1)>"


@pytest.fixture
def run(tmp_path):
    return Store(tmp_path / "runs").create(SPEC)


def turn(k, **changes):
    return Turn(**{"index": k, "tool": "move", "arguments": {"direction": "left"}, "result": f"row {k}",
                   "facts": {"rows": 5, "columns": 3, "ball_row": k, "ball_column": 1, "paddle_column": 1}, **changes})


def seated(sample=0, turns=2, stage="generating", step=1, **changes):
    made = Episode(id=f"{step}-0-{sample}", step=step, group=0, sample=sample, environment="catch", task=f"seed {sample}",
                   status="finished", opening="A ball falls.", turns=[turn(k) for k in range(turns)], **changes)
    return Seated(episode=made, stage=stage, since=time.time() - 12)


def batch(*shown, step=1, **changes):
    return Live(**{"phase": "train", "step": step, "began": time.time(), "counts": {"generating": 6, "environment": 2},
                   "playing": 8, "shown": shown, **changes})


def asked_after(told, follow=None):
    """What the browser asks after it was told that."""
    shown = told["lane"]
    return AskedLane(mark=shown["mark"], boards={id: state for id, (state, _) in shown["boards"].items()}, follow=follow)


def test_the_boards_in_play_come_with_their_stage_and_how_many_there_are(run, writer):
    LiveFile(run.path).write(batch(seated(0), seated(1, turns=1, stage="environment")))
    told = lane(run, AskedLane())["lane"]
    assert told["order"] == ["1-0-0", "1-0-1"] and "2 of 8 · step 1" in told["head"]
    assert "generating 6" in told["head"] and "at the environment 2" in told["head"]
    assert "generating turn 3" in told["boards"]["1-0-0"][1] and "12 s" in told["boards"]["1-0-0"][1]
    assert "o-catch-board" in told["boards"]["1-0-0"][1], "the board is drawn by the environment's viewer"
    assert "playing turn 2" in told["boards"]["1-0-1"][1]


def test_only_a_board_that_changed_is_sent_again_and_nothing_while_nothing_does(run, writer):
    file, same = LiveFile(run.path), seated(0)
    file.write(batch(same, seated(1)))
    told = lane(run, AskedLane())
    assert lane(run, asked_after(told)) == {}
    file.write(batch(same, seated(1, turns=3)))
    more = lane(run, asked_after(told))
    assert list(more["lane"]["boards"]) == ["1-0-1"] and more["lane"]["order"] == ["1-0-0", "1-0-1"]


def test_a_batch_that_ended_turns_into_the_recorded_episodes(run, writer):
    file = LiveFile(run.path)
    file.write(batch(seated(0), seated(1)))
    told = lane(run, AskedLane())
    writer.record([Episode(id="1-0-0", step=1, group=0, sample=0, environment="catch", status="won", total=1.5)])
    file.remove()
    over = lane(run, asked_after(told))["lane"]
    assert over["mark"] == "" and not over["playing"] and list(over["boards"]) == ["1-0-0"]
    assert "won" in over["boards"]["1-0-0"][1] and f"/episode?run={run.id}&amp;id=1-0-0" in over["boards"]["1-0-0"][1]
    assert lane(run, AskedLane()) == {}


def test_a_followed_episode_brings_only_its_new_turns_and_ends_with_a_link(run, writer):
    file = LiveFile(run.path)
    file.write(batch(seated(0), seated(1)))
    told = lane(run, AskedLane(follow=Followed(id="1-0-1")))
    first = told["followed"]
    assert first["turns"] == 2 and len(first["new"]) == 2 and "A ball falls." in first["head"] and "seed 1" in first["head"]
    assert "o-catch-board" in first["board"]
    file.write(batch(seated(0), seated(1, turns=3)))
    more = lane(run, asked_after(told, Followed(id="1-0-1", turns=2)))["followed"]
    assert len(more["new"]) == 1 and "Turn 3" in more["new"][0] and "head" not in more
    writer.record([Episode(id="1-0-1", step=1, group=0, sample=1, environment="catch", status="lost", total=0.25,
                           turns=[turn(k) for k in range(5)])])
    file.remove()
    ended = lane(run, asked_after(told, Followed(id="1-0-1", turns=3)))["followed"]
    assert ended["over"] and "total 0.25" in ended["ended"] and "id=1-0-1" in ended["ended"]
    assert ended["turns"] == 5 and ["Turn 4" in ended["new"][0], "Turn 5" in ended["new"][1]] == [True, True]
    assert len(ended["new"]) == 2 and ended["board"] != more["board"], "to its last turn and final board"
    assert "followed" not in lane(run, asked_after(told, Followed(id="1-0-1", turns=5, over=True))), "once"
    anew = lane(run, asked_after(told, Followed(id="1-0-1")))["followed"]
    assert len(anew["new"]) == 5 and "seed" not in anew["ended"] and "Episode" in anew["head"]


def test_a_followed_episode_whose_trainer_died_was_not_recorded(run):
    with run.writing():
        LiveFile(run.path).write(batch(seated(0)))
    told = lane(run, AskedLane(follow=Followed(id="1-0-0", turns=1)))
    assert not told["lane"]["playing"] and told["followed"]["over"] and "not recorded" in told["followed"]["ended"]


def test_what_environments_and_models_wrote_is_text(run, writer):
    nasty = seated(0, turns=0).episode.model_copy(update={"id": NASTY, "task": NASTY, "opening": NASTY, "turns": (
        turn(0, said=NASTY, tool=NASTY, arguments={NASTY: NASTY}, result=NASTY),)})
    LiveFile(run.path).write(batch(Seated(episode=nasty, stage="environment", since=0.0, calls=((NASTY, {"a": NASTY}),))))
    told = json.dumps(lane(run, AskedLane(follow=Followed(id=NASTY))))
    assert "&lt;img" in told and "<img" not in told.replace(f'"{NASTY}"', "")


def test_ticks_without_news_stay_small_while_a_batch_is_played(run, writer):
    LiveFile(run.path).write(batch(*(seated(n) for n in range(8))))
    store = Store(run.path.parent)
    told = answer(store, Asked(run=run.id, lane=AskedLane(), charts={"learning": None}))
    asked = Asked(run=run.id, version=told["version"], lane=asked_after(told), parts={
        name: mark for name, (mark, _) in told["parts"].items()})
    idle = answer(store, asked)
    assert "lane" not in idle and len(json.dumps(idle)) + len(asked.model_dump_json()) < 2000


@pytest.mark.parametrize("torn", [b"", b"{", b"[1]", b"null", b"\xff\xfe", b'{"phase": "train"}', b"[" * 100_000])
def test_a_torn_or_foreign_file_is_nothing_being_played(run, writer, torn):
    (run.path / "live.json").write_bytes(torn)
    assert live.read(run.path, run.training()) is None and "boards" in lane(run, AskedLane())["lane"]


@pytest.mark.parametrize("made", [lambda path: path.mkdir(), os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
def test_what_is_no_plain_file_is_nothing_being_played_and_never_waited_for(run, writer, made):
    made(run.path / "live.json")
    assert live.read(run.path, run.training()) is None and lane(run, AskedLane())["lane"]["playing"] is False


def test_a_file_that_a_dead_trainer_left_is_nothing_and_a_silent_trainer_is_said(run):
    with run.writing():
        LiveFile(run.path).write(batch(seated(0)))
        assert not live.mark(run.path).endswith("~") and not live.read(run.path, run.training()).stale
        old = time.time() - live.STALE_SECONDS - 5
        os.utime(run.path / "live.json", (old, old))
        assert live.read(run.path, run.training()).stale and live.mark(run.path).endswith("~")
        assert "said nothing for a while" in lane(run, AskedLane())["lane"]["head"]
    assert live.read(run.path, run.training()) is None


def test_odd_text_survives_and_what_cannot_be_written_is_left_out(run, writer, tmp_path):
    odd = turn(0, result="\ud83d \x00", arguments={"n": float("inf")})
    assert LiveFile(run.path).write(batch(Seated(
        episode=seated(0, turns=0).episode.model_copy(update={"turns": (odd,)}), stage="waiting", since=0.0)))
    assert live.read(run.path, True).shown[0].episode.turns[0].result == "\ud83d \x00"
    nowhere = LiveFile(tmp_path / "gone")
    assert not nowhere.write(batch(seated(0)))
    nowhere.still()
    nowhere.remove()
