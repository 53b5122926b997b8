"""Matches: the same tasks for every player, each game an episode that says who played, whatever becomes of the process."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from backend.errors import ModelError, OrtamError, SpecError
from backend.launcher import Launcher, from_fields, matches
from backend.launcher.matches import daily_seed, today
from backend.launcher.models import STARTERS
from backend.records import ScriptPlayer
from backend.store import Run, Store, to_yaml
from backend.store.spec_file import from_kept_yaml
from backend.trainer.__main__ import StopAsked
from tests.chat_server import chat

CATCH = {"id": "catch", "use": "catch", "tasks": {"count": 4}}
PERFECT, RANDOM = {"kind": "script", "name": "perfect"}, {"kind": "script", "name": "random"}


def asked(*players, environment=CATCH, name="match", tokens=4096, **match):
    return from_fields({"name": name, "environments": [environment], "match": {"players": list(players), **match},
                        "train": {"max_completion_tokens": tokens}})


def launched(store: Store, *players, **more) -> Run:
    return Launcher(store).prepare(asked(*players, **more))


def played(store: Store, *players, **more) -> Run:
    from backend.trainer.__main__ import main

    run = launched(store, *players, **more)
    main([str(run.path)])
    return run


def game(run: Run, task: int, player: int):
    return run.episode(f"play-{task}-{player}")


# ---------------------------------------------------------------------------------------------------------- the spec


def test_a_match_is_kept_as_it_was_asked_and_read_again(store):
    spec = asked(PERFECT, {"kind": "endpoint", "url": "http://localhost:1/v1", "model": "m", "key_from": "KEY"})
    assert from_kept_yaml(to_yaml(spec)) == spec
    assert spec.plays == "perfect · m"


def test_a_spec_of_a_newer_version_opens_without_what_it_added(store):
    text = to_yaml(asked(PERFECT, RANDOM)).replace("name: perfect\n", "name: perfect\n      mood: calm\n")
    assert from_kept_yaml(text) == asked(PERFECT, RANDOM)


@pytest.mark.parametrize(("changes", "said"), [
    ({"match": {"players": [{"kind": "scrip", "name": "x"}]}}, "match.players.0.kind: must be one of"),
    ({"match": {"players": [{"name": "random"}]}}, "match.players.0.kind: is missing"),
    ({"match": {"players": [{"kind": "script", "nam": "x"}]}}, "did you mean name?"),
    ({"match": {"players": [{"kind": "endpoint", "url": "localhost", "model": "m"}]}}, "begin with http:// or https://"),
    ({"match": {"players": [RANDOM, RANDOM]}}, "two players are called random"),
    ({"match": {"players": [RANDOM], "daily": "soon"}}, "match.daily: 'soon' doesn't fit; a UTC date"),
    ({"match": {"players": [RANDOM], "daily": "today", "held_out": 3}}, "held_out has no place beside it"),
    ({"match": {"players": [RANDOM]}, "model": "starter:catch"}, "model: has no place in a match"),
    ({"match": {"players": [RANDOM]}, "environments": [CATCH, {"id": "echo", "use": "echo"}]}, "environments: of a match is one"),
    ({}, "model: is missing"),
])
def test_what_is_wrong_with_a_match_is_said_in_a_sentence(changes, said):
    with pytest.raises(SpecError) as error:
        from_fields({"environments": [CATCH], **changes})
    assert said in str(error.value)


@pytest.mark.parametrize(("player", "said"), [
    ({"kind": "script", "name": "solver"}, "match.players.0.name: there is no player 'solver' for catch; use perfect or random"),
    ({"kind": "model", "model": "starter:cath"}, "did you mean starter:catch?"),
    ({"kind": "checkpoint", "run": "nothing-here"}, "holds no runs yet"),
])
def test_a_player_there_is_not_is_refused_before_anything_is_made(store, player, said):
    with pytest.raises((SpecError, ModelError)) as error:
        Launcher(store).launch(asked(player))
    assert said in str(error.value) and not store.runs()


def test_a_checkpoint_there_is_not_is_one_clear_sentence(store):
    run = store.create(from_fields({"name": "first", "model": "starter:catch", "environments": [CATCH]}))
    (store.folder / "demo-x").mkdir()
    (store.folder / "demo-x" / "spec.yaml").write_text(to_yaml(run.spec))
    for id, said in (("first", "it saved none"), ("demo-x", "a demo ships without its models")):
        with pytest.raises(SpecError) as error:
            Launcher(store).launch(asked({"kind": "checkpoint", "run": id}))
        assert said in str(error.value)


def test_a_secret_in_a_match_is_refused(store):
    with pytest.raises(SpecError, match="looks like"):
        Launcher(store).launch(asked({"kind": "endpoint", "url": "http://me:password@host/v1", "model": "m"}))


def test_today_becomes_a_date_and_its_seed_the_same_for_everyone(store):
    run = launched(store, PERFECT, daily="today")
    assert run.spec.match.daily == today() and run.spec.environments[0].tasks.first_seed == daily_seed(today())
    assert daily_seed("2026-05-31") == daily_seed("2026-05-31") != daily_seed("2026-06-01")
    with pytest.raises(SpecError, match="is no date"):
        launched(store, PERFECT, daily="2026-02-31")


# ------------------------------------------------------------------------------------------------------------- played


@pytest.mark.slow
def test_each_player_plays_each_task_once_and_every_game_says_who_played(store):
    run = played(store, PERFECT, RANDOM, {"kind": "model", "model": "starter:catch", "label": "starter"})
    assert (run.status(), run.result().reason) == ("finished", "all 12 games played")
    episodes = [run.episode(row.id) for row in run.episodes(limit=None)]
    assert len(episodes) == 12 and {(e.group, e.sample) for e in episodes} == {(g, s) for g in range(4) for s in range(3)}
    for task in range(4):
        three = [game(run, task, player) for player in range(3)]
        assert len({(e.seed, e.task, e.fingerprint) for e in three}) == 1
        assert [(e.policy.kind, e.policy.name) for e in three] == [
            ("script", "perfect"), ("script", "random"), ("model", "starter:catch")]
    best = game(run, 0, 0)
    assert (best.phase, best.status, best.total, best.advantage, best.tokens) == ("play", "won", 1.5, None, None)
    spoken = game(run, 0, 2)
    assert spoken.tokens == sum(turn.tokens for turn in spoken.turns) == spoken.facts["completion_tokens"]
    assert all(turn.tool and turn.model_seconds > 0 and turn.seconds is not None for turn in spoken.turns)
    assert spoken.prompt[-1]["content"].endswith(spoken.opening)
    summary = store.summary(run)
    assert (summary.match, summary.step, summary.steps, summary.model) == (True, 12, 12, "perfect · random · starter")


@pytest.mark.slow
def test_played_again_a_match_comes_to_the_same(store):
    def told(run):
        return [(g.id, g.status, g.total, g.turns, g.tokens) for g in run.games()]

    players = (RANDOM, {"kind": "model", "model": "starter:catch", "temperature": 1})
    first, second = played(store, *players), played(store, *players)
    assert sorted(told(first)) == sorted(told(second))


def test_what_is_sampled_follows_the_softmax_at_its_temperature_and_no_other_row():
    import torch

    from backend.trainer.generating import Luck

    shares, temperature = torch.tensor([0.1, 0.3, 0.6]), 2.0
    scores = (shares.log() * temperature).repeat(2, 1)
    drawn = [Luck([torch.Generator().manual_seed(n), torch.Generator().manual_seed(n % 7)], temperature)(None, scores)
             .argmax(-1).tolist() for n in range(4000)]
    found = torch.bincount(torch.tensor([first for first, _ in drawn])) / 4000
    assert (found - shares).abs().max() < 0.03
    assert all(drawn[n][1] == drawn[n + 7][1] for n in range(3000))


@pytest.mark.slow
def test_a_checkpoint_plays_as_it_did_in_trainings_own_evaluation(store):
    from backend.trainer.__main__ import main

    trained = store.create(from_fields({
        "name": "trained", "model": "starter:catch", "environments": [CATCH], "warm_up": {"games": 40, "learning_rate": 1e-3},
        "rewards": [{"name": "caught", "value": "1.0 if won else 0.0"}], "evaluate": {"every": 1, "tasks": 4},
        "train": {"steps": 1, "group_size": 2, "episodes_per_step": 4, "learning_rate": 1e-3, "max_completion_tokens": 200}}))
    main([str(trained.path)])
    assert matches.checkpoints(trained) == ["warm-up", "final"]
    saved = [{"kind": "checkpoint", "run": "trained", "checkpoint": name} for name in ("warm-up", "final")]
    run = played(store, *saved, held_out=4, tokens=200)
    assert run.spec.match.labels() == [f"{trained.id}/warm-up", f"{trained.id}/final"]
    for place, step in enumerate((0, 1)):
        for row in trained.episodes(phase="eval", step=step, limit=None):
            then = trained.episode(row.id)
            now = next(run.episode(g.id) for g in run.games() if (g.sample, g.seed) == (place, row.seed))
            assert now.prompt == then.prompt and now.fingerprint == then.fingerprint

            def told(episode):
                return [(t.said, t.tool, t.arguments, t.result, t.tokens) for t in episode.turns if t.tool and t.result]

            assert told(now) == told(then)


@pytest.mark.slow
def test_a_model_that_can_not_call_tools_is_given_up_in_a_sentence(store, tmp_path):
    folder = tmp_path / "wordless"
    shutil.copytree(STARTERS / "catch", folder)
    (folder / "chat_template.jinja").write_text("{% for message in messages %}{{ message.content }}{% endfor %}")
    run = played(store, {"kind": "model", "model": str(folder)}, PERFECT)
    assert run.status() == "finished" and "can't play: its chat template isn't one whose tool calls" in run.result().reason
    assert len(run.games()) == 4


@pytest.mark.slow
def test_a_model_whose_template_takes_no_system_message_is_given_up_and_the_others_play_on(store, tmp_path):
    folder = tmp_path / "no-system"
    shutil.copytree(STARTERS / "catch", folder)
    template = folder / "chat_template.jinja"
    template.write_text("{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
                        + template.read_text())
    run = played(store, {"kind": "model", "model": str(folder)}, PERFECT, environment={**CATCH, "system": "Be quick."})
    assert "its chat template refuses the prompt: no system role" in run.result().reason
    assert (game(run, 0, 0).status, game(run, 0, 1).status) == ("cancelled", "won")


@pytest.mark.slow
def test_a_model_that_writes_past_its_budget_is_truncated(store):
    run = played(store, {"kind": "model", "model": "starter:catch"}, tokens=20)
    episode = game(run, 0, 0)
    assert episode.status == "truncated" and episode.stop == "the token budget ran out" and episode.facts["truncated"]
    assert episode.total is not None and episode.tokens <= 20


def test_held_out_tasks_are_none_of_those_the_selection_gives(store):
    run = played(store, PERFECT, held_out=3)
    assert sorted(g.seed for g in run.games()) == [4, 5, 6]


def test_the_reward_terms_are_the_runs_own(store):
    spec = from_fields({"name": "m", "environments": [CATCH], "match": {"players": [PERFECT]},
                        "rewards": [{"name": "long", "value": "turns", "weight": 0.1}]})
    from backend.trainer.__main__ import main

    run = Launcher(store).prepare(spec)
    main([str(run.path)])
    assert (game(run, 0, 0).scores, game(run, 0, 0).total) == ({"long": 9.0}, pytest.approx(0.9))


def test_a_scripted_match_loads_no_torch(store):
    run = launched(store, PERFECT)
    code = ("import sys; from backend.trainer.__main__ import main; main([sys.argv[1]]); "
            "print('torch' in sys.modules, 'transformers' in sys.modules)")
    ran = subprocess.run([sys.executable, "-c", code, str(run.path)], capture_output=True, text=True, timeout=60,
                         cwd=Path(__file__).parent.parent)
    assert ran.stdout.splitlines()[-1] == "False False", ran.stderr


# ---------------------------------------------------------------------------------------------------------- endpoints


def endpoint(served, **more):
    return {"kind": "endpoint", "url": served.url, "model": "stranger", "timeout": 2, **more}


def test_an_endpoint_is_told_what_a_model_is_told_and_plays(store, monkeypatch):
    monkeypatch.setenv("THE_KEY", "abc123")
    with chat() as served:
        run = played(store, endpoint(served, key_from="THE_KEY"), PERFECT)
    episode = game(run, 0, 0)
    assert (episode.status, episode.policy.kind, episode.policy.name) == ("won", "endpoint", "stranger")
    assert len(episode.turns) == 9 and episode.tokens == 63 and episode.turns[0].thought == "go under it"
    assert episode.turns[0].model_seconds > 0 and episode.fingerprint == game(run, 0, 1).fingerprint
    first, last = served.asked[0], served.asked[-1]
    assert [dict(episode.prompt[0])] in [body["messages"] for body in served.asked]
    assert first["tools"][0]["function"]["parameters"]["type"] == "object" and first["temperature"] == 0
    assert [message["role"] for message in last["messages"]] == ["user", *["assistant", "tool"] * 8]
    assert last["messages"][-1]["tool_call_id"] == last["messages"][-2]["tool_calls"][0]["id"]
    assert set(served.keys) == {"Bearer abc123"} and "abc123" not in run.spec_text


def test_an_endpoint_that_gives_no_answer_is_given_up_and_the_others_play_on(store, monkeypatch):
    monkeypatch.setenv("THE_KEY", "abc123")
    with chat("refuses") as served:
        run = played(store, endpoint(served, key_from="THE_KEY"), PERFECT)
    assert run.status() == "finished" and "stranger was given up" in run.result().reason
    episode = game(run, 0, 0)
    assert (episode.status, episode.total, episode.scores) == ("cancelled", None, {"caught": None, "near": None})
    assert episode.fault.where == "engine" and "401" in episode.fault.message
    assert "abc123" not in episode.fault.message and "abc123" not in run.result().reason
    assert game(run, 3, 1).status == "won"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_log_that_can_not_be_written_ends_no_match(store):
    run = store.create(asked(RANDOM, name="full"))
    with open("/dev/full", "w") as full:
        subprocess.run([sys.executable, "-m", "backend.trainer", str(run.path)], cwd=Path(__file__).parents[1], stdout=full,
                       stderr=full, timeout=120)
    assert run.result().status == "finished"


def test_when_nobody_can_play_the_match_has_failed(store):
    run = played(store, {"kind": "endpoint", "url": "http://127.0.0.1:9/v1", "model": "m", "key_from": "NOT_SET_ANYWHERE"})
    assert run.status() == "failed" and "NOT_SET_ANYWHERE, which isn't set" in run.result().reason and not run.games()


@pytest.mark.parametrize(("way", "status", "fault"), [
    ("busy at first", "won", None), ("odd settings", "won", None), ("words", "lost", None),
    ("bad arguments", "out_of_turns", "wrong_arguments"), ("not json", "cancelled", "no_answer"),
    ("too long", "cancelled", "no_answer"),
    ("calls that are none", "lost", None), ("half a sign", "won", None)])
def test_what_an_endpoint_does_wrong_is_told_as_it_was(store, monkeypatch, way, status, fault):
    monkeypatch.setattr("backend.trainer.endpoint.PAUSES", (0.01,))
    with chat(way) as served:
        run = played(store, endpoint(served), environment={**CATCH, "tasks": {"count": 1}, "max_turns": 9})
    episode = game(run, 0, 0)
    assert episode.status == status
    seen = episode.fault.kind if episode.fault else next((t.fault.kind for t in episode.turns if t.fault), None)
    assert seen == fault
    if way == "words":
        assert episode.turns[-1].said == "I would rather not." and episode.stop == "the model made no further call"


def test_of_a_message_with_hundreds_of_calls_some_are_played_and_the_rest_is_one_refused_turn(store):
    own = {"id": "counter", "use": "echo", "tasks": {"count": 1}, "max_turns": 40}
    with chat("calls without end") as served:
        run = played(store, endpoint(served), environment=own)
    turns = game(run, 0, 0).turns
    assert len(served.asked) == 2 and [turn.index for turn in turns] == list(range(66)), "33 a message"
    assert [k for k, turn in enumerate(turns) if turn.fault.kind == "too_many_calls"] == [32]
    assert turns[32].fault.message == ("Of one message 32 calls are taken; this one made 500, and the last 468 were not "
                                       "played.")
    answers = [message for message in served.asked[1]["messages"] if message["role"] == "tool"]
    assert len(answers) == 500 and {answer["content"] for answer in answers[32:]} == {turns[32].fault.message}


def test_a_finished_game_takes_a_bounded_number_of_calls_more(store):
    with chat("calls without end") as served:
        run = played(store, endpoint(served), environment={**CATCH, "tasks": {"count": 1}})
    turns, facts = game(run, 0, 0).turns, game(run, 0, 0).facts
    assert len(turns) == 33 and turns[8].done and {turn.fault.kind for turn in turns[9:]} == {"after_the_end"}
    assert "468" in turns[32].fault.message and facts["tool_failures"] == 0 and len(served.asked) == 1


def test_settings_that_an_endpoint_refuses_in_several_games_at_once_cost_none_of_them(store):
    with chat("odd settings") as served:
        run = played(store, endpoint(served), environment={**CATCH, "tasks": {"count": 6}})
    assert [game(run, task, 0).status for task in range(6)] == ["won"] * 6


@pytest.mark.parametrize("count", [10**30, -10**9, 1.5])
def test_a_count_of_tokens_that_cannot_be_is_not_known_and_the_game_is_kept(store, count):
    with chat("odd count") as served:
        served.count = count
        run = played(store, endpoint(served), environment={**CATCH, "tasks": {"count": 1}})
    assert (game(run, 0, 0).status, game(run, 0, 0).tokens) == ("won", None)


# ------------------------------------------------------------------------------------------------ forks, stop and loss


def test_a_match_goes_on_from_a_turn_of_a_stored_episode(store):
    first = played(store, RANDOM)
    parent = game(first, 0, 0)
    id = matches.fork(Launcher(store), first.id, parent.id, 4, from_fields(
        {"environments": [CATCH], "match": {"players": [PERFECT]}}).match.players[0])
    from backend.trainer.__main__ import main

    main([str(store.run(id).path)])
    fork = game(store.run(id), 0, 0)
    assert (fork.parent.run, fork.parent.episode, fork.parent.turn) == (first.id, parent.id, 4)
    again, then = ([(t.tool, t.arguments, t.result) for t in episode.turns[:4]] for episode in (fork, parent))
    assert again == then
    assert fork.policy.name == "perfect" and (fork.seed, fork.fingerprint) == (parent.seed, parent.fingerprint)


def test_a_fork_whose_parent_is_gone_fails_in_a_sentence_without_a_traceback_in_its_log(store, capfd):
    first = played(store, PERFECT, environment={**CATCH, "tasks": {"count": 1}})
    run = store.run(matches.fork(Launcher(store), first.id, "play-0-0", 4, ScriptPlayer(name="perfect")))
    shutil.rmtree(first.path)
    capfd.readouterr()
    from backend.trainer.__main__ import main

    assert main([str(run.path)]) == 1 and run.status() == "failed" and first.id in run.result().reason
    said = capfd.readouterr()
    assert first.id in said.err and "Traceback" not in said.out + said.err



def test_a_model_goes_on_from_a_turn_with_what_came_before_in_its_context(store):
    first = played(store, PERFECT)
    player = asked({"kind": "model", "model": "starter:catch"}).match.players[0]
    id = matches.fork(Launcher(store), first.id, "play-1-0", 3, player)
    from backend.trainer.__main__ import main

    main([str(store.run(id).path)])
    fork = game(store.run(id), 0, 0)
    assert len(fork.turns) == 9 and fork.turns[2].tokens is None and fork.turns[3].tokens > 0 and fork.facts["done"]


@pytest.mark.parametrize(("episode", "turn", "said"), [("play-0-0", 40, "has 9 turns"), ("nobody", 1, "has no episode")])
def test_a_fork_from_nowhere_is_refused(store, episode, turn, said):
    first = played(store, RANDOM)
    with pytest.raises(OrtamError, match=said):
        matches.fork(Launcher(store), first.id, episode, turn, asked(PERFECT).match.players[0])


def started(run: Run) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-m", "backend.trainer", str(run.path)], stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL, start_new_session=True)


def wait_for_games(run: Run, process: subprocess.Popen, at_least: int) -> None:
    for _ in range(600):
        if len(run.games()) >= at_least:
            return
        try:
            process.wait(0.1)
        except subprocess.TimeoutExpired:
            continue
        break
    raise AssertionError(f"{len(run.games())} games: {run.result()}")


def test_a_killed_match_is_lost_and_its_games_are_kept(store):
    with chat("held") as served:
        run = launched(store, PERFECT, endpoint(served, timeout=30))
        process = started(run)
        wait_for_games(run, process, 4)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)
    assert run.status() == "lost" and len(run.games()) == 4 and game(run, 3, 0).status == "won"


def test_a_match_that_is_stopped_plays_the_games_under_way_to_their_end(store):
    with chat("held") as served:
        run = launched(store, PERFECT, endpoint(served, timeout=60), environment={**CATCH, "tasks": {"count": 40}})
        process = started(run)
        assert served.first.wait(60)
        run.ask_to_stop()
        served.gate.set()
        assert process.wait(60) == 0
    assert run.status() == "stopped" and "asked to stop" in run.result().reason
    assert 40 < len(run.games()) < 80 and all(g.status == "won" for g in run.games())


def test_only_a_stop_that_was_asked_for_stops_it(store):
    before = signal.getsignal(signal.SIGTERM)
    try:
        assert StopAsked(launched(store, PERFECT))() is False
    finally:
        signal.signal(signal.SIGTERM, before)


def test_the_time_left_is_told_by_the_pace_of_the_player_whose_turn_it_is(store):
    run = launched(store, PERFECT, RANDOM)
    with run.writing() as writer:
        first = played(Store(store.folder.parent / "other"), PERFECT)
        writer.record([game(first, task, 0) for task in range(4)])
        assert run.progress().left is None and (run.progress().step, run.progress().steps) == (4, 8)
        writer.record([game(first, 0, 0).model_copy(update={"id": "play-0-1", "sample": 1})])
        assert run.progress().left > 0
