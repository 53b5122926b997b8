"""The named endpoints for scripts: `gradio_client` calls them by name.

They give plain JSON; None stays null. What is wrong comes back as one sentence.
"""

import functools
import inspect
import math
import re
from collections.abc import Callable
from typing import Any

from backend.errors import OrtamError
from backend.launcher import load_spec, load_terms, recipes, to_yaml
from backend.launcher.spec_text import parse
from backend.preflight import Child, Finding, verdict
from backend.records import RunSpec

LARGEST = 2**53
"""Integers beyond it would arrive rounded in many a JSON reader; they go as text."""
MOST = 1000
LONGEST_CHECK = 600
"""Seconds."""


def add(store, launcher) -> None:
    """Adds them to the page being built."""
    import gradio as gr

    def launch(spec: str) -> str:
        """Queue a run. `spec` is YAML, or the name of a recipe; the answer is the run's id."""
        _may(launcher)
        return launcher.launch(load_spec(spec) if spec in recipes() else parse(spec))

    def stop(run: str) -> str:
        """Ask a run to stop after the step under way; the answer says what will happen."""
        _may(launcher)
        return launcher.stop(run)

    def runs(search: str = "") -> list:
        """Runs, newest first."""
        return [plain(run._asdict()) for run in store.runs(search)]

    def run(run: str) -> dict:
        """One run: its spec, status, progress and how it ended. `run` is an id, a unique prefix, or latest."""
        return described(store, store.run(run))

    def episodes(run: str, where: str = "", sort: str = "-step", limit: float = 50, offset: float = 0,
                 find: str = "") -> list:
        """Episodes of a run without their turns; `where` is an expression such as 'won and guesses <= 3', `find` words in
        the transcript such as 'crane -slate tool:guess'."""
        limit, offset = max(1, min(_whole("limit", limit), MOST)), max(0, min(_whole("offset", offset), LARGEST))
        return [plain(row._asdict()) for row in store.run(run).episodes(where or None, sort, limit, offset,
                                                                      find=find)]

    def episode(run: str, id: str) -> dict:
        """One episode with all its turns."""
        return plain(store.run(run).episode(id).model_dump())

    def reprice(run: str, rewards: str) -> dict:
        """What a run's episodes would be worth by other reward terms: YAML (terms or a spec), or a saved set."""
        from backend import repricing

        found = store.run(run)
        saved = store.reward_set(rewards)
        terms = saved.terms if saved else load_terms(rewards, found.spec.environments)
        return plain(repricing.reprice(found, terms).told())

    def check(spec: str) -> dict:
        """Whether a spec (YAML, or the name of a recipe) would work: `ok`, a verdict, and one entry per check."""
        _may(launcher)
        return checked(load_spec(spec) if spec in recipes() else parse(spec))

    for name, function in (("launch", launch), ("stop", stop), ("runs", runs), ("run", run), ("episodes", episodes),
                           ("episode", episode), ("reprice", reprice), ("check", check)):
        gr.api(_told(function), api_name=name)


def described(store, run) -> dict[str, Any]:
    result = run.result()
    return plain({"id": run.id, "status": run.status(), "progress": run.progress()._asdict(), "demo": run.demo,
                  "started": run.started(), "result": result.model_dump() if result else None,
                  "summary": store.summary(run)._asdict(), "spec": run.spec.model_dump()})


def checked(spec: RunSpec) -> dict[str, Any]:
    """Looked at by a process of its own; its findings when it has ended."""
    child = Child(to_yaml(spec))
    if not child.ended.wait(LONGEST_CHECK):
        child.stop()
        raise OrtamError(f"The check took longer than {LONGEST_CHECK} s and was ended; run python -m backend check to "
                         "see how far it gets.")
    if child.problem:
        raise OrtamError(child.problem)
    found = [Finding(**each) for each in child.findings]
    return plain({"ok": all(each.level != "red" for each in found), "verdict": verdict(found),
                  "checks": child.findings})


def _may(launcher) -> None:
    if launcher is None:
        raise OrtamError("This site only shows runs; start it without --read-only to launch, check or stop one.")


def _whole(name: str, value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise OrtamError(f"{name} must be a whole number, not {value!r:.40}") from None


def _told(function: Callable) -> Callable:
    import gradio as gr

    asked = inspect.signature(function)

    @functools.wraps(function)
    def told(*args, **kwargs):
        try:
            for name, value in asked.bind(*args, **kwargs).arguments.items():
                if asked.parameters[name].annotation is str and not isinstance(value, str):
                    raise OrtamError(f"{name} must be text, not {value!r:.40}")
            return function(*args, **kwargs)
        except OrtamError as error:
            raise gr.Error(str(error), print_exception=False) from None

    return told


def plain(value: Any) -> Any:
    """JSON can carry it: a lone surrogate becomes its escape, a huge integer text, NaN and infinity null."""
    if isinstance(value, str):
        return re.sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", value)
    if isinstance(value, dict):
        return {plain(str(key)): plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(inner) for inner in value]
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if abs(value) <= LARGEST else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value
