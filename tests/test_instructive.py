"""Which episodes are worth a look: each view picks what its definition says, with the reason in words."""

import pytest

from backend.records import Episode, Fault, Turn
from backend.store import Store
from backend.store.filters import Between
from backend.store.instructive import MOST, MOST_A_STEP
from tests.recording import record, wordle_run
from ui.asked import VIEWS
from ui.replay import answer


@pytest.fixture
def run(store):
    return wordle_run(store, "first")


def episode(step: int, group: int = 0, sample: int = 0, won: bool = False, total: float | None = None, **changes) -> Episode:
    total = (1.0 if won else 0.0) if total is None else total
    given = {"id": f"{step}-{group}-{sample}", "step": step, "group": group, "sample": sample, "environment": "wordle",
             "status": "won" if won else "lost", "total": total, "scores": {"win": float(won)}, "advantage": 0.0,
             "fingerprint": f"task {step}.{group}"}
    return Episode.model_validate(given | changes)


def told(run, view: str, **filters) -> dict[str, str]:
    return {row.id: why for row, why in run.standouts(view, **filters).entries}


@pytest.mark.parametrize("view", VIEWS)
def test_an_empty_run_and_one_episode_stand_out_in_nothing(run, view):
    assert run.standouts(view).entries == ()
    record(run, episode(1))
    assert len(run.standouts(view).entries) <= 1


# ----------------------------------------------------------------------------------------------------------- advantage


def test_the_largest_advantages_of_both_signs_are_spread_over_groups_and_steps(run):
    record(run, *(episode(step, group, sample, advantage=(1 if sample % 2 else -1) * (10 - step + sample / 10))
                  for step in range(10) for group in range(5) for sample in range(6)))
    found = run.standouts("advantage").entries
    assert found[0][0].id.startswith("0-") and "above its group's" in found[0][1]
    assert {row.advantage > 0 for row, _ in found} == {True, False}
    assert max(sum(row.step == step for row, _ in found) for step in range(10)) <= MOST_A_STEP
    assert len({(row.step, row.group, row.advantage > 0) for row, _ in found}) == len(found)
    assert list(told(run, "advantage", step=7)) and all(id.startswith("7-") for id in told(run, "advantage", step=7))


def test_an_episode_no_trainer_used_has_no_advantage_to_be_listed_for(run):
    record(run, episode(1, advantage=None), episode(1, sample=1, advantage=0.0))
    assert told(run, "advantage") == {}


# ---------------------------------------------------------------------------------------------------------- surprising


def test_a_lone_win_and_a_lone_loss_are_surprising(run):
    record(run, *(episode(1, 0, n, won=n == 3) for n in range(8)), *(episode(1, 1, n, won=n != 2) for n in range(4)),
           *(episode(1, 2, n, won=n < 2) for n in range(4)))
    assert list(told(run, "surprising").items()) == [  # the rarer first
        ("1-0-3", "The only one of 8 in its group that won"), ("1-1-2", "The only one of 4 in its group that didn't win")]


def test_a_total_far_from_the_others_of_its_group_is_surprising(run):
    record(run, *(episode(1, 0, n, total=0.1 + n / 100) for n in range(6)), episode(1, 0, 6, total=0.9))
    found = told(run, "surprising")
    assert list(found) == ["1-0-6"] and "times their spread away" in found["1-0-6"]


def test_a_first_win_after_many_losses_on_a_task_is_surprising(run):
    record(run, *(episode(step, won=step == 10, fingerprint="hard") for step in range(1, 11)))
    assert told(run, "surprising") == {"10-0-0": "The first win on its task after 9 losses"}


def test_unscored_episodes_are_neither_wins_nor_losses(run):
    record(run, *(episode(1, 0, n, status="env_lost", total=None, scores={"win": None}) for n in range(5)),
           episode(1, 0, 5, won=True))
    assert told(run, "surprising") == {}


# ------------------------------------------------------------------------------------------------------------ suspects


def test_who_is_paid_like_a_winner_without_winning_is_a_suspect(run):
    record(run, *(episode(step, won=True, total=1.0) for step in range(1, 8)), episode(8, total=1.2), episode(9, total=0.2))
    assert list(told(run, "suspects")) == ["8-0-0"]
    assert "its total 1.2 is what half of the wins get or more" in told(run, "suspects")["8-0-0"]


def test_a_term_that_few_losses_get_more_of_than_wins_do_is_suspect_but_partial_credit_is_not(run):
    record(run, *(episode(step, won=True, scores={"win": 1.0, "partial": 0.0, "style": 0.3}) for step in range(1, 8)),
           *(episode(10, 0, n, scores={"win": 0.0, "partial": 0.2, "style": 0.9 if n == 4 else 0.1}) for n in range(8)))
    found = told(run, "suspects")
    assert list(found) == ["10-0-4"] and "style gave 0.9, more than in nine of ten wins (0.3)" in found["10-0-4"]


