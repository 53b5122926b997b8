"""The command line, as a person and as a script meet it."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from backend.cli import main
from backend.cli.printing import number, plain
from backend.records import Episode, Fault, Result, RunSpec, Turn

ROOT = Path(__file__).parent.parent


@pytest.fixture
def run(store):
    run = store.create(RunSpec.model_validate({
        "name": "trial", "model": "starter:catch", "environments": [{"id": "wordle", "use": "wordle"}],
        "train": {"steps": 2, "group_size": 2, "episodes_per_step": 2}}))
    writer = run.writer()
    for step in (1, 2):
        writer.record([
            Episode(id=f"{step}-0-0", step=step, group=0, sample=0, environment="wordle", status="won", stop="solved",
                    facts={"won": True, "guesses": step}, scores={"win": 1.0, "partial": None}, total=1.0,
                    advantage=0.5, opening="Guess\x1b[2J the word",
                    turns=[Turn(index=0, said="I \ud800 try", thought="hm", tool="guess",
                                arguments={"guess": "[crane]"},
                                result="G G G G G", reward=1.0, done=True)]),
            Episode(id=f"{step}-0-1", step=step, group=0, sample=1, environment="wordle", status="env_lost",
                    fault=Fault(where="environment", kind="SessionLost", message="gone"), scores={"win": None}),
        ])
    writer.finish(Result(status="finished", reason="done", step=2, ended=time.time()))
    writer.close()
    return run


@pytest.fixture
def cli(store, capsys):
    def command(*words, code=0):
        try:
            ended = main([*words, "--runs", str(store.folder)])
        except SystemExit as error:
            ended = error.code
        said = capsys.readouterr()
        assert ended == code, said.err
        return said.out if code == 0 else said.err

    return command


@pytest.mark.parametrize("verb", ["run", "export", "episodes", "worker"])
def test_a_verbs_usage_can_be_copied(cli, capsys, verb):
    with pytest.raises(SystemExit):
        main([verb, "--help"])
    assert capsys.readouterr().out.startswith(f"usage: python -m backend {verb} [-h]")
    if verb != "worker":
        assert f"see python -m backend {verb} --help" in cli(verb, code=2)


@pytest.mark.parametrize("odd", ["-3", "0", "many", "1.5", "\u00b2"])
def test_a_number_of_episodes_says_what_is_wanted(cli, run, odd):
    assert "--limit: write a whole number of at least 1, not" in cli("episodes", run.id, "--limit", odd, code=2)


def test_one_run_is_not_compared_with_itself(cli, run):
    assert "name a second run" in cli("compare", run.id, code=2)
    assert "name a second run" in cli("compare", run.id, "latest", code=2)


def test_what_rounding_left_of_nothing_is_0():
    assert [number(value) for value in (5.551e-17, -7.5e-8, -0.0, 2e-6, -0.25, None)] == ["0", "0", "0", "2e-06", "-0.25", "-"]


def test_a_run_without_steps_shows_none(cli, store):
    run = store.create(RunSpec.model_validate({"name": "by-hand", "model": "m",
                                               "environments": [{"id": "wordle", "use": "wordle"}]}))
    with run.writing() as writer:
        writer.record([Episode(id="play-0-0-0", phase="play", step=0, group=0, sample=0, environment="wordle", status="won")])
        writer.finish(Result(status="finished", reason="", step=0, ended=time.time()))
    assert "0/" not in cli("runs") and "step 0" not in cli("show", "latest")


def test_runs_are_listed(cli, run):
    assert run.id in cli("runs")
    row, = json.loads(cli("runs", "--json"))
    assert (row["id"], row["status"], row["step"], row["episodes"], row["reward"]) == (run.id, "finished", 2, 4, 1.0)
    assert json.loads(cli("runs", "nothing-like-it", "--json")) == []


def test_a_run_is_shown(cli, run):
    assert "step 2 of 2, 4 episodes" in cli("show", "latest")
    shown = json.loads(cli("show", "trial", "--json"))
    assert shown["terms"] == {"win": 1.0, "partial": None, "total": 1.0}
    assert shown["spec"]["name"] == "trial"


def test_the_largest_first_is_asked_for_with_a_dash(cli, run):
    totals = [row["total"] for row in json.loads(cli("episodes", "latest", "--sort", "-total", "--json"))]
    scored = [total for total in totals if total is not None]
    assert scored and scored == sorted(scored, reverse=True)


def test_episodes_are_filtered_and_sorted(cli, run):
    rows = json.loads(cli("episodes", "latest", "--where", "won and guesses <= 1", "--json"))
    assert [row["id"] for row in rows] == ["1-0-0"]
    assert rows[0]["scores"] == {"win": 1.0, "partial": None}
    rows = json.loads(cli("episodes", "latest", "--sort", "total", "--limit", "3", "--json"))
    assert [row["total"] for row in rows] == [1.0, 1.0, None]
    table = cli("episodes", "latest").splitlines()
    assert len(table) == 5
    assert table[2].split()[:5] == ["2-0-1", "wordle", "env_lost", "0", "-"]


def test_an_episode_is_whole_as_json_and_harmless_as_text(cli, run):
    shown = json.loads(cli("episode", "latest", "1-0-0", "--json"))
    needed = {"id", "step", "group", "sample", "environment", "task", "seed", "fingerprint", "policy", "status", "stop",
              "scores", "total", "advantage", "turns"}
    assert needed <= shown.keys()
    assert {"said", "thought", "tool", "arguments", "result", "reward", "seconds", "fault"} <= shown["turns"][0].keys()
    assert shown["turns"][0]["said"] == "I \ud800 try"
    text = plain(cli("episode", "latest", "1-0-0").replace("\n", " "))
    assert "\x1b" not in text
    assert "\\x1b[2J" in text
    assert "[crane]" in text


@pytest.mark.parametrize("words", [
    ("runz",), (), ("show",), ("show", "nope"), ("episode", "latest", "9-9-9"), ("run", "nope.yaml"),
                                   ("launch", "nope"),
    ("episodes", "latest", "--where", "wonn"), ("episodes", "latest", "--sort", "colour"), ("stop", "nope"),
    ("episodes", "latest", "--limit", "0"), ("episodes", "latest", "--colour"), ("show", "latest", "extra"),
])
def test_what_cannot_be_done_is_one_sentence_and_exit_2(cli, run, words):
    said = cli(*words, code=2)
    assert said.count("\n") == 1
    assert "Traceback" not in said


def test_a_misspelt_verb_names_the_near_one(cli):
    assert "did you mean episodes" in cli("episods", code=2)


def test_a_spec_with_a_wrong_field_starts_nothing(cli, store, tmp_path):
    spec = tmp_path / "spec.yaml"
    spec.write_text("model: starter:catch\nenvironments: [{id: a, use: catch}]\ntrain: {stpes: 3}\n")
    for verb in ("run", "launch"):
        assert "train.stpes: there is no such field; did you mean steps?" in cli(verb, str(spec), code=2)
    assert not store.folder.exists()


def test_a_folder_that_takes_no_runs_is_one_sentence(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    spec = tmp_path / "spec.yaml"
    (tmp_path / "model").mkdir()
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        (tmp_path / "model" / name).write_text("{}")
    spec.write_text(f"model: {tmp_path / 'model'}\nenvironments: [{{id: a, use: catch}}]\n")
    assert main(["launch", str(spec), "--runs", str(tmp_path / "file" / "runs")]) == 2
    said = capsys.readouterr().err
    assert "can't take a new run" in said and said.count("\n") == 1


def test_an_ended_run_is_not_stopped_again(cli, run):
    assert "already ended: finished" in cli("stop", "latest")
    assert json.loads(cli("stop", "latest", "--json"))["status"] == "finished"


def test_the_folder_may_come_from_the_environment(run, store):
    ran = subprocess.run([sys.executable, "-m", "backend", "runs", "--json"], cwd=ROOT, capture_output=True, text=True,
                         env=os.environ | {"ORTAM_RUNS": str(store.folder)})
    assert json.loads(ran.stdout)[0]["id"] == run.id


def test_a_reader_that_goes_away_is_no_error(run, store):
    piped = subprocess.run(f"{sys.executable} -m backend episodes latest --json --runs {store.folder} | head -c 1",
                           cwd=ROOT,
                           shell=True, capture_output=True, text=True)
    assert (piped.stdout, piped.stderr) == ("[", "")


# ------------------------------------------------------------------------------------ run, with a real trainer


def quick(tmp_path, steps):
    spec = tmp_path / "quick.yaml"
    spec.write_text(f"""
