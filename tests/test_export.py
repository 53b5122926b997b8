"""What leaves a run: every format, whole, in a file of its own or not at all."""

import contextlib
import json
import math
import os
import resource
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from backend.cli import main
from backend.errors import OrtamError, SpecError
from backend.exchange import FORMATS, Choice, export, file_name, group_of, lines, parquet, place
from backend.exchange.messages import completion
from backend.records import Episode, Fault, Judged, Parent, Policy, Result, RunSpec, Turn
from tests.recording import facts_after

ROOT = Path(__file__).parents[1]
UGLY = "</script><b>\ud800 \x00 \ue0ff=12 ışık \u202e"
PICTURE = "data:image/png;base64,aGk="

SPEC = {"name": "told", "model": "starter:wordle", "environments": [{"id": "wordle", "use": "wordle"}],
        "rewards": [{"name": "win", "value": "1.0 if won else 0.0"}, {"name": "partial", "value": "0.1 * best_greens"}],
        "train": {"steps": 2, "group_size": 2, "episodes_per_step": 4}}


def game(step: int, group: int, sample: int, won: bool) -> Episode:
    words = ("crane", "GXYXX"), ("caper", "GGGGG" if won else "GGXYX")
    turns = [Turn(index=k, thought="hm", said="" if k else "first", tool="guess", arguments={"guess": f"[{word}]"},
                  result=f"answer {k}", tokens=5, facts=facts_after(words, k + 1))
             for k, (word, _) in enumerate(words)]
    return Episode(id=f"{step}-{group}-{sample}", step=step, group=group, sample=sample, environment="wordle", task="7",
                   seed=7, fingerprint="f", policy=Policy(name="starter:wordle"), status="won" if won else "lost",
                   prompt=({"role": "user", "content": "Find the word."},), facts=turns[-1].facts,
                   scores={"win": float(won), "partial": None}, total=float(won), advantage=1.0 if won else -1.0,
                   tokens=10, started=1.7e9 + step, seconds=1.5, turns=turns)


ODD = Episode(
    id=f"a/../b {UGLY[:8]}", step=2, group=9, sample=0, environment="wordle", task={"x": [UGLY, 10**30]}, seed=2**70,
    policy=Policy(kind="script", name=UGLY), parent=Parent(run="r", episode="e", turn=1), status="env_lost", stop=UGLY,
    prompt=({"role": "user", "content": [{"type": "text", "text": UGLY}]}, {"role": "system", "content": None}),
    opening=UGLY, images=(PICTURE,), start_facts={UGLY: UGLY}, facts={"big": math.inf, "none": None},
    scores={"win": None}, fault=Fault(where="environment", kind="K", message=UGLY, traceback="t"),
    judged={"win": Judged(digest="d", score=None, reason=UGLY)},
    turns=(Turn(index=0, said=UGLY, thought=UGLY, tool=UGLY, arguments=f"not json {UGLY}", result=UGLY, shown="",
                images=(PICTURE,), tokens=3, model_seconds=0.5),
           Turn(index=1, tool="guess", arguments=[1, None, {"a": UGLY}], result="second"),
           Turn(index=2, tool="guess", arguments=None, result="cut away", cut=True)))


@pytest.fixture
def run(store):
    run = store.create(RunSpec.model_validate(SPEC))
    with run.writing() as writer:
        writer.record([game(1, 0, 0, True), game(1, 0, 1, False)])
        writer.record([game(2, 0, 0, True), game(2, 0, 1, True), ODD])
        writer.metrics(1, {"kl": 0.5, "loss": None})
        writer.metrics(2, {"kl": 0.25, "loss": 1.0})
        writer.finish(Result(status="finished", step=2, ended=1.7e9 + 5))
    return run


def all_of(run) -> list[Episode]:
    return [run.episode(row.id) for row in run.episodes(sort="seq", limit=None)]


