"""What comes from elsewhere: whole, as text, with every odd line named, and never more than the file says."""

import json
import os
from pathlib import Path

import pytest

from backend.cli import FORMATS as NAMED_FORMATS
from backend.cli import READERS as NAMED_READERS
from backend.cli import main
from backend.errors import OrtamError, SpecError
from backend.exchange import FORMATS, Choice, export
from backend.exchange.importing import READERS, bring
from backend.exchange.messages import conversation

PICTURE = "data:image/png;base64,aGk="

HOSTILE = [
    {"id": "script", "messages": [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": "<script>window.__pwn=1</script><img src=x onerror=\"window.__pwn=1\">"},
        {"role": "tool", "name": "t<b>", "content": "</pre></div><svg onload=window.__pwn=1>"}]},
    {"id": "terminal", "messages": [{"role": "tool", "name": "sh", "content":
                                     "\x1b[31mred\x1b[0m\r 10%|#  |\r100%|###|\n\x1b]8;;http://x\x07link\x1b]8;;\x07"}]},
    {"id": "controls", "messages": [{"role": "tool", "name": "cat", "content": "a\0b\x01\x07\x7f\u2028\u2029end"}]},
    {"id": "bidi", "messages": [{"role": "assistant", "content": "\u202egnp.exe\u202c a\u200bb\u200dc \ufeff"}]},
    {"id": "blocks", "messages": [
        {"role": "user", "content": [{"type": "text", "text": "see"}, {"type": "image", "image": "<PIL>"},
                                     {"type": "image_url", "image_url": {"url": PICTURE}}]},
        {"role": "tool", "name": "shot", "content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]}]},
    {"id": "unclosed", "messages": [{"role": "assistant", "reasoning_content": "r", "content":
                                     "<think>never closed <tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1\n"}]},
    {"id": "surrogate", "messages": [{"role": "assistant", "content": None, "tool_calls": [
        {"id": "c", "type": "function", "function": {"name": "a/../b", "arguments": "{\"x\": \"\\ud800\"}"}},
        {"id": "d", "type": "function", "function": {"name": "add", "arguments": "{\"a\": 1,"}}]},
        {"role": "tool", "tool_call_id": "d", "content": "second"},
        {"role": "tool", "tool_call_id": "c", "content": "first \ud800"}]},
    {"id": "nothing", "messages": []},
    {"id": "name: Grid Wörld #1/测试 ?&%", "messages": [{"role": "user", "content": "path/../../etc & co"}]},
]

CALLS = {"task_id": "t0", "model": "some/model", "reward": 0.5, "messages": [
    {"role": "system", "content": "You count."},
    {"role": "user", "content": "Count to two."},
    {"role": "assistant", "content": "<think>one first</think>Here.", "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "count", "arguments": "{\"n\": 1}"}},
        {"id": "b", "type": "function", "function": {"name": "count", "arguments": "{\"n\": 2}"}}]},
    {"role": "tool", "tool_call_id": "a", "content": "one"},
    {"role": "tool", "tool_call_id": "b", "content": "two"},
    {"role": "assistant", "content": "Done."},
    {"role": "user", "content": "Sure?"},
    {"role": "system", "content": "Be brief."},
    {"role": "assistant", "content": "Yes."}]}


def lines_file(path: Path, rows) -> Path:
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), encoding="utf-8")
    return path


def episodes(run):
    return [run.episode(row.id) for row in run.episodes(sort="seq", limit=None)]


def texts(episode) -> str:
    """Everything a person can read of it."""
    return json.dumps([episode.task, episode.prompt, [turn.model_dump() for turn in episode.turns]], ensure_ascii=False)


# ------------------------------------------------------------------------------------------------------------- openai


