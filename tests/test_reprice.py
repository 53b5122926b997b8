"""Stored episodes by other prices: the same terms give what was stored, and nothing is written back."""

import json
import math
import random
import statistics
from pathlib import Path

import numpy as np
import pytest

from backend.cli import main
from backend.errors import OrtamError, RewardError, SpecError
from backend.launcher import load_terms
from backend.records import Episode, RewardTerm, RunSpec, Turn
from backend.repricing import reprice
from backend.rewards import Terms
from backend.rewards.advantages import advantages
from backend.store import Store, terms_to_yaml

WIN = {"name": "win", "value": "1.0 + 0.5 * (1 - guesses / 6) if won else 0.0"}
PARTIAL = {"name": "partial", "value": "0.0 if won else 0.1 * greens", "weight": 0.5}
WORDS = {"name": "crane", "value": "1.0 if last == 'crane' else None", "environments": ["wordle"]}
EACH = {"name": "each", "value": "-0.1 * greens", "scope": "turn"}
OWN = {"name": "own", "kind": "environment", "value": "last"}
JUDGE = {"name": "kind", "kind": "judge", "value": "Was it kind?", "judge": {"url": "http://127.0.0.1:9", "model": "m"}}
ALL = [WIN, PARTIAL, WORDS, EACH, OWN]
GROUP = 4


def terms(*given: dict) -> list[RewardTerm]:
    return [RewardTerm.model_validate(one) for one in given]


def spec(rewards=ALL, **train) -> RunSpec:
    return RunSpec.model_validate({
        "model": "starter:wordle", "rewards": rewards,
        "environments": [{"id": "wordle", "use": "wordle"}, {"id": "other", "use": "wordle"}],
        "train": {"group_size": GROUP, "episodes_per_step": 3 * GROUP, "steps": 5, **train}})


def facts_of(luck: random.Random) -> dict:
    won = luck.random() < 0.4
    return {"won": won, "guesses": luck.randint(1, 6), "greens": luck.choice([0, 1, 2, None]),
            "last": luck.choice(["crane", "slate"]), "env_reward": luck.choice([None, 0.5, 1.0])}


def play(store, asked: RunSpec, steps=5, seed=0):
    """A run whose numbers are worked out one by one here, as TRL's documentation and source say."""
    run, luck, scoring = store.create(asked), random.Random(seed), Terms(asked.rewards)
    writer = run.writer()
    for step in range(1, steps + 1):
        batch = []
        for group in range(3):
            for sample in range(GROUP):
                facts, turns = facts_of(luck), [{**facts_of(luck), "turns": n} for n in (1, 2, 2)]
                gone = luck.random() < 0.1 or (step == 2 and group == 0)
                place = "other" if group == 2 else "wordle"
                played = [Turn(index=n, tool="guess", facts=told) for n, told in enumerate(turns)]
                scores = scoring.score(facts, place, played)
                scores = dict.fromkeys(scores) if gone else scores
                batch.append(dict(
                    id=f"{step}-{group}-{sample}", step=step, group=group, sample=sample, environment=place,
                    facts=facts, status="env_lost" if gone else "lost", scores=scores, turns=played, total=scoring.total(scores)))
        for one, gain in zip(batch, by_hand(batch, asked), strict=True):
            one["advantage"] = None if one["total"] is None else gain
        writer.record([Episode.model_validate(one) for one in batch])
        writer.record([Episode(id=f"eval-{step}-0-0", phase="eval", step=step, group=0, sample=0, environment="wordle",
                               status="won", facts=facts_of(luck), total=9.0)])
    writer.close()
    return run


