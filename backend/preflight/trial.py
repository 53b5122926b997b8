"""A few episodes played by the best scripted player there is and by a random one: facts, reward terms, and whether the
reward tells good play from bad."""

import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from backend.environments import Source, Task, first_messages
from backend.environments.players import played_all, players
from backend.environments.playthrough import Playthrough
from backend.preflight.findings import Finding, Line
from backend.preflight.words import counted, fact, listed, number
from backend.records import UNSCORED, EnvironmentSpec, FactValue
from backend.rewards import Played, Terms, Verdict

EPISODES = 8
"""Played by each player, one a task."""

AT_ONCE = 8

SAME = 1e-9
"""Totals nearer than this are one."""

Tokens = Callable[[Playthrough], int]
"""Of an episode's calls and answers."""


@dataclass(frozen=True)
class Trial:
    player: str
    plays: list[Playthrough]
    facts: list[dict[str, FactValue]]
    """Of the episodes that can be scored, at their end."""
    worth: list[Verdict]
    """Of the same episodes."""
    totals: list[float | None]

    def scores(self, term: str) -> list[float | None]:
        return [verdict.scores[term] for verdict in self.worth]

    def mean(self, term: str | None = None) -> float | None:
        """Of a term, or of the totals; None where nothing was scored."""
        known = [value for value in (self.totals if term is None else self.scores(term)) if value is not None]
        return statistics.fmean(known) if known else None


async def tried(source: Source, asked: EnvironmentSpec, tasks: Sequence[Task], terms: Terms, tokens: Tokens,
                seed: int, at_once: int = AT_ONCE) -> list[Trial]:
    """The best player's first, where there is one, and the random player's last. `at_once`: sessions there are."""
    trials: list[Trial] = []
    known = list(players(asked.use).items())
    for name, player in known[:1] + known[1:][-1:]:
        plays = await played_all(player, source, asked, tasks[:EPISODES], seed, min(AT_ONCE, at_once))
        scored = [play for play in plays if play.status() not in UNSCORED]
        facts = [{**play.facts, "truncated": False, "completion_tokens": tokens(play)} for play in scored]
        firsts = [tuple(first_messages(asked, source.describe(), play.opening)) for play in scored]
        worth = await terms.score_all([Played(each, asked.id, first, play.turns)
                                       for each, first, play in zip(facts, firsts, scored, strict=True)])
        trials.append(Trial(name, plays, facts, worth, [terms.total(verdict.scores) for verdict in worth]))
    return trials


def episodes(asked: EnvironmentSpec, trials: Sequence[Trial]) -> Finding:
    """How they ended."""
    line = Line("Episodes", asked.id, ends={trial.player: [play.status() for play in trial.plays] for trial in trials})
    seen = "; ".join(f"{trial.player}: {_ends(trial)}" for trial in trials)
    broken = next((play.fault for trial in trials for play in trial.plays if play.fault), None)
    if broken:
        return line.red(f"{seen}. {broken.kind}: {broken.message}", "See the environment's log.")
    wrong = [turn.fault for play in trials[0].plays for turn in play.turns if turn.fault]
    if len(trials) > 1 and wrong:
        return line.amber(f"{seen}. {counted(len(wrong), 'call')} of the {trials[0].player} player failed, such as: "
                          f"{wrong[0].message}", "A scripted player makes no wrong calls: see whether the environment "
                          "is the one it was written for.")
    return line.green(seen)


def _ends(trial: Trial) -> str:
    ends = Counter(play.status().replace("_", " ") for play in trial.plays)
    return ", ".join(f"{count} {status}" for status, count in ends.most_common())


def facts(asked: EnvironmentSpec, trials: Sequence[Trial], meanings: Mapping[str, str]) -> Finding:
    """Those at the end of an episode of the first player, and which were never known."""
    every = [told for trial in trials for told in trial.facts]
    if not every:
        return Line("Facts", asked.id).red("no episode told any", "See the line above.")
    never = [name for name in meanings if all(told.get(name) is None for told in every)]
    shown = every[len(trials[0].facts) - 1 if trials[0].facts else -1]
    seen = ", ".join(f"{name} {fact(shown.get(name))}" for name in meanings) or "none beside those of every episode"
    line = Line("Facts", asked.id, facts=shown, never=never)
    if never:
        return line.amber(f"{seen}. Never known in {counted(len(every), 'episode')}: {listed(never)}",
                          "A reward term that needs one of them gives nothing.")
    return line.green(seen)


def each_term(asked: EnvironmentSpec, trials: Sequence[Trial], terms: Terms) -> list[Finding]:
    return [_term(asked, trials, term.name) for term in terms.terms]


def _term(asked: EnvironmentSpec, trials: Sequence[Trial], name: str) -> Finding:
    line = Line(f"Term {name}", asked.id, means={trial.player: trial.mean(name) for trial in trials})
    values = [value for trial in trials for value in trial.scores(name)]
    known = [value for value in values if value is not None]
    faults = [fault for trial in trials for verdict in trial.worth for fault in verdict.faults
              if fault.message.startswith(f"reward term {name}:")]
    told = "; ".join(f"{trial.player} {_spread(trial.scores(name))}" for trial in trials)
    if not known and faults:
        return line.red(f"it gave no number in {counted(len(values), 'episode')}: {faults[0].message}",
                        "Correct the expression.")
    if not known:
        return line.amber(f"it gave no number in {counted(len(values), 'episode')}", "It needs a fact that is never "
                          "known here: use another, or ask for it with `is None`.")
    if faults:
        return line.amber(f"{told}. In {counted(len(faults), 'episode')} it failed: {faults[0].message}",
                          "Guard the expression, such as x / y if y else 0.")
    if not any(known):
        return line.green(f"{told}: nothing these players did earned or cost it")
    if len(known) > 1 and max(known) - min(known) < SAME:
        return line.amber(f"{told}: the same in every episode",
                          "A term that never varies teaches nothing; it may vary once the model plays.")
    return line.green(told)


def _spread(values: Sequence[float | None]) -> str:
    """`1.25 (0.9 to 1.4)`."""
    known = [value for value in values if value is not None]
    if not known:
        return "not scored"
    mean, low, high = statistics.fmean(known), min(known), max(known)
    some = f", {len(values) - len(known)} not scored" if len(known) < len(values) else ""
    return number(mean) + (f" ({number(low)} to {number(high)}{some})" if high - low > SAME or some else "")


def worth(asked: EnvironmentSpec, trials: Sequence[Trial]) -> Finding:
    """Is good play worth more than random play, and does a random player's reward vary at all?"""
    line = Line("Good or random", asked.id, means={trial.player: trial.mean() for trial in trials})
    best, last = trials[0], trials[-1]
    good, poor = best.mean(), last.mean()
    if good is None or poor is None:
        player = best.player if good is None else last.player
        return line.red(f"no episode of the {player} player was scored", "See the lines above.")
    known = [total for total in last.totals if total is not None]
    flat = len(known) > 1 and max(known) - min(known) < SAME
    if best is last:
        seen = f"a random player earns {_spread(last.totals)}; no better player is known here to compare with"
    else:
        seen = f"the {best.player} player earns {_spread(best.totals)}, a random one {_spread(last.totals)}"
        if good <= poor + SAME:
            return line.amber(f"{seen}: good play isn't worth more", "Change the reward terms or their weights, unless "
                              "something else than winning is meant.")
    if flat:
        return line.amber(f"{seen}. All random episodes earn the same: a model that starts from nothing would see no "
                          "difference within a group", "Add a term with partial credit, or warm up first.")
    return line.green(seen if best is last else f"{seen}: good play is worth more")