def test_hostile_conversations_come_through_whole(store, tmp_path):
    brought = bring(store, lines_file(tmp_path / "odd.jsonl", HOSTILE), "openai")
    assert brought.episodes == len(HOSTILE) and brought.skipped == []
    found = {episode.task: episode for episode in episodes(brought.run)}
    assert list(found) == [row["id"] for row in HOSTILE]
    for row in HOSTILE:
        for message in row["messages"]:
            if isinstance(message.get("content"), str):
                assert json.dumps(message["content"], ensure_ascii=False)[1:-1] in texts(found[row["id"]]), row["id"]
    assert found["blocks"].images == (PICTURE, PICTURE) and "<PIL>" in texts(found["blocks"])
    assert found["unclosed"].turns[0].thought == "r" and found["unclosed"].turns[0].said.startswith("<think>never")
    first, second = found["surrogate"].turns
    assert (first.tool, first.arguments, first.result) == ("a/../b", {"x": "\ud800"}, "first \ud800")
    assert (second.tool, second.arguments, second.result) == ("add", '{"a": 1,', "second")
    assert found["nothing"].turns == () and found["nothing"].prompt == ()
    assert {episode.status for episode in found.values()} == {"finished"}
    assert {episode.total for episode in found.values()} == {None}


def test_ids_and_names_of_a_file_name_nothing_of_ours(store, tmp_path):
    run = bring(store, lines_file(tmp_path / "..evil name;.jsonl", HOSTILE), "openai").run
    assert run.path.parent == store.folder and run.id.endswith("-imported")
    assert [episode.id for episode in episodes(run)][:2] == ["play-0-0-0", "play-0-1-0"]
    assert [path.name for path in store.folder.iterdir()] == [run.id]


def test_a_conversation_with_calls_replays_turn_by_turn(store, tmp_path):
    run = bring(store, lines_file(tmp_path / "calls.jsonl", [CALLS]), "openai").run
    episode = episodes(run)[0]
    assert [message["role"] for message in episode.prompt] == ["system", "user"]
    assert [(turn.tool, turn.arguments, turn.result) for turn in episode.turns] == [
        ("count", {"n": 1}, "one"), ("count", {"n": 2}, "two"), (None, None, "Sure?"), (None, None, "Be brief."),
        (None, None, None)]
    assert (episode.turns[0].thought, episode.turns[0].said) == ("one first", "Here.")
    assert (episode.task, episode.total, episode.policy.kind, episode.policy.name) == ("t0", 0.5, "import", "some/model")
    assert run.spec.model == "some/model" and run.status() == "finished"
    assert run.spec.environments[0].id == "imported" and run.spec.environments[0].use == "import:openai"
    assert [message["role"] for message in conversation(episode)] == [message["role"] for message in CALLS["messages"]]


def test_requests_with_responses_and_bare_lists_are_conversations_too(store, tmp_path):
    answer = {"choices": [{"message": {"content": "hi"}, "finish_reason": "length"}], "model": "m",
              "usage": {"completion_tokens": 3}}
    asked = {"messages": [{"role": "user", "content": "hello"}]}
    run = bring(store, lines_file(tmp_path / "log.jsonl", [
        {"request": asked, "response": answer}, {"custom_id": "7", "body": asked, "response": {"body": answer}},
        asked["messages"], {"prompt": "hello", "completion": "hi"}]), "openai").run
    found = episodes(run)
    assert [len(episode.turns) for episode in found] == [1, 1, 0, 1]
    assert (found[0].status, found[0].tokens, found[0].turns[0].said) == ("truncated", 3, "hi")
    assert found[1].task == "7" and len({episode.group for episode in found}) == 1


def test_numbers_no_spec_takes_and_no_curve_can_draw_do_not_end_an_import(store, tmp_path):
    rows = [CALLS | {"model": "  ", "reward": 1}, CALLS | {"reward": float("inf")}, CALLS | {"reward": float("nan")}]
    run = bring(store, lines_file(tmp_path / "odd.jsonl", rows), "openai").run
    assert [episode.total for episode in episodes(run)] == [1.0, None, None]
    far = bring(store, lines_file(tmp_path / "far.jsonl", [{"prompt": "a", "completion": "b", "step": 10**9}]), "trl").run
    assert episodes(far)[0].step == 10**9 and far.spec.train.steps == 1_000_000