def by_hand(batch: list[dict], asked: RunSpec) -> list[float]:
    """Advantages of one batch, episode by episode."""
    def scaled(values: list[float | None], value: float | None) -> float:
        known = [one for one in values if one is not None]
        if value is None or len(known) < 2:
            return 0.0
        return (value - statistics.mean(known)) / (statistics.stdev(known) + 1e-4)

    def of_group(one, pick):
        return [pick(other) for other in batch if other["group"] == one["group"]]

    def apart(one, term):
        return scaled(of_group(one, lambda other: other["scores"][term.name]), one["scores"][term.name])

    if asked.train.extra.get("multi_objective_aggregation") == "normalize_then_sum":
        def worth(one):
            if one["total"] is None:
                return None
            return sum(term.weight * apart(one, term) for term in asked.rewards)

        summed = [worth(one) for one in batch]
        return [scaled(summed, value) for value in summed]
    everyone = [one["total"] for one in batch if one["total"] is not None]
    made = []
    for one in batch:
        group = [total for total in of_group(one, lambda other: other["total"]) if total is not None]
        if one["total"] is None:
            made.append(0.0)
            continue
        gain = one["total"] - statistics.mean(group)
        if asked.train.scale_rewards == "group":
            gain = gain / (statistics.stdev(group) + 1e-4) if len(group) > 1 else 0.0
        elif asked.train.scale_rewards == "batch":
            gain = gain / (statistics.stdev(everyone) + 1e-4) if len(everyone) > 1 else 0.0
        made.append(gain)
    return made


SETTINGS = [{"scale_rewards": scale} for scale in ("group", "batch", "none")] + [
    {"extra": {"multi_objective_aggregation": "normalize_then_sum"}}]


# ------------------------------------------------------------------------------------------- what was stored comes back


