"""Alarms about how episodes go: scored or not, cut short, calls that fail or repeat, lengths that drift."""

from collections.abc import Iterator

from backend.records import NEVER_PLAYED, UNSCORED
from backend.signal.evidence import Evidence, added, mean_total, together
from backend.signal.groups import frequent
from backend.signal.saying import Alarm, Level, seen
from backend.signal.thresholds import limit
from backend.signal.words import count, listed, percent

FAULTS = {"env_error": "the environment failed", "env_lost": "the connection to the environment was lost",
          "cancelled": "the episode was cancelled"}


def unscored(told: Evidence) -> Iterator[Alarm]:
    """Any number of them is told: what wasn't scored is no verdict on the policy."""
    played, scored = added(told.lately, "episodes") or 0, added(told.lately, "scored") or 0
    level: Level = "bad" if played - scored >= limit("unscored") * played else "warn"
    groups, idle = added(told.lately, "groups"), together(told.lately, "causes")["unscored"]
    so = f", so {idle} of {groups} groups had nothing to compare" if idle else ""
    statuses = together(told.lately, "statuses")
    for status, fault in FAULTS.items():
        if not statuses[status]:
            continue
        why = next((cause.reason for cause in told.unscored if cause.status == status and cause.reason), "")
        yield Alarm(f"unscored_{status}", level, f"{count(statuses[status], 'episode')} not scored: {fault}"
                    f"{f' ({why})' if why else ''}{so}.",
                    "Nothing the policy did; look at the environment's server." if status.startswith("env") else "",
                    seen(told, status=status))
        so = ""
    if without := (added(told.lately, "judged") or 0) - scored:
        yield Alarm("no_term", level,
                    f"{count(without, 'episode')} of {played:,} not scored: no reward term gave them a value{so}.",
                    "Add a term for their environment, or see why its terms give nothing.",
                    seen(told, f"total is None and status not in {tuple(sorted(UNSCORED))}"))


def truncated(told: Evidence) -> Iterator[Alarm]:
    """By the cap on one message where that cut them, else by the token budget."""
    if told.imported:
        return
    cut, condition = added(told.lately, "clipped"), "clipped"
    if cut is None:
        cut, condition = together(told.lately, "statuses")["truncated"], "status == 'truncated'"
    cap, capped = told.message_cap, sum(told.capped.get(environment, 0) for environment in told.environments)
    if _often(told, capped, "truncated"):
        yield Alarm("capped", "warn", f"{percent(capped, _judged(told))} of the episodes ended on a message that was cut at "
                    f"{cap:,} tokens, the most that one message may have.",
                    "Raise max_new_tokens in generation_kwargs, under train.extra, or ask for shorter messages; more token "
                    "budget changes nothing.", seen(told, f"{condition} and last_tokens >= {cap}"))
    if _often(told, cut - capped, "truncated") and not frequent(told, "all truncated"):
        budget = f" of {told.token_budget:,} tokens" if told.token_budget else ""
        yield Alarm("truncated", "warn", f"{percent(cut - capped, _judged(told))} of the episodes were cut by the token "
                    f"budget{budget}.",
                    "It holds the whole conversation, tool results included: raise it, or ask for shorter answers.",
                    seen(told, f"{condition} and (last_tokens is None or last_tokens < {cap})" if capped else condition))


def out_of_turns(told: Evidence) -> Iterator[Alarm]:
    endless = together(told.lately, "statuses")["out_of_turns"]
    if _often(told, endless, "out of turns"):
        allowed = {told.turns_allowed.get(environment) for environment in told.environments} - {None}
        turns = f"all {allowed.pop():,} turns" if len(allowed) == 1 else "all their turns"
        yield Alarm("out_of_turns", "warn", f"{percent(endless, _judged(told))} of the episodes used {turns} without "
                    "coming to an end.",
                    "Allow more turns, or reward getting there sooner.", seen(told, status="out_of_turns"))


def invalid(told: Evidence) -> Iterator[Alarm]:
    ended = together(told.lately, "statuses")["invalid"]
    if _often(told, ended, "invalid") and not frequent(told, "all invalid"):
        yield Alarm("invalid", "warn",
                    f"{percent(ended, _judged(told))} of the episodes ended on what the environment couldn't take.",
                    "Look at what the model wrote, and say in the prompt what is allowed.",
                    seen(told, status="invalid"))


def silent(told: Evidence) -> Iterator[Alarm]:
    without = added(told.lately, "silent")
    if without is not None and _often(told, without, "silent"):
        yield Alarm("silent_episodes", "warn",
                    f"{percent(without, _judged(told))} of the episodes made no tool call at all.",
                    "Say in the prompt that the tools are to be used, and check that the chat template can call them.",
                    seen(told, "tool_calls == 0 and unparsed_calls == 0"))


