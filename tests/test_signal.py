"""What the rewards say about whether anything can be learned: from real records, written and read as a trainer's are.

Each alarm is made from episodes that should raise it and from episodes that should not, and has to lead to its episodes.
"""

import contextlib
import sqlite3
import time

import pytest

from backend import signal
from backend.records import Episode, Fault, RunSpec, Turn
from backend.signal import LIMITS, WINDOW, Evidence, Raised, alarms, health
from backend.signal.alarms import ALARMS
from backend.store import Store, sums
from backend.store.counting import cause, one_task
from backend.trainer.lookout import Lookout

TERMS = [{"name": "win", "value": "1.0 if won else 0.0"}, {"name": "style", "value": "nearness", "weight": 0.5}]
ENVIRONMENTS = [{"id": "catch", "use": "catch", "max_turns": 12}]
SIZE = 4


def spec(**changes):
    return RunSpec.model_validate({"name": "told", "model": "starter:catch", "environments": ENVIRONMENTS, "rewards": TERMS,
                                   "train": {"group_size": SIZE, "episodes_per_step": 8 * SIZE,
                                             "max_completion_tokens": 512}, **changes})


def turn(index, call="", **changes):
    """A call that is answered and has an effect."""
    return Turn(**{"index": index, "tool": "move", "arguments": {"to": call or str(index)}, "result": f"now at {index}",
                   "facts": {"at": index, "turns": index + 1}, **changes})


def moves(sample, n=3, **changes):
    return tuple(turn(k, f"{sample}.{k}", **changes) for k in range(n))


def episode(step, group, sample, status="won", total=..., **changes):
    gone = status.startswith("env")
    if total is ...:
        total = None if gone else float(status == "won")
    made = {"id": f"{step}-{group}-{sample}", "step": step, "group": group, "sample": sample, "environment": "catch",
            "fingerprint": f"task {step}.{group}", "status": status, "total": total, "scores": {"win": total},
            "facts": {"won": status == "won", "truncated": status == "truncated"}, "tokens": 50, "seconds": 1.0,
            "turns": moves(sample), "fault": Fault(where="environment", kind="EnvironmentFailed", message="full")
            if gone else None}
    return Episode(**{**made, **changes})


def played(step, *groups, **changes):
    """The episodes of a step. A group is written as a letter for each episode: won, lost, invalid, truncated, out of
    turns, finished, environment failed."""
    names = {"w": "won", "l": "lost", "i": "invalid", "t": "truncated", "o": "out_of_turns", "f": "finished",
             "e": "env_error"}
    return [episode(step, g, s, names[letter], **changes) for g, letters in enumerate(groups)
            for s, letter in enumerate(letters)]


@pytest.fixture
def recorded(tmp_path):
    """Writes steps, each a list of episodes, and gives the run."""
    def record(*steps, **changes):
        run = Store(tmp_path / "runs").create(spec(**changes))
        writer = run.writer()
        for episodes in steps:
            writer.record(episodes)
        writer.close()
        return run

    return record


def evidence(run):
    allowed = {one.id: one.max_turns for one in run.spec.environments if one.max_turns}
    return Evidence.of(run.spec, allowed, **sums.recent(run.path, WINDOW, run.spec.train.message_cap))


def raised(run):
    return {alarm.kind: alarm for alarm in alarms(evidence(run))}


def led_to(run, alarm):
    """The episodes an alarm's address lists."""
    filters = {name: int(value) if name in ("step", "group") else value for name, value in alarm.look.items()}
    return run.episodes(limit=None, **filters)


def facts(run):
    return {fact.label: fact for fact in health(evidence(run)).facts}


def older(run):
    """As if it had been recorded before steps were counted."""
    with contextlib.closing(sqlite3.connect(run.path / "run.db", isolation_level=None)) as file:
        file.execute("DROP TABLE tallies")
        for column in ("clipped", "tool_calls", "unparsed_calls", "repeated_calls", "failed_calls", "moves", "group_signal"):
            file.execute(f"ALTER TABLE episodes DROP COLUMN {column}")
    return run


# -------------------------------------------------------------------------------------------------------------- groups


@pytest.mark.parametrize(("statuses", "totals", "told"), [
    ("won lost", [1, 0], "signal"), ("won won", [1, 1.2], "signal"), ("won won", [1.5, 1.5], "all won"),
    ("lost lost", [0.1 + 0.2, 0.3], "all lost"), ("lost out_of_turns", [0, 0], "all lost"),
    ("invalid invalid", [0, 0], "all invalid"), ("truncated truncated", [0, 0], "all truncated"),
    ("invalid truncated", [0, 0], "all lost"), ("won lost", [1, 1], "same total"),
    ("finished finished", [0, 0], "same total"), ("won", [1], "unscored"), ("", [], "unscored")])