def test_a_json_file_may_hold_one_list_of_conversations(store, tmp_path):
    (tmp_path / "all.json").write_text(json.dumps([CALLS, CALLS], indent=1))
    assert bring(store, tmp_path / "all.json", "openai").episodes == 2


def test_torn_and_odd_lines_are_skipped_with_their_numbers_and_reasons(store, tmp_path):
    rows = [CALLS, "", '{"messages": [{"role": "user", "con', "42", '{"other": 1}', '{"messages": ["x"]}',
            '{"messages": [{"content": "whose"}]}', '{"messages": "text"}', '{"response": {"choices": []}}',
            "[" * 100_000, CALLS]
    path = lines_file(tmp_path / "torn.jsonl", rows)
    with open(path, "ab") as file:
        file.write(b'\n{"messages": [{"role": "user", "content": "\xff"}]}')
    brought = bring(store, path, "openai")
    skipped = {skip.line: skip.reason for skip in brought.skipped}
    assert brought.episodes == 3 and sorted(skipped) == [3, 4, 5, 6, 7, 9, 10, 12]
    for line, why in ((3, "whole JSON"), (4, "neither"), (5, "no messages"), (6, "message 1 is a text"), (7, "role"),
                      (9, "no choices"), (10, "nested"), (12, "UTF-8")):
        assert why in skipped[line]
    told = [event.text for _, event in brought.run.events() if event.kind == "skipped"]
    assert len(told) == 8 and told[0].startswith("Line 3 was skipped")


def test_a_file_without_an_episode_leaves_no_run(store, tmp_path):
    with pytest.raises(OrtamError, match="no episode.*line 1"):
        bring(store, lines_file(tmp_path / "x.jsonl", ["{torn"]), "openai")
    with pytest.raises(OrtamError, match="no file"):
        bring(store, tmp_path / "gone.jsonl", "openai")
    with pytest.raises(OrtamError, match="--name"):
        bring(store, lines_file(tmp_path / "y.jsonl", [CALLS]), "openai", name="../up")
    assert list(store.folder.iterdir()) == []


# ---------------------------------------------------------------------------------------------------------- verifiers


def rollout(example=0, **more):
    return {"example_id": example, "prompt": CALLS["messages"][:2], "completion": CALLS["messages"][2:5], "reward": 1.25,
            "metrics": {"correct": 1.0, "format": None}, "correct": 1.0, "error": None, "is_truncated": False,
            "stop_condition": "max_turns", "timing": {"total_ms": 1500.0}, "token_usage": {"output_tokens": 12.0}, **more}


def test_verifiers_results_keep_rewards_metrics_and_groups(store, tmp_path):
    (tmp_path / "metadata.json").write_text('{"env_id": "gsm8k", "model": "org/m"}')
    error = {"error": "SandboxError", "error_chain_repr": "R", "error_chain_str": "no sandbox"}
    lines_file(tmp_path / "results.jsonl", [rollout(), rollout(), rollout(5, is_truncated=True),
                                            rollout(6, error=error, reward=0.0), rollout(7, error="ModelError('x')")])
    run = bring(store, tmp_path, "verifiers").run
    found = episodes(run)
    assert [(e.id, e.status, e.total) for e in found] == [
        ("eval-0-0-0", "finished", 1.25), ("eval-0-0-1", "finished", 1.25), ("eval-0-1-0", "truncated", 1.25),
        ("eval-0-2-0", "env_error", None), ("eval-0-3-0", "cancelled", None)]
    assert found[0].scores == {"correct": 1.0, "format": None} and found[3].scores == {"correct": None, "format": None}
    assert (found[0].environment, found[0].policy.name, found[0].stop, found[0].tokens, found[0].seconds) == (
        "gsm8k", "org/m", "max_turns", 12, 1.5)
    assert found[3].fault.message == "no sandbox" and found[4].fault.where == "engine"
    assert [turn.result for turn in found[0].turns] == ["one", "two"]


