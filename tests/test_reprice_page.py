"""Re-price, the page: what it begins with, what one change tells, and what it never does."""

import json
import random
import re

import pytest

from backend.launcher import Launcher
from backend.records import EnvironmentSpec, Episode, RewardTerm, RunSpec, Turn
from backend.rewards import Terms
from ui import launch, reprice, terms

OWN = ({"name": "win", "value": "1.0 if won else 0.0"}, {"name": "partial", "value": "0.1 * best_greens"})


def play(store, own=OWN, name="priced", steps=3, **more):
    """A run of Wordle in which group 0 of each step is lost by all, and one episode of it lost its environment."""
    spec = RunSpec(name=name, model="starter:wordle", rewards=own, train={"group_size": 4, "episodes_per_step": 8},
                   environments=[EnvironmentSpec(id="wordle", use="wordle")], **more)
    run, luck, scoring = store.create(spec), random.Random(0), Terms(spec.rewards)
    with run.writing() as writer:
        for step in range(1, steps + 1):
            writer.record([episode(step, n // 4, n % 4, luck, scoring) for n in range(8)])
    return run


def episode(step, group, sample, luck, scoring):
    facts = {"won": group == 1 and sample > 1, "guesses": 6 - sample, "best_greens": luck.randint(0, 4), "turns": 1}
    gone = group == 0 and sample == 3
    scores = scoring.score(facts, "wordle")
    scores = dict.fromkeys(scores) if gone else scores
    return Episode(id=f"{step}-{group}-{sample}", step=step, group=group, sample=sample, environment="wordle",
                   status="env_lost" if gone else "won" if facts["won"] else "lost", facts=facts, scores=scores,
                   total=scoring.total(scores), advantage=None if gone else 0.5, turns=[Turn(index=0, facts=facts)])


def asked(run, rewards):
    return {"run": run.id, "environments": [{"id": "wordle", "use": "wordle"}],
            "rewards": [asked_term(term) for term in rewards]}


def words(html):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


# ------------------------------------------------------------------------------------------------------ how it begins


def test_it_begins_with_the_runs_own_terms(store):
    run = play(store)
    told = reprice.begun(store, run.id)
    assert [term["name"] for term in told["own"]] == ["win", "partial"]
    assert told["rewards"] == told["own"] and told["environments"][0]["id"] == "wordle"
    assert "stays as it was" in words(told["head"]) and "Launch with these terms" in told["head"]


def test_terms_in_the_address_are_those_it_begins_with(store):
    run = play(store)
    other = [{"name": "x", "value": "guesses"}]
    assert reprice.begun(store, run.id, json.dumps(other))["rewards"] == other
    for wrong in ("{", "[1]", '"x"', "null"):
        assert reprice.begun(store, run.id, wrong)["rewards"] == reprice.begun(store, run.id)["own"]


def test_a_read_only_page_offers_no_launch(store):
    assert "Launch with" not in reprice.begun(store, play(store).id, may_launch=False)["head"]


def test_a_run_without_episodes_and_one_that_is_not_there_say_what_to_do(store):
    run = store.create(RunSpec(name="new", model="x", environments=[EnvironmentSpec(id="wordle", use="wordle")]))
    assert "Nothing to re-price yet" in reprice.begun(store, run.id)["gone"]
    assert "no such run" in reprice.begun(store, "<img src=x>")["gone"].lower()
    assert "<img" not in reprice.begun(store, "<img src=x>")["gone"]


# ------------------------------------------------------------------------------------------------- what a change tells


def test_the_runs_own_terms_change_nothing_and_the_page_says_so(store):
    run = play(store)
    told = reprice.priced(store, asked(run, OWN))
    assert "the run's own terms" in told["summary"]
    groups = words(told["summary"])
    assert "0 gain it · 0 lose it" in groups


def test_a_new_weight_gives_new_curves_beside_those_of_the_run(store):
    run = play(store)
    told = reprice.priced(store, asked(run, (OWN[0], {**OWN[1], "weight": 10})))
    assert [chart["title"] for chart in told["charts"]] == ["Reward", "win", "partial"]
    was, now = told["lines"]["was:total"], told["lines"]["now:total"]
    assert was["x"] == now["x"] == [1, 2, 3] and was["y"] != now["y"]
    assert len(now["low"]) == len(now["high"]) == 3 and "low" not in was
    assert told["lines"]["was:win"]["y"] == told["lines"]["now:win"]["y"]
    thin, bold = told["charts"][0]["series"]
    assert thin["width"] < bold["width"]


def test_the_curve_of_a_term_that_the_run_did_not_have_has_no_before(store):
    told = reprice.priced(store, asked(play(store), ({"name": "fewer", "value": "-guesses"},)))
    assert "was:fewer" not in told["lines"] and len(told["lines"]["now:fewer"]["y"]) == 3
    assert "The run had no such term" in told["table"]


def test_groups_that_gain_or_lose_signal_are_counted_and_linked(store):
    run = play(store)
    told = reprice.priced(store, asked(run, (OWN[0],)))
    assert "3 lose it" in words(told["summary"])
    assert f"/episode?run={run.id}&amp;step=1&amp;group=0" in told["summary"]


def test_the_episodes_that_moved_most_are_linked_to_replay(store):
    run = play(store)
    told = reprice.priced(store, asked(run, ({"name": "worse", "value": "-1.0 if won else 0.0"},)))
    assert "moved most" in told["moved"] and re.search(rf"/episode\?run={run.id}&amp;id=\d-1-\d", told["moved"])


def test_what_is_not_scored_is_never_a_0(store):
    told = reprice.priced(store, asked(play(store), ({"name": "never", "value": "None if turns else 1.0"},)))
    assert "not scored" in told["summary"] and told["lines"]["now:never"]["y"] == [None, None, None]
    row = re.search(r"<tr><td>never</td>.*?</tr>", told["table"])[0]
    assert "not scored" in row and "0 of 24" in row and "0.00" not in row


def test_what_can_not_be_re_priced_is_left_out_with_its_reason(store):
    judge = {"name": "kind", "kind": "judge", "value": "Is it kind?",
             "judge": {"url": "http://127.0.0.1:9/v1", "model": "m"}}
    told = reprice.priced(store, asked(play(store), (*OWN, judge)))
    assert "kind is left out of the totals" in told["summary"] and "never asked it" in told["summary"]


@pytest.mark.parametrize(("term", "field", "said"), [
    ({"name": "x", "value": "wonn"}, "rewards.1.value", "did you mean won"),
    ({"name": "x", "value": ""}, "rewards.1.value", "is empty"),
    ({"name": "1x", "value": "1"}, "rewards.1.name", "letter"),
    ({"name": "win", "value": "1"}, "", "win"),
    ({"name": "x", "value": "won", "weight": "heavy"}, "rewards.1.weight", "number"),
])
def test_a_wrong_term_is_told_at_its_row(store, term, field, said):
    told = reprice.priced(store, {**asked(play(store), OWN[:1]), "rewards": [asked_term(OWN[0]), term]})
    [problem] = told["problems"]
    assert said in problem["message"]
    assert field in problem["field"] or not field


def asked_term(term):
    return RewardTerm.model_validate(term).model_dump(mode="json")


def test_names_of_terms_and_environments_are_text(store):
    run = play(store)
    told = reprice.priced(store, asked(run, OWN))
    assert "<script" not in json.dumps(told)
    hostile = reprice.priced(store, {**asked(run, OWN), "rewards": [{"name": "<img src=x>", "value": "won"}]})
    assert hostile["problems"]


def test_nothing_is_written_to_the_run(store):
    run = play(store)
    before = {path.name: path.read_bytes() for path in run.path.iterdir() if path.suffix in (".yaml", ".json")}
    rows = run.episodes(limit=None)
    reprice.priced(store, asked(run, ({"name": "other", "value": "guesses"},)))
    assert {path.name: path.read_bytes() for path in run.path.iterdir() if path.suffix in (".yaml", ".json")} == before
    assert run.episodes(limit=None) == rows


# --------------------------------------------------------------------------------------------------- and from there on


def test_launch_takes_the_terms_from_the_address(store):
    run = play(store)
    given = json.dumps([{"name": "fewer", "value": "-guesses", "weight": 2}])
    started = launch.started(store, {"from": run.id, "rewards": given})["spec"]
    assert [(term["name"], term["weight"]) for term in started["rewards"]] == [("fewer", 2)]
    assert started["name"] == "priced"
    assert launch.looked(store, {"spec": started})["problems"] == []
    for wrong in ("{", '[{"name": "x"}]', "7"):
        assert launch.started(store, {"from": run.id, "rewards": wrong})["problems"]


def test_facts_of_a_run_are_those_its_episodes_have(store):
    run = play(store)
    told = terms.facts(store, run.spec.environments, run.id)
    names = {fact["name"]: fact["last"] for group in told["groups"] for fact in group["facts"]}
    assert names["guesses"] == "3" and "secret" not in names and told["seen"]


def test_a_set_saved_here_can_be_chosen_for_a_new_run(store):
    save = next(each for each in terms.functions(store, may_save=True) if each.__name__ == "set_save")
    assert save({**asked(play(store), OWN), "name": "two terms"})["sets"][0]["name"] == "two terms"
    assert store.reward_set("two terms").terms[0].name == "win"
    assert Launcher(store).store.reward_sets()
