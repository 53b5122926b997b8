"""Preflight, over real sockets: what is well is green, and each thing that would go wrong is found and has a remedy."""

import contextlib
import json
import random
import threading
import time
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from backend.cli import main
from backend.environments import sampling
from backend.environments.catalog import entry
from backend.launcher import to_yaml
from backend.preflight import Child, check, verdict
from backend.records import RunSpec
from tests.openenv_servers import mcp_cases

STARTERS = Path(__file__).resolve().parents[1] / "backend/trainer/starters/weights"
TEMPLATES = Path(find_spec("trl").origin).parent / "chat_templates"


def a_model(folder: Path, template: str, context: int = 40_960) -> Path:
    """A tokenizer of bytes with a chat template, in a folder that looks like a model's."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    bytewise = Tokenizer(models.BPE({character: n for n, character in enumerate(alphabet)}, []))
    bytewise.pre_tokenizer, bytewise.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    marks = ["<|im_start|>", "<|im_end|>"]
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=bytewise, eos_token=marks[1], pad_token="<|pad|>",
                                        additional_special_tokens=marks[:1])
    tokenizer.chat_template = template
    tokenizer.save_pretrained(folder)
    (folder / "config.json").write_text(json.dumps({"model_type": "qwen3", "max_position_embeddings": context}))
    (folder / "model.safetensors").touch()
    return folder


@pytest.fixture(scope="module")
def qwen(tmp_path_factory) -> Path:
    return a_model(tmp_path_factory.mktemp("qwen"), (TEMPLATES / "qwen3.jinja").read_text())


def asked(use: str, model="nowhere", **more) -> RunSpec:
    train = {"steps": 2, "group_size": 2, "episodes_per_step": 8, **more.pop("train", {})}
    environment = {"id": "it", "use": use, "tasks": {"count": 12}, **more.pop("environment", {})}
    return RunSpec.model_validate({"model": str(model), "environments": [environment], "train": train, **more})


def found(spec: RunSpec) -> dict:
    return {finding.check: finding for finding in check(spec, spec.model)}


def levels(findings: dict, *but: str) -> set[str]:
    return {finding.level for name, finding in findings.items() if name not in but}


# ------------------------------------------------------------------------------------------------ what is well is green


@pytest.mark.parametrize("use", ["catch", "wordle"])
def test_an_environment_that_is_well_is_green_in_every_line(use, qwen):
    looked = found(asked(use, qwen, train={"max_completion_tokens": 4000}))
    assert levels(looked) == {"green"}, [f for f in looked.values() if f.level != "green"]
    assert {"Settings", "Start", "Sessions", "Same seed", "Other seeds", "Fresh start", "Episodes", "Facts", "Time",
            "Good or random", "Token budget", "First prompt"} < looked.keys()
    assert looked["Sessions"].detail == {"needed": 8, "available": 8}
    assert not any(finding.remedy for finding in looked.values())


def test_lines_say_what_was_seen_in_numbers():
    looked = found(asked("catch"))
    assert looked["Episodes"].seen.startswith("perfect: 8 won; random: ")
    assert looked["Term caught"].seen.startswith("perfect 1; random 0")
    assert "good play is worth more" in looked["Good or random"].seen
    assert looked["Time"].detail["step"] > looked["Time"].detail["reset_median"] > 0
    assert "9.0 turns" in looked["Time"].seen and "estimated" in looked["Token budget"].seen


# --------------------------------------------------------------------------------------- what would go wrong is found


@pytest.mark.parametrize("path, line, level, said", [
    ("dropsseed", "Same seed", "red", "two tasks"), ("hidesseed", "Same seed", "amber", "other answers"),
    ("leaks", "Fresh start", "red", "began with steps 1 instead of 0"),
    ("shared", "Fresh start", "red", "disturb each other"), ("alike", "Same seed", "amber", "can't be told"),
    ("alike", "Other seeds", "amber", "one and the same task"), ("breaks", "Episodes", "red", "no map"),
    ("small", "Sessions", "red", "3 of 8 sessions opened")])
def test_an_odd_server_is_seen_through(odd, path, line, level, said):
    finding = found(asked(f"openenv+{odd}/{path}"))[line]
    assert (finding.level, said in finding.seen, bool(finding.remedy)) == (level, True, True), finding


def test_a_server_without_fingerprints_is_known_by_its_openings_and_answers(odd):
    looked = found(asked(f"openenv+{odd}/walk"))
    assert {looked[name].level for name in ("Same seed", "Other seeds", "Fresh start", "Sessions")} == {"green"}
    assert looked["Other seeds"].detail == {"tasks": 8, "different": 8}


def test_too_few_sessions_name_a_step_that_fits(odd):
    finding = found(asked(f"openenv+{odd}/small"))["Sessions"]
    assert finding.detail == {"needed": 8, "available": 3}
    assert "train.episodes_per_step to 2" in finding.remedy


def test_nothing_that_answers_is_red_and_the_other_environments_are_still_looked_at():
    spec = asked("catch").model_copy(update={"environments": (
        *asked("openenv+http://127.0.0.1:9", environment={"id": "gone"}).environments, *asked("catch").environments)})
    looked = list(check(spec, spec.model))
    gone = [finding for finding in looked if finding.environment == "gone"]
    assert [finding.level for finding in gone] == ["red"] and "127.0.0.1:9" in gone[0].seen
    assert len([finding for finding in looked if finding.environment == "it"]) > 8


@pytest.mark.parametrize("value, level, said", [
    ("1.0 if stepps else 0.0", "red", "no fact is called 'stepps'"), ("1 / (place - 333)", "amber", "divides by 0"),
    ("1 / (turns - turns)", "red", "divides by 0"), ("won_by", "red", "no fact is called"),
    ("0.5", "amber", "the same in every episode"), ("-1.0 * tool_failures", "green", "earned or cost it")])
def test_a_term_that_gives_nothing_is_found(odd, value, level, said):
    finding = found(asked(f"openenv+{odd}/walk", rewards=[{"name": "mine", "value": value}]))["Term mine"]
    assert (finding.level, said in finding.seen, bool(finding.remedy)) == (level, True, level != "green"), finding


def test_a_reward_that_pays_for_losing_is_amber():
    looked = found(asked("catch", rewards=[{"name": "miss", "value": "0.0 if won else 1.0"}]))
    assert looked["Good or random"].level == "amber" and "good play isn't worth more" in looked["Good or random"].seen


def test_a_reward_that_no_random_episode_earns_is_amber():
    looked = found(asked("wordle", rewards=[{"name": "win", "value": "1.0 if won else 0.0"}]))
    assert looked["Good or random"].level == "amber" and "partial credit" in looked["Good or random"].remedy


def test_an_environment_to_which_no_term_applies_is_red():
    spec = RunSpec.model_validate({
        **asked("catch").model_dump(), "rewards": [{"name": "caught", "value": "1.0", "environments": ["it"]}],
        "environments": [{"id": "it", "use": "catch"}, {"id": "other", "use": "echo"}]})
    other = {f.check: f for f in check(spec, "nowhere") if f.environment == "other"}
    assert other["Good or random"].level == "red" and "no reward term" in other["Good or random"].seen


def test_a_server_with_one_session_is_played_through_and_told_to_have_more(odd):
    looked = found(asked(f"openenv+{odd}/one"))
    assert looked["Sessions"].level == "red" and looked["Sessions"].seen.startswith("1 of 8 sessions opened")
    assert "its one session is taken" in looked["Sessions"].seen and looked["Fresh start"].level == "amber"
    assert looked["Episodes"].level == "green" and looked["Same seed"].level == "green"


def test_a_call_that_hangs_ends_the_look_at_once(odd, monkeypatch):
    monkeypatch.setattr("backend.preflight.repeats.PATIENCE", 0.3)
    looked = found(asked(f"openenv+{odd}/stuck"))
    assert "got no answer within 0.3 s" in looked["Episodes"].seen
    assert list(looked) == ["Settings", "Start", "Episodes"]


# -------------------------------------------------------------------------------------------------- what the model sees


def test_the_first_prompt_is_what_the_template_makes_of_prompt_opening_and_tools(odd, qwen):
    finding = found(asked(f"openenv+{odd}/walk", qwen, environment={"prompt": "Walk well."}))["First prompt"]
    prompt = finding.detail["prompt"]
    assert finding.level == "green" and finding.detail["tokens"] > 100
    assert prompt.startswith("<|im_start|>system") and prompt.rstrip().endswith("</think>")  # thinking is off
    assert '"name": "turn"' in prompt and '"enum": ["left", "right"]' in prompt
    assert "user\nWalk well.\n\nplace " in prompt
    assert finding.detail["marks"] == ["<|im_end|>", "<|im_start|>"]


def test_the_system_prompt_is_shown_before_the_prompt(odd, qwen):
    finding = found(asked(f"openenv+{odd}/walk", qwen, environment={"system": "You walk. <b>Ünïcode</b>"}))["First prompt"]
    assert finding.level == "green" and "You walk. <b>Ünïcode</b>" in finding.detail["prompt"].split("<|im_end|>")[0]


@pytest.mark.parametrize("first_line, said", [
    ("{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}",
     "takes no system message: System role not supported"),
    ("{% set messages = messages | rejectattr('role', 'equalto', 'system') | list %}", "the template leaves it out")])
def test_a_template_without_a_system_message_is_red_with_the_remedy(odd, tmp_path, first_line, said):
    model = a_model(tmp_path / "model", first_line + (TEMPLATES / "qwen3.jinja").read_text())
    finding = found(asked(f"openenv+{odd}/walk", model, environment={"system": "You walk."}))["First prompt"]
    assert finding.level == "red" and said in finding.seen and "leave system empty" in finding.remedy
    assert "system" not in found(asked(f"openenv+{odd}/walk", model))["First prompt"].seen


@pytest.mark.parametrize("starter", ["catch", "wordle"])
def test_the_starters_are_shown_a_system_prompt(starter):
    from backend.preflight.model_view import first_prompt, model_view

    spec = asked("echo", f"starter:{starter}", environment={"system": "You are quick."})
    view = model_view(spec, STARTERS / starter)
    finding = first_prompt(spec.environments[0], view, entry("echo").description, "Go.")
    assert finding.level == "green" and "<|system|>You are quick.<|user|>" in finding.detail["prompt"]


def test_every_known_tool_schema_is_rendered_whole(qwen):
    from backend.environments import Tool
    from backend.preflight.model_view import first_prompt, model_view

    spec = asked("echo", qwen)
    tools = tuple(Tool(name, tool.get("description") or "", tool.get("inputSchema") or {})
                  for name, tool in mcp_cases().items())
    described = replace(entry("echo").description, tools=tools)
    finding = first_prompt(spec.environments[0], model_view(spec, qwen), described, None)
    assert finding.level == "green", finding.seen
    lines = finding.detail["prompt"].splitlines()
    said = [json.loads(line) for line in lines if line.startswith('{"type": "function"')]
    assert said == [tool.schema() for tool in tools]


@pytest.mark.parametrize("template, said", [
    ("{% for m in messages %}{{ m['content'] }}{% endfor %}", "can't carry tool calls"),
    ((TEMPLATES / "qwen3.jinja").read_text() + "{# of our own #}", "no parser"), ("", "no chat template")])
def test_a_template_that_cannot_call_tools_is_red(odd, tmp_path, template, said):
    finding = found(asked(f"openenv+{odd}/walk", a_model(tmp_path / "model", template)))["First prompt"]
    assert finding.level == "red" and said in finding.seen and finding.remedy


def test_a_tokenizer_that_is_not_there_leaves_an_estimate_and_a_sentence(odd, tmp_path):
    looked = found(asked(f"openenv+{odd}/walk", tmp_path))
    assert looked["First prompt"].level == "amber" and "can't be loaded" in looked["First prompt"].seen
    assert "4 characters a token" in looked["Token budget"].seen and looked["Token budget"].detail["estimated"]


@pytest.mark.parametrize("train, thinking, level, said", [
    ({"max_completion_tokens": 4000}, False, "green", "left for words"),
    ({"max_completion_tokens": 64}, False, "red", "most episodes would be cut"),
    ({"max_completion_tokens": 4000}, True, "green", ""), ({"max_completion_tokens": 1500}, True, "amber", "to think"),
    ({"max_completion_tokens": 100_000}, False, "red", "beyond the model's 40,960")])
def test_an_episode_has_to_fit_the_token_budget(odd, qwen, train, thinking, level, said):
    finding = found(asked(f"openenv+{odd}/walk", qwen, train=train, generation={"thinking": thinking}))["Token budget"]
    assert (finding.level, said in finding.seen) == (level, True), finding
    assert not finding.detail["estimated"] and bool(finding.remedy) == (level != "green")


# ------------------------------------------------------------------------------------- on the command line, as a child


@pytest.fixture
def command(tmp_path, capsys):
    def run(spec: RunSpec | str, *words: str):
        path = tmp_path / "spec.yaml"
        path.write_text(spec if isinstance(spec, str) else to_yaml(spec))
        ended = main(["check", str(path), "--runs", str(tmp_path / "runs"), *words])
        return ended, capsys.readouterr()

    return run


def test_the_command_prints_a_table_and_ends_with_0(command, qwen):
    ended, said = command(asked("catch", qwen, train={"max_completion_tokens": 4000}))
    assert ended == 0 and said.out.count("green") == 14 and "Everything is well" in said.out
    assert "starting it" in said.err


def test_the_command_ends_with_1_when_anything_would_fail(command, odd, qwen):
    ended, said = command(asked(f"openenv+{odd}/small", qwen))
    assert ended == 1 and "→ Give the environment 8 sessions" in said.out
    ended, said = command(asked("catch", resources={"gpus": 64}))
    assert ended == 1 and "resources.gpus" in said.out


@pytest.mark.parametrize("spec", ["model: x\n", "environments: []\n", to_yaml(asked("catchh"))])
def test_the_command_ends_with_2_for_what_is_no_spec(command, spec):
    ended, said = command(spec)
    assert ended == 2 and said.out == "" and said.err.count("\n") == 1


def test_as_json_it_is_one_object_whose_findings_are_lines(command):
    ended, said = command(asked("catch"), "--json")
    whole = json.loads(said.out)
    assert whole["ok"] == (ended == 0) and whole["verdict"]
    assert {"check", "level", "seen", "remedy", "environment", "detail"} == set(whole["checks"][0])
    lines = [json.loads(line.lstrip(",")) for line in said.out.splitlines()[1:-1]]
    assert lines == whole["checks"]


def test_a_child_hands_on_findings_as_they_come_and_knows_its_end():
    child = Child(to_yaml(asked("catch", "no-such-model")))
    assert child.ended.wait(60) and not child.problem
    names = [finding["check"] for finding in child.findings]
    assert names[:2] == ["Settings", "Start"] and names[-1] == "First prompt" and child.findings[0]["level"] == "red"


def test_a_child_that_is_stopped_leaves_no_server_behind():
    child = Child(to_yaml(asked("catch", "no-such-model", train={"episodes_per_step": 512})))
    wait_until(lambda: any(finding["check"] == "Start" for finding in child.findings) and served_for(child.pid))
    child.stop()
    assert child.ended.wait(20) and child.problem
    wait_until(lambda: not served_for(child.pid))


def served_for(pid: int) -> list[str]:
    """Environment servers that a process started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = path.read_bytes().split(b"\0")
            if b"--with-parent" in words and words[words.index(b"--with-parent") + 1] == str(pid).encode():
                found.append(path.parent.name)
    return found


def wait_until(is_so, seconds: float = 30):
    tick, until = threading.Event(), time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < until, f"not so after {seconds} s"
        tick.wait(0.05)


def test_a_child_with_a_bad_spec_says_why():
    child = Child("nonsense: 1\n")
    assert child.ended.wait(30) and "no such field" in child.problem and not child.findings


# ------------------------------------------------------------------------------------------------------ small parts


@pytest.mark.parametrize("name", sorted(mcp_cases()))
def test_a_random_player_draws_arguments_that_fit_the_schema(name):
    schema = mcp_cases()[name].get("inputSchema") or {}
    judge = Draft202012Validator(schema)
    fitting = [judge.is_valid(sampling.arguments(schema, random.Random(seed))) for seed in range(50)]
    assert sum(fitting) > 25, [str(e.message)[:100] for e in judge.iter_errors(
        sampling.arguments(schema, random.Random(fitting.index(False))))]


def test_the_verdict_counts_what_would_fail():
    from backend.preflight import Finding

    green, amber, red = (Finding("x", level, "") for level in ("green", "amber", "red"))
    assert verdict([green]).startswith("Everything is well")
    assert "1 thing to look at" in verdict([green, amber]) and "2 things would fail" in verdict([red, amber, red])
