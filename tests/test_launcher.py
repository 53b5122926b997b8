"""Specs: read, checked before anything starts, and turned into queued runs."""

import json
import subprocess
import sys

import pytest

from backend.errors import ModelError, OrtamError, RewardError, SpecError
from backend.launcher import (
    Launcher,
    default_terms,
    from_fields,
    grpo_fields,
    load_spec,
    models,
    recipes,
    resolve,
    to_yaml,
    validate,
)
from backend.records import RunSpec
from backend.store import Store, birth

SPEC = """
name: trial
model: MODEL
environments:
  - {id: catch, use: catch}
rewards:
  - {name: caught, value: "1.0 if won else 0.0"}
train: {steps: 3, group_size: 4, episodes_per_step: 8}
generation: {temperature: 1.0}
resources: {gpus: 0}
"""


@pytest.fixture
def model(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        (folder / name).write_text("{}")
    return folder


@pytest.fixture
def text(model):
    return SPEC.replace("MODEL", str(model))


# What is changed in the spec, the field that the sentence names, and what else it says.
WRONG = [
    ("group_size: 4", "group_sze: 4", "train.group_sze", "did you mean group_size"),
    ("train:", "trian:", "trian", "did you mean train"),
    ("use: catch}", "use: catch, wieght: 2}", "environments.0.wieght", "did you mean weight"),
    ("steps: 3", "steps: many", "train.steps", "a whole number, not 'many'"),
    ("steps: 3", "steps: 1.5", "train.steps", "whole number"),
    ("steps: 3", "steps: 0", "train.steps", "at least 1, not 0"),
    ("steps: 3", "steps: ", "train.steps", "whole number, not nothing"),
    ("temperature: 1.0", "temperature: hot", "generation.temperature", "a number, not 'hot'"),
    ("temperature: 1.0", "temperature: 0", "generation.temperature", "above 0"),
    ("temperature: 1.0", "thinking: perhaps", "generation.thinking", "true or false"),
    ("temperature: 1.0", "engine: vllm", "generation.engine", "vllm-colocate"),
    ("temperature: 1.0", "engine: vllm-colocate", "generation.engine", "requirements-gpu.txt"),
    ("episodes_per_step: 8", "episodes_per_step: 10", "train.episodes_per_step", "use 8 or 12"),
    ("episodes_per_step: 8", "episodes_per_step: 8, micro_batch: 3", "train.micro_batch", "divide"),
    ("gpus: 0", "processes: 3", "resources.processes", "divisor"),
    ("gpus: 0", "gpus: 64", "resources.gpus", "64 asked for"),
    ("steps: 3", "steps: 3, learning_rate: .nan", "train.learning_rate", "nan"),
    ("0.0\"}", "0.0\", weight: .inf}", "rewards.0.weight", "finite"),
    ("use: catch", "use: cacth", "environments.0.use", "did you mean catch"),
    ("use: catch", "use: catch, options: {size: 3}", "environments.0.options", "no option 'size'"),
    ("name: trial", "name: 'a b'", "name", "dash and underscore"),
    ("name: trial", "name: 3", "name", "quotes"),
    ("name: caught", "name: total", "rewards.0.name", "choose another"),
    ("  - {id: catch, use: catch}", "  catch", "environments", "must be a list"),
    ("  - {id: catch, use: catch}", "  - {id: catch, use: catch}\n  - {id: catch, use: echo}", "environments", "two"),
    ("train: {steps: 3, group_size: 4, episodes_per_step: 8}", "train: 3", "train", "fields such as steps"),
    ("steps: 3", "steps: 3, extra: {epsilonn: 0.1}", "train.extra.epsilonn", "did you mean epsilon"),
    ("steps: 3", "steps: 3, extra: {epsilon: big}", "train.extra.epsilon", "a number, not 'big'"),
    ("steps: 3", "steps: 3, extra: {max_steps: 9}", "train.extra.max_steps", "train.steps"),
    ("steps: 3", "steps: 3, extra: {hub_token: abc}", "train.extra.hub_token", "secret"),
    ("use: catch", 'use: catch, prompt: "half \\ud83c"', "environments.0.prompt", "half of a character"),
]


@pytest.mark.parametrize(("right", "wrong", "field", "says"), WRONG)
def test_a_wrong_spec_is_one_sentence_that_names_the_field(text, right, wrong, field, says):
    assert right in text
    with pytest.raises(SpecError) as caught:
        validate(load_spec(text.replace(right, wrong)))
    assert caught.value.field == field
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("extra", "says"), [
    ("loss_type: dap", "must be cispo, grpo, sapo, bnpo, dr_grpo, dapo, luspo or vespo, not 'dap'; did you mean dapo?"),
    ("optim: adam", "must be adamw_torch, "), ("optim: galore_adamw", "run pip install galore-torch, or use adamw_torch"),
    ("lr_scheduler_type: cosin", "did you mean cosine?"), ("lr_scheduler_type: cosine_with_min_lr", "needs min_lr"),
    ("importance_sampling_level: word", "must be token or sequence"),
    ("save_strategy: never", "must be no, steps, epoch or best"),
    ("report_to: wandb", "sent nowhere"), ("push_to_hub: true", "nothing is pushed"), ("hub_model_id: a/b", "nothing is pushed"),
    ("resume_from_checkpoint: x", "set model to the checkpoint's folder"), ("deepspeed: ds.json", "trained whole"),
    ("fsdp: full_shard", "trained whole"), ("output_dir: ''", "own folder"), ("output_dir: null", "own folder"),
    ("trust_remote_code: true", "isn't run here"), ("fp16: true", "needs a GPU"), ("adam_beta1: 2", "0 to 1, not 2"),
    ("sync_ref_model: true", "train.kl above 0"), ("auto_find_batch_size: true", "groups must stay whole"),
    ("logging_steps: 0.5", "every step is logged"), ("log_level: loud", "must be detail, debug"),
    ("local_rank: 1", "resources.processes")])
