"""A live GRPOTrainer on live servers: everything it played is in the run's folder, once and as it was."""

import os
import resource
import signal
import statistics
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from backend.records import RunSpec
from backend.store import Run, Store

CATCH = {"id": "catch", "use": "catch", "tasks": {"count": 32}}
TERMS = [{"name": "caught", "value": "1.0 if won else 0.0"}, {"name": "near", "value": "nearness", "weight": 0.5}]
TRAIN = {"steps": 2, "group_size": 4, "episodes_per_step": 8, "learning_rate": 1e-4, "max_completion_tokens": 200}

pytestmark = pytest.mark.slow


def asked(folder: Path, **changes) -> Run:
    train = {**TRAIN, **changes.pop("train", {})}
    spec = {"name": "test", "model": "starter:catch", "environments": [CATCH], "rewards": TERMS, "train": train, **changes}
    return Store(folder).create(RunSpec.model_validate(spec))


def trained(folder: Path, **changes) -> Run:
    from backend.trainer.__main__ import main

    run = asked(folder, **changes)
    main([str(run.path)])
    return run


def started(run: Run, processes: int = 1) -> subprocess.Popen:
    several = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(processes)] if processes > 1 else []
    log = open(run.path / "trainer.log", "wb")
    return subprocess.Popen([sys.executable, *several, "-m", "backend.trainer", str(run.path)], stdout=log,
                            stderr=subprocess.STDOUT, start_new_session=True, env={**os.environ, "OMP_NUM_THREADS": "1"})


@pytest.fixture(scope="module")
def usual(tmp_path_factory) -> Run:
    """Two steps as asked for above."""
    return trained(tmp_path_factory.mktemp("usual"))


def whole(run: Run) -> list:
    return [run.episode(row.id) for row in run.episodes(limit=None, sort="seq")]


def wait_for(process: subprocess.Popen, is_so, seconds: float = 180) -> None:
    """Look again each time the process has had a moment, until it is so."""
    for _ in range(int(seconds * 10)):
        if is_so():
            return
        try:
            process.wait(0.1)
        except subprocess.TimeoutExpired:
            continue
        assert is_so(), "the trainer ended before that"
        return
    raise AssertionError(f"not so after {seconds} s")


@pytest.mark.parametrize(("micro_batch", "iterations", "steps", "generated"), [
    (None, 1, 2, [1, 2]), (4, 1, 2, [1, 2]), (2, 2, 4, [1, 3]), (8, 3, 3, [1])])
def test_each_generated_batch_is_recorded_once(tmp_path, micro_batch, iterations, steps, generated):
    run = trained(tmp_path, train={"micro_batch": micro_batch, "iterations": iterations, "steps": steps})
    assert run.result().status == "finished", run.result().reason
    episodes = whole(run)
    assert sorted({e.step for e in episodes}) == generated
    assert len(episodes) == len({e.id for e in episodes}) == 8 * len(generated)
    assert {(e.group, e.sample) for e in episodes} == {(g, s) for g in range(2) for s in range(4)}


def test_totals_and_advantages_are_those_the_trainer_used(usual):
    for step in (1, 2):
        logged = {point.name: point.value for point in usual.metrics() if point.step == step}
        rows = usual.episodes(step=step, limit=None)
        assert logged["reward"] == pytest.approx(statistics.mean(row.total for row in rows), abs=1e-5)
        assert logged["rewards/caught/mean"] == pytest.approx(statistics.mean(row.scores["caught"] for row in rows), abs=1e-5)
        for group in (0, 1):
            of_group = [row for row in rows if row.group == group]
            totals = [row.total for row in of_group]
            mean, spread = statistics.mean(totals), statistics.stdev(totals)
            for row in of_group:
                assert row.total == pytest.approx(row.scores["caught"] + 0.5 * row.scores["near"])
                assert row.advantage == pytest.approx((row.total - mean) / (spread + 1e-4), abs=1e-4)