def test_a_group_teaches_only_where_its_totals_differ(statuses, totals, told):
    assert cause(statuses.split(), totals) == told and told in signal.CAUSES


@pytest.mark.parametrize(("fingerprints", "told"), [
    (["a", "a"], True), (["a", "b"], False), ([None, None], None), (["a", None], None), (["~a", "~a"], None),
    (["~a", "~b"], False), ([], None)])
def test_one_task_is_proven_by_fingerprints_and_by_nothing_less(fingerprints, told):
    assert one_task(fingerprints) is told


def test_a_run_without_episodes_has_no_health_rather_than_a_bad_one(recorded):
    told = health(evidence(recorded()))
    assert told.facts == () and told.notes == ()


def test_a_healthy_run_raises_nothing(recorded):
    steps = [played(step, *["wwll"] * 8) for step in range(1, 5)]
    assert raised(recorded(*steps)) == {}


def test_groups_that_lost_every_episode_are_told_with_a_lever_and_a_way_to_see_them(recorded):
    run = recorded(played(1, *["llll"] * 6, *["wlll"] * 2))
    alarm = raised(run)["lost_groups"]
    assert alarm.text == "6 of 8 groups lost every episode: nothing to learn there." and alarm.level == "warn"
    assert alarm.remedy == "Add partial credit, take easier tasks, or start from a warm-up."
    assert {row.group for row in led_to(run, alarm)} == set(range(6)) and len(led_to(run, alarm)) == 24


def test_where_every_group_lost_it_is_worse_and_with_partial_credit_it_is_not_said(recorded):
    assert raised(recorded(played(1, *["llll"] * 8)))["lost_groups"].level == "bad"
    differing = [one.model_copy(update={"total": 0.1 * one.sample}) for one in played(1, *["llll"] * 8)]
    assert "lost_groups" not in raised(recorded(differing))


def test_a_few_lost_groups_or_few_groups_at_all_are_not_told(recorded):
    assert "lost_groups" not in raised(recorded(played(1, "llll", *["wwll"] * 7)))
    assert "lost_groups" not in raised(recorded(played(1, "llll", "wwll")))


@pytest.mark.parametrize(("letters", "kind", "said"), [
    ("iiii", "invalid_groups", "ended every episode on something the environment couldn't take"),
    ("tttt", "truncated_groups", "had every episode cut by the token budget"),
    ("ffff", "same_total_groups", "gave every episode the same total")])
def test_each_cause_of_no_signal_has_its_own_sentence(recorded, letters, kind, said):
    run = recorded(played(1, *[letters] * 3, *["wwll"] * 5))
    alarm = raised(run)[kind]
    assert alarm.text == f"3 of 8 groups {said}."
    assert {row.group for row in led_to(run, alarm)} == {0, 1, 2}
    assert kind not in raised(recorded(played(1, letters[:2] + "wl", *["wwll"] * 7)))


def test_a_solved_run_is_good_news_although_nothing_is_left_to_learn(recorded):
    run = recorded(played(1, *["wwww"] * 8))
    [note] = health(evidence(run)).notes
    assert note.kind == "solved" and note.level == "good"
    assert facts(run)["groups with signal"].value == "0 of 8" and facts(run)["groups with signal"].level == "good"
    assert "solved" not in raised(recorded(played(1, *["wwww"] * 3, *["wwll"] * 5)))


def test_groups_in_which_nothing_is_tried_any_more_are_told_but_not_those_that_solved_it(recorded):
    same = [one.model_copy(update={"turns": moves(0)}) for one in played(1, *["llll"] * 4, *["wwll"] * 4)]
    run = recorded(same)
    alarm = raised(run)["alike_groups"]
    assert alarm.text == "4 of 8 groups made the very same calls in every episode." and "temperature" in alarm.remedy
    assert {row.group for row in led_to(run, alarm)} == {0}
    assert "alike_groups" not in raised(recorded(played(1, *["llll"] * 4, *["wwll"] * 4)))
    solved = [one.model_copy(update={"turns": moves(0)}) for one in played(1, *["wwww"] * 8)]
    assert "alike_groups" not in raised(recorded(solved))