def unparsed(told: Evidence) -> Iterator[Alarm]:
    broken, read = added(told.lately, "unparsed_calls"), added(told.lately, "tool_calls")
    if broken is None or read is None or broken + read < limit("calls"):
        return
    if broken >= limit("unparsed") * (broken + read):
        yield Alarm("unparsed_calls", "warn",
                    f"{percent(broken, broken + read)} of the tool calls couldn't be parsed and were never played.",
                    "Show the format of a call in the prompt, or start from a warm-up.",
                    seen(told, "unparsed_calls > 0"))


KINDS = {"unknown_tool": ("for a tool that doesn't exist", "Name the tools in the prompt, or start from a warm-up."),
         "wrong_arguments": ("with wrong arguments", "Describe the arguments in the prompt, or start from a warm-up."),
         "too_many_calls": ("for the rest of a message that made too many", "Say in the prompt how many it may make.")}
"""Kind of fault -> how it is said, and what to do where it is the most frequent."""


def failed(told: Evidence) -> Iterator[Alarm]:
    failures, made = added(told.lately, "failures"), added(told.lately, "tool_calls")
    if failures is None or made is None or made < limit("calls") or failures < limit("failed") * made:
        return
    kinds = [(kind, n) for kind, n in together(told.lately, "failed_calls").most_common() if kind not in NEVER_PLAYED]
    words = listed([f"{n:,} {KINDS[kind][0] if kind in KINDS else f'as {kind:.40}'}" for kind, n in kinds[:3]])
    most = kinds[0][0]
    exactly = most.replace("_", "").isalnum() and most.isascii() and len(most) < 60
    yield Alarm("failed_calls", "warn", f"{percent(failures, made)} of the tool calls failed: {words}.",
                KINDS[most][1] if most in KINDS else "Look at what the environment answered.",
                seen(told, f"'{most}' in failed_calls" if exactly else "failed_calls != '{}'"))


def late(told: Evidence) -> Iterator[Alarm]:
    after, made = added(told.lately, "late_calls"), added(told.lately, "tool_calls")
    if after is None or made is None or made < limit("calls") or after < limit("late") * made:
        return
    yield Alarm("late_calls", "warn", f"{percent(after, made)} of the tool calls came after the end of their episode, and "
                "weren't played.", "Say in the prompt that no call follows the end of the episode.",
                seen(told, "'after_the_end' in failed_calls"))


def repeated(told: Evidence) -> Iterator[Alarm]:
    again, made = added(told.lately, "repeated_calls"), added(told.lately, "tool_calls")
    if again is None or made is None or made < limit("calls") or again < limit("repeated") * made:
        return
    yield Alarm("repeated_calls", "warn",
                f"{percent(again, made)} of the tool calls repeated an earlier one of the episode and changed nothing.",
                "Take something off for them, or have the answers say what was tried before.",
                seen(told, "repeated_calls > 0"))


def drift(told: Evidence) -> Iterator[Alarm]:
    """Against the run's first steps, so that a slow drift is seen too."""
    if not told.start or max(tally.step for tally in told.start) >= told.first_step:
        return
    n, m = added(told.lately, "with_tokens") or 0, added(told.start, "with_tokens") or 0
    if min(n, m) < limit("episodes") or not (first := (added(told.start, "tokens") or 0) / m):
        return
    now = (added(told.lately, "tokens") or 0) / n
    reward, old = mean_total(told.lately), mean_total(told.start)
    gained = reward is not None and old is not None and reward > old
    steps = len({tally.step for tally in told.start})
    then = "first step" if steps == 1 else f"first {steps} steps"
    told_now = f"an episode now takes {now:,.0f} tokens, {now / first:.1f} times those of the run's {then}"
    if now >= limit("longer") * first:
        yield Alarm("longer", "plain" if gained else "warn", f"{told_now}{'' if gained else ', and earns no more'}.",
                    "" if gained else "Lower the token budget or the learning rate, or take something off for length.",
                    seen(told, sort="-tokens"))
    elif now <= limit("shorter") * first and not gained:
        yield Alarm("shorter", "warn", f"{told_now}, and earns no more.",
                    "See whether it gives up early; reward getting there, or lower the learning rate.",
                    seen(told, sort="tokens"))


def _judged(told: Evidence) -> int:
    return added(told.lately, "judged") or 0


def _often(told: Evidence, episodes: int, name: str) -> bool:
    return _judged(told) >= limit("episodes") and episodes >= limit(name) * _judged(told)
