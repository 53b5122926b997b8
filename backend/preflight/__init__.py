"""Before anything is spent: is every environment of a spec there, does it hold a whole batch, does it repeat a task,
does its reward tell good play from bad, and does an episode fit the token budget?

To add a check: write a function that gives a `Finding`, and call it in `backend.preflight.run`. Each finding is one
line: what was looked at, green, amber or red, what was seen, and what to do about it.

`check` looks in this process, for the command line. `Child` has the command line look, for the pages, which load
neither torch nor transformers.
"""

from backend.preflight.child import Child
from backend.preflight.findings import Finding, verdict
from backend.preflight.run import check

__all__ = ["Child", "Finding", "check", "verdict"]
