"""Alarms about groups: what they had to teach, and whether they played one task."""

from collections.abc import Iterator

from backend.signal.evidence import Cause, Evidence, added, together
from backend.signal.saying import Alarm, seen
from backend.signal.thresholds import limit


def mixed(told: Evidence) -> Iterator[Alarm]:
    several, groups = added(told.lately, "mixed") or 0, added(told.lately, "groups") or 0
    if not several:
        return
    first = next(tally for tally in told.lately if tally.mixed)
    yield Alarm("mixed_groups", "bad", f"{several} of {groups} groups mixed several tasks, so their episodes can't be "
                "compared.", f"Check that {first.environment} honours the seed given to reset.",
                {"step": str(first.step), "group": str(first.first_mixed)})


def lost(told: Evidence) -> Iterator[Alarm]:
    yield from _caused(told, "all lost", "lost_groups", "lost every episode: nothing to learn there.",
                       "Add partial credit, take easier tasks, or start from a warm-up.")


def invalid(told: Evidence) -> Iterator[Alarm]:
    yield from _caused(told, "all invalid", "invalid_groups",
                       "ended every episode on something the environment couldn't take.",
                       "Say in the prompt what is allowed, or start from a warm-up.")


def truncated(told: Evidence) -> Iterator[Alarm]:
    if told.imported:
        return
    if told.message_cap is not None:
        yield from _caused(told, "all truncated", "truncated_groups", "had every episode cut by a limit on tokens.",
                           f"Raise the cap of {told.message_cap:,} a message, or the token budget, whichever cut them.")
        return
    yield from _caused(told, "all truncated", "truncated_groups", "had every episode cut by the token budget.",
                       "Raise the token budget, or ask for shorter answers.")


def same_total(told: Evidence) -> Iterator[Alarm]:
    yield from _caused(told, "same total", "same_total_groups", "gave every episode the same total.",
                       "Add a reward term that tells better episodes from worse ones.")


def solved(told: Evidence) -> Iterator[Alarm]:
    for alarm in _caused(told, "all won", "solved", "won every episode: this is nearly solved.",
                         "Give it harder tasks, or stop here."):
        yield Alarm(alarm.kind, "good", alarm.text, alarm.remedy, alarm.look)


def alike(told: Evidence) -> Iterator[Alarm]:
    """Nothing is tried any more."""
    same, groups = added(told.lately, "alike"), added(told.lately, "groups") or 0
    if same is None or groups < limit("groups") or same < limit("alike") * groups:
        return
    newest = [tally for tally in told.lately if tally.alike][-1]
    yield Alarm("alike_groups", "warn", f"{same} of {groups} groups made the very same calls in every episode.",
                "Raise the temperature, or lower the learning rate if it used to vary.",
                {"step": str(newest.step), "group": str(newest.first_alike)})


def small_batch(told: Evidence) -> Iterator[Alarm]:
    """Said only where no single cause explains it."""
    causes, groups = together(told.lately, "causes"), added(told.lately, "groups") or 0
    if groups < limit("groups") or causes["signal"] >= limit("effective batch") * groups or _explained(told):
        return
    used, played = added(told.lately, "learnt_from") or 0, added(told.lately, "episodes") or 0
    yield Alarm("small_batch", "warn", f"{causes['signal']} of {groups} groups teach, so a step learns from "
                f"{used / told.steps:.0f} of its {played / told.steps:.0f} episodes.",
                "Take tasks at the edge of what the policy can do, or larger groups.",
                seen(told, "group_signal != 'signal'"))


def frequent(told: Evidence, cause: Cause) -> bool:
    groups = added(told.lately, "groups") or 0
    return groups >= limit("groups") and together(told.lately, "causes")[cause] >= limit(cause) * groups


def _explained(told: Evidence) -> bool:
    causes: tuple[Cause, ...] = ("all lost", "all won", "all invalid", "all truncated", "same total")
    return any(frequent(told, cause) for cause in causes)


def _caused(told: Evidence, cause: Cause, kind: str, did: str, remedy: str) -> Iterator[Alarm]:
    if frequent(told, cause):
        causes = together(told.lately, "causes")
        yield Alarm(kind, "warn" if causes["signal"] else "bad",
                    f"{causes[cause]} of {added(told.lately, 'groups')} groups {did}", remedy,
                    seen(told, f"group_signal == '{cause}'"))
