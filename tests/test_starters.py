import math
import subprocess
import sys
from collections import Counter
from pathlib import Path
from statistics import mean
from types import SimpleNamespace

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOTrainer
from trl.chat_template_utils import (
    is_chat_template_prefix_preserving,
    is_chat_template_stop_token_trained,
    parse_response,
    supports_tool_calling,
)

from backend.environments.catalog import entry
from backend.environments.players import CatchPlayer
from backend.errors import ModelError, SpecError
from backend.launcher import load_spec
from backend.records import EnvironmentSpec
from backend.store import Store
from backend.trainer.rollout import Table
from backend.trainer.starters import STARTERS, Lesson, starter
from backend.trainer.starters.__main__ import main
from backend.trainer.starters.make import games, make
from backend.trainer.starters.tokenizer import ASSISTANT, CALL, END
from backend.trainer.warm_up import demonstration, imitate, loss_on, play_games, read, warm_up

ROOT = Path(__file__).parents[1]


@pytest.fixture(params=STARTERS.values(), ids=STARTERS)
def each(request):
    return request.param


def tokenizer_of(each):
    return AutoTokenizer.from_pretrained(each.folder, padding_side="left")


def model_of(each):
    return AutoModelForCausalLM.from_pretrained(each.folder)


def tools_of(each):
    return [tool.schema() for tool in entry(each.environment).description.tools]


def played_conversations(each, count=6, wrong=0.5):
    return [demonstration(play, each.asked) for play in games(each, Lesson(count, wrong, 1, 1e-3), seed=11)]


# ------------------------------------------------------------------------------------------------- as TRL needs them


def test_a_starter_loads_as_any_model_does_and_is_small(each):
    model = model_of(each)
    assert model.dtype == torch.float32 and model.config.model_type == "qwen3"
    assert (each.folder / "model.safetensors").stat().st_size < 3_000_000
    assert sum(file.stat().st_size for file in each.folder.iterdir()) < 3_200_000


def test_its_chat_template_does_all_that_training_with_tools_asks_for(each):
    tokenizer = tokenizer_of(each)
    assert supports_tool_calling(tokenizer)
    assert is_chat_template_prefix_preserving(tokenizer)
    assert is_chat_template_stop_token_trained(tokenizer)


def test_every_turn_tokenises_alone_as_it_does_in_context(each):
    tokenizer, tools = tokenizer_of(each), tools_of(each)
    trainer = SimpleNamespace(processing_class=tokenizer, _tokenizer=tokenizer, _is_vlm=False, chat_template=None,
                              chat_template_kwargs={"enable_thinking": False})
    for messages in played_conversations(each):
        ids = tokenizer.apply_chat_template(messages[:1], tools=tools, add_generation_prompt=True, return_dict=False)
        for place in range(1, len(messages) - 1, 2):
            said = tokenizer.apply_chat_template(messages[:place + 1], tools=tools, return_dict=False)
            assert said[:len(ids)] == ids
            ids = said + GRPOTrainer._get_tool_suffix_ids(trainer, [messages[place + 1]])
        assert ids == tokenizer.apply_chat_template(messages[:-1], tools=tools, add_generation_prompt=True,
                                                    return_dict=False)


def test_every_call_of_a_game_is_read_back_as_it_was_made(each):
    tokenizer, tools = tokenizer_of(each), tools_of(each)
    for messages in played_conversations(each):
        for place in range(1, len(messages), 2):
            before = tokenizer.apply_chat_template(messages[:place], tools=tools, add_generation_prompt=True,
                                                   return_dict=False)
            said = tokenizer.apply_chat_template(messages[:place + 1], tools=tools, return_dict=False)[len(before):]
            heard = parse_response(tokenizer, said, prefix=before, tools=tools)
            assert heard["content"] == ""
            assert heard.get("tool_calls") == messages[place].get("tool_calls")


