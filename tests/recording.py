"""What a trainer leaves in a run's folder, for tests that look at it and need no trainer."""

from backend.records import Episode, RunSpec
from backend.store import Run, Store


def wordle_run(store: Store, name: str, **more) -> Run:
    """A run on Wordle in which a win is worth 1."""
    return store.create(RunSpec.model_validate({
        "name": name, "model": "starter:wordle", "environments": [{"id": "wordle", "use": "wordle"}],
        "rewards": [{"name": "win", "value": "1.0 if won else 0.0"}], **more}))


def record(run: Run, *episodes: Episode) -> Run:
    with run.writing() as writer:
        writer.record(episodes)
    return run


def facts_after(words: tuple[tuple[str, str], ...], guesses: int) -> dict:
    """What Wordle tells after so many of these (word, marks)."""
    word, marks = words[guesses - 1]
    return {"won": marks == "GGGGG", "guesses": guesses, "last_guess": word, "last_feedback": marks}