def test_verifiers_traces_give_an_episode_for_each_end_of_a_graph(store, tmp_path):
    def node(parent, role, content, sampled=False, **more):
        return {"parent": parent, "sampled": sampled, "message": {"role": role, "content": content, **more}}

    call = [{"id": "a", "type": "function", "name": "count", "arguments": "{\"n\": 1}"}]
    trace = {"nodes": [node(None, "user", "go"), node(0, "assistant", "x", True, tool_calls=call),
                       node(1, "tool", "one", tool_call_id="a"), node(2, "assistant", "left", True),
                       node(2, "assistant", "right", True)],
             "rewards": {"a": {"score": 0.5, "weight": 2.0}, "b": None}, "task": {"type": "T", "key": "k"},
             "calls": [{"model": "m"}], "stop_condition": "done"}
    run = bring(store, lines_file(tmp_path / "traces.jsonl", [
        {"env": {"id": "judge+gsm8k"}, "traces": [trace]}, {"traces": [{"nodes": [node(3, "user", "x")]}]}]), "verifiers").run
    left, right = episodes(run)
    assert (left.turns[-1].said, right.turns[-1].said) == ("left", "right")
    assert left.turns[0].arguments == {"n": 1} and left.turns[0].result == "one"
    assert (left.total, left.scores, run.spec.rewards[0].weight) == (1.0, {"a": 0.5, "b": None}, 2.0)
    assert (left.group, right.group, right.sample, left.environment) == (0, 0, 1, "imported")


@pytest.mark.parametrize("odd", [1.5, True, "text", {"a": 1}, [None], []])
def test_a_trace_whose_parts_have_another_kind_is_read_or_skipped(store, tmp_path, odd):
    trace = {"nodes": [{"parent": None, "message": {"role": "assistant", "content": "x"}}]}
    rows = [{"traces": [trace | {name: odd}]} for name in ("calls", "rewards", "task", "errors", "nodes", "stop_condition")]
    brought = bring(store, lines_file(tmp_path / "traces.jsonl", rows), "verifiers")
    assert brought.episodes + len(brought.skipped) == len(rows) and brought.episodes >= 5


# --------------------------------------------------------------------------------------------------- jsonl and parquet

KEPT = {"id": "a", "phase": "train", "step": 1, "group": 0, "sample": 0, "environment": "catch", "status": "won",
        "turns": [{"index": 0, "said": "x"}]}


@pytest.mark.parametrize("odd", [
    {"step": 10**30}, {"group": 10**30}, {"attempt": -2**64}, {"tokens": 10**30}, {"turns": [{"index": 2**63}]},
    {"turns": [{"index": 0, "tokens": 10**30}]}, {"turns": [{"index": 0}, {"index": 0}]}, {"turns": None},
    {"started": float("nan")}, {"seconds": float("inf")}])
def test_an_episode_no_file_can_hold_is_skipped_by_its_number_and_takes_no_other_with_it(store, tmp_path, odd):
    rows = [KEPT | {"id": "before"}, KEPT | odd, KEPT | {"id": "after"}]
    brought = bring(store, lines_file(tmp_path / "x.jsonl", rows), "jsonl")
    assert (brought.episodes, [skip.line for skip in brought.skipped]) == (2, [2])
    assert {episode.id for episode in episodes(brought.run)} == {"before", "after"}


