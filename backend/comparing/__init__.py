"""Runs side by side: settings that differ, what came of each, means and differences of their curves, and the tasks that
two of them played. It only reads; how it is drawn is the pages' business."""

from backend.comparing.lines import Line, Together, difference, together
from backend.comparing.outcome import LAST, Outcome, outcome
from backend.comparing.settings import Setting, differing, settings
from backend.comparing.tasks import Duel, SharedEnvironment, Sign, Task, duel, shared_environments, signs_of

__all__ = ["LAST", "Duel", "Line", "Outcome", "Setting", "SharedEnvironment", "Sign", "Task", "Together", "difference",
           "differing", "duel", "outcome", "settings", "shared_environments", "signs_of", "together"]
