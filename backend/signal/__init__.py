"""What the rewards say about whether anything can be learned.

GRPO learns from differences inside a group: where all episodes of a group got the same total there is no gradient.
Everything here is worked out from what the store counted, and said in plain sentences. Nothing that wasn't scored
counts as 0. To add an alarm, see `alarms`.
"""

from backend.signal.alarms import Raised, alarms
from backend.signal.evidence import CAUSE_COLUMNS, CAUSES, Evidence, Group, Tally, Unscored, win_share
from backend.signal.health import Fact, Health, health
from backend.signal.saying import Alarm
from backend.signal.thresholds import LIMITS, WINDOW

__all__ = ["CAUSES", "CAUSE_COLUMNS", "LIMITS", "WINDOW", "Alarm", "Evidence", "Fact", "Group", "Health", "Raised",
           "Tally", "Unscored", "alarms", "health", "win_share"]