def test_a_table_that_only_says_it_was_exported_is_skipped_row_by_row(store, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    plain = {name: [value] * 5 for name, value in KEPT.items() if name not in ("turns", "id")}
    table = pyarrow.table({**plain, "id": ["a", "a", "b", "c", "d"], "facts": ["{}", "{}", "{torn", "[" * 99_999, "{}"],
                           "turns": pyarrow.array([[], [], [], [], None], pyarrow.list_(pyarrow.string()))})
    parquet.write_table(table.replace_schema_metadata({b"ortam": b"1"}), tmp_path / "x.parquet")
    brought = bring(store, tmp_path / "x.parquet", "parquet")
    assert (brought.episodes, [skip.line for skip in brought.skipped]) == (1, [2, 3, 4, 5])


def test_rows_that_hold_nothing_are_skipped_and_what_a_killed_import_left_is_swept(store, tmp_path):
    import pyarrow
    from pyarrow import parquet

    (left := store.folder / ".arriving-x").mkdir(parents=True)
    os.utime(left, (1, 1))
    parquet.write_table(pyarrow.table({"prompt": [None, "a"], "completion": pyarrow.array([None, "b"])}), tmp_path / "x.parquet")
    brought = bring(store, tmp_path / "x.parquet", "trl")
    assert brought.episodes == 1 and [skip.reason for skip in brought.skipped] == ["it holds neither a prompt nor a completion"]
    assert not left.exists()


def test_a_map_among_the_columns_is_no_hindrance(store, tmp_path):
    import pyarrow
    from pyarrow import parquet

    more = pyarrow.array([[("a", "b")], None], pyarrow.map_(pyarrow.string(), pyarrow.string()))
    parquet.write_table(pyarrow.table({"completion": ["a", "b"], "more": more}), tmp_path / "x.parquet")
    assert bring(store, tmp_path / "x.parquet", "trl").episodes == 2


def test_a_row_with_a_date_no_calendar_has_is_skipped_alone(store, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"completion": ["a", "b"], "when": pyarrow.array([0, 10**9], pyarrow.date32())}),
                        tmp_path / "x.parquet")
    brought = bring(store, tmp_path / "x.parquet", "trl")
    assert (brought.episodes, [skip.line for skip in brought.skipped]) == (1, [2])


# ---------------------------------------------------------------------------------------------------------------- trl


def test_completions_that_grpo_logged_come_in_by_step(store, tmp_path):
    pandas = pytest.importorskip("pandas")
    (tmp_path / "completions").mkdir()
    for step in (5, 10):
        pandas.DataFrame({
            "step": [step] * 3, "prompt": [[{"role": "user", "content": "go"}]] * 2 + [[{"role": "user", "content": "no"}]],
            "completion": [[{"role": "assistant", "content": "", "tool_calls": [
                {"type": "function", "function": {"name": "move", "arguments": {"to": 1} if k else {"by": "x"}}}]},
                {"role": "tool", "name": "move", "content": "moved"}] for k in range(3)],
            "won": [1.0, 0.0, None], "near": [0.5, 0.25, None], "advantage": [1.0, -1.0, 0.0], "asked": ["x", None, None],
        }).to_parquet(tmp_path / "completions" / f"completions_{step:05d}.parquet")
    brought = bring(store, tmp_path / "completions", "trl", "from-trl")
    found = episodes(brought.run)
    assert [(e.id, e.step, e.total, e.advantage) for e in found][:3] == [
        ("5-0-0", 5, 1.5, 1.0), ("5-0-1", 5, 0.25, -1.0), ("5-1-0", 5, None, 0.0)]
    assert found[1].scores == {"won": 0.0, "near": 0.25}, "a text that is missing is no reward"
    assert found[0].turns[0].arguments == {"by": "x"} and found[1].turns[0].arguments == {"to": 1}
    assert found[0].turns[0].result == "moved" and brought.run.spec.name == "from-trl"
    assert brought.run.spec.train.steps == 10 and brought.run.spec.train.group_size == 2
    assert [point.mean for point in brought.run.term_curves(name="total")] == [0.875, 0.875]
    assert any("weights" in event.text for _, event in brought.run.events())


