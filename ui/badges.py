"""Small marks that several pages show: whether a group played one task, and an advantage."""

from collections.abc import Sequence

from backend.records import DUST, UNSCORED, Episode
from backend.store.counting import one_task
from ui.written import number


def purity(episodes: Sequence[Episode]) -> str:
    told = [episode.fingerprint for episode in episodes if episode.status not in UNSCORED]
    pure = one_task(told)
    if pure:
        return '<span class="o-tag" title="Every episode of the group played the same task">one task ✓</span>'
    if pure is None:
        return ('<span class="o-tag" title="The environment doesn\'t say which task each episode really played">'
                "one task? can't be told</span>")
    return (f'<span class="o-tag o-bad" title="Advantages compare episodes of one task; here they compare several">'
            f"{len(set(told) - {None})} different tasks</span>")


def advantage(value: float | None) -> str:
    if value is None:
        return '<span class="o-muted" title="No trainer used it">–</span>'
    side = "o-muted" if abs(value) < DUST else "o-up" if value > 0 else "o-down"
    return f'<span class="{side}">{number(value, signed=True)}</span>'
