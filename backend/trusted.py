"""Whether Python code of the user's own may run: classes as environments, functions as reward terms.

Whoever starts a run could then run anything as this user, so it has to be asked for: `--trusted` on `app.py` and on the
verbs that start runs, which sets ORTAM_TRUSTED=1. It travels from a process to those it starts: from the page to the
worker, and from there to the trainer.
"""

import os

VARIABLE = "ORTAM_TRUSTED"


def trusted() -> bool:
    return os.environ.get(VARIABLE) == "1"


def trust() -> None:
    """From here on, in this process and those it starts."""
    os.environ[VARIABLE] = "1"


def refusal(what: str) -> str:
    """A sentence without its full stop; `what` is such as "a class of your own"."""
    return (f"{what} runs with all your rights, so only trusted mode allows it; start app.py, or the command that "
            f"starts the run, with --trusted (or set {VARIABLE}=1)")