def test_what_trl_would_refuse_late_is_refused_at_launch(text, extra, says):
    name = extra.split(":")[0]
    with pytest.raises(SpecError) as caught:
        validate(load_spec(text.replace("steps: 3", f"steps: 3, extra: {{{extra}}}")))
    assert caught.value.field == f"train.extra.{name}" and says in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("extra", ["loss_type: grpo", "optim: adamw_torch_fused", "lr_scheduler_type: cosine", "report_to: none",
                                   "push_to_hub: false", "save_strategy: steps, save_steps: 5", "adam_beta1: 0.95",
                                   "lr_scheduler_type: cosine_with_min_lr, lr_scheduler_kwargs: {min_lr: 1.0e-8}"])
def test_what_trl_takes_is_taken(text, extra):
    validate(load_spec(text.replace("steps: 3", f"steps: 3, extra: {{{extra}}}")))


def test_a_spec_written_as_json_keeps_its_emoji(text):
    fields = load_spec(text).model_dump(mode="json")
    fields["environments"][0] |= {"prompt": "Play 🎮 well. Ünïcode\t✓", "options": {}}
    assert load_spec(json.dumps(fields)) == load_spec(json.dumps(fields, ensure_ascii=False)) == RunSpec.model_validate(fields)


@pytest.mark.parametrize(("wrong", "says"), [
    ("1.0 if won else", "doesn't parse"), ("wonn", "no fact is called 'wonn'; did you mean won"), ("won.real", "a dot"),
    ("secret", "no fact is called 'secret'"), ("1 / 0", "divides by 0"),
])
def test_a_wrong_reward_term_is_one_sentence_that_names_it(text, wrong, says):
    with pytest.raises(RewardError) as caught:
        validate(load_spec(text.replace("1.0 if won else 0.0", wrong)))
    assert "rewards.0.value (reward term caught)" in str(caught.value)
    assert says in str(caught.value)


def test_a_term_for_one_game_of_a_mix_is_told_to_say_so(text):
    mixed = text.replace("  - {id: catch, use: catch}", "  - {id: c, use: catch}\n  - {id: w, use: wordle}")
    with pytest.raises(RewardError, match=r"add environments: \[w\]"):
        validate(load_spec(mixed.replace("1.0 if won else 0.0", "best_greens")))
    validate(load_spec(mixed.replace("1.0 if won else 0.0\"", "best_greens\", environments: [w]")))
    with pytest.raises(SpecError, match="applies to x, but this run has only c, w"):
        load_spec(mixed.replace("0.0\"", "0.0\", environments: [x]"))


@pytest.mark.parametrize(("yaml", "says"), [
    ("", "empty"), ("- a\n- b\n", "not a mapping"), ("a: [1,\n", "line"),
                                            ("seed: 1\nseed: 2\n", "seed is written twice"),
    ("a: &x [1]\nb: *x\n", "aliases"), ("a: !!python/object:os.system x\n", "constructor"), ("\x00: 1\n", "YAML"),
    ("model: x\n", "environments: is missing"), ("a" * 600_000 + "\n", "longer than"), ("? [a]\n: b\n", "YAML"),
])
def test_what_is_no_spec_is_one_sentence(yaml, says):
    with pytest.raises(SpecError, match=says) as caught:
        load_spec(yaml + "\n")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("source", ["quikstart", "/no/such/file.yaml", "/", "a\0b", "x" * 5000])
def test_an_unknown_recipe_or_file_names_the_recipes(source):
    with pytest.raises(SpecError, match="quickstart"):
        load_spec(source)