# -------------------------------------------------------------------------------------------------------- each format


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_writes_one_file_and_tells_how_far_it_is(run, tmp_path, name):
    told = []
    path = tmp_path / f"out{FORMATS[name].SUFFIX}"
    assert export(FORMATS[name], Choice(run), path, told=told.append) > 0
    assert path.stat().st_size and told == sorted(told) and [p.name for p in tmp_path.glob(".*")] == []


def test_a_jsonl_line_reads_back_as_the_same_episode(run, tmp_path):
    export(lines, Choice(run), tmp_path / "out.jsonl")
    text = (tmp_path / "out.jsonl").read_bytes()
    text.decode("ascii")
    assert [lines.episode(line) for line in text.decode().splitlines()] == all_of(run)


def test_a_jsonl_line_has_the_fields_scripts_count_on(run, tmp_path):
    export(lines, Choice(run, id="1-0-0"), tmp_path / "out.jsonl")
    told = json.loads((tmp_path / "out.jsonl").read_text())
    assert {"id", "step", "group", "sample", "environment", "task", "seed", "fingerprint", "policy", "status", "stop",
            "scores", "total", "advantage", "turns"} <= told.keys()
    assert {"said", "thought", "tool", "arguments", "result", "reward", "seconds", "fault"} <= told["turns"][0].keys()
    assert told["scores"]["partial"] is None


def test_parquet_reads_back_as_the_same_episodes(run, tmp_path):
    export(parquet, Choice(run), tmp_path / "out.parquet")
    assert [parquet.episode(row) for _, row in parquet.written(tmp_path / "out.parquet", print)] == all_of(run)


def test_parquet_columns_are_typed_and_what_was_not_scored_stays_null(run, tmp_path):
    pandas = pytest.importorskip("pandas")
    export(parquet, Choice(run), tmp_path / "out.parquet")
    table = pandas.read_parquet(tmp_path / "out.parquet")
    assert table["score_win"].dtype == float and table["total"].isna().tolist() == [False] * 4 + [True]
    assert table["score_partial"].isna().all()
    assert table["step"].tolist() == [1, 1, 2, 2, 2]


def test_another_parquet_file_is_refused_in_a_sentence(tmp_path):
    (tmp_path / "x.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(OrtamError, match="can't be read as Parquet"):
        list(parquet.written(tmp_path / "x.parquet", print))


def test_datasets_loads_the_trl_and_sft_files_and_a_template_takes_them(run, tmp_path):
    datasets = pytest.importorskip("datasets")
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(ROOT / "backend" / "trainer" / "starters" / "weights" / "wordle")
    loaded = {}
    for name in ("trl", "sft"):
        path = tmp_path / f"out{FORMATS[name].SUFFIX}"
        export(FORMATS[name], Choice(run), path)
        loaded[name] = datasets.load_dataset("json", data_files=str(path), split="train", cache_dir=str(tmp_path / "c"))
    first = loaded["trl"][0]
    assert first["reward"] == 1.0 and first["reward_win"] == 1.0 and first["reward_partial"] is None
    assert first["completion"][0]["tool_calls"][0]["function"] == {"name": "guess",
                                                                    "arguments": {"guess": "[crane]"}}
    text = tokenizer.apply_chat_template(first["prompt"] + first["completion"], tools=first["tools"], tokenize=False)
    assert '{"guess": "[crane]"}' in text and "answer 1" in text and "None" not in text
    sft = tokenizer.apply_chat_template(loaded["sft"][0]["messages"], tools=loaded["sft"][0]["tools"], tokenize=False)
    assert sft == text


@pytest.mark.slow
def test_one_step_of_sft_runs_on_the_file(run, tmp_path):
    code = f"""
import datasets
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import SFTConfig, SFTTrainer
folder = {str(ROOT / "backend" / "trainer" / "starters" / "weights" / "wordle")!r}
rows = datasets.load_dataset("json", data_files={str(tmp_path / "out.sft.jsonl")!r}, split="train",
                             cache_dir={str(tmp_path / "cache")!r})
trainer = SFTTrainer(model=AutoModelForCausalLM.from_pretrained(folder), train_dataset=rows,
                     processing_class=AutoTokenizer.from_pretrained(folder),
                     args=SFTConfig(output_dir={str(tmp_path / "sft")!r}, max_steps=1, use_cpu=True, bf16=False,
                                    per_device_train_batch_size=2, report_to=[], save_strategy="no",
                                    assistant_only_loss=True))
print("loss", trainer.train().training_loss)
"""
    export(FORMATS["sft"], Choice(run, where="won"), tmp_path / "out.sft.jsonl")
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=200, cwd=tmp_path,
                         env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})
    assert "loss" in ran.stdout, ran.stderr[-2000:]


