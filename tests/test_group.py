"""A group side by side: what is sure of it, where it parts, and the page that shows it, without a browser."""

import html
import re
import time
from urllib.parse import unquote

import pytest

from backend.records import Episode, Fault, Turn
from backend.signal.one_group import parted, said
from backend.signal.parting import first_difference, parting, told_apart
from backend.store import Store
from backend.store.counting import cause
from tests.recording import record, wordle_run
from tests.test_replay import seen
from tests.test_viewers import HOSTILE
from ui.episodes import group_address
from ui.group import Asked, answer, compared, moments
from ui.in_step import how_it_ended


def game(sample: int, words: str, status="lost", total: float | None = 0.0, **more) -> Episode:
    """Wordle's calls, a word each; `!` in front of a word is a refused call."""
    turns = [Turn(index=k, tool="guess", arguments={"guess": word.lstrip("!")}, result=f"marks of {word}",
                  fault=Fault(where="model", kind="wrong_arguments", message="no") if word[0] == "!" else None,
                  facts={"guesses": k + 1, "last_guess": word[:5], "last_feedback": "GXYXX", "won": False})
             for k, word in enumerate(words.split())]
    more = {"step": 3, "group": 2, "fingerprint": "same", "scores": {"win": total}, "advantage": total, "seed": 7, **more}
    return Episode(**{"id": f"3-2-{sample}", "sample": sample, "environment": "wordle", "status": status, "total": total,
                      "turns": tuple(turns), **more})


def sentence(*episodes: Episode, learnt=True) -> str:
    totals = [episode.total for episode in episodes if episode.total is not None]
    return said(episodes, cause([e.status for e in episodes if e.total is not None], totals), learnt)


def told(*episodes: Episode) -> str:
    return parted(parting(episodes), len(episodes))


def test_only_turns_that_were_played_stand_beside_the_limit():
    def refused(kind, **more):
        return Turn(index=9, fault=Fault(where="model", kind=kind, message="no"), **more)

    whole = game(0, "crane !slate plaid")
    whole = whole.model_copy(update={"stop": "over", "turns": (
        *whole.turns, refused("after_the_end", tool="guess"), refused("no_turns_left", tool="guess"),
        refused("unparsed_call", said="<tool_call"), Turn(index=10, said="Well played."))})
    assert whole.turns_played == 3, "a refused call uses a turn"
    assert "ended after 3 turns: over" in how_it_ended(whole)
    assert Turn(index=0, said="42", result="Right.").played, "so does an answer in words"
    assert "ended after 1 message" in how_it_ended(whole.model_copy(update={"turns": whole.turns[-1:]}))


# ------------------------------------------------------------------------------------------------------ the sentence


@pytest.mark.parametrize("episodes, words", [
    ([game(n, "crane") for n in range(8)], "All 8 lost: no gradient."),
    ([game(n, "crane", "won", 1.0) for n in range(2)], "Both won with the same total: no gradient."),
    ([game(n, "crane", "invalid", -0.1) for n in range(3)],
     "All 3 ended on something the environment couldn't take: no gradient."),
    ([game(n, "crane", "truncated") for n in range(3)], "All 3 were cut by the token budget: no gradient."),
    ([game(n, "crane", "finished", 0.3) for n in range(4)], "All 4 came to the same total, 0.30: no gradient."),
    ([game(0, "a"), game(1, "a", "out_of_turns")],
     "Both ended without a win, with the same total, 0.00: no gradient."),
    ([game(0, "crane", total=-0.1), game(1, "slate", total=0.4)], "None of the 2 won, with totals from −0.10 to 0.40."),
    ([game(0, "a", "won", 1.0), game(1, "b", "won", 1.2)], "Both won, with totals from 1.00 to 1.20."),
    ([game(0, "a", "finished", 0.1), game(1, "b", "finished", 0.2)], "Both ended, with totals from 0.10 to 0.20."),
])
def test_a_group_is_said_in_one_sentence(episodes, words):
    assert sentence(*episodes) == words


def test_what_the_winners_did_is_said_only_where_no_loser_did_it():
    lost = [game(0, "crane plaid stone"), game(1, "crane mourn")]
    won = [game(n, f"crane slate w{n}", "won", 1.0) for n in (2, 3)]
    assert sentence(*lost, *won) == "2 of the 4 won; each winner played guess slate at turn 2, and nobody else did."
    assert sentence(*lost, *won, game(4, "crane slate")) == "2 of the 5 won; totals from 0.00 to 1.00."
    assert told_apart([*lost, won[0]], [False, False, True])[0] == 2