def test_a_small_effective_batch_is_told_where_no_single_cause_explains_it(recorded):
    run = recorded(played(1, "wwll", *["wwww"] * 5, *["llll"] * 3, *["ffff"] * 3, "wwww"))
    alarm = raised(run)["small_batch"]
    assert alarm.text == "1 of 13 groups teach, so a step learns from 4 of its 52 episodes."
    assert {row.group for row in led_to(run, alarm)} == set(range(1, 13))
    assert "small_batch" not in raised(recorded(played(1, *["wwll"] * 4, *["wwww"] * 4)))
    assert "small_batch" not in raised(recorded(played(1, *["llll"] * 8))), "the lost groups say it"


def test_the_effective_batch_counts_scored_episodes_of_groups_with_signal(recorded):
    told = facts(recorded(played(1, "wlle", "wwll", "llll")))["groups with signal"]
    assert told.value == "2 of 3" and told.change == "7 of 12 episodes a step"


def test_the_first_group_that_mixed_tasks_raises_an_alarm_and_leads_to_itself(recorded):
    mixed = [one.model_copy(update={"fingerprint": f"task {one.sample}"}) if one.group == 1 else one
             for one in played(2, "wwll", "wwll")]
    run = recorded(played(1, "wwll", "wwll"), mixed)
    alarm = raised(run)["mixed_groups"]
    assert alarm.level == "bad" and "honours the seed" in alarm.remedy and "1 of 2 groups" in alarm.text
    assert {(row.step, row.group) for row in led_to(run, alarm)} == {(2, 1)}
    assert facts(run)["one task per group"].level == "bad"
    assert "mixed_groups" not in raised(recorded(played(1, "wwll")))


@pytest.mark.parametrize("weak", [None, "~what is shown first"])
def test_what_cannot_be_told_of_a_task_is_neither_pure_nor_an_alarm(recorded, weak):
    run = recorded([one.model_copy(update={"fingerprint": weak}) for one in played(1, *["wwll"] * 8)])
    assert raised(run) == {} and facts(run)["one task per group"].value == "can't be told"
    half = recorded([one if one.group else one.model_copy(update={"fingerprint": weak}) for one in played(1, *["wwll"] * 8)])
    assert facts(half)["one task per group"].value == "7 of 8"
    assert facts(recorded(played(1, "wwll")))["one task per group"].value == "yes"


def test_an_episode_that_never_began_does_not_spoil_its_groups_purity(recorded):
    run = recorded([one.model_copy(update={"fingerprint": None}) if one.status == "env_error" else one
                    for one in played(1, *["wlle"] * 8)])
    assert facts(run)["one task per group"].value == "yes"


# ------------------------------------------------------------------------------------------------------------- conduct


def test_the_environments_faults_are_not_the_policys_and_say_what_they_cost(recorded):
    run = recorded(played(1, "eeee", *["wwll"] * 7))
    alarm = raised(run)["unscored_env_error"]
    assert alarm.text == ("4 episodes not scored: the environment failed (EnvironmentFailed: full), so 1 of 8 groups had "
                          "nothing to compare.")
    assert alarm.level == "bad" and alarm.remedy.startswith("Nothing the policy did")
    assert [row.status for row in led_to(run, alarm)] == ["env_error"] * 4
    few = raised(recorded(played(1, "wwle", *["wwll"] * 7)))["unscored_env_error"]
    assert few.level == "warn" and few.text.startswith("1 episode not scored")


def test_episodes_that_no_term_applied_to_are_told_apart_from_faults(recorded):
    run = recorded(played(1, "eeww", *["wwll"] * 6) + [
        episode(1, 7, s, "finished", total=None, scores={"win": None}) for s in range(4)])
    alarm = raised(run)["no_term"]
    assert "4 episodes of 32 not scored: no reward term gave them a value" in alarm.text
    assert {row.group for row in led_to(run, alarm)} == {7} and len(led_to(run, alarm)) == 4
    assert "no_term" not in raised(recorded(played(1, *["eeww"] * 8)))


def test_episodes_cut_by_the_token_budget_are_told_with_the_budget(recorded):
    run = recorded(played(1, *["twll"] * 8))
    alarm = raised(run)["truncated"]
    assert alarm.text == "25 % of the episodes were cut by the token budget of 512 tokens."
    assert {row.status for row in led_to(run, alarm)} == {"truncated"}
    assert "truncated" not in raised(recorded(played(1, "twll", *["wwll"] * 7)))


def test_an_episode_can_be_cut_and_yet_be_won(recorded):
    cut = [one.model_copy(update={"facts": {"won": True, "truncated": True}}) if one.status == "won" else one
           for one in played(1, *["wlll"] * 8)]
    run = recorded(cut)
    assert {row.status for row in led_to(run, raised(run)["truncated"])} == {"won"}


