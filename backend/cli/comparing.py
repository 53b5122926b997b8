"""`compare`: what came of runs, and what was set differently."""

from collections.abc import Sequence

from backend import comparing
from backend.cli import printing
from backend.errors import OrtamError
from backend.store import Store


def compared(store: Store, refs: Sequence[str], as_json: bool) -> None:
    runs = list({run.id: run for run in map(store.run, refs)}.values())
    if len(runs) == 1:
        raise OrtamError(f"{runs[0].id} can't be compared with itself; name a second run")
    outcomes = [comparing.outcome(run) for run in runs]
    differing = comparing.differing([run.spec for run in runs])
    if as_json:
        return printing.json_line({"outcomes": [told._asdict() for told in outcomes],
                                   "settings": [setting._asdict() for setting in differing]})
    printing.table(("run", "status", "step", "episodes", "win last", "win best", "total last", "signal", "unscored", "took"), [
        (told.run, told.status, f"{told.step}/{told.steps}", str(told.episodes), printing.number(told.win_last),
         printing.number(told.win_best), printing.number(told.total_last), printing.number(told.signal),
         printing.number(told.unscored), printing.duration(told.seconds)) for told in outcomes])
    print(f"\nlast: of the last {comparing.LAST} recorded steps; best: of the {comparing.LAST} in a row that were best\n")
    if not differing:
        return print("nothing but the name was set differently")
    printing.table(("setting", *(run.id for run in runs)), [
        (setting.path, *("not there" if not there or (value is None and setting.whole) else "not set" if value is None
                         else str(value)[:60] for value, there in zip(setting.values, setting.there, strict=True)))
        for setting in differing])