def test_sft_takes_only_the_chosen_episodes(run, tmp_path):
    export(FORMATS["sft"], Choice(run, where="won", limit=2), tmp_path / "out.sft.jsonl")
    told = [json.loads(line) for line in (tmp_path / "out.sft.jsonl").read_text().splitlines()]
    assert len(told) == 2
    assert [message["role"] for message in told[0]["messages"]] == ["user", "assistant", "tool", "assistant", "tool"]
    assert told[0]["messages"][1]["reasoning_content"] == "hm"


def test_two_calls_of_one_message_stay_one_message_and_what_was_cut_is_gone():
    said = completion(ODD)
    assert [message["role"] for message in said] == ["assistant", "tool", "tool"]
    assert [call["function"]["arguments"] for call in said[0]["tool_calls"]] == [f"not json {UGLY}", [1, None, {"a": UGLY}]]
    assert [message["content"] for message in said[1:]] == ["", "second"]


def test_trackio_gets_a_row_a_step_and_nothing_for_what_was_not_measured(run, tmp_path):
    export(FORMATS["trackio"], Choice(run), tmp_path / "out.db")
    with contextlib.closing(sqlite3.connect(tmp_path / "out.db")) as database:
        rows = database.execute("SELECT step, timestamp, run_name, metrics FROM metrics ORDER BY step").fetchall()
        (config,) = database.execute("SELECT config FROM configs").fetchone()
    assert [(row[0], row[2]) for row in rows] == [(1, run.id), (2, run.id)]
    first = json.loads(rows[0][3])
    assert first["kl"] == 0.5 and first["reward/total"] == 0.5 and first["reward/win_high"] == 0.9
    assert "loss" not in first and "reward/partial" not in first
    assert rows[0][1].startswith("2023-11-14T") and json.loads(config)["model"] == "starter:wordle"


# --------------------------------------------------------------------------------------------------- which and where


def test_a_choice_filters_sorts_and_limits_as_the_list_of_episodes_does(run):
    assert [e.id for e in Choice(run, where="won", sort="-step", limit=2).episodes()] == ["2-0-0", "2-0-1"]
    assert [e.id for e in Choice(run, group=(1, 0)).episodes()] == ["1-0-0", "1-0-1"]
    assert Choice(run, where="won").count() == 3
    assert list(Choice(run, group=(1, 0), phase="eval").episodes()) == []
    with run.writing() as writer:
        writer.record([game(1, 0, 0, False).model_copy(update={"id": "again", "attempt": 2})])
    assert [e.id for e in Choice(run, group=(1, 0)).episodes()] == ["again"]
    assert [e.id for e in Choice(run, group=(1, 0), attempt=1).episodes()] == ["1-0-0", "1-0-1"]
    with pytest.raises(SpecError):
        list(Choice(run, where="won and").episodes())


def test_a_group_is_written_as_step_and_group():
    assert group_of("62-3") == (62, 3)
    for wrong in ("62", "x-1", "1-", "-1", "1-2-3"):
        with pytest.raises(SpecError, match="62-3"):
            group_of(wrong)