@pytest.mark.parametrize(("wrong", "says"), [
    ("starter:nope", "starter"), ("catch", "neither a folder here nor an id"), ("/no/such/folder", "check the path"),
    ("Qwen/Qwen3-1.7B", "HF_HUB_OFFLINE"), ("a/b/c", "neither"), ("../x\0", "no folder"), ("http://x/y", "neither"),
])
def test_a_model_that_cannot_be_loaded_is_one_sentence(text, wrong, says, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError, match=says):
        validate(load_spec(text).model_copy(update={"model": wrong}))


@pytest.mark.parametrize("part", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_model_folder_must_be_whole(text, model, part):
    validate(load_spec(text))
    (model / part).unlink()
    with pytest.raises(ModelError, match=str(model)):
        validate(load_spec(text))


def test_a_model_in_the_local_cache_needs_no_network(tmp_path, monkeypatch):
    snapshot = tmp_path / "models--me--tiny" / "snapshots" / ("0" * 40)
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text("{}")
    refs = tmp_path / "models--me--tiny" / "refs"
    refs.mkdir()
    (refs / "main").write_text("0" * 40)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.file_download.HF_HUB_CACHE", str(tmp_path), raising=False)
    models.check_model("me/tiny")


@pytest.mark.parametrize("name", recipes())
def test_a_recipe_is_a_whole_spec_that_reads_back(name):
    recipe = recipes()[name]
    spec = load_spec(name)
    assert recipe.title and recipe.about
    assert spec.name == name
    assert load_spec(to_yaml(spec)) == spec
    assert from_fields(spec.model_dump()) == spec


@pytest.mark.parametrize("name", ["quickstart", "wordle-cpu"])
def test_the_recipes_for_the_cpu_run_on_any_machine(name):
    validate(load_spec(name))


@pytest.mark.parametrize("name", recipes())
def test_every_recipe_would_be_accepted_where_its_model_and_gpu_are(name, model):
    spec = load_spec(name)
    validate(spec.model_copy(update={
        "model": str(model), "generation": spec.generation.model_copy(update={"engine": "transformers"}),
        "resources": spec.resources.model_copy(update={"gpus": 0})}))


def test_no_terms_means_the_environments_own(text):
    bare = from_fields(load_spec(text).model_dump() | {"rewards": ()})
    alone = resolve(bare)
    assert alone.rewards and all(term.environments is None for term in alone.rewards)
    validate(alone)
    mixed = from_fields(bare.model_dump() | {"environments": [{"id": "a", "use": "catch"},
                                                              {"id": "b", "use": "catch"}]})
    terms = default_terms(mixed.environments)
    assert {term.environments for term in terms} == {("a",), ("b",)}
    validate(resolve(mixed))


def test_fields_of_grpo_config_are_the_real_ones():
    trl = pytest.importorskip("trl")
    import dataclasses

    real = {field.name for field in dataclasses.fields(trl.GRPOConfig)}
    read = set(grpo_fields.fields())
    assert real - read == set()
    assert set(grpo_fields.OWNED) - real <= {"no_cuda"}


def test_what_is_wrong_leaves_no_folder(tmp_path, text):
    store = Store(tmp_path / "runs")
    with pytest.raises(OrtamError):
        Launcher(store).launch(load_spec(text.replace("use: catch", "use: nope")))
    assert not store.folder.exists()


def test_a_launched_run_waits_and_can_be_taken_back(tmp_path, text):
    store = Store(tmp_path / "runs")
    launcher = Launcher(store)
    first, second = launcher.launch(load_spec(text)), launcher.launch(load_spec(text))
    assert [place.run for place in store.queue.places("waiting")] == [first, second]
    assert store.run(first).progress().reason == "next to start"
    assert store.run(second).progress().reason == "1 run ahead of it"
    assert "out of the queue" in launcher.stop(first)
    assert store.run(first).status() == "stopped"
    assert store.run(second).status() == "queued"
    assert "already ended: stopped" in launcher.stop(first)


def test_a_full_disk_does_not_keep_a_run_from_being_ended(tmp_path, text, monkeypatch):
    def full(path, _):
        raise OrtamError(f"{path} can't be written (No space left on device)")

    store = Store(tmp_path / "runs")
    launcher = Launcher(store)
    run = launcher.prepare(load_spec(text))
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as trainer:
        store.queue.add(run.id, state="running", pid=trainer.pid, born=birth(trainer.pid))
        monkeypatch.setattr("backend.store.run.write_whole", full)
        try:
            with pytest.raises(OrtamError, match="No space left"):
                launcher.stop(run.id)
            assert "was ended" in launcher.kill(run.id)
            assert trainer.wait(60) == -9
        finally:
            trainer.kill()


def test_a_relative_model_folder_is_kept_whole(tmp_path, text, model, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = Launcher(Store("runs")).prepare(load_spec(text).model_copy(update={"model": "./model"}))
    assert run.spec.model == str(model)
