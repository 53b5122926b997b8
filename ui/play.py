"""Play: any environment by hand, with the rewards a model would get; scripted players take the same seat.

What is being played lives in the server's memory under a random id that only this browser has; the address says what is
played (`/play?use=wordle&seed=3`), so that it can be sent to someone, who then plays the same task.
"""

import json
import re
from pathlib import Path
from typing import Any

from backend.environments.catalog import CATALOG
from backend.errors import OrtamError
from backend.launcher import matches
from backend.play import Chosen, Fork, Seat, Sittings, by_hand, chosen, fork_of, players_of, worth_by
from ui import play_parts, shell
from ui.written import attribute, counted, text

HERE = Path(__file__).parent
CSS = [HERE / "play.css"]
JS = [HERE / "play.js"]

READ_ONLY = "This site only shows runs; start it without --read-only to play."
GAMES = 20
"""Tasks of a baseline."""

Asked = dict[str, Any]
Answer = dict[str, Any]


def build(store, launcher) -> None:
    sittings = Sittings(store)

    def said(work) -> Answer:
        """What `work` gives, or a sentence."""
        try:
            if launcher is None:
                raise OrtamError(READ_ONLY)
            return work()
        except OrtamError as error:
            return {"problem": shell.problem(sentence(error))}

    def about(asked: Asked) -> Answer:
        """What can be chosen for an environment: whose rewards, and who may play in one's place."""
        use = str(asked.get("use", ""))
        return said(lambda: {"worth": play_parts.options(worth_by(store, use)),
                             "players": play_parts.players(players_of(use))})

    def begin(asked: Asked) -> Answer:
        player, instead = (str(asked[name]) if asked.get(name) else None for name in ("player", "instead"))

        def begun() -> str:
            if not asked.get("fork"):
                return sittings.begin(choice(store, asked), player, instead)
            fork = forked(store, asked)
            return sittings.begin(fork.asked, player, instead, fork)

        return said(lambda: table(begun()) | tasks_of_match(store, str(asked.get("match") or "")))

    def look(asked: Asked) -> Answer:
        return said(lambda: table(str(asked.get("id"))) | tasks_of_match(store, str(asked.get("match") or "")))

    def call(asked: Asked) -> Answer:
        return said(lambda: news(asked, sittings.call(str(asked.get("id")), str(asked.get("tool")), asked.get("arguments"))))

    def advance(asked: Asked) -> Answer:
        return said(lambda: news(asked, sittings.advance(str(asked.get("id")))))

    def end(asked: Asked) -> Answer:
        return said(lambda: news(asked, sittings.end(str(asked.get("id")))))

    def compare(asked: Asked) -> Answer:
        return said(lambda: {"id": sittings.compare(choice(store, asked), number_of(asked, "games", GAMES) or GAMES)})

    def compared(asked: Asked) -> Answer:
        return said(lambda: comparison(store, sittings, str(asked.get("id"))))

    def table(id: str) -> Answer:
        return {"id": id, **play_parts.drawn(sittings.look(id))}

    def news(asked: Asked, seat: Seat) -> Answer:
        return play_parts.news(seat, asked.get("known"))

    shell.html(page(read_only=launcher is None), ["ortamPlay"],
               server_functions=[about, begin, look, call, advance, end, compare, compared])


def choice(store, asked: Asked) -> Chosen:
    """Raises OrtamError."""
    options = asked.get("options")
    try:
        options = json.loads(options) if isinstance(options, str) and options.strip() else options or {}
    except (ValueError, RecursionError):
        raise OrtamError("options in this address aren't JSON; leave them out, or write them as {\"name\": value}"
                         ) from None
    if not isinstance(options, dict):
        raise OrtamError("options in this address must be a JSON object, such as {\"name\": value}")
    use, task = str(asked.get("use") or ""), str(asked.get("task") or "").strip()
    listed = use.startswith(matches.LISTS_TASKS)
    number = number_of(asked, "seed", None, "task" if listed else "seed")
    if listed and number is not None and not task:
        number, task = None, str(number)
    return chosen(store, use, number, task or None, worth=str(asked.get("worth") or ""), options=options)


