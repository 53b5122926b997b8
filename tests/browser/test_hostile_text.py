"""Whatever a model or an environment wrote is text on every page, and no page asks anyone else for anything."""

import time

import pytest

from backend.records import Episode, Event, Fault, Policy, Result, RunSpec, Turn
from backend.store import Store

ATTACK = ("</script></textarea></pre><script>window.__pwn = 1</script><img src=x onerror='window.__pwn = 2'>"
          "\"><svg onload=window.__pwn=3>' onmouseover='window.__pwn=4' {{7*7}} ${window.__pwn=5} "
          "<iframe srcdoc='<script>parent.__pwn=6</script>'></iframe><a href='javascript:window.__pwn=7'>x</a>"
          "<link rel=stylesheet href=https://example.com/x.css>")
UGLY = f"{ATTACK} \u202e\x00\ud800"
TYPED = "%3Cscript%3Ewindow.__pwn=9%3C/script%3E"
PAGES = ("/", "/launch", "/run?id={run}", "/run?id={run}&step=1#log", "/run?id={run}#spec", "/launch?from={run}",
         "/episode?run={run}", "/episode?run={run}&id={episode}&turn=1", "/episode?run={run}&where={attack}",
         "/run?id={attack}", "/episode?run={run}&id={attack}", "/?search={attack}")

SPEC = {
    "name": "hostile", "model": ATTACK,
    "environments": [{"id": "wordle", "use": "wordle", "prompt": "<script>window.__pwn = 8</script>"}],
    "rewards": [{"name": "win", "value": "1.0 if won else 0.0"}],
}


def hostile_run(folder) -> str:
    """A finished run in which every text is an attack; its id."""
    run = Store(folder).create(RunSpec.model_validate(SPEC))
    facts = {"won": False, "guesses": 1, "best_greens": 0, "invalid_moves": 1, "last_guess": UGLY,
             "last_feedback": UGLY, "secret": UGLY, UGLY: UGLY}
    fault = Fault(where="environment", kind=UGLY, message=UGLY, traceback=UGLY)
    writer = run.writer()
    with writer.hold_lock():
        writer.phase(UGLY)
        writer.record([Episode(
            id=f"1-0-{sample}", step=1, group=0, sample=sample, environment="wordle", task=UGLY, seed=1,
            fingerprint=UGLY, policy=Policy(name=UGLY), status="lost", stop=UGLY,
            prompt=({"role": "user", "content": UGLY},), opening=UGLY, facts=facts, scores={"win": 0.0, ATTACK: 1.0},
            total=0.0, advantage=0.0, tokens=3, started=time.time(), seconds=1.0, fault=fault if sample else None,
            turns=(Turn(index=0, said=UGLY, thought=UGLY, tool=UGLY, arguments={UGLY: UGLY}, result=UGLY,
                        shown=f"shown {UGLY}", facts=facts, fault=fault),
                   Turn(index=1, said=UGLY, tool="guess", arguments=UGLY, result=UGLY, facts=facts)),
        ) for sample in range(2)])
        writer.metrics(1, {ATTACK: 1.0})
        writer.event(Event(at=time.time(), kind=ATTACK, text=UGLY, level="error", step=1, fault=fault))
        (run.path / "trainer.log").write_text(UGLY, encoding="utf-8", errors="replace")
        writer.finish(Result(status="failed", reason=UGLY, step=1, ended=time.time(), fault=fault))
        writer.close()
    return run.id


@pytest.fixture
def hostile(shared_application):
    return hostile_run(shared_application.runs)


def test_hostile_text_is_shown_and_never_run(shared_application, hostile, page, seen):
    for address in PAGES:
        page.goto(shared_application.url + address.format(run=hostile, episode="1-0-1", attack=TYPED))
        page.locator(":is(.o-title, .o-crumb, .o-problem, .o-empty):visible").first.wait_for()
        page.wait_for_load_state("networkidle")
        for control in page.locator("details > summary:visible").all():
            control.click()
        assert page.evaluate("window.__pwn") is None, address
        assert page.locator("a[href^='javascript:']").count() == 0, address
        assert seen.elsewhere == [], address
    assert not seen.errors


def test_hostile_text_is_there_to_read(shared_application, hostile, page):
    page.goto(f"{shared_application.url}/episode?run={hostile}&id=1-0-1&turn=1")
    page.locator(".o-turn.o-now").wait_for()
    assert "<script>window.__pwn = 1</script>" in page.locator(".o-turn.o-now").inner_text()