@pytest.mark.parametrize("tallied", [True, False])
def test_a_cap_on_one_message_is_named_for_what_it_cut_and_the_budget_for_the_rest(recorded, tallied):
    def told(one, tokens):
        last = one.turns[-1].model_copy(update={"tokens": tokens})
        return one.model_copy(update={"status": "truncated", "turns": (*one.turns[:-1], last),
                                      "facts": {"won": False, "truncated": True}})

    capped = {"train": {"group_size": SIZE, "episodes_per_step": 8 * SIZE, "max_completion_tokens": 512,
                        "extra": {"generation_kwargs": {"max_new_tokens": 16}}}}
    steps = [told(one, 16) if one.sample == 3 else told(one, 5) if one.sample == 2 and one.group < 4 else one
             for one in played(1, *["wwll"] * 8)]
    run = recorded(steps, **capped)
    if not tallied:
        older(run)
    by_cap, by_budget = raised(run)["capped"], raised(run)["truncated"]
    assert by_cap.text.startswith("25 % of the episodes ended on a message that was cut at 16 tokens")
    assert "max_new_tokens" in by_cap.remedy and {row.sample for row in led_to(run, by_cap)} == {3}
    assert by_budget.text == "12 % of the episodes were cut by the token budget of 512 tokens."
    assert {(row.sample, row.status) for row in led_to(run, by_budget)} == {(2, "truncated")}
    only = raised(recorded([told(one, 16) if one.sample == 3 else one for one in played(1, *["wwll"] * 8)], **capped))
    assert "capped" in only and "truncated" not in only
    assert "capped" not in raised(recorded(steps)), "without such a cap"


def test_episodes_that_use_all_their_turns_are_told_with_their_number(recorded):
    run = recorded(played(1, *["owll"] * 8))
    alarm = raised(run)["out_of_turns"]
    assert alarm.text == "25 % of the episodes used all 12 turns without coming to an end."
    assert len(led_to(run, alarm)) == 8
    assert "out_of_turns" not in raised(recorded(played(1, *["owll"] * 4, *["wwll"] * 4)))
    assert facts(run)["turns used"].value == "3.0 of 12"


def test_a_call_after_the_end_uses_no_turn(recorded):
    late = turn(3, fault=Fault(where="model", kind="after_the_end", message="no"), result=None)
    run = recorded([one.model_copy(update={"turns": (*one.turns, late)}) for one in played(1, *["wwll"] * 8)])
    assert facts(run)["turns used"].value == "3.0 of 12"


@pytest.mark.parametrize("tallied", [True, False])
def test_a_call_after_the_end_is_told_by_itself_and_is_no_failed_call(recorded, tallied):
    late, bad = (turn(index, fault=Fault(where="model", kind=kind, message="no"), result=None)
                 for index, kind in ((3, "after_the_end"), (4, "unknown_tool")))
    run = recorded([one.model_copy(update={"turns": (*one.turns, late, bad)}) for one in played(1, *["wwll"] * 8)])
    if not tallied:
        with contextlib.closing(sqlite3.connect(run.path / "run.db")) as file, file:
            file.execute("DELETE FROM tallies")
    told = sums.steps(run.path)
    assert (told["tool_calls"], told["failures"], told["late_calls"]) == ([160], [32], [32])
    assert raised(run)["late_calls"].text == "20 % of the tool calls came after the end of their episode, and weren't played."
    assert raised(run)["failed_calls"].text == "20 % of the tool calls failed: 32 for a tool that doesn't exist."
    assert len(led_to(run, raised(run)["late_calls"])) == 32


def test_turns_used_are_not_compared_where_the_allowed_number_is_not_known(recorded):
    run = recorded(played(1, *["wwll"] * 8), environments=[{"id": "catch", "use": "openenv+http://127.0.0.1:1"}])
    assert "turns used" not in facts(run)


def test_episodes_that_end_on_what_the_environment_cannot_take_are_told(recorded):
    run = recorded(played(1, *["iwll"] * 8))
    alarm = raised(run)["invalid"]
    assert {row.status for row in led_to(run, alarm)} == {"invalid"}
    assert "invalid" not in raised(recorded(played(1, "iwll", *["wwll"] * 7)))


def test_episodes_without_any_call_are_told_and_a_call_that_could_not_be_read_is_not_silence(recorded):
    words = (Turn(index=0, said="I would rather not."),)
    broken = (Turn(index=0, said='{"name": ', fault=Fault(where="model", kind="unparsed_call", message="no")),)
    run = recorded([one.model_copy(update={"turns": words}) if one.sample == 3 else one
                    for one in played(1, *["wwll"] * 8)])
    alarm = raised(run)["silent_episodes"]
    assert alarm.text == "25 % of the episodes made no tool call at all."
    assert {row.sample for row in led_to(run, alarm)} == {3}
    assert "silent_episodes" not in raised(recorded([one.model_copy(update={"turns": broken}) if one.sample == 3 else one
                                                     for one in played(1, *["wwll"] * 8)]))