def test_repeated_calls_that_pay_are_suspect(run):
    same = [Turn(index=k, tool="ping", arguments={}, result="pong") for k in range(5)]
    record(run, episode(1, 0, 0, total=0.5, turns=same), episode(1, 0, 1, total=0.1), episode(1, 1, 0, total=0.0, turns=same),
           episode(1, 1, 1, total=0.1))
    found = told(run, "suspects")
    assert list(found) == ["1-0-0"] and "4 of 5 calls repeat an earlier one" in found["1-0-0"]


def test_pay_that_rises_while_wins_fall_is_said(run):
    record(run, *(episode(step, 0, n, won=n < (6 if step < 5 else 2), total=(1.0 if n < 6 else 0.0) if step < 5 else 0.9)
                  for step in range(1, 9) for n in range(8)))
    found = told(run, "suspects")
    assert any("From step 5 on pay rose from 0.75 to 0.9 while wins fell from 75 % to 25 %" in why for why in found.values())
    assert all(int(id.split("-")[0]) >= 5 for id in found)


def test_an_environment_without_wins_makes_nobody_a_suspect(run):
    record(run, *(episode(step, 0, n, status="finished", total=n / 10) for step in range(1, 9) for n in range(4)))
    assert told(run, "suspects") == {}


# -------------------------------------------------------------------------------------------------- unscored, longest


def test_unscored_episodes_come_before_failed_calls_and_say_why(run):
    fault = Fault(where="model", kind="unknown_tool", message="no")
    record(run, episode(1, turns=[Turn(index=0, tool="x", fault=fault), Turn(index=1, tool="x", fault=fault)]),
           episode(2, status="env_lost", total=None, scores={},
                   fault=Fault(where="environment", kind="SessionLost", message="gone")),
           Episode(id="3-0-0", step=3, group=0, sample=0, environment="wordle", status="cancelled",
                   stop="the run was stopped"),
           episode(4))
    assert list(told(run, "unscored").items())[0] == ("3-0-0", "Not scored: the run was stopped")
    assert "SessionLost: gone" in told(run, "unscored")["2-0-0"]
    assert list(told(run, "unscored"))[-1] == "1-0-0" and told(run, "unscored")["1-0-0"] == "Failed calls: 2 × unknown tool"


def test_a_call_after_the_end_is_nothing_to_look_for_and_the_most_failed_calls_come_first(run):
    def calls(*kinds):
        return [Turn(index=k, tool="x", fault=Fault(where="model", kind=kind, message="no")) for k, kind in enumerate(kinds)]

    record(run, episode(1, turns=calls("unknown_tool", "wrong_arguments", "after_the_end")),
           episode(2, turns=calls("unknown_tool")), episode(3, won=True, turns=calls("after_the_end", "no_turns_left")))
    unread = Fault(where="model", kind="unparsed_call", message="no")
    record(run, episode(4, facts={"done": True}, turns=[Turn(index=0, tool="x", done=True), Turn(index=1, fault=unread)]),
           episode(0, facts={"done": False}, turns=[Turn(index=0, tool="x"), Turn(index=1, fault=unread)]))
    assert told(run, "unscored").pop("0-0-0") == "Failed calls: 1 × unreadable"
    assert {row.id: why for row, why in run.standouts("unscored", step=Between(1, 9)).entries} == {
        "1-0-0": "Failed calls: 1 × unknown tool, 1 × wrong arguments",
        "2-0-0": "Failed calls: 1 × unknown tool"}
    assert list(told(run, "unscored")) == ["1-0-0", "0-0-0", "2-0-0"]


def test_the_longest_come_first_with_what_is_usual(run):
    record(run, *(episode(step, turns=[Turn(index=k) for k in range(7 if step == 3 else 2)], tokens=10 * step)
                  for step in range(1, 6)))
    found = told(run, "longest")
    assert list(found)[:2] == ["3-0-0", "5-0-0"] and found["3-0-0"] == "7 turns where half take 2 or fewer, 30 tokens"


# --------------------------------------------------------------------------------------------------------- on the page


def test_a_view_is_a_list_with_its_reasons_and_its_first_opens(run):
    record(run, *(episode(1, 0, n, won=n == 3) for n in range(8)))
    page = answer(Store(run.path.parent), f"run={run.id}&view=surprising")
    assert 'data-id="1-0-3"' in page["player"] and "The only one of 8 in its group that won" in page["list"]
    assert "Of the newest 8 episodes that match." in page["list"] and "o-pages" not in page["list"]
    assert 'aria-current=true>Surprising</a>' in page["list"]


@pytest.mark.parametrize("view", [*VIEWS, "nonsense"])
def test_a_view_of_nothing_says_so(run, view):
    page = answer(Store(run.path.parent), f"run={run.id}&view={view}")
    assert "o-empty" in page["list"] and "Traceback" not in page["list"]


def test_views_stay_within_bounds_on_a_long_list(run):
    record(run, *(episode(step, group, n, won=n == 0, advantage=1.0 if n == 0 else -0.1)
                  for step in range(1, 40) for group in range(3) for n in range(4)))
    for view in VIEWS:
        assert len(run.standouts(view).entries) <= MOST
