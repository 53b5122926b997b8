"""Forks, over real sockets: an episode goes on from a turn by someone else, is worth by its parent's terms, and is kept."""

import json
import re

import pytest

from backend.errors import CannotRepeat, SpecError
from backend.launcher import Launcher
from backend.play import Sittings, chosen, fork_of, forks_of
from backend.records import EnvironmentSpec, Parent, Policy, RewardTerm, RunSpec
from backend.store import Store
from ui.forks import choices, known, launched
from ui.replay import answer


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return Store(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def sittings(store):
    made = Sittings(store)
    yield made
    made.close()


@pytest.fixture(scope="module")
def run(store, sittings):
    """A run with a game of Wordle, by words that give no hint, and one whose record doesn't agree with its environment."""
    run = store.create(RunSpec(
        name="parents", model="starter:wordle", environments=[EnvironmentSpec(id="w", use="wordle", max_turns=5)],
        rewards=[RewardTerm(name="win", value="2.0 if won else 0.0"), RewardTerm(name="tries", value="guesses", weight=-0.1),
                 RewardTerm(name="other", value="1.0", environments=None)]))
    id = sittings.begin(chosen(store, "wordle", seed=11))
    for word in ("crane", "xxxxx", "slate", "plaid"):
        sittings.call(id, "guess", {"guess": f"[{word}]"})
    played = sittings.end(id).sitting.episode(id="1-0-0", step=1, group=0, sample=0, phase="train").model_copy(
        update={"environment": "w"})
    odd = played.model_copy(update={"id": "1-0-1", "sample": 1, "turns": (
        played.turns[0].model_copy(update={"result": "Feedback: none"}), *played.turns[1:])})
    with run.writing() as writer:
        writer.record([played, odd])
    return run


def kept(store, seat):
    return store.run(seat.kept.run).episode(seat.kept.id)


def test_a_person_goes_on_from_a_turn_and_the_episode_names_its_parent(store, sittings, run):
    fork = fork_of(store, run.id, "1-0-0", 2)
    id = sittings.begin(fork.asked, fork=fork)
    sitting = sittings.look(id).sitting
    assert [turn.arguments["guess"] for turn in sitting.play.turns] == ["[crane]", "[xxxxx]"] and len(sitting.worth) == 3
    assert sitting.worth[1]["tries"] == 1 and sitting.worth[0]["tries"] == 0
    for word in ("mourn", "beach", "jumpy"):
        sittings.call(id, "guess", {"guess": f"[{word}]"})
    episode = kept(store, sittings.look(id))
    assert episode.parent == Parent(run=run.id, episode="1-0-0", turn=2) and episode.policy.kind == "human"
    assert (episode.status, len(episode.turns), episode.seed) == ("out_of_turns", 5, 11)
    assert episode.scores == {"win": 0.0, "tries": 4.0, "other": 1.0} and episode.total == pytest.approx(0.6)


def test_a_solver_knows_what_its_parents_turns_told(store, sittings, run):
    fork = fork_of(store, run.id, "1-0-0", 4)
    id = sittings.begin(fork.asked, "solver", fork=fork)
    player = sittings.look(id).sitting._player
    assert len(player.possible) < 300
    while not sittings.look(id).sitting.ended:
        sittings.advance(id)
    assert kept(store, sittings.look(id)).policy.name == "solver"


def test_what_doesnt_repeat_is_refused_and_nothing_is_kept(store, sittings, run):
    fork = fork_of(store, run.id, "1-0-1", 2)
    before = [one.count_episodes() for one in store.named("played")]
    with pytest.raises(CannotRepeat, match="turn 1 answered differently"):
        sittings.begin(fork.asked, fork=fork)
    assert [one.count_episodes() for one in store.named("played")] == before


def test_a_fork_that_nobody_played_on_is_not_kept(store, sittings, run):
    fork = fork_of(store, run.id, "1-0-0", 2)
    before = [one.count_episodes() for one in store.named("played")]
    first = sittings.begin(fork.asked, fork=fork)
    second = sittings.begin(fork.asked, instead=first, fork=fork)
    sittings.call(second, "guess", {"guess": "[mourn]"})
    assert [one.count_episodes() for one in store.named("played")] == before
    sittings.begin(fork.asked, instead=second, fork=fork)
    assert sum(one.count_episodes() for one in store.named("played")) == sum(before) + 1


def test_what_the_record_rules_out_is_refused_before_anything_starts(store, run):
    with pytest.raises(CannotRepeat, match="there is no turn 9"):
        fork_of(store, run.id, "1-0-0", 9)
    stranger = run.episode("1-0-0").model_copy(update={"id": "x", "environment": "gone"})
    with run.writing() as writer:
        writer.record([stranger])
    with pytest.raises(SpecError, match="names no environment 'gone'"):
        fork_of(store, run.id, "x", 1)


@pytest.mark.parametrize(("changes", "said"), [
    ({"policy": Policy(kind="import")}, "it was imported"), ({"seed": None, "task": None}, "neither its seed nor its task"),
    ({"environment": "gone"}, "names no environment"), ({"environment": "own"}, "trusted")])
def test_where_a_fork_can_not_work_replay_says_why_on_a_button_that_is_off(store, run, changes, said):
    class_of_ones_own = store.create(run.spec.model_copy(update={"environments": (
        *run.spec.environments, EnvironmentSpec(id="own", use="python:mine:Game"))}))
    with class_of_ones_own.writing() as writer:
        writer.record([run.episode("1-0-0").model_copy(update=changes), run.episode("1-0-1")])
    button = r'data-do="fork"( aria-disabled="true")? title="([^"]*)"'
    off, title = re.search(button, answer(store, f"?run={class_of_ones_own.id}&id=1-0-0")["player"]).groups()
    assert off and title.startswith("Can&#x27;t be forked: ") and said in title
    assert not re.search(button, answer(store, f"?run={class_of_ones_own.id}&id=1-0-1")["player"])[1]


def test_the_parents_page_knows_its_forks_and_who_may_play_on(store, sittings, run):
    fork = fork_of(store, run.id, "1-0-0", 1)
    id = sittings.begin(fork.asked, "random", fork=fork)
    while not sittings.look(id).sitting.ended:
        sittings.advance(id)
    assert 1 in [one.turn for one in forks_of(store, run.id, "1-0-0")] and forks_of(store, run.id, "1-0-1") == []
    assert "at turn 1 by random" in known(store, run.id, "1-0-0") and known(store, run.id, "1-0-1") == ""
    offered = choices(store, run.id, "1-0-0", 2)
    assert f"fork={run.id}&amp;episode=1-0-0&amp;turn=2" in offered and "player=solver" in offered
    assert "There is no turn -1" in choices(store, run.id, "1-0-0", "two")


def test_a_model_plays_on_in_a_match_of_its_own(store, run):
    launcher = Launcher(store)
    offered = choices(store, run.id, "1-0-0", 2)
    (player,) = re.findall(r'<option value="([^"]*)"', offered)
    told = launched(launcher, run.id, "1-0-0", 2, player.replace("&quot;", '"'))
    made = store.run(told["address"].partition("id=")[2])
    assert made.spec.match.fork.turn == 2 and made.spec.match.players[0].model == "starter:wordle"
    for nobody in (json.dumps({"kind": "x"}), "{", None):
        assert "a player that can be asked for" in launched(launcher, run.id, "1-0-0", 2, nobody)["problem"]
    launcher.stop(made.id)