def test_calls_that_could_not_be_parsed_are_counted_although_they_are_no_calls(recorded):
    fault = Fault(where="model", kind="unparsed_call", message="This looks like a call.")
    def broken(one):
        return one.model_copy(update={"turns": (*one.turns, Turn(index=3, said="<tool_call", fault=fault))})

    run = recorded([broken(one) if one.sample < 1 else one for one in played(1, *["wwll"] * 8)])
    alarm = raised(run)["unparsed_calls"]
    assert alarm.text.startswith("8 % of the tool calls couldn't be parsed") and len(led_to(run, alarm)) == 8
    assert "failed_calls" not in raised(run)
    rare = recorded([broken(one) if (one.group, one.sample) == (0, 0) else one for one in played(1, *["wwll"] * 8)])
    assert "unparsed_calls" not in raised(rare)


@pytest.mark.parametrize(("kind", "said", "remedy"), [
    ("unknown_tool", "for a tool that doesn't exist", "Name the tools"), ("wrong_arguments", "with wrong arguments", "Describe"),
    ("ToolError", "as ToolError", "what the environment answered")])
def test_failed_calls_are_told_by_kind_with_a_lever_for_the_most_frequent(recorded, kind, said, remedy):
    def failing(one, n):
        refused = tuple(turn(3 + k, fault=Fault(where="model", kind=kind, message="no"), result=None) for k in range(n))
        return one.model_copy(update={"turns": one.turns + refused})

    run = recorded([failing(one, 2) if one.sample == 0 else one for one in played(1, *["wwll"] * 8)])
    alarm = raised(run)["failed_calls"]
    assert alarm.text == f"14 % of the tool calls failed: 16 {said}." and remedy in alarm.remedy
    assert {row.sample for row in led_to(run, alarm)} == {0} and len(led_to(run, alarm)) == 8
    few = recorded([failing(one, 2) if (one.group, one.sample) == (0, 0) else one for one in played(1, *["wwll"] * 8)])
    assert "failed_calls" not in raised(few)


def test_calls_after_the_last_turn_and_faults_of_the_environment_are_no_failures(recorded):
    unplayed = turn(3, fault=Fault(where="model", kind="no_turns_left", message="no"), result=None)
    lost = turn(3, fault=Fault(where="environment", kind="SessionLost", message="gone"), result=None)
    run = recorded([one.model_copy(update={"turns": (*one.turns, lost if one.status == "env_error" else unplayed)})
                    for one in played(1, *["wwle"] * 8)])
    assert "failed_calls" not in raised(run)


def test_a_kind_of_failure_with_an_odd_name_is_text_and_still_leads_to_its_episodes(recorded):
    odd = turn(3, fault=Fault(where="environment", kind="it's \" <b>odd</b>", message="no"))
    run = recorded([one.model_copy(update={"turns": (*one.turns, odd)}) if one.sample < 2 else one
                    for one in played(1, *["wwll"] * 8)])
    assert {row.sample for row in led_to(run, raised(run)["failed_calls"])} == {0, 1}


def test_calls_that_repeat_an_earlier_one_to_no_effect_are_told(recorded):
    again = {"arguments": {"to": "left"}, "facts": {"at": 0, "turns": 1, "invalid_moves": 1}}
    stuck = (turn(0, **again), turn(1, **{**again, "result": "again?"}), turn(2, **{**again, "result": "now at 0"}))
    run = recorded([one.model_copy(update={"turns": stuck}) if one.sample < 2 else one
                    for one in played(1, *["wwll"] * 8)])
    alarm = raised(run)["repeated_calls"]
    assert alarm.text.startswith("33 % of the tool calls repeated an earlier one")
    assert {row.sample for row in led_to(run, alarm)} == {0, 1}


def test_the_same_move_with_an_effect_is_no_repetition(recorded):
    left = tuple(turn(k, "left") for k in range(5))
    run = recorded([one.model_copy(update={"turns": left}) for one in played(1, *["wwll"] * 8)])
    assert "repeated_calls" not in raised(run)