@pytest.mark.parametrize("said, calls", [
    (f'{CALL}stay{{}}{CALL}move{{"direction": "left"}}{END}', [("stay", {}), ("move", {"direction": "left"})]),
    (f"{CALL}stay{{}}", [("stay", {})]),
    (f'{CALL}move{{"direction": "left{END}', []),
    (f"{CALL}stay{END}", []),
    (f"{CALL}{END}", []),
    (END, []),
    (f"nothing to do{END}", []),
])
def test_what_is_no_call_is_words_and_never_an_error(said, calls):
    tokenizer = tokenizer_of(STARTERS["catch"])
    heard = parse_response(tokenizer, tokenizer(said).input_ids, prefix=tokenizer(ASSISTANT).input_ids)
    assert [(call["function"]["name"], call["function"]["arguments"]) for call in heard.get("tool_calls", [])] == calls


@pytest.mark.parametrize("text", ["Guten Tag, ☃ und \x00!", 'x{"a": [1, "}"]}\n\n  y', "[crane] [] MOVE left\"}", ""])
def test_no_text_is_lost_in_the_tokenizer(each, text):
    tokenizer = tokenizer_of(each)
    assert tokenizer.decode(tokenizer(text).input_ids) == text


def test_observations_and_calls_are_short(each):
    tokenizer, longest = tokenizer_of(each), {"catch": (8, 4), "wordle": (36, 9)}[each.name]
    for messages in played_conversations(each):
        for message in messages[1:-1]:
            ids = tokenizer.apply_chat_template([message], return_dict=False)
            assert len(ids) <= longest[message["role"] == "assistant"] + 1, tokenizer.convert_ids_to_tokens(ids)


def test_a_guess_is_written_letter_by_letter():
    tokenizer = tokenizer_of(STARTERS["wordle"])
    assert tokenizer.tokenize('guess{"guess": "[crane]"}')[1:-1] == list("crane")


# ------------------------------------------------------------------------------------------------ what they have learned


def chances(model, tokenizer, messages, tools, calls):
    """The model's probability of each call as its whole next message."""
    before = len(tokenizer.apply_chat_template(messages, tools=tools, add_generation_prompt=True, return_dict=False))
    result = []
    for name, arguments in calls:
        said = {"role": "assistant", "content": "", "tool_calls": [
            {"type": "function", "function": {"name": name, "arguments": arguments}}]}
        ids = tokenizer.apply_chat_template([*messages, said], tools=tools, return_dict=False)
        with torch.no_grad():
            logs = model(torch.tensor([ids])).logits[0].log_softmax(-1)
        result.append(math.exp(sum(logs[place - 1, ids[place]].item() for place in range(before, len(ids)))))
    return result


def test_the_catch_starter_reads_the_board():
    each = STARTERS["catch"]
    model, tokenizer, tools = model_of(each), tokenizer_of(each), tools_of(each)
    calls = [("move", {"direction": "left"}), ("stay", {}), ("move", {"direction": "right"})]
    towards, away, losses, made = [], [], [], Counter()
    for play in games(each, Lesson(12, 0.5, 1, 1e-3), seed=5):
        messages = demonstration(play, each.asked)
        for place, turn in enumerate(play.turns):
            before = play.turns[place - 1].facts if place else play.start_facts
            off = before["ball_column"] - before["paddle_column"]
            left, stay, right = chances(model, tokenizer, messages[:1 + 2 * place], tools, calls)
            assert left + stay + right > 0.9
            if off:
                towards.append(left if off < 0 else right)
                away.append(right if off < 0 else left)
            choice = calls.index((turn.tool, turn.arguments))
            losses.append(-math.log((left, stay, right)[choice]))
            made[choice] += 1
    blind = -sum(count / len(losses) * math.log(count / len(losses)) for count in made.values())
    assert sum(towards) > 1.4 * sum(away)
    assert sum(losses) / len(losses) < blind


# ----------------------------------------------------------------------------------------------------- warm-up and making


