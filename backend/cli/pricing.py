"""`reprice`: what a run's episodes would be worth by other reward terms. Loads numpy, so only when asked for."""

from pathlib import Path

from backend.cli import printing
from backend.errors import SpecError
from backend.launcher import load_terms
from backend.repricing import Repricing, reprice
from backend.store import Store


def repriced(store: Store, ref: str, rewards: str, as_json: bool) -> None:
    run = store.run(ref)
    saved = store.reward_set(rewards)
    terms = saved.terms if saved else load_terms(_text(rewards), run.spec.environments)
    told = reprice(run, terms)
    printing.json_line(told.told()) if as_json else _print(told)


def _text(file: str) -> str:
    try:
        return Path(file).read_text("utf-8")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it isn't text"
        raise SpecError("rewards", f"{file!r:.200} is no saved reward set, and can't be read as a file ({why}); give a "
                        "YAML file of reward terms") from None


def _print(told: Repricing) -> None:
    print(f"{told.run}   {told.episodes} training episodes")
    print(f"  advantages scaled by {told.scale_rewards}, terms aggregated by {told.aggregation}; what the trainer used "
          "stays as it was")
    rows = [("total", "", told.total_before, told.total_after), *(
        (term.name, printing.number(term.weight), term.before, term.after) for term in told.terms)]
    print()
    printing.table(("term", "weight", "mean before", "mean now", "10 %", "90 %", "scored"), [
        (name, weight, printing.number(before.mean if before else None), printing.number(after.mean),
         printing.number(after.low), printing.number(after.high),
         f"{after.scored} of {after.all}") for name, weight, before, after in rows])
    groups = told.groups
    print()
    print(f"  {groups.signal_before} of {groups.all} groups had signal, {groups.signal_after} would: "
          f"{groups.gained} gain it, {groups.lost} lose it")
    print(f"  {groups.order_changed} of {groups.all} groups change their order")
    for line in told.left_out:
        print(f"  warning: {printing.plain(line)}")
    if told.moved:
        print()
        head = ("moved most", "environment", "status", "total before", "total now", "advantage before", "advantage now")
        printing.table(head, [
            (one.id, one.environment, one.status, printing.number(one.total_before), printing.number(one.total_after),
             printing.number(one.advantage_before), printing.number(one.advantage_after)) for one in told.moved])