def test_an_answer_that_is_the_same_again_is_a_repetition_where_there_are_no_facts(recorded):
    same = tuple(turn(k, "left", result="a wall", facts={}) for k in range(3))
    other = tuple(turn(k, "left", result=f"step {k}", facts={}) for k in range(3))
    assert "repeated_calls" in raised(recorded([one.model_copy(update={"turns": same})
                                                for one in played(1, *["wwll"] * 8)]))
    assert "repeated_calls" not in raised(recorded([one.model_copy(update={"turns": other})
                                                    for one in played(1, *["wwll"] * 8)]))


def long(steps, tokens, *groups):
    return [played(step, *groups, tokens=tokens) for step in steps]


def test_episodes_that_grow_longer_are_told_against_the_runs_first_steps(recorded):
    run = recorded(*long(range(1, 11), 50, *["wwll"] * 8), *long(range(11, 31), 90, *["wwll"] * 8))
    alarm = raised(run)["longer"]
    assert alarm.text == ("An episode now takes 90 tokens, 1.8 times those of the run's first 10 steps, and earns no more.")
    assert alarm.level == "warn" and led_to(run, alarm)[0].tokens == 90
    rising = recorded(*long(range(1, 11), 50, *["wlll"] * 8), *long(range(11, 31), 90, *["wwwl"] * 8))
    assert raised(rising)["longer"].level == "plain"
    steady = recorded(*long(range(1, 11), 50, *["wwll"] * 8), *long(range(11, 31), 60, *["wwll"] * 8))
    assert "longer" not in raised(steady)


def test_episodes_that_shrink_are_told_only_where_they_do_not_earn_more(recorded):
    run = recorded(*long(range(1, 11), 50, *["wwll"] * 8), *long(range(11, 31), 20, *["wwll"] * 8))
    assert raised(run)["shorter"].text.startswith("An episode now takes 20 tokens, 0.4 times")
    better = recorded(*long(range(1, 11), 50, *["wwll"] * 8), *long(range(11, 31), 20, *["wwwl"] * 8))
    assert "shorter" not in raised(better)


def test_a_run_is_not_compared_with_itself(recorded):
    assert {"longer", "shorter"}.isdisjoint(raised(recorded(*long([1], 50, *["wwll"] * 16))))


def test_lengths_of_a_policy_without_tokens_do_not_drift(recorded):
    run = recorded(*long(range(1, 11), None, *["wwll"] * 8), *long(range(11, 31), 90, *["wwll"] * 8))
    assert "longer" not in raised(run)


# --------------------------------------------------------------------------------------------------------------- terms


def worth(win, style):
    """32 groups of two with these raw scores, as functions of the sample."""
    return [episode(1, g, s, "won" if s else "lost", total=win(s, g) + 0.5 * (style(s, g) or 0),
                    scores={"win": win(s, g), "style": style(s, g)}) for g in range(40) for s in range(2)]


def test_a_term_that_drowns_the_others_is_told(recorded):
    run = recorded(worth(lambda s, g: 10.0 * s, lambda s, g: 0.3 * ((s + g) % 2)))
    alarm = raised(run)["term_dominates"]
    assert alarm.text == "The term win makes over 99 % of what sets the episodes of a group apart; style hardly counts."
    assert alarm.level == "plain" and led_to(run, alarm)[0].scores["win"] == 10.0
    assert "term_dominates" not in raised(recorded(worth(lambda s, g: 1.0 * s, lambda s, g: 1.0 * ((s + g) % 2))))


def test_a_term_that_never_differs_or_weighs_nothing_is_not_drowned(recorded):
    assert "term_dominates" not in raised(recorded(worth(lambda s, g: 1.0 * s, lambda s, g: 0.7)))
    weightless = [TERMS[0], {**TERMS[1], "weight": 0.0}]
    assert "term_dominates" not in raised(recorded(worth(lambda s, g: 10.0 * s, lambda s, g: 0.3 * ((s + g) % 2)),
                                                   rewards=weightless))


def test_terms_that_pull_apart_inside_groups_are_told_with_their_correlation(recorded):
    run = recorded(worth(lambda s, g: 1.0 * s, lambda s, g: 2.0 * (1 - s)))
    assert raised(run)["terms_apart"].text == ("The terms style and win pull apart (correlation −1.00 inside groups): what "
                                               "one gives the other takes.")


def test_terms_that_go_together_or_are_weighed_against_each_other_do_not_pull_apart(recorded):
    assert "terms_apart" not in raised(recorded(worth(lambda s, g: 1.0 * s, lambda s, g: 2.0 * s)))
    against = [TERMS[0], {**TERMS[1], "weight": -0.5}]
    opposed = worth(lambda s, g: 1.0 * s, lambda s, g: 2.0 * (1 - s))
    assert "terms_apart" not in raised(recorded(opposed, rewards=against)), "a cost that falls as wins rise"
    assert "terms_apart" in raised(recorded(worth(lambda s, g: 1.0 * s, lambda s, g: 2.0 * s), rewards=against))


