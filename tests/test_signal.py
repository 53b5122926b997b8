"""What the rewards say about whether anything can be learned."""

import pytest

from backend.signal import WINDOW, Group, Outcome, Unscored, causes_by_step, health, statuses_by_step, win_share


def group(
    step=1, group=0, episodes=8, scored=8, low=0.0, high=1.0, won=3, lost=5, tasks=1, known=8, environment="catch"
):
    return Group(step, group, environment, episodes, scored, low, high, won, lost, tasks, known)


def outcomes(step, **statuses):
    return [
        Outcome(
            step,
            status,
            n,
            total=None if status.startswith("env") else n * (1.0 if status == "won" else 0.25),
            scored=0 if status.startswith("env") else n,
        )
        for status, n in statuses.items()
    ]


def facts(told):
    return {fact.label: fact for fact in told.facts}


@pytest.mark.parametrize(
    ("made", "cause"),
    [
        (group(), "signal"),
        (group(low=1.5, high=1.5, won=8, lost=0), "all won"),
        (group(low=0.0, high=0.0, won=0, lost=8), "all lost"),
        (group(low=0.3, high=0.3, won=4, lost=4), "same total"),
        (group(low=0.1 + 0.2, high=0.3, won=0, lost=8), "all lost"),
        (group(low=1.0, high=1.2, won=8, lost=0), "signal"),
        (group(scored=1, low=1.0, high=1.0, won=1, lost=0), "unscored"),
        (group(scored=0, low=None, high=None, won=0, lost=0), "unscored"),
        (group(scored=5, low=0.0, high=0.0, won=0, lost=5), "all lost"),
    ],
)
def test_a_group_teaches_only_where_its_totals_differ(made, cause):
    assert made.cause == cause


def test_a_group_whose_fingerprints_differ_is_not_one_task_and_one_without_cannot_be_told():
    assert group().one_task is True
    assert group(tasks=2).one_task is False
    assert group(tasks=0, known=0).one_task is None
    assert group(tasks=1, known=5).one_task is None


def test_a_run_without_episodes_has_no_health_rather_than_a_bad_one():
    told = health([], [])
    assert told.facts == () and told.notes == ()


def test_wins_are_counted_among_the_scored_only():
    assert win_share(statuses_by_step(outcomes(1, won=3, lost=3, env_error=2))[1]) == 0.5


def test_an_environment_without_winning_has_no_win_share():
    assert win_share(statuses_by_step(outcomes(1, finished=8))[1]) is None
    assert win_share(statuses_by_step(outcomes(1, env_lost=8))[1]) is None


def test_a_real_gain_is_said_in_points_and_a_wobble_is_steady():
    better = [
        o for step in range(1, 21) for o in outcomes(step, won=10 if step < 11 else 40, lost=54 if step < 11 else 24)
    ]
    assert facts(health([], better))["won"].change == "+47 points in 10 steps"
    wobble = [o for step in range(1, 21) for o in outcomes(step, won=30 + step % 2, lost=34 - step % 2)]
    assert facts(health([], wobble))["won"].change == "steady"


def test_a_short_run_compares_its_halves():
    told = health([], [o for step in (1, 2, 3, 4) for o in outcomes(step, won=step * 10, lost=64 - step * 10)])
    assert facts(told)["won"].change.endswith("in 2 steps")
    assert facts(health([], outcomes(1, won=3, lost=5)))["won"].change == ""


def test_the_reward_is_the_mean_of_the_scored_and_not_of_all():
    told = facts(health([], [Outcome(1, "won", 2, 2.0, 2), Outcome(1, "env_error", 6)]))
    assert told["reward"].value == "1.00" and told["scored"].value == "25 %" and told["scored"].level == "bad"


def test_a_step_without_any_score_says_so_and_shows_no_number():
    told = facts(health([], [Outcome(1, "env_error", 8)]))
    assert told["reward"].value == "not scored" and told["scored"].value == "0 %"
    assert "won" not in told


def test_lost_groups_are_named_with_a_remedy_and_a_way_to_see_them():
    groups = [group(group=n) for n in range(46)] + [
        group(group=46 + n, low=0, high=0, won=0, lost=8) for n in range(18)
    ]
    told = health(groups, outcomes(1, won=100, lost=412))
    assert facts(told)["groups with signal"].value == "46 of 64"
    [note] = told.notes
    assert note.text == "18 of 64 groups lost every episode: nothing to learn there."
    assert note.remedy == "Add partial credit or easier tasks." and note.look == {"where": "status in ('invalid', 'lost', 'out_of_turns', 'truncated')"}


def test_a_solved_run_is_good_news_although_nothing_is_left_to_learn():
    told = health([group(group=n, low=1.5, high=1.5, won=8, lost=0) for n in range(4)], outcomes(1, won=32))
    assert facts(told)["groups with signal"].value == "0 of 4" and facts(told)["groups with signal"].level == "good"
    assert [note.level for note in told.notes] == ["good"]


def test_mixed_groups_name_the_environment_and_lead_to_the_first():
    told = health([group(), group(step=2, group=3, tasks=4, environment="textgame")], outcomes(2, won=4, lost=4))
    assert facts(told)["one task per group"].level == "bad"
    assert "textgame" in told.notes[0].remedy and told.notes[0].look == {"step": "2", "group": "3"}


def test_only_the_last_steps_count():
    old = [group(step=step, tasks=2) for step in range(1, 11)]
    new = [group(step=step) for step in range(11, 11 + WINDOW)]
    told = health(old + new, [o for step in range(1, 21) for o in outcomes(step, won=4, lost=4)])
    assert facts(told)["one task per group"].value == "yes"


def test_the_environments_faults_are_not_the_policys_and_a_remedy_is_said_once():
    told = health(
        [group()],
        outcomes(1, won=3, lost=3, env_error=1, env_lost=1),
        [Unscored("env_error", "EnvironmentFailed: no capacity", 1), Unscored("env_lost", "SessionLost: closed", 1)],
    )
    first, second = told.notes
    assert first.text == "1 episode not scored: the environment failed (EnvironmentFailed: no capacity)."
    assert first.remedy.startswith("Nothing the policy did") and second.remedy == ""
    assert first.look == {"status": "env_error"}


@pytest.mark.parametrize(
    ("status", "n", "said"),
    [("truncated", 8, "token budget"), ("out_of_turns", 20, "ran out of turns"), ("invalid", 8, "could not take")],
)
def test_frequent_bad_endings_are_named(status, n, said):
    told = health([group()], outcomes(1, won=64 - n, **{status: n}))
    assert said in told.notes[0].text and told.notes[0].look == {"status": status}


def test_a_share_never_rounds_to_nothing_or_to_all():
    told = facts(health([group()], outcomes(1, won=1, lost=999)))
    assert told["won"].value == "under 1 %"
    assert facts(health([group()], outcomes(1, won=999, env_lost=1)))["scored"].value == "over 99 %"


def test_causes_are_counted_by_step():
    told = causes_by_step([group(), group(group=1, low=0, high=0, won=0, lost=8), group(step=2)])
    assert told[1] == {"signal": 1, "all lost": 1} and told[2] == {"signal": 1}
