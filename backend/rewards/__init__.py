"""Reward terms: what a played episode is worth, as a number or None.

A term has a kind, and a scope: `end` is worked out once, `turn` after every turn that reached the environment, and
summed over the turns that gave a number.

    expression    `1.0 + 0.5 * (1 - guesses / 6) if won else 0.0`. Names are facts; min, max, abs, round and len are the
                  functions. A fact that isn't known is None, and None is never 0: arithmetic and order with it make the
                  whole term None. As a condition it counts as not true, and `x is None` asks for it.
    environment   the environment's own reward: the `last` one, or the `sum`
    python        `file.py:function`, called with a `Played`; in trusted mode only
    judge         the value is a rubric that a chat model grades the episode by, from 0 to 1

For a form:

    check_term(term, facts)     raises RewardError with one sentence about what is wrong, before anything is played;
                                check_alone(term) where the facts aren't known yet
    FUNCTIONS, ONLY_AT_THE_END  what an expression may call; facts that only the end of an episode has
    Terms(terms).score(facts, environment, turns)   name -> number or None; judges and Python functions aren't asked

For a trainer: `terms.load(answers)` once, then `await terms.score_all([Played, ...])` for each batch, which gives a
`Verdict` each. For whole runs: `backend.repricing`.
"""

from backend.rewards.expression import FUNCTIONS
from backend.rewards.played import ONLY_AT_THE_END, Played
from backend.rewards.terms import Terms, Verdict, applies, applying, check, check_alone, check_term

__all__ = ["FUNCTIONS", "ONLY_AT_THE_END", "Played", "Terms", "Verdict", "applies", "applying", "check", "check_alone",
           "check_term"]