def test_partial_credit_for_lost_games_corrects_and_does_not_pull_apart(recorded):
    assert "terms_apart" not in raised(recorded(worth(lambda s, g: 1.0 * s, lambda s, g: 0.3 * (1 - s))))


def test_terms_are_compared_inside_groups_and_not_between_tasks(recorded):
    easy = worth(lambda s, g: g + 0.1 * s, lambda s, g: -2.0 * g + 0.2 * s)
    assert "terms_apart" not in raised(recorded(easy))


def test_a_term_without_a_score_is_left_out_of_the_comparison(recorded):
    half = worth(lambda s, g: 1.0 * s, lambda s, g: 2.0 * (1 - s) if g < 20 else None)
    assert "terms_apart" not in raised(recorded(half)), "of 20 pairs nothing is said"


# ---------------------------------------------------------------------------------------------------------- one window


def test_only_the_last_steps_count(recorded):
    old = [[one.model_copy(update={"fingerprint": str(one.sample)}) for one in played(step, "llll", "llll")]
           for step in range(1, 11)]
    run = recorded(*old, *[played(step, "wwll", "wwll") for step in range(11, 11 + WINDOW)])
    assert raised(run) == {} and facts(run)["one task per group"].value == "yes"


def test_in_a_mix_each_environment_is_judged_by_itself_and_named(recorded):
    both = [{"id": "catch", "use": "catch"}, {"id": "echo", "use": "echo"}]
    run = recorded(played(1, *["wwll"] * 8) + [
        episode(1, 8 + g, s, "lost", environment="echo") for g in range(8) for s in range(4)], environments=both)
    alarm = raised(run)["lost_groups"]
    assert alarm.text == "In echo, 8 of 8 groups lost every episode: nothing to learn there."
    assert alarm.environment == "echo" and {row.environment for row in led_to(run, alarm)} == {"echo"}


def test_what_a_resumed_run_played_again_counts_once(recorded):
    again = [one.model_copy(update={"id": f"{one.id}-r2", "attempt": 2, "fingerprint": "another task"})
             for one in played(1, "wwww", "wwll")]
    run = recorded(played(1, "llll", "llll"), again)
    assert facts(run)["groups with signal"].value == "1 of 2" and "mixed_groups" not in raised(run)
    assert facts(run)["reward"].value == "0.75" and [point.mean for point in run.term_curves()][:1] == [0.75]


def test_an_episode_written_twice_is_counted_once(recorded):
    assert facts(recorded(played(1, "wwll"), played(1, "wwll")))["groups with signal"].change == "4 of 4 episodes a step"


def test_the_most_serious_alarm_comes_first_and_a_remedy_is_said_once(recorded):
    run = recorded(played(1, "eeww", *["tttt"] * 4, *["twll"] * 4, "wwww") + [
        episode(1, 10, s, "env_lost", fault=Fault(where="environment", kind="SessionLost", message="closed"))
        for s in range(4)])
    notes = health(evidence(run)).notes
    assert [note.level for note in notes] == sorted((note.level for note in notes), key=["bad", "warn", "plain"].index)
    remedies = [note.remedy for note in notes if note.remedy]
    assert len(remedies) == len(set(remedies)) and notes[0].level == "bad"


def test_every_alarm_can_be_said_twice_without_a_number_missing():
    assert len(ALARMS) == len(set(ALARMS)) and all(limit.why.endswith(".") for limit in LIMITS.values())


# --------------------------------------------------------------------------------------------------------------- facts


def test_wins_are_counted_among_the_scored_only(recorded):
    told = facts(recorded(played(1, "wlee", "wlee")))
    assert told["won"].value == "50 %" and told["scored"].value == "50 %" and told["scored"].level == "bad"
    assert told["reward"].value == "0.50"


def test_an_environment_without_winning_has_no_win_share(recorded):
    assert "won" not in facts(recorded(played(1, "ffff")))
    assert "won" not in facts(recorded(played(1, "eeee")))


def test_a_step_without_any_score_says_so_and_shows_no_number(recorded):
    told = facts(recorded(played(1, "eeee", "eeee")))
    assert told["reward"].value == "not scored" and told["scored"].value == "0 %"


def test_a_real_gain_is_said_in_points_and_a_wobble_is_steady(recorded):
    better = [played(step, *["wlll" if step < 11 else "wwwl"] * 8) for step in range(1, 21)]
    assert facts(recorded(*better))["won"].change == "+50 points in 10 steps"
    wobble = [played(step, *["wwll"] * 7, "wwwl" if step % 3 else "wlll") for step in range(1, 21)]
    assert facts(recorded(*wobble))["won"].change == "steady"