name: quick
model: starter:catch
environments: [{{id: catch, use: catch, tasks: {{count: 4}}}}]
rewards: [{{name: caught, value: "1.0 if won else 0.0"}}]
train: {{steps: {steps}, group_size: 4, episodes_per_step: 8, learning_rate: 1.0e-4, max_completion_tokens: 512}}
""")
    return str(spec)


@pytest.mark.slow
def test_a_run_in_the_foreground_finishes_with_0(cli, store, tmp_path, capsys):
    done = json.loads(cli("run", quick(tmp_path, 2), "--json"))
    assert (done["status"], done["step"]) == ("finished", 2)
    run = store.run("latest")
    assert run.count_episodes() == 16
    assert store.queue.place(run.id).state == "ended"
    assert all(row.advantage is not None for row in run.episodes() if row.total is not None)


@pytest.mark.slow
def test_ctrl_c_stops_after_the_step_and_exits_with_1(store, tmp_path):
    screen, terminal = pty.openpty()
    process = subprocess.Popen([sys.executable, "-m", "backend", "run", quick(tmp_path, 500), "--runs",
                                str(store.folder)],
                               cwd=ROOT, stderr=terminal, stdout=terminal, stdin=terminal, start_new_session=True)
    os.close(terminal)
    shown = b""
    asked = False
    while True:
        try:
            shown += os.read(screen, 4096)
        except OSError:
            break
        if not asked and b"1/500" in shown:
            process.send_signal(signal.SIGINT)
            asked = True
    os.close(screen)
    assert process.wait() == 1
    assert b"stops after the step under way" in shown
    run = store.run("latest")
    assert run.status() == "stopped"
    assert 1 <= run.progress().step < 500


def test_names_and_moments_of_an_imported_file_reach_a_terminal_as_text(store, cli, tmp_path):
    rows = [{"id": f"{k}", "step": 1, "group": 0, "sample": k, "environment": "\x1b[2J", "status": "won", "started": started,
             "policy": {"kind": "import", "name": "\x1b]8;;x\x07"}, "scores": {"\x1b[31m": 1.0}, "total": 1.0}
            for k, started in enumerate((0, -1e300, 1e18, 1e300))]
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, rows)))
    for name in ("one", "two"):
        cli("import", str(tmp_path / "x.jsonl"), "--format", "jsonl", "--name", name)
    for words in (("runs",), ("show", "latest"), ("episodes", "latest"), *(("episode", "latest", str(k)) for k in range(4)),
                  ("compare", "one", "two"), ("export", "latest", "--to", str(tmp_path / "x.db"), "--format", "trackio")):
        assert "\x1b" not in cli(*words)
