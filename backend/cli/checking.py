"""`check`: a preflight as a table that grows line by line, or as one JSON object that does."""

import json
import os
import shutil
import sys
import textwrap

from backend.cli.printing import plain
from backend.errors import OrtamError, RewardError, SpecError
from backend.launcher import folder_of, load_spec, validate
from backend.preflight import Finding, check, verdict
from backend.records import RunSpec
from backend.store.codec import finite

COLOURS = {"green": "32", "amber": "33", "red": "31"}
CHECK_WIDTH = 16


def checked(written: str, as_json: bool) -> int:
    """Exit status: 1 when anything would fail. `written` is a file, a recipe, or - for standard input."""
    spec = load_spec(sys.stdin.read() + "\n" if written == "-" else written)
    refused = would_refuse(spec)
    shown = _Json(spec) if as_json else _Table(spec)
    found = []
    for finding in check(spec, folder_of(spec.model), refused, shown.doing):
        found.append(finding)
        shown.line(finding)
    red = any(finding.level == "red" for finding in found)
    shown.end(verdict(found), not red)
    return 1 if red else 0


def would_refuse(spec: RunSpec) -> OrtamError | None:
    """What a launch would refuse it for, reward terms aside, which the preflight looks at one by one.

    Raises SpecError where an environment is written wrong, so that there is nothing to look at.
    """
    for part in (spec.model_copy(update={"rewards": ()}), spec):
        try:
            validate(part)
        except RewardError:
            continue
        except SpecError as error:
            if error.field.startswith("environments"):
                raise
            return error
        except OrtamError as error:
            return error
    return None


class _Table:
    def __init__(self, spec: RunSpec):
        self._names = max([len("run"), *(len(asked.id) for asked in spec.environments)])
        self._colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        self._wide = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        self._overwrite = sys.stderr.isatty()

    def doing(self, what: str) -> None:
        print(f"\r\x1b[K{plain(what)} …" if self._overwrite else f"{plain(what)} …", file=sys.stderr,
              end="" if self._overwrite else "\n", flush=True)

    def _clear(self) -> None:
        if self._overwrite:
            print("\r\x1b[K", file=sys.stderr, end="", flush=True)

    def line(self, finding: Finding) -> None:
        self._clear()
        level = finding.level.ljust(5)
        if self._colour:
            level = f"\x1b[{COLOURS[finding.level]}m{level}\x1b[0m"
        head = f"  {(finding.environment or 'run').ljust(self._names)}  {finding.check.ljust(CHECK_WIDTH)}  "
        indent = " " * (len("green") + len(head))
        for start, words in ((f"{level}{head}", finding.seen), (f"{indent}→ ", finding.remedy)):
            if words:
                self._write(start, words, indent)
        sys.stdout.flush()

    def _write(self, start: str, words: str, indent: str) -> None:
        words = plain(words).replace("\n", " ")
        if self._wide:
            words = textwrap.fill(words, max(40, self._wide - len(indent) - 2)).replace("\n", f"\n{indent}")
        print(f"{start}{words}")

    def end(self, words: str, well: bool) -> None:
        self._clear()
        print(f"\n{words}")


class _Json:
    """One object, written so that each finding is a line of its own as soon as it is known."""

    def __init__(self, spec: RunSpec):
        self._first = True
        print(f'{{"name": {json.dumps(spec.name)}, "checks": [', flush=True)

    def doing(self, what: str) -> None:
        print(plain(what), file=sys.stderr, flush=True)

    def line(self, finding: Finding) -> None:
        # The comma comes first, so that what was printed so far is whole whenever the process ends.
        print(("" if self._first else ",") + json.dumps(finite(finding.as_dict()), default=str), flush=True)
        self._first = False

    def end(self, words: str, well: bool) -> None:
        print(f'], "ok": {json.dumps(well)}, "verdict": {json.dumps(words)}}}', flush=True)