def test_a_short_run_compares_its_halves(recorded):
    run = recorded(*[played(step, *["wlll" if step < 3 else "wwwl"] * 8) for step in (1, 2, 3, 4)])
    assert facts(run)["won"].change.endswith("in 2 steps")
    assert facts(recorded(played(1, "wwll")))["won"].change == ""


def test_steps_that_were_not_recorded_do_not_shrink_the_window(recorded):
    run = recorded(*[played(8 * step, "wwll") for step in range(1, 21)])
    assert facts(run)["scored"].about == "All 40 episodes of the last steps."


def test_a_share_never_rounds_to_nothing_or_to_all(recorded):
    assert facts(recorded(played(1, "w" + "l" * 299)))["won"].value == "under 1 %"
    assert facts(recorded(played(1, "e" + "w" * 299)))["scored"].value == "over 99 %"


# ----------------------------------------------------------------------------------------------------- older recordings


def test_a_run_recorded_before_steps_were_counted_is_counted_when_it_is_read(recorded):
    steps = [played(step, "tttt", "wwll", "eeww", *["llll"] * 6) for step in range(1, 5)]
    run = recorded(*steps)
    told, lines = {kind: alarm.text for kind, alarm in raised(run).items()}, sums.steps(run.path)
    older(run)
    assert {kind: alarm.text for kind, alarm in raised(run).items()} == told and "lost_groups" in told
    unknown = {"clipped", "tool_calls", "failures", "late_calls", "unparsed_calls", "repeated_calls"}
    now = sums.steps(run.path)
    assert {name: column for name, column in now.items() if name not in unknown} == {
        name: column for name, column in lines.items() if name not in unknown}
    assert all(set(now[name]) == {None} for name in unknown), "what wasn't kept is unknown, not 0"


def test_a_run_that_goes_on_after_steps_are_counted_is_counted_whole(recorded):
    run = older(recorded(*[played(step, "wwll") for step in range(1, 4)]))
    writer = run.writer()
    writer.record(played(4, "wwll"))
    writer.close()
    told = sums.steps(run.path)
    assert list(told["step"]) == [1, 2, 3, 4] and list(told["won"]) == [2, 2, 2, 2]
    assert sums.groups(run.path, 2)[0]["cause"] == "signal"


# ----------------------------------------------------------------------------------------------------- alarms as events


def test_an_alarm_is_an_event_once_again_when_it_gets_worse_and_when_it_is_over(recorded):
    now = raised(recorded(played(1, *["llll"] * 6, *["wwll"] * 2)))["lost_groups"]
    worse = raised(recorded(played(1, *["llll"] * 8)))["lost_groups"]
    told = Raised()
    [first] = told.news(1, [now], time.time())
    assert first.kind == "alarm:lost_groups" and first.level == "warning" and first.step == 1
    assert first.text == ("6 of 8 groups lost every episode: nothing to learn there. Add partial credit, take easier tasks, "
                          "or start from a warm-up.")
    assert told.news(2, [now], time.time()) == []
    assert [event.level for event in told.news(3, [worse], time.time())] == ["error"]
    assert told.news(4, [now], time.time()) == []
    assert all(told.news(step, [], time.time()) == [] for step in range(5, 4 + WINDOW))
    [over] = told.news(4 + WINDOW, [], time.time())
    assert over.level == "info" and over.text.startswith("No longer so: 8 of 8 groups")
    assert len(told.news(5 + WINDOW, [now], time.time())) == 1


def test_a_trainer_raises_alarms_as_it_records_and_never_fails_over_them(tmp_path, capsys):
    run = Store(tmp_path / "runs").create(spec())
    lookout, writer = Lookout(run.path, run.spec, {"catch": 12}), run.writer()
    for step in range(1, 4):
        batch = played(step, *["llll"] * 4, *["wwll"] * 4)
        writer.record(batch)
        for event in lookout.of(batch):
            writer.event(event)
    writer.close()
    [(_, event)] = [(seq, event) for seq, event in run.events() if event.kind.startswith("alarm:")]
    assert event.kind == "alarm:lost_groups" and event.step == 1 and event.level == "warning"
    (run.path / "run.db").write_text("no database")
    assert lookout.of(batch) == [] and "couldn't be worked out" in capsys.readouterr().out
    assert lookout.of([]) == [] and lookout.of([batch[0].model_copy(update={"phase": "eval"})]) == []
