"""From when on something is said, and why from then: the only table of thresholds."""

from typing import NamedTuple


class Limit(NamedTuple):
    at: float
    why: str


LIMITS = {
    # how much has to be seen
    "window": Limit(10, "Steps that 'lately' means: enough to even out one odd batch, few enough to notice a turn."),
    "groups": Limit(8, "Groups before a share of groups is spoken of: of fewer, one is already more than a tenth."),
    "episodes": Limit(32, "Episodes before a share of episodes is spoken of: one batch of the smallest usual size."),
    "calls": Limit(64, "Tool calls before a share of calls is spoken of."),
    "spread": Limit(32, "Episodes, less one a group, before terms are compared."),
    # what the groups had to teach, as a share of all groups
    "all lost": Limit(0.25, "A quarter of the batch bought nothing; fewer is what tasks cost that are hard at first."),
    "all won": Limit(0.5, "Easy tasks belong in a batch; when half of it is solved, so is most of the run."),
    "all invalid": Limit(0.1, "A group in which nobody could make a legal move hasn't begun to play."),
    "all truncated": Limit(0.1, "A setting ended every episode of these groups, not the policy."),
    "same total": Limit(0.25, "As for lost groups: a quarter of the batch bought nothing."),
    "alike": Limit(0.25, "With a temperature above 0, equal episodes mean that nothing is tried any more."),
    "effective batch": Limit(0.25, "Under a quarter a step rests on so few groups that it is mostly noise."),
    # how episodes go, as a share of all episodes or calls
    "unscored": Limit(0.1, "Any unscored episode is told; from a tenth on it is another batch than was asked for."),
    "truncated": Limit(0.1, "Cut episodes are scored on half a game, and the longest thought is cut first."),
    "out of turns": Limit(0.25, "Some tasks take too long; a quarter means a tight limit, or play in circles."),
    "invalid": Limit(0.1, "A policy that knows the rules rarely ends on a move the environment can't take."),
    "silent": Limit(0.1, "An episode without a call isn't played, and only groups in which some call can cure that."),
    "unparsed": Limit(0.05, "TRL counts such calls neither as calls nor as failures, so nothing else shows them."),
    "failed": Limit(0.1, "One call in ten spends a turn and teaches the format, not the task."),
    "late": Limit(0.1, "They cost tokens and turn nothing; one in ten is a habit."),
    "repeated": Limit(0.2, "A fifth of the calls buys nothing new: loops, not exploration."),
    # against the run's first steps
    "longer": Limit(1.5, "Half as long again as at first is more than batches differ by."),
    "shorter": Limit(0.5, "Half as long as at first: a policy that learns to stop early looks like this."),
    # what the terms do
    "dominates": Limit(0.98, "Share of what sets a group apart: the rest has under a seventh of its spread."),
    "apart": Limit(-0.3, "Correlation inside groups; with 32 episodes one of -0.3 is hardly chance any more."),
    "equals": Limit(0.5, "The weaker term beside the stronger: below half of it, it corrects and doesn't oppose."),
}


def limit(name: str) -> float:
    return LIMITS[name].at


WINDOW = int(limit("window"))