def same(left, right) -> None:
    left = [math.nan if value is None else value for value in left]
    assert left == pytest.approx([math.nan if value is None else value for value in right], abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_a_runs_own_terms_give_back_its_totals_and_advantages(store, settings):
    run = play(store, spec(**settings))
    told = reprice(run, run.spec.rewards)
    rows = [row for row in run.episodes(limit=None, sort="seq") if row.phase == "train"]
    assert told.seq.tolist() == [row.seq for row in rows]
    same(told.totals, [row.total for row in rows])
    same(told.advantages, [row.advantage for row in rows])
    assert told.moved == () and told.left_out == ()
    assert (told.groups.order_changed, told.groups.gained, told.groups.lost) == (0, 0, 0)
    assert told.total_before == pytest.approx(told.total_after)
    assert [term.source for term in told.terms] == ["facts", "facts", "facts", "stored", "facts"]
    for place in (None, "wordle", "other"):
        kept = {(point.step, point.name): point for point in run.term_curves(environment=place)}
        for point in (point for point in told.curves if point.environment == place):
            assert point == pytest.approx(kept.pop((point.step, point.name)))
        assert not kept


def test_a_step_played_again_after_a_resume_is_a_batch_of_its_own(store):
    run = store.create(spec([{"name": "x", "value": "x"}], scale_rewards="batch"))
    writer = run.writer()
    for attempt, worth in ((1, (0.0, 1.0)), (2, (10.0, 30.0))):
        spread = statistics.stdev(worth) + 1e-4
        writer.record([Episode(id=f"1-0-{n}-r{attempt}", step=1, attempt=attempt, group=0, sample=n, environment="wordle",
                               status="lost", facts={"x": x}, scores={"x": x}, total=x,
                               advantage=(x - statistics.mean(worth)) / spread) for n, x in enumerate(worth)])
    writer.close()
    told = reprice(run, run.spec.rewards)
    same(told.advantages, [row.advantage for row in run.episodes(limit=None, sort="seq")])
    assert told.groups.all == 2 and told.moved == ()


def test_a_term_of_every_turn_is_worked_out_anew_from_stored_turns(store):
    run = play(store, spec())
    told = reprice(run, terms(*ALL[:3], {**EACH, "name": "again", "value": "greens * -0.1"}, OWN))
    assert told.terms[3].source == "turns"
    same(told.totals, [row.total for row in run.episodes(limit=None, sort="seq", phase="train")])


def test_nothing_is_written_back(store):
    run = play(store, spec())
    before = (run.path / "run.db").read_bytes(), run.spec_text
    reprice(run, terms({"name": "win", "value": "100.0"}))
    assert ((run.path / "run.db").read_bytes(), run.spec_text) == before


@pytest.mark.slow
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_a_run_that_trl_trained_gives_back_what_trl_used(tmp_path, settings):
    from backend.trainer.__main__ import main as train
    from backend.trainer.build import model_folder

    if not Path(model_folder("starter:catch")).is_dir():
        pytest.skip("there is no starter policy here")
    run = Store(tmp_path).create(RunSpec.model_validate({
        "model": "starter:catch", "environments": [{"id": "catch", "use": "catch", "tasks": {"count": 8}}],
        "rewards": [{"name": "long", "value": "0.01 * completion_tokens"},
                    {"name": "near", "value": "nearness", "weight": 2},
                    {"name": "even", "value": "1.0 if completion_tokens % 2 == 0 else None", "weight": -0.5},
                    {"name": "rare", "value": "None if completion_tokens % 3 else 0.3"},
                    {"name": "each", "value": "0.1 * ball_column - 0.1 * paddle_column", "scope": "turn"}],
        "train": {"steps": 2, "group_size": 4, "episodes_per_step": 16, "max_completion_tokens": 200, **settings}}))
    assert train([str(run.path)]) == 0
    told, rows = reprice(run, run.spec.rewards), run.episodes(limit=None, sort="seq")
    assert len(rows) == 32 and len({row.total for row in rows}) > 4
    for total, gain, row in zip(told.totals, told.advantages, rows, strict=True):
        assert total == pytest.approx(row.total, abs=1e-9)
        assert gain == pytest.approx(row.advantage, abs=2e-3)  # TRL works in single precision
    again = [term if term.scope == "end" else term.model_copy(update={"value": f"{term.value} + 0"})
             for term in run.spec.rewards]
    assert reprice(run, again).totals.tolist() == pytest.approx(told.totals.tolist())


# ------------------------------------------------------------------------------------------------------- what changes


def record(run, *groups: list[tuple[float, float | None]]) -> None:
    """Each group holds (x, total as it was); step 1."""
    writer = run.writer()
    writer.record([Episode(id=f"1-{g}-{n}", step=1, group=g, sample=n, environment="wordle", status="lost",
                           facts={"x": x}, scores={"was": total}, total=total, advantage=None if total is None else 0.0)
                   for g, group in enumerate(groups) for n, (x, total) in enumerate(group)])
    writer.close()


def test_groups_that_change_their_order_gain_or_lose_signal_are_counted(store):
    run = store.create(spec([{"name": "was", "value": "x"}]))
    record(run, [(1, 1), (2, 2), (3, 3)], [(3, 1), (2, 2), (1, 3)], [(1, 1), (2, 1), (3, 1)], [(1, 1), (1, 2), (1, 3)],
           [(1, 1), (2, 1), (3, 2)], [(1, None), (2, 3), (1, 2)], [(2, 1), (1, 1 + 1e-12), (3, 2)])
    groups = reprice(run, terms({"name": "x", "value": "x"})).groups
    assert (groups.all, groups.signal_before, groups.signal_after) == (7, 6, 6)
    assert groups.examples == {"gained": ((1, 2),), "lost": ((1, 3),), "order_changed": ((1, 1),)}
    assert (groups.gained, groups.lost, groups.order_changed) == (1, 1, 1)


def test_the_episodes_that_moved_most_come_first(store):
    run = store.create(spec([{"name": "was", "value": "x"}]))
    record(run, [(0, 0), (0, 0), (0, 0), (9, 0)], [(5, 5), (5, 5)])
    moved = reprice(run, terms({"name": "x", "value": "x"})).moved
    assert [one.id for one in moved] == ["1-0-3", "1-0-0", "1-0-1", "1-0-2"]
    first = moved[0]
    assert (first.total_before, first.total_after, first.advantage_before) == (0, 9, 0)
    assert first.advantage_after == pytest.approx(1.5, abs=1e-3)
    assert len(reprice(run, terms({"name": "x", "value": "x"}), most_moved=1).moved) == 1


def test_what_was_not_scored_stays_so_and_is_never_0(store):
    run = play(store, spec())
    told = reprice(run, terms({"name": "one", "value": "1.0"}))
    rows = run.episodes(limit=None, sort="seq", phase="train")
    gone = [row.status == "env_lost" for row in rows]
    assert any(gone) and np.isnan(told.totals).tolist() == gone == np.isnan(told.advantages).tolist()
    assert told.terms[0].after.mean == 1.0 and told.terms[0].after.scored == gone.count(False)
    empty = [point for point in told.curves if point.scored == 0]
    assert all((point.mean, point.low, point.high) == (None, None, None) for point in empty)


def test_a_term_that_gives_nothing_anywhere_leaves_totals_unscored(store):
    run = play(store, spec())
    told = reprice(run, terms({"name": "none", "value": "None if won else None"}))
    assert np.isnan(told.totals).all() and told.total_after.mean is None
    assert told.groups.signal_after == 0


# --------------------------------------------------------------------------------------- what can't be worked out anew


def test_a_judge_that_answered_keeps_its_answers_whatever_its_weight_is_now(store):
    asked = spec([WIN, {**JUDGE, "weight": 1}])
    run = store.create(asked)
    writer = run.writer()
    writer.record([Episode(id=f"1-0-{n}", step=1, group=0, sample=n, environment="wordle", status="lost",
                           facts={"won": False, "guesses": 1}, scores={"win": 0.0, "kind": score}, total=score,
                           advantage=0.0)
                   for n, score in enumerate((0.25, None, 0.75))])
    writer.close()
    told = reprice(run, terms(WIN, {**JUDGE, "weight": 2, "name": "kinder"}))
    same(told.totals, [0.5, 0.0, 1.5])
    assert (told.terms[1].source, told.left_out) == ("stored", ())


@pytest.mark.parametrize("new", [JUDGE, {"name": "mine", "kind": "python", "value": "file.py:worth"}])
def test_what_this_run_never_asked_is_left_out_and_said_plainly(store, new):
    run = play(store, spec())
    told = reprice(run, terms(*ALL, new))
    same(told.totals, [row.total for row in run.episodes(limit=None, sort="seq", phase="train")])
    sentence, = told.left_out
    assert sentence.startswith(f"{new['name']} is left out of the totals: a ") and "never asked it this" in sentence
    assert (told.terms[-1].source, told.terms[-1].after.mean) == ("nothing", None)


def test_a_judge_asked_about_one_environment_knows_nothing_of_another(store):
    run = play(store, spec([WIN, {**JUDGE, "environments": ["wordle"]}]))
    assert "about wordle only" in reprice(run, terms(WIN, JUDGE)).left_out[0]
    assert reprice(run, terms(WIN, {**JUDGE, "environments": ["wordle"]})).left_out == ()


def test_terms_that_cannot_be_used_are_one_sentence(store):
    run = play(store, spec())
    with pytest.raises(RewardError, match="reward term a: no fact is called 'gueses'; did you mean guesses"):
        reprice(run, terms({"name": "a", "value": "gueses"}))
    with pytest.raises(RewardError, match="two reward terms are called a"):
        reprice(run, terms({"name": "a", "value": "1"}, {"name": "a", "value": "2"}))
    with pytest.raises(RewardError, match="weight of reward term a isn't a finite"):
        reprice(run, terms({"name": "a", "value": "1", "weight": math.inf}))
    with pytest.raises(RewardError, match="give at least one"):
        reprice(run, [])
    with pytest.raises(OrtamError, match="no training episodes yet"):
        reprice(store.create(spec()), terms({"name": "a", "value": "1"}))


def test_a_group_of_one_scored_episode_has_no_advantage():
    scores = np.array([[1.0], [np.nan], [2.0], [4.0]])
    for scale in ("group", "batch", "none"):
        gains = advantages(scores, np.ones(1), np.array([0, 0, 1, 1]), np.zeros(4, int), scale, "sum_then_normalize")
        assert gains[0] == 0 and np.isnan(gains[1])
        assert gains[2] == -gains[3] != 0


# -------------------------------------------------------------------------------- reading terms, the verb, reward sets


def test_terms_are_read_from_a_list_or_a_spec(store):
    asked = spec()
    as_list = terms_to_yaml(asked.rewards)
    assert list(load_terms(as_list, asked.environments)) == list(asked.rewards)
    assert list(load_terms(f"name: other\nrewards:\n{as_list}", asked.environments)) == list(asked.rewards)
    assert "weight" not in as_list.split("- name: crane")[1] and "scope: end" not in as_list


@pytest.mark.parametrize(("text", "says"), [
    ("- {name: a}", "rewards.0.value: is missing"), ("{}", "no reward terms in it"), ("[]", "no reward terms"),
    ("- {name: a, valeu: 1}", "did you mean value"), ("a: [", "the list of reward terms isn't valid YAML"),
    ("- {name: a, value: '1', environments: [moon]}", "applies to moon"), ("just words", "no reward terms")])
def test_wrong_terms_are_one_sentence(text, says):
    with pytest.raises(SpecError, match=says):
        load_terms(text, spec().environments)


@pytest.fixture
def cli(store, capsys):
    def command(*words, code=0):
        assert main([*words, "--runs", str(store.folder)]) == code
        said = capsys.readouterr()
        return said.err if code else said.out

    return command


def test_the_verb_prints_a_table_or_json(store, cli, tmp_path):
    run = play(store, spec())
    file = tmp_path / "terms.yaml"
    file.write_text(terms_to_yaml(terms(WIN, JUDGE)))
    told = cli("reprice", "latest", "--rewards", str(file))
    for part in ("60 training episodes", "groups had signal", "change their order", "kind is left out of the totals",
                 "moved most"):
        assert part in told
    data = json.loads(cli("reprice", run.id, "--rewards", str(file), "--json"))
    assert data["run"] == run.id and data["terms"][0]["after"]["scored"] == data["total"]["after"]["scored"]
    assert data["terms"][1]["problem"] and data["curves"][0]["name"] == "total" and data["groups"]["all"] == 15
    assert "can't be read as a file" in cli("reprice", "latest", "--rewards", str(tmp_path / "no.yaml"), code=2)


def test_a_reward_set_is_saved_listed_replaced_and_deleted(store, cli):
    assert store.reward_sets() == []
    store.save_reward_set("with words", terms(WIN, WORDS))
    store.save_reward_set("A first one", terms(*ALL, JUDGE))
    assert [found.name for found in store.reward_sets()] == ["A first one", "with words"]
    store.save_reward_set(" with words ", terms(PARTIAL))
    assert [term.name for term in store.reward_set("with words").terms] == ["partial"]
    assert list(store.reward_set("A first one").terms) == terms(*ALL, JUDGE)
    play(store, spec())
    assert "partial" in cli("reprice", "latest", "--rewards", "with words")
    assert store.delete_reward_set("with words") and not store.delete_reward_set("with words")
    assert store.reward_set("with words") is None


@pytest.mark.parametrize(("name", "given", "says"), [
    ("", [WIN], "can't be the name"), ("x" * 100, [WIN], "can't be the name"), ("a\nb", [WIN], "can't be the name"),
    ("empty", [], "has no terms"), ("twice", [WIN, WIN], "two reward terms are called win")])
def test_a_reward_set_that_cannot_be_saved_is_one_sentence(store, name, given, says):
    with pytest.raises(RewardError, match=says):
        store.save_reward_set(name, terms(*given))
    assert store.reward_sets() == []


def test_the_last_facts_of_an_environment_are_those_of_the_newest_run_that_has_any(store):
    assert store.last_facts("wordle") == {}
    play(store, spec())
    store.create(spec())
    assert store.last_facts("wordle").keys() == facts_of(random.Random(0)).keys()
    assert store.last_facts("catch") == {}
