"""One HTML file that needs nothing else: styles, script and pictures inside, and no request of any kind, from a disk too.

Its policy lets only the one script run that stands here, so even a slip in escaping would stay text.
"""

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from ui import shell
from ui.replay import KEYS
from ui.written import attribute

HERE = Path(__file__).parent
UI = HERE.parent
STYLES = (UI / "style.css", UI / "viewers" / "viewers.css", UI / "replay.css", UI / "group.css", HERE / "offline.css")
PLAYER_KEYS = ("← →", "↑ ↓", "Space", "Home End", "T", "?")


@cache
def _styles() -> str:
    return "\n".join(path.read_text("utf-8") for path in STYLES)


@cache
def _script() -> str:
    return "\n".join(path.read_text("utf-8") for path in (UI / "keys.js", UI / "transport.js", HERE / "offline.js"))


def policy() -> str:
    digest = base64.b64encode(hashlib.sha256(_script().encode()).digest()).decode()
    return (f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; "
            "base-uri 'none'; form-action 'none'")


def document(title: str, head: str, players: Sequence[str], more: str = "") -> str:
    """`head` stands above the player, `more` below it; each of `players` is drawn when it is chosen by its number."""
    keys = shell.keys(row for row in KEYS if row[0] in PLAYER_KEYS)
    kept = "".join(f'<template data-n="{n}">{player}</template>' for n, player in enumerate(players))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{attribute(policy())}">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="generator" content="Ortam">'
        f'<link rel="icon" href="data:,"><title>{text_only(title)} · Ortam</title><style>{_styles()}</style></head>'
        f'<body><header class="o-header"><div><span class="o-brand">{shell.LOGO}<span>Ortam</span></span>'
        f'<span class="o-nav"></span><button class="o-icon" id="o-theme" type="button" aria-label="Light or dark" '
        f'title="Light or dark">{shell.SUN_AND_MOON}</button></div></header>'
        f'<main class="o-plain o-offline o-replay">{head}<div data-slot="player"></div>{more}{keys}</main>{kept}'
        f"<script>{_script()}</script></body></html>\n")


def text_only(written: str) -> str:
    """For <title>, which holds no marks."""
    return attribute(written[:200])