@pytest.mark.parametrize("called", ["../../etc/passwd", "a/b\\c", "..", "", "\x00\n", "C:con", "x" * 500, "日本"])
def test_no_name_leaves_its_folder(tmp_path, called):
    made = file_name(called, "1-2")
    assert (tmp_path / made).parent == tmp_path and "\x00" not in made and 0 < len(made) < 200


def test_a_file_that_is_there_is_kept_unless_it_is_said(run, tmp_path):
    (tmp_path / "out.jsonl").write_text("mine")
    with pytest.raises(OrtamError, match="--replace"):
        export(lines, Choice(run), tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_text() == "mine"
    export(lines, Choice(run), tmp_path / "out.jsonl", replace=True)
    assert (tmp_path / "out.jsonl").read_text() != "mine"


def test_an_export_that_breaks_leaves_nothing(run, tmp_path):
    with pytest.raises(SpecError):
        export(lines, Choice(run, where="nothing_like_it > 1"), tmp_path / "out.jsonl")
    assert list(tmp_path.glob("*out*")) == []


# --------------------------------------------------------------------------------------------------- the command line


def command(capsys, *words) -> tuple[int, str, str]:
    code = main(list(words))
    said = capsys.readouterr()
    return code, said.out, said.err


def test_the_verb_writes_the_file_that_was_named(run, store, tmp_path, capsys):
    runs = str(store.folder)
    code, out, _ = command(capsys, "export", "latest", "--to", str(tmp_path / "a.parquet"), "--runs", runs, "--json")
    told = json.loads(out)
    assert code == 0 and told["format"] == "parquet" and told["written"] == 5 and Path(told["path"]).exists()
    assert told["bytes"] == Path(told["path"]).stat().st_size


def test_the_verb_names_the_file_itself_in_a_folder(run, store, tmp_path, capsys):
    code, _, err = command(capsys, "export", run.id, "--to", str(tmp_path / "new" / "folder"), "--format", "trl",
                           "--where", "won", "--runs", str(store.folder))
    assert code == 0 and f"the folder {tmp_path / 'new'} was made" in err
    assert len((tmp_path / "new" / "folder" / f"{run.id}.trl.jsonl").read_text().splitlines()) == 3


def test_the_verb_refuses_in_a_sentence(run, store, tmp_path, capsys):
    (tmp_path / "a.jsonl").write_text("mine")
    for words, said in ((("--to", str(tmp_path / "a.jsonl")), "--replace"),
                        (("--to", str(tmp_path / "b.jsonl"), "--where", "won and"), "doesn't parse"),
                        (("--to", str(tmp_path / "b.jsonl"), "--episode", "none"), "has no episode"),
                        (("--to", str(tmp_path / "a.jsonl" / "c.jsonl")), "can't be written"),
                        (("--to", "/dev/full"), "is no file and no folder"), (("--to", "/dev/full", "--replace"), "is no file"),
                        (("--to", str(tmp_path / "b.png")), "--episode"),
                        (("--to", str(tmp_path / "b.csv")), "files that end in .csv; end the name in one of .jsonl (jsonl), "),
                        (("--to", str(tmp_path / "b.trackio")), ".db (trackio)")):
        code, _, err = command(capsys, "export", run.id, *words, "--runs", str(store.folder))
        assert code == 2 and said in err and "Traceback" not in err, (words, err)


def test_a_name_no_folder_takes_is_one_sentence(run, tmp_path):
    for name in ("n" * 300 + ".jsonl", "n" * 300):
        with pytest.raises(OrtamError, match="can't be written"):
            export(lines, Choice(run), place(tmp_path / name, "run", ".jsonl"))


@pytest.mark.parametrize("named", ["jsonl", "parquet", "trl", "sft", "trackio"])
def test_a_disk_that_refuses_is_one_sentence_and_leaves_nothing(run, tmp_path, named):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, hard))
    try:
        with pytest.raises(OrtamError, match="can't be written"):
            export(FORMATS[named], Choice(run), tmp_path / "out")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not list(tmp_path.glob("*out*"))
