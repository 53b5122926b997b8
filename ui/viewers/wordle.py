"""Wordle: six rows of tiles, the keyboard coloured by what is known, and the moves that weren't words in amber.

Reads the facts `guesses`, `last_guess`, `last_feedback` (G, Y, X a letter), `invalid_moves`, `won` and `secret`.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from backend.records import Episode, Turn
from ui.viewers import facts
from ui.written import attribute, counted, text

ROWS = 6
TALLEST = 12
"""Rows shown of a game that goes on longer: the last ones."""
LONGEST = 12
KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
MEANING = {"G": "right place", "Y": "other place", "X": "not in the word"}
UNKNOWN = "mark not known"


@dataclass
class Board:
    """What is on the table at one moment of a game that is being followed."""

    guesses: list[tuple[str, str]] = field(default_factory=list)
    """(word, marks), equally long."""
    refused: dict[int, list[tuple[str, bool]]] = field(default_factory=dict)
    """Row it was tried for -> (what was tried, whether the environment itself failed)."""
    fresh: str = ""
    """What the last turn added: `guess`, `refused` or nothing."""


def draws(episode: Episode) -> bool:
    moments = facts.over_time(episode)
    return (facts.whole(moments[-1], "guesses") is not None
            and all("last_feedback" in moment for moment in moments[1:] if facts.whole(moment, "guesses")))


def frames(episode: Episode) -> list[str]:
    ended = _end(episode)
    size, aside, last = size_of(episode, ended), bool(ended.refused), len(episode.turns)
    return [_frame(board, size, aside, _verdict(episode) if k == last else "")
            for k, board in enumerate(follow(episode))]


def thumbnail(episode: Episode) -> str:
    board = _end(episode)
    rows = "".join(f"<span>{''.join(f'<b{_coloured(mark)}></b>' for mark in marks)}</span>"
                   for _, marks in board.guesses[-TALLEST:])
    empty = f"<span>{'<b></b>' * size_of(episode, board)}</span>" * max(0, ROWS - len(board.guesses))
    return f'<div class="o-mini-wordle" role="img" aria-label="{_spoken(board)}">{rows}{empty}</div>'


def follow(episode: Episode) -> Iterator[Board]:
    """The board at the start and after each turn; one object, which changes."""
    moments = facts.over_time(episode)
    board = Board()
    yield board
    for turn, before, after in zip(episode.turns, moments[:-1], moments[1:], strict=True):
        board.fresh = ""
        if (facts.whole(after, "guesses") or 0) > (facts.whole(before, "guesses") or 0):
            board.guesses.append(_guess(after))
            board.fresh = "guess"
        elif turn.fault or (facts.whole(after, "invalid_moves") or 0) > (facts.whole(before, "invalid_moves") or 0):
            environment = turn.fault is not None and turn.fault.where == "environment"
            board.refused.setdefault(_row(board), []).append((_tried(turn), environment))
            board.fresh = "refused"
        yield board


def _end(episode: Episode) -> Board:
    return deque(follow(episode), maxlen=1)[0]


def _row(board: Board) -> int:
    """Where the next guess goes; after the last row, that one."""
    return len(board.guesses) if len(board.guesses) < ROWS else max(len(board.guesses) - 1, 0)


def _guess(moment: facts.Facts) -> tuple[str, str]:
    """Word and marks, equally long; a letter without a mark gets a blank."""
    word = facts.word(moment, "last_guess")[:LONGEST]
    feedback = facts.word(moment, "last_feedback").upper()[:LONGEST]
    letters = max(len(word), len(feedback), 1)
    marks = "".join(mark if mark in MEANING else " " for mark in feedback)
    return word.ljust(letters, "?"), marks.ljust(letters)


def _tried(turn: Turn) -> str:
    """The word that was refused, as sent."""
    sent = turn.arguments
    if isinstance(sent, dict):
        sent = next((value for value in sent.values() if isinstance(value, str)), "")
    sent = str(sent or "").strip().strip("[]").strip()
    return sent or turn.tool or "no word"


def size_of(episode: Episode, ended: Board) -> int:
    """Letters in a word: told by the guesses or the secret, else five."""
    words = [marks for _, marks in ended.guesses] or [facts.word(episode.facts, "secret")]
    return min(max(map(len, words)), LONGEST) or 5


def _frame(board: Board, size: int, aside: bool, verdict: str) -> str:
    rows = []
    last = max(ROWS, len(board.guesses))
    for row in range(last - min(last, TALLEST), last):
        new = board.fresh == "guess" and row == len(board.guesses) - 1
        tiles = _tiles(*board.guesses[row], new) if row < len(board.guesses) else '<b class="o-tile"></b>' * size
        rows.append(f'<div class="o-wordle-row">{tiles}{_strips(board, row) if aside else ""}</div>')
    return (f'<div class="o-wordle" style="--letters:{size}"><div class="o-wordle-board{" o-aside" * aside}" '
            f'role="img" aria-label="{_spoken(board)}">{"".join(rows)}</div>{verdict}{_keyboard(board)}</div>')


def _tiles(word: str, feedback: str, new: bool) -> str:
    return "".join(
        f'<b{_coloured(mark, "o-tile" + " o-new" * new)} style="--nth:{nth}">{text(letter.upper())}'
        f"<i>{mark.strip()}</i></b>"
        for nth, (letter, mark) in enumerate(zip(word, feedback, strict=True)))


def _coloured(mark: str, more: str = "") -> str:
    classes = f"{more} o-{mark.lower()}" if mark in MEANING else more
    return f' class="{classes.strip()}"' if classes else ""


def _strips(board: Board, row: int) -> str:
    """Refused moves of one row; a broken policy makes hundreds, so only the last two are named."""
    tried = board.refused.get(row, [])
    more = f"<em>{len(tried) - 2} more</em>" if len(tried) > 2 else ""
    newest = len(tried) - 1 if board.fresh == "refused" and row == _row(board) else None
    named = "".join(
        f'<i class="{"o-theirs" if environment else "o-invalid"}{" o-new" * (nth == newest)}" '
        f'title="{attribute(word[:200])}">{text(word[:14])}{"…" * (len(word) > 14)}</i>'
        for nth, (word, environment) in enumerate(tried[-2:], max(len(tried) - 2, 0)))
    return f'<span class="o-strips">{more}{named}</span>'


def _keyboard(board: Board) -> str:
    best: dict[str, str] = {}
    for word, feedback in board.guesses:
        for letter, mark in zip(word.lower(), feedback, strict=True):
            if mark in MEANING:
                best[letter] = min(best.get(letter, "X"), mark, key="GYX".index)
    rows = ("".join(f'<b class="o-key o-{best[key].lower()}" title="{key}: {MEANING[best[key]]}">{key}</b>'
                    if key in best else f'<b class="o-key">{key}</b>' for key in row) for row in KEYBOARD)
    return f'<div class="o-keyboard" aria-hidden="true">{"".join(f"<div>{row}</div>" for row in rows)}</div>'


def _verdict(episode: Episode) -> str:
    secret = facts.word(episode.facts, "secret")
    guesses = facts.whole(episode.facts, "guesses")
    if episode.facts.get("won") is True:
        count = f" in {guesses} {'guess' if guesses == 1 else 'guesses'}" if guesses else ""
        return f'<p class="o-verdict o-won">Solved{count}</p>'
    return f'<p class="o-verdict">The word was <b>{text(secret[:40].upper())}</b></p>' if secret else ""


def _spoken(board: Board) -> str:
    said = [f"{word}: {', '.join(MEANING.get(mark, UNKNOWN) for mark in marks)}"
            for word, marks in board.guesses[-TALLEST:]]
    if refused := sum(map(len, board.refused.values())):
        said.append(f"{counted(refused, 'move')} refused")
    return attribute(". ".join(said) or "No guess yet")