def test_plain_texts_are_a_prompt_and_an_answer(store, tmp_path):
    run = bring(store, lines_file(tmp_path / "x.jsonl", [{"prompt": "go", "completion": "gone"}]), "trl").run
    assert episodes(run)[0].prompt[0]["content"] == "go" and episodes(run)[0].turns[0].said == "gone"


def test_reward_terms_of_any_name_are_counted_sorted_by_and_never_taken_for_sql(store, tmp_path):
    rows = [{"prompt": "a", "completion": "b", "step": 1, "reward_it's": k, "reward_\ud800\0 x": 2.0, 'reward_"': 1.0}
            for k in range(2)]
    run = bring(store, lines_file(tmp_path / "x.jsonl", rows), "trl").run
    assert {point.name: point.mean for point in run.term_curves()} == {
        "it's": 0.5, '"': 1.0, "total": None}, "a name that isn't text has no curve"
    assert [row.scores["it's"] for row in run.episodes(sort="-it's")] == [1.0, 0.0]
    for name in ("\ud800\0 x", '"'):
        with pytest.raises(SpecError, match="can't be sorted"):
            run.episodes(sort=name)


# --------------------------------------------------------------------------------------------------------- round trip


def test_what_was_imported_leaves_and_comes_back_with_the_same_messages(store, tmp_path):
    # A think tag is moved to where reasoning is kept apart, and a pure text file has no surrogates: the rest is the same.
    first = bring(store, lines_file(tmp_path / "a.jsonl", [CALLS, *HOSTILE[:4], HOSTILE[5]]), "openai").run
    export(FORMATS["trl"], Choice(first), tmp_path / "b.trl.jsonl")
    second = bring(store, tmp_path / "b.trl.jsonl", "trl").run
    assert [conversation(e) for e in episodes(second)] == [conversation(e) for e in episodes(first)]
    assert [e.total for e in episodes(second)] == [e.total for e in episodes(first)]


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_a_whole_run_leaves_and_comes_back_the_same(store, tmp_path, format):
    first = bring(store, lines_file(tmp_path / "a.jsonl", [CALLS, *HOSTILE]), "openai").run
    export(FORMATS[format], Choice(first), tmp_path / f"b{FORMATS[format].SUFFIX}")
    second = bring(store, tmp_path / f"b{FORMATS[format].SUFFIX}", format).run
    assert episodes(second) == episodes(first)


# --------------------------------------------------------------------------------------------------- the command line


def test_the_verb_prints_the_run_and_names_skipped_lines_on_the_side(store, tmp_path, capsys):
    path = lines_file(tmp_path / "mine.jsonl", [CALLS, "{torn \x1b[31m", CALLS])
    assert main(["import", str(path), "--format", "openai", "--runs", str(store.folder)]) == 0
    said = capsys.readouterr()
    assert store.run(said.out.strip()).count_episodes() == 2
    assert said.err.startswith("line 2 was skipped: it isn't whole JSON") and "\x1b" not in said.err
    assert main(["import", str(path), "--format", "openai", "--name", "x", "--json", "--runs", str(store.folder)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["episodes"] == 2 and told["skipped"][0]["line"] == 2 and told["id"].endswith("-x")


def test_the_verb_refuses_in_a_sentence(store, tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe")
    for words, said in (((str(tmp_path / "gone"), "--format", "trl"), "no file"),
                        ((str(tmp_path / "pipe"), "--format", "trl"), "no file"),
                        ((str(tmp_path), "--format", "openai"), "can't be read"),
                        ((str(tmp_path),), "--format"),
                        ((str(tmp_path), "--format", "verifiers"), "holds neither")):
        assert main(["import", *words, "--runs", str(store.folder)]) == 2
        err = capsys.readouterr().err
        assert said in err and "Traceback" not in err


def test_the_tables_and_the_command_line_name_the_same_formats():
    from ui.share import FORMATS as DRAWN

    assert NAMED_READERS == tuple(READERS) and set(DRAWN) == set(NAMED_FORMATS) and set(FORMATS) <= set(DRAWN)
