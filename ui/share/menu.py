"""The Share menu: what of a run, a group or an episode can be taken away. No file is made for it, so it says only the sizes
that a few stored episodes tell."""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from backend.errors import OrtamError
from backend.exchange import Choice, lines
from ui.written import attribute, counted, text

SAMPLED = 3
"""Episodes whose lines tell how large a file of all of them will be."""


class Item(NamedTuple):
    format: str
    name: str
    what: str
    size: str


def menu(choice: Choice, query: str, hub: bool = False) -> str:
    """`query` is what names the choice in an address; `hub`: a run can be sent there from here. Raises OrtamError."""
    rows = "".join(
        f'<li><a href="/share/file/{item.format}?{attribute(query)}" download data-format="{item.format}"><b>{item.name}</b>'
        f"<span>{text(item.what)}</span><em>{text(item.size)}</em></a></li>" for item in _items(choice))
    whole = choice.id is None and choice.group is None
    return (f'<ul>{rows}</ul>{_to_the_hub() if hub and whole else ""}'
            '<button type="button" class="o-button o-small" data-do="copy">Copy link</button>'
            '<output class="o-muted o-small" aria-live="polite"></output>')


def _to_the_hub() -> str:
    return ('<form class="o-to-hub"><label><b>Hub</b><input name="to" required placeholder="owner/name" autocomplete="off" '
            'spellcheck="false" pattern="[A-Za-z0-9][A-Za-z0-9_.\\-]*/[A-Za-z0-9][A-Za-z0-9_.\\-]*" title="Of a dataset on '
            'the Hub, such as owner/name"></label><button class="o-button o-small">Send</button><label class="o-small o-muted">'
            '<input type="checkbox" name="public">for everyone to see; else private</label></form>')


def _items(choice: Choice) -> Iterator[Item]:
    if choice.id is not None:
        yield from _of_an_episode(choice)
        return
    count = choice.count()
    if not count:
        raise OrtamError("Nothing is recorded here yet, so there is nothing to take away.")
    what = "the group, playable" if choice.group else "summary, curves and telling episodes"
    yield Item("html", "HTML", f"One file that opens offline: {what}", "")
    each = _line_sizes(choice)
    episodes = counted(count, "episode")
    yield Item("jsonl", "JSONL", f"{episodes}, whole, one a line", f"about {sized(count * each)}")
    yield Item("parquet", "Parquet", f"{episodes}, a typed row each", "compressed")
    yield Item("trl", "TRL", "Prompt, completion, tools and rewards", "")
    messages = "Messages of what was won, to imitate" if choice.won().count() else "Messages of all of them: none was won"
    yield Item("sft", "SFT", messages, "")
    if choice.group is None:
        yield Item("trackio", "Trackio", "Curves and metrics, as one of its projects", "")


def _of_an_episode(choice: Choice) -> Iterator[Item]:
    episode = next(choice.episodes())
    yield Item("html", "HTML", "One file that opens offline and plays", "")
    yield Item("png", "PNG", "The board at this turn", "")
    yield Item("gif", "GIF", "All turns, a second each", "")
    yield Item("jsonl", "JSON", "All of it, as one line", sized(len(lines.line(episode)) + 1))


def _line_sizes(choice: Choice) -> float:
    """Mean bytes of an episode's line."""
    newest = replace(choice, sort="-seq", limit=SAMPLED)
    sizes = [len(line) for line in lines.lines(newest)]
    return sum(sizes) / len(sizes)


def sized(size: float) -> str:
    """`812 B`, `12 kB`, `3.4 MB`."""
    if size < 1000:
        return f"{size:.0f} B"
    if size < 1e6:
        return f"{size / 1000:.0f} kB"
    return f"{size / 1e6:.1f} MB" if size < 1e9 else f"{size / 1e9:.1f} GB"