def test_what_wasnt_scored_is_named_with_its_cause_and_is_no_zero():
    gone = game(2, "crane", "env_lost", None, fault=Fault(where="environment", kind="SessionLost", message="gone."))
    assert sentence(game(0, "a"), game(1, "b"), gone) == \
        "All 2 that were scored lost: no gradient. 1 of 3 was not scored: environment lost (SessionLost: gone)."
    assert sentence(game(0, "a"), gone) == ("Only one episode was scored, so there was nothing to compare. 1 of 2 was not "
                                            "scored: environment lost (SessionLost: gone).")
    assert sentence(gone, gone) == "None of the 2 was scored: environment lost (SessionLost: gone) ×2."


def test_no_gradient_is_said_only_of_what_a_trainer_learnt_from():
    assert sentence(game(0, "a"), game(1, "a"), learnt=False) == "Both lost."


# ------------------------------------------------------------------------------------------------- where they part


def test_the_turn_where_they_part_is_the_first_at_which_they_did_different_things():
    episodes = [game(n, f"crane {word} x") for n, word in enumerate(["slate"] * 3 + ["plaid"] * 2 + ["a", "b", "c"])]
    assert told(*episodes) == "All 8 begin with guess crane; they part at turn 2: guess slate ×3, guess plaid ×2, " \
                              "guess a ×1, 2 others."
    branches = parting(episodes).branches
    assert [branch.members for branch in branches[:2]] == [(0, 1, 2), (3, 4)]


def test_having_ended_is_a_way_to_part_and_branches_part_again():
    episodes = [game(0, "crane"), game(1, "crane slate a"), game(2, "crane slate b")]
    found = parting(episodes)
    assert found.turn == 2 and found.branches[0].parts == 3 and found.branches[1].move is None
    assert told(*episodes) == "All 3 begin with guess crane; they part at turn 2: guess slate ×2, had ended ×1."


def test_what_was_sent_is_compared_and_not_how_it_reads():
    long = "x" * 200
    one, other = game(0, f"{long}a"), game(1, f"{long}b")
    assert parting([one, other]).turn == 1


def test_groups_that_never_part_and_those_that_part_at_once():
    assert told(game(0, "a b"), game(1, "a b")) == "Both did the same to the end: 2 turns, beginning with guess a and guess b."
    assert told(game(0, "a"), game(1, "b")) == "Both part at the first turn: guess a ×1, guess b ×1."
    assert told(game(0, ""), game(1, "")) == "Both did the same to the end; no turn was played."


def test_the_same_calls_with_other_answers_are_told():
    changed = game(1, "crane slate").turns[0].model_copy(update={"result": "other marks"})
    other = game(1, "crane slate").model_copy(update={"turns": (changed,)})
    assert parting([game(0, "crane slate"), other]).answered_differently == 1
    assert first_difference(game(0, "crane slate"), other) == (1, "answered")
    assert first_difference(game(0, "a b"), game(1, "a c")) == (2, "done")
    assert first_difference(game(0, "a b"), game(1, "a")) == (2, "done")
    assert first_difference(game(0, "a b"), game(1, "a b")) is None


# -------------------------------------------------------------------------------------------------------- the page


@pytest.fixture
def run(store):
    return wordle_run(store, "first", rewards=[{"name": "win", "value": "1.0 if won else 0.0", "weight": 2}])


def ask(run, rest: str = "step=3&group=2"):
    return answer(Store(run.path.parent), f"?run={run.id}&{rest}")


def cards(page) -> list[str]:
    return [unquote(id) for id in re.findall(r'<article class="o-group-card[^>]*data-id="([^"]*)"', page["html"])]


def test_the_cards_stand_by_total_with_terms_times_weights_and_the_unscored_last(run):
    record(run, game(0, "crane", total=0.2), game(1, "slate", "env_error", None, advantage=None),
           game(2, "plaid", "won", 1.0, advantage=1.42))
    page = ask(run)
    assert cards(page) == ["3-2-2", "3-2-0", "3-2-1"]
    text = seen(page["html"]).text
    assert "win1.00 × 2total1.00advantage+1.42" in text and "winnot scoredtotalnot scoredadvantage–" in text
    assert "one task ✓" in text and "seed 7" in text and page["last"] == 1


def test_only_episodes_of_the_asked_attempt_and_phase_are_shown(run):
    record(run, game(0, "a"), game(0, "a", id="3-2-0-r2", attempt=2), game(1, "a", id="3-2-1-r2", attempt=2),
           game(0, "a", id="eval-3-2-0", phase="eval"))
    assert cards(ask(run)) == ["3-2-0-r2", "3-2-1-r2"], "the newest attempt"
    assert cards(ask(run, "step=3&group=2&attempt=1")) == ["3-2-0"]
    assert cards(ask(run, "step=3&group=2&phase=eval")) == ["eval-3-2-0"]