def test_an_episode_tells_what_was_said_called_and_answered(usual):
    episode = next(e for e in whole(usual) if e.facts["done"])
    assert episode.prompt[0]["content"].endswith(episode.opening)
    assert len(episode.turns) >= 9 and episode.turns[-1].facts["done"]
    for turn in episode.turns[:9]:
        assert turn.tool in ("move", "stay") and turn.result and turn.tokens and turn.seconds is not None
    assert sum(turn.tokens for turn in episode.turns) <= episode.tokens
    assert episode.status == ("won" if episode.facts["won"] else "lost")


def test_a_group_plays_one_task_and_groups_differ(usual):
    episodes = whole(usual)
    for step in (1, 2):
        tasks = {group: {e.fingerprint for e in episodes if (e.step, e.group) == (step, group)} for group in (0, 1)}
        assert [len(prints) for prints in tasks.values()] == [1, 1] and None not in tasks[0]
    assert len({e.fingerprint for e in episodes}) > 1


def test_a_term_that_does_not_apply_stays_null_in_a_mix(tmp_path):
    run = trained(tmp_path, environments=[CATCH, {"id": "echo", "use": "echo", "tasks": {"count": 32}}],
                  rewards=[*[{**term, "environments": ["catch"]} for term in TERMS],
                           {"name": "length", "value": "0.01 * echoed_length", "environments": ["echo"]}],
                  train={"episodes_per_step": 16})
    assert run.result().status == "finished", run.result().reason
    episodes = whole(run)
    assert {e.environment for e in episodes} == {"catch", "echo"}
    for episode in episodes:
        elsewhere = {"catch": ["length"], "echo": ["caught", "near"]}[episode.environment]
        assert all(episode.scores[name] is None for name in elsewhere)
        tools = {turn.tool for turn in episode.turns if turn.tool and not turn.fault}
        assert tools <= ({"move", "stay"} if episode.environment == "catch" else {"echo"})


def test_an_episode_without_any_score_has_no_total_and_no_advantage(tmp_path):
    run = trained(tmp_path, rewards=[{"name": "late", "value": "nearness if completion_tokens > 100000 else None"}])
    assert {(e.total, e.advantage, e.scores["late"]) for e in whole(run)} == {(None, None, None)}
    assert [p.value for p in run.metrics(["rewards/late/mean"])] == [None, None]


def test_what_the_token_budget_cuts_is_recorded_as_it_was_played(tmp_path):
    run = trained(tmp_path, train={"max_completion_tokens": 40})
    cut = [e for e in whole(run) if e.status == "truncated"]
    assert cut and all(e.facts["truncated"] for e in cut)
    played = [turn for e in cut for turn in e.turns if turn.cut]
    assert played and all(turn.result for turn in played)


def test_what_a_cap_on_one_message_cuts_does_not_blame_the_token_budget(tmp_path):
    run = trained(tmp_path, train={"extra": {"generation_kwargs": {"max_new_tokens": 2}}})
    cut = [e for e in whole(run) if e.status == "truncated"]
    assert cut and {e.stop for e in cut} == {"its last message was cut at 2 tokens"}


def test_evaluations_are_recorded_apart_and_played_greedily(tmp_path):
    run = trained(tmp_path, evaluate={"every": 1, "tasks": 6, "greedy": True}, train={"learning_rate": 1e-9})
    evaluated = [e for e in whole(run) if e.phase == "eval"]
    assert {e.step for e in evaluated} == {0, 1, 2} and len(evaluated) == 18
    assert all(e.advantage is None for e in evaluated)
    trained_on = {e.seed for e in whole(run) if e.phase == "train"}
    assert not trained_on & {e.seed for e in evaluated}
    by_seed = [{e.seed: [t.arguments for t in e.turns] for e in evaluated if e.step == step} for step in (0, 2)]
    assert by_seed[0] == by_seed[1]
    assert any(name.startswith("eval_rewards/") for name in run.metric_names())


def test_several_processes_record_through_the_first(tmp_path):
    run = asked(tmp_path, train={"episodes_per_step": 16})
    process = started(run, processes=2)
    assert process.wait(180) == 0, run.log_tail()
    episodes = whole(run)
    assert len(episodes) == len({e.id for e in episodes}) == 32
    for step in (1, 2):
        for group in range(4):
            rows = [e for e in episodes if (e.step, e.group) == (step, group)]
            assert len(rows) == 4 and len({e.fingerprint for e in rows}) == 1
            assert sum(e.advantage for e in rows) == pytest.approx(0, abs=1e-3)


