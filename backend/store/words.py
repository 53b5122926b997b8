"""Words in transcripts: how they are told apart, what people write to look for them, and where they stand in a text.

    crane slate        both words, anywhere in the episode       "not a word"    next to each other
    -slate             without that word                         guess*          begins so
    said:  thought:  call:  tool:  result:  opening:  fault:     only in that part, as in tool:guess or result:"G G"

Case and accents don't count (İstanbul is found by istanbul), and scripts without spaces are looked at sign by sign, so
that 日本 is found inside 日本語. Whatever else is written is taken for text to look for, never refused as a mistake.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from backend.errors import SpecError

PARTS = ("said", "thought", "tool", "call", "result", "opening", "fault")
"""Of an episode: what can be looked through, as columns of the index are called."""
HEAD, TAIL = 16_000, 4_000
"""Characters of one text that are looked through; those between aren't."""
LONGEST, MOST = 300, 20

_APART = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
                    "\U00020000-\U0003ffff]")
"""Scripts that put no space between words."""
_NO_TEXT = re.compile("[\0\ud800-\udfff\ue000-\uf8ff\U000f0000-\U0010ffff]")
_WORD = re.compile(r"[^\W_]+")
_WRITTEN = re.compile(rf"""(?P<minus>-?)(?:(?P<part>{'|'.join(PARTS)}):)?"""
                      r"""(?:"(?P<quoted>[^"]*)(?:"|$)|(?P<plain>[^\s"]+))""", re.IGNORECASE)


class _Folding(dict):
    """A character -> how it is compared. Filled as characters are met."""

    def __missing__(self, code: int) -> str:
        sign = chr(code)
        if _NO_TEXT.match(sign):
            folded = " "
        elif sign == "ı":
            folded = "i"
        else:
            split = unicodedata.normalize("NFKD", sign.casefold())
            folded = unicodedata.normalize("NFC", re.sub("[\u0300-\u036f]", "", split))
            folded = _APART.sub(r" \g<0> ", folded)
        self[code] = folded
        return folded


_FOLDED = _Folding()


def folded(text: str) -> str:
    """As words of it are compared: no case, no accents, no signs that aren't text, signs of unspaced scripts apart."""
    return text.lower().replace("\0", " ") if text.isascii() else text.translate(_FOLDED)


def ends(text: str) -> str:
    """The part of a text that is looked through."""
    return text if len(text) <= HEAD + TAIL else f"{text[:HEAD]}\n{text[-TAIL:]}"


class Phrase(NamedTuple):
    words: tuple[str, ...]
    """Next to each other."""
    part: str | None = None
    """One of PARTS; None: any."""
    begins: bool = False
    """Whether the last word may go on."""
    without: bool = False

    def within(self, text: str) -> bool:
        """`text` as `spaced` gives it."""
        wanted = " ".join(self.words)
        return f" {wanted}" in text if self.begins else f" {wanted} " in text

    def match(self) -> str:
        """In FTS5's language. Words hold letters and digits only, so nothing of theirs is taken for syntax."""
        return f'{f"{self.part} : " if self.part else ""}"{" ".join(self.words)}"{"*" if self.begins else ""}'


class Sought(NamedTuple):
    """What somebody wrote to look for, understood."""

    wanted: tuple[Phrase, ...]
    without: tuple[Phrase, ...]

    def in_parts(self, texts: Mapping[str, str]) -> bool:
        """Whether an episode is one of those; part -> its text, as `spaced` gives it."""
        def found(phrase: Phrase) -> bool:
            return any(phrase.within(text) for part, text in texts.items() if phrase.part in (None, part))

        return all(map(found, self.wanted)) and not any(map(found, self.without))

    def marks(self) -> list[dict[str, object]]:
        """For a script that marks them in a page."""
        return [{"words": phrase.words, "begins": phrase.begins} for phrase in self.wanted]


def understood(written: str) -> Sought | None:
    """None where nothing is asked for. Raises SpecError with the field `find`."""
    if len(written) > LONGEST:
        raise SpecError("find", f"it is longer than {LONGEST} characters; look for fewer words")
    phrases = []
    for found in _WRITTEN.finditer(written):
        plain = found["plain"] or ""
        words = tuple(_WORD.findall(folded(found["quoted"] if found["plain"] is None else plain)))
        if words:
            part = found["part"].lower() if found["part"] else None
            phrases.append(Phrase(words, part, plain.endswith("*"), bool(found["minus"])))
    if written.strip() and not phrases:
        raise SpecError("find", f"{written.strip()!r:.60} holds no letter and no digit; write a word to look for")
    if len(phrases) > MOST:
        raise SpecError("find", f"more than {MOST} words; look for fewer, or put words that stand together in quotes")
    if not phrases:
        return None
    return Sought(tuple(p for p in phrases if not p.without), tuple(p for p in phrases if p.without))


def spaced(texts: Iterable[str]) -> str:
    """The words of texts with a space around each, for phrases to be looked for; none goes on in the next text."""
    return " \n ".join(["", *(" ".join(_WORD.findall(folded(ends(text)))) for text in texts), ""])


# ----------------------------------------------------------------------------------------------------- where it stands


class Excerpt(NamedTuple):
    """Where an episode holds what was looked for."""

    turn: int
    """1 is the first; 0 the start."""
    part: str
    """One of PARTS."""
    pieces: tuple[tuple[str, bool], ...]
    """(text, whether it was looked for)"""


AROUND = 60
"""Characters shown before and after what was found."""


def excerpt(turn: int, part: str, text: str, phrases: Sequence[Phrase]) -> Excerpt | None:
    """Around the first place where one of these phrases stands in this part; None where none does."""
    places = sorted(_places(ends(text), [p for p in phrases if p.part in (None, part)]))
    if not places:
        return None
    text = ends(text)
    start, end = max(0, places[0][0] - AROUND), min(len(text), max(places[0][1], places[0][0] + AROUND) + AROUND)
    pieces, at = [("…" if start else "", False)], start
    for first, last in places:
        if first < at or last > end:
            continue
        pieces += [(text[at:first], False), (text[first:last], True)]
        at = last
    pieces += [(text[at:end] + ("…" if end < len(text) else ""), False)]
    return Excerpt(turn, part, tuple((piece, hit) for piece, hit in pieces if piece))


def _places(text: str, phrases: Sequence[Phrase]) -> list[tuple[int, int]]:
    plain = text.isascii()
    # Most texts hold none of it, and that is told without taking them apart.
    likely = folded(text)
    phrases = [phrase for phrase in phrases if phrase.words[0] in likely]
    if not phrases:
        return []
    where = range(len(text)) if plain else [place for place, sign in enumerate(text) for _ in _FOLDED[ord(sign)]]
    words = [(found[0], where[found.start()], where[found.end() - 1] + 1) for found in _WORD.finditer(likely)]
    by_first: dict[str, list[int]] = {}
    for place, (word, _, _) in enumerate(words):
        by_first.setdefault(word, []).append(place)
    found = []
    for phrase in phrases:
        length = len(phrase.words)
        starts = by_first.get(phrase.words[0], [])
        if phrase.begins and length == 1:
            starts = [place for place, (word, _, _) in enumerate(words) if word.startswith(phrase.words[0])]
        for place in starts:
            here = [word for word, _, _ in words[place:place + length]]
            if len(here) == length and here[:-1] == list(phrase.words[:-1]) and (
                    here[-1].startswith(phrase.words[-1]) if phrase.begins else here[-1] == phrase.words[-1]):
                found.append((words[place][1], words[place + length - 1][2]))
    return found