def test_neighbours_are_the_groups_of_the_step(run):
    record(run, *(game(0, "a", id=f"3-{group}-0", group=group) for group in (0, 2, 5)))
    page = ask(run)["html"]
    links = {which: html.unescape(link) for link, which in re.findall(r'href="([^"]*)" data-go="(prev|next)"', page)}
    assert links == {"prev": f"/group?run={run.id}&step=3&group=0&attempt=1",
                     "next": f"/group?run={run.id}&step=3&group=5&attempt=1"}
    assert "2 of 3 groups" in seen(page).text


@pytest.mark.parametrize("rest, words", [
    ("step=3&group=9", "has no group 9 at step 3; its groups are 2 to 2"),
    ("step=8&group=2", "has no group 2 at step 8; no episode was recorded at that step"),
    ("step=x&group=2", "isn't a whole number; correct the address"),
    ("group=2", "The step is missing in this address; open a group from an episode"),
    ("step=3&group=2&phase=dream", "of the phase dream; no episode was recorded"),
])
def test_a_bad_address_is_one_sentence_with_the_remedy(run, rest, words):
    record(run, game(0, "a"))
    page = ask(run, rest)
    assert words in seen(page["html"]).text and "ids" not in page and "See the run" in page["html"]


def test_a_run_that_isnt_there_is_one_sentence(run):
    text = seen(answer(Store(run.path.parent), "?run=nope&step=1&group=1")["html"]).text
    assert "called 'nope'" in text and "See all runs" in text


def test_the_moments_of_an_episode_are_a_board_a_turn_and_what_was_done(run):
    record(run, game(0, "crane !slate"), game(1, "crane"))
    found = moments(Store(run.path.parent), run.id, ["3-2-0", "3-2-1"])
    first = found["3-2-0"]
    assert [k for k, _ in first["boards"]] == [0, 1, 2] and len(first["lines"]) == 3
    assert "guess slate" in first["lines"][2] and "refused" in first["lines"][2]
    assert "no run" in moments(Store(run.path.parent), "nope", ["x"])["problem"]


def test_two_stand_side_by_side_with_the_first_difference_marked(run):
    record(run, game(0, "crane slate plaid"), game(1, "crane mourn"))
    text = seen(compared(Store(run.path.parent), run.id, "3-2-0", "3-2-1")["html"]).text
    assert "They first differ at turn 2, in what was done." in text
    assert "Turn 1 both" in text and "≠Turn 2: the first difference: what was done" in text and "It had ended." in text
    assert "no episode 'x'" in compared(Store(run.path.parent), run.id, "x", "3-2-1")["html"].replace("&#x27;", "'")


def test_hostile_text_is_text_everywhere(run):
    fault = Fault(where="model", kind=HOSTILE, message=HOSTILE)
    turn = Turn(index=0, said=HOSTILE, thought=HOSTILE, tool=HOSTILE, arguments={HOSTILE: HOSTILE}, result=HOSTILE,
                fault=fault, facts={HOSTILE: HOSTILE})
    name = HOSTILE.replace("\ud800", "")
    record(run, *(game(n, "a", id=f"{name}{n}", turns=(turn, turn.model_copy(update={"index": 1, "said": str(n)})),
                       task=HOSTILE, seed=None, stop=HOSTILE, fault=fault, scores={name: 1.0}) for n in range(2)))
    page = ask(run)
    assert seen(page["html"]).text.count("<script>window.pwned=1</script>") > 6
    store = Store(run.path.parent)
    ids = [unquote(id) for id in page["ids"]]
    for one in moments(store, run.id, ids).values():
        for part in (*one["lines"], *(board for _, board in one["boards"]), one["end"]):
            seen(part)
    assert "<script>" in seen(compared(store, run.id, *ids)["html"]).text


def test_a_group_of_a_hundred_is_quick(run):
    record(run, *(game(n, "crane slate plaid mourn stone beach", total=n / 100) for n in range(100)))
    began = time.process_time()
    page = ask(run)
    assert len(cards(page)) == 100 and time.process_time() - began < 2
    assert len(page["html"]) < 800_000


def test_an_episode_knows_the_address_of_its_group():
    assert group_address("r", game(0, "a")) == "/group?run=r&step=3&group=2"
    assert Asked.read(group_address("r", game(0, "a", phase="eval", attempt=2)).partition("?")[2]) == \
        Asked("r", 3, 2, "eval", 2)