def test_a_killed_trainer_is_lost_and_its_episodes_stay(tmp_path):
    run = asked(tmp_path, train={"steps": 1000})
    process = started(run)
    wait_for(process, lambda: run.count_episodes() >= 16)
    assert run.status() == "running"
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert run.status() == "lost"
    episodes = whole(run)
    assert len(episodes) >= 16 and all(e.total is not None for e in episodes)


def test_sigterm_stops_after_the_step(tmp_path):
    run = asked(tmp_path, train={"steps": 1000})
    process = started(run)
    wait_for(process, lambda: run.count_episodes() >= 8)
    process.terminate()
    assert process.wait(180) == 0
    result = run.result()
    assert (result.status, run.status()) == ("stopped", "stopped")
    assert {row.step for row in run.episodes(limit=None)} == set(range(1, result.step + 1))
    assert run.count_episodes() == 8 * result.step
    assert (run.path / "checkpoints" / "final" / "model.safetensors").is_file()


def test_several_processes_stop_after_the_same_step(tmp_path):
    run = asked(tmp_path, train={"steps": 1000})
    process = started(run, processes=2)
    wait_for(process, lambda: run.count_episodes() >= 8)
    run.ask_to_stop()
    assert process.wait(180) == 0, run.log_tail()
    assert run.count_episodes() == 8 * run.result().step


def test_a_stop_asked_on_the_page_ends_it_too(tmp_path):
    run = asked(tmp_path)
    run.ask_to_stop()
    from backend.trainer.__main__ import main

    assert main([str(run.path)]) == 0
    assert (run.result().status, run.result().step) == ("stopped", 1)


def test_a_dead_environment_pauses_the_run_until_it_is_back_and_is_never_a_bad_policy(tmp_path):
    run = asked(tmp_path, train={"steps": 1000})
    process = started(run)
    wait_for(process, lambda: run.count_episodes() >= 8)
    subprocess.run(["pkill", "-9", "-P", str(process.pid), "-f", "backend.environments.servers"], check=True)
    wait_for(process, lambda: any(event.kind == "resumed" for _, event in run.events()))
    played = run.count_episodes()
    wait_for(process, lambda: run.count_episodes() > played)
    process.send_signal(signal.SIGTERM)
    assert process.wait(180) == 0 and run.result().status == "stopped"
    paused = next(event for _, event in run.events() if event.kind == "pause")
    assert paused.level == "error" and "8 of 8 episodes of catch can't start: Nothing that speaks" in paused.text
    assert all(e.fault and e.total is None and e.advantage is None for e in whole(run)
               if e.status in ("env_lost", "env_error"))


def test_a_model_that_cannot_be_loaded_fails_with_its_name(tmp_path):
    (tmp_path / "empty").mkdir()
    run = trained(tmp_path / "runs", model=str(tmp_path / "empty"))
    assert run.result().status == "failed" and str(tmp_path / "empty") in run.result().reason


def test_each_environment_of_a_mix_speaks_with_its_own_system_prompt(tmp_path):
    spoken = {"catch": "You play Catch.\nBe quick.", "again": "Say back what you hear.", "plain": None}
    few = {**CATCH, "tasks": {"count": 4}}
    mix = [{**few, "system": spoken["catch"]}, {**few, "id": "again", "system": spoken["again"], "prompt": "Play it again."},
           {**few, "id": "plain"}]
    run = trained(tmp_path, environments=mix, train={"steps": 1, "group_size": 2, "episodes_per_step": 24},
                  warm_up={"games": 6})
    assert run.result().status == "finished", run.result().reason
    episodes = whole(run)
    assert {e.environment for e in episodes} == set(spoken)
    for episode in episodes:
        *system, asked = episode.prompt
        assert [message["content"] for message in system] == [spoken[episode.environment]] * bool(spoken[episode.environment])
        assert asked["role"] == "user" and asked["content"].endswith(f"\n\n{episode.opening}")
        assert asked["content"].startswith("Play it again.") == (episode.environment == "again")


