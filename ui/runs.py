"""Runs: what has been run, what is running now, and how it went."""

from ui import shell


def build(store, launcher) -> None:
    shell.html(shell.skeleton(6))