def test_imitation_learns_from_what_the_player_said_alone():
    each = STARTERS["catch"]
    tokenizer = tokenizer_of(each)
    play = play_games(EnvironmentSpec(id="catch", use="catch"), CatchPlayer, 1, seed=0)
    (sample,) = read(tokenizer, play, each.asked)
    mine = tokenizer.decode([token for token, is_mine in zip(sample.ids, sample.mine, strict=True) if is_mine])
    assert mine.count(CALL) == 9 and mine.count(END) == 10
    assert ASSISTANT not in mine and "ball" not in mine


def test_warm_up_moves_a_policy_towards_the_best_player():
    model, tokenizer = model_of(STARTERS["catch"]), tokenizer_of(STARTERS["catch"])
    spec = load_spec("name: w\nmodel: starter:catch\nenvironments: [{id: catch, use: catch}]\n"
                     "warm_up: {games: 256, epochs: 1, learning_rate: 1.0e-3}")
    (environment,), described = spec.environments, entry("catch").description
    perfect = read(tokenizer, play_games(environment, CatchPlayer, 20, seed=9), environment)
    before, said = loss_on(model, perfect, tokenizer.pad_token_id), []
    warm_up(model, tokenizer, spec, {"catch": Table(environment, described, None)}, said.append)
    assert loss_on(model, perfect, tokenizer.pad_token_id) < 0.7 * before
    assert "8 of 8 steps" in said[-1]


def test_warm_up_stops_when_asked():
    each = STARTERS["catch"]
    tokenizer = tokenizer_of(each)
    play = play_games(EnvironmentSpec(id="catch", use="catch"), CatchPlayer, 80, seed=0)
    samples = read(tokenizer, play, each.asked)
    asked = iter([False, True, True])
    assert len(imitate(model_of(each), samples, 0, epochs=1, learning_rate=1e-3, seed=0, say=print,
                       stop=lambda: next(asked))) == 1


def test_an_environment_without_a_player_can_not_be_warmed_up_on():
    spec = load_spec("name: w\nmodel: starter:catch\nenvironments: [{id: c, use: catch}]\nwarm_up: {games: 2}")
    unknown = spec.environments[0].model_copy(update={"use": "folder:somewhere"})
    with pytest.raises(SpecError, match="warm_up: no scripted player"):
        warm_up(None, None, spec, {"c": Table(unknown, entry("catch").description, None)}, print)


def test_the_same_seed_makes_the_same_starter(tmp_path, capsys):
    short = [Lesson(8, 0.5, 1, 1e-3), Lesson(8, 0.8, 1, 1e-3)]
    for name in ("one", "two"):
        make(STARTERS["catch"], tmp_path / name, short, seed=3, say=print)
    for file in ("model.safetensors", "tokenizer.json", "README.md"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_starters_are_listed_told_about_and_made_by_command(tmp_path, capsys):
    assert main(["list"]) == 0
    listed = capsys.readouterr().out
    assert all(f"starter:{name}" in listed for name in STARTERS)
    assert main(["about", "starter:catch"]) == 0
    assert "not a\nlanguage model" in capsys.readouterr().out
    assert main(["make", "catch", "--games", "8", "--epochs", "1", "--to", str(tmp_path / "made")]) == 0
    assert AutoTokenizer.from_pretrained(tmp_path / "made").eos_token == END
    assert main(["about", "cacth"]) == 1
    assert "did you mean starter:catch?" in capsys.readouterr().err


def test_an_unknown_starter_is_named():
    with pytest.raises(ModelError, match="use starter:catch or starter:wordle"):
        starter("gpt-5")


# --------------------------------------------------------------------------------------------------------- the real thing


@pytest.mark.slow
def test_a_few_steps_of_the_quickstart_make_the_catch_starter_visibly_better(tmp_path):
    asked = load_spec("quickstart")
    train = asked.train.model_copy(update={"steps": 24, "warmup_steps": 0})
    run = Store(tmp_path).create(asked.model_copy(update={"train": train}))
    ran = subprocess.run([sys.executable, "-m", "backend.trainer", str(run.path)], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    totals = [point.mean for point in run.term_curves() if point.name == "total"]
    assert len(totals) == 24
    assert mean(totals[-8:]) > mean(totals[:8]) + 0.1