def test_the_reference_of_kl_is_the_model_after_its_warm_up(tmp_path):
    run = trained(tmp_path, warm_up={"games": 32, "epochs": 2, "learning_rate": 1e-3}, train={"kl": 0.1})
    kl = {point.step: point.value for point in run.metrics(["kl"])}
    assert abs(kl[1]) < 1e-6 < kl[2], "before its first step the policy is the reference"


def test_plain_words_are_judged_where_the_environment_takes_them_as_the_answer(tmp_path):
    from openreward.environments import Server as SdkServer

    from backend.environments.examples.ors_server import Riddles
    from tests.ors_servers import serving

    with serving(SdkServer([Riddles]).app) as url:  # three tasks, for four groups
        run = trained(tmp_path, environments=[{"id": "riddles", "use": f"ors+{url}"}],
                      train={"steps": 1, "episodes_per_step": 16},
                      rewards=[{"name": "right", "kind": "environment", "value": "last"}])
    assert run.result().status == "finished", run.result().reason
    episodes = whole(run)
    spoke = [episode for episode in episodes if episode.status != "invalid"]
    assert len(episodes) == 16 and spoke
    for episode in spoke:
        last = episode.turns[-1]
        assert last.tool is None and last.done and last.result.startswith(("Yes", "No")) and last.fault is None
        assert episode.scores["right"] is not None and episode.status in ("won", "lost") and episode.facts["turns"] == 1
        assert last.tokens == episode.tokens


def test_wordle_catch_and_two_ors_servers_are_trained_on_in_one_run(tmp_path):
    from openreward.environments import Server as SdkServer

    from backend.environments.examples.ors_server import Locks, Sums
    from tests.ors_servers import serving

    tools = {"wordle": {"guess"}, "catch": {"move", "stay"}, "sums": {"answer"}, "locks": {"look", "turn-dial", "press-keys"}}
    terms = {"wordle": {"win", "greens"}, "catch": {"win"}, "sums": {"right"}, "locks": {"right"}}
    with serving(SdkServer([Sums]).app) as sums, serving(SdkServer([Locks]).app) as locks:
        uses = {"wordle": "wordle", "catch": "catch", "sums": f"ors+{sums}", "locks": f"ors+{locks}#locks"}
        run = trained(tmp_path, train={"steps": 1, "group_size": 2, "episodes_per_step": 32},
                      environments=[{"id": name, "use": use, "tasks": {"count": 4}} for name, use in uses.items()],
                      rewards=[{"name": "win", "value": "1.0 if won else 0.0", "environments": ["wordle", "catch"]},
                               {"name": "greens", "value": "0.1 * best_greens", "environments": ["wordle"]},
                               {"name": "right", "kind": "environment", "value": "last", "environments": ["sums", "locks"]}])
    assert run.result().status == "finished", run.result().reason
    episodes = whole(run)
    assert Counter(e.environment for e in episodes) == dict.fromkeys(uses, 8)
    for episode in episodes:
        assert {name for name, score in episode.scores.items() if score is not None} <= terms[episode.environment]
        assert {turn.tool for turn in episode.turns if turn.tool and not turn.fault} <= tools[episode.environment]


@pytest.mark.parametrize("room", [None, 5000])
def test_the_model_after_warm_up_is_saved_whole_or_not_at_all(tmp_path, room):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from backend.trainer.train import keep_warmed_up

    weights = Path(__file__).parents[1] / "backend" / "trainer" / "starters" / "weights" / "catch"
    folder, said = tmp_path / "checkpoints" / "warm-up", []
    folder.parent.mkdir()
    model, tokenizer = AutoModelForCausalLM.from_pretrained(weights), AutoTokenizer.from_pretrained(weights)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room or soft, hard))
    try:
        keep_warmed_up(model, tokenizer, folder, said.append)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [path.name for path in folder.parent.iterdir()] == ([] if room else ["warm-up"])
    assert bool(room) == ("isn't saved" in said[-1])