def tasks_of_match(store, match: str) -> Answer:
    """`seeds`: those of the match that its tasks are played from by hand, in order, as far as somebody played them there."""
    if not match:
        return {}
    try:
        games = store.run(match).games()
    except OrtamError:  # it may be gone; the game is there all the same
        return {}
    seeds = {game.group: game.seed for game in games if game.seed is not None}
    return {"seeds": [str(seeds[group]) for group in sorted(seeds)]}


def forked(store, asked: Asked) -> Fork:
    """Raises OrtamError."""
    turn = number_of(asked, "turn", None)
    if turn is None:
        raise OrtamError("the turn is missing in this address; fork an episode from its own page")
    return fork_of(store, str(asked["fork"]), str(asked.get("episode") or ""), turn)


def sentence(error: OrtamError) -> str:
    """Without the name of a field that this page hasn't, beginning as a sentence does."""
    said = str(error).removeprefix("use: ").removeprefix("tasks.indices: ").removeprefix("tasks.split: ")
    return said if "://" in said.split(" ")[0] else said[:1].upper() + said[1:]


def number_of(asked: Asked, field: str, default: int | None, name: str = "") -> int | None:
    """Raises OrtamError for what is no whole number, which the sentence calls `name`."""
    written = str(asked.get(field) if asked.get(field) is not None else "").strip()
    if not written:
        return default
    if not re.fullmatch(r"[0-9]{1,12}", written):
        raise OrtamError(f"{name or field} must be one whole number, such as 5, not {written!r:.40}")
    return int(written)


def comparison(store, sittings: Sittings, id: str) -> Answer:
    series = sittings.compared(id)
    rows, done = series.baseline.rows(), series.work.done()
    if done and series.run:
        rows.append(by_hand(store.run(series.run)))
    names = [term.name for term in series.baseline.terms]
    told = shell.problem(series.problem[:1].upper() + series.problem[1:]) if series.problem else ""
    return {"html": told + play_parts.baseline(rows, names, series.run), "done": done,
            "played": len(series.baseline.sittings), "games": series.baseline.games}


def page(read_only: bool) -> str:
    notice = shell.problem("This site only shows runs.", "Start it without --read-only to play.", "warning")
    pills = "".join(
        f'<label><input type="radio" name="o-use" value="{attribute(name)}" data-keys="{play_parts.keyboard(entry.description)}">'
        f'<span>{text(entry.title)}</span></label>'
        for name, entry in CATALOG.items())
    cards = "".join(
        f'<a class="o-card" href="/play?use={attribute(name)}"><b>{text(entry.title)}</b><span>{text(entry.about)}</span>'
        f'<em>{counted(len(entry.description.tools), "tool")} · up to {counted(entry.description.max_turns, "turn")}</em>'
        "</a>" for name, entry in CATALOG.items())
    begin = ('<p class="o-lede">You get the observations, the tools and the rewards that a model gets in training, and '
             f'what you play is kept like any other episode.</p><div class="o-play-cards">{cards}</div>')
    return f"""<div class="o-playing"{" data-read-only" * read_only}>
  <header class="o-play-top"><h1 class="o-title">Play</h1>
    <form class="o-setup" autocomplete="off">
      <div class="o-segments" role="radiogroup" aria-label="Environment">{pills}</div>
      <label class="o-setup-use"><span class="o-sr">Another environment</span><input type="text" name="use"
        placeholder="or its address: openenv+http://…" spellcheck="false" autocomplete="off"></label>
      <label class="o-setup-seed"><span>Seed</span><input type="text" name="seed" inputmode="numeric" value="0"
        autocomplete="off"></label>
      <label class="o-setup-worth"><span>Worth by</span><select name="worth"></select></label>
      <button class="o-button o-primary" type="submit">New game</button>
      <span class="o-setup-players" data-players></span>
    </form></header>
  {notice if read_only else ""}
  <div data-slot="trouble"></div>
  <div data-slot="table">{begin}</div>
  <section class="o-card o-baseline" hidden>
    <div class="o-baseline-head"><h2 class="o-h2">Baseline</h2>
      <p class="o-muted">What scripted players earn by the same rewards, on this seed and the ones after it.</p>
      <label>Games <input type="text" name="games" inputmode="numeric" value="{GAMES}" autocomplete="off"></label>
      <button type="button" class="o-button o-small" data-do="compare">Play them</button></div>
    <div data-slot="baseline"></div>
  </section>
</div>"""
