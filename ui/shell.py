"""The frame around every page: header, theme choice, our files under /o/, and the parts pages share.

Gradio draws a page only after its script has run, and rewrites the css it is given. So the header, the stylesheets and
the scripts are put into the served HTML itself: the frame stands before Gradio starts, in the right theme, without a
flash.
"""

import functools
import gzip
import hashlib
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from backend.errors import OrtamError

HERE = Path(__file__).parent

LOGO = ('<svg viewBox="0 0 24 24" aria-hidden="true">'
        '<rect x="1.5" y="1.5" width="9.5" height="9.5" rx="2.4" fill="var(--o-accent)"/>'
        '<rect x="13" y="1.5" width="9.5" height="9.5" rx="2.4" fill="var(--o-tile-y)"/>'
        '<rect x="1.5" y="13" width="9.5" height="9.5" rx="2.4" fill="var(--o-tile-x)"/>'
        '<rect x="13.9" y="13.9" width="7.7" height="7.7" rx="1.8" fill="none" stroke="var(--o-accent)" '
        'stroke-width="1.8"/></svg>')
SUN_AND_MOON = ('<svg viewBox="0 0 20 20" fill="none" stroke="currentColor" stroke-width="1.6" aria-hidden="true">'
                '<circle cx="10" cy="10" r="6.5"/><path d="M10 3.5a6.5 6.5 0 0 1 0 13z" fill="currentColor"/></svg>')
NAV = (("/", "Runs"), ("/launch", "Launch"), ("/environments", "Environments"), ("/play", "Play"), ("/arena", "Arena"))


def header(path: str, note: str = "") -> str:
    here = "/" if path in ("/run", "/episode", "/group", "/reprice", "/compare") else path
    links = "".join(f'<a href="{to}"{" aria-current=page" if to == here else ""}>{name}</a>' for to, name in NAV)
    said = f'<span class="o-note">{escape(note)}</span>' if note else ""
    return (f'<header class="o-header"><div><a class="o-brand" href="/" aria-label="Ortam">{LOGO}<span>Ortam</span></a>'
            f'<nav class="o-nav" aria-label="Pages">{links}</nav>{said}'
            f'<button class="o-icon" id="o-theme" type="button" aria-label="Light or dark" title="Light or dark">'
            f'{SUN_AND_MOON}</button></div></header>')


def html(value: str = "", scripts: Sequence[str] = (), **kwargs):
    """A gr.HTML without Gradio's box, padding and prose styles. `value` is markup: escape what goes into it. `scripts` are
    called with the element and `server_functions` as soon as they are there: `ortamRuns` is window.ortamRuns."""
    import gradio as gr

    classes = ["o-plain", *kwargs.pop("elem_classes", [])]
    return gr.HTML(value, apply_default_css=False, padding=False, container=False, elem_classes=classes,
                   js_on_load=_begin(scripts) if scripts else None,
                   server_functions=[*map(_answered, kwargs.pop("server_functions", ()))] or None, **kwargs)


def _answered(work: Callable[[dict], Any]) -> Callable[[dict], Any]:
    """What can't be answered is said on the page: Gradio would only send no answer."""

    @functools.wraps(work)
    def asked(question: dict) -> Any:
        try:
            return work(question)
        except OrtamError as error:
            return {"failed": str(error)}
        except Exception as error:
            traceback.print_exc()
            return {"failed": f"This couldn't be worked out ({type(error).__name__}: {str(error)[:200]}). Where a run's folder "
                              "was changed by hand, put back a whole copy; else the server's log says where it went wrong."}

    return asked


def _begin(scripts: Sequence[str]) -> str:
    return (f"(function begin() {{ const names = {list(scripts)}; if (!names.every((name) => window[name])) return "
            "setTimeout(begin, 20); const asked = window.ortamAnswers(server); "
            "for (const name of names) window[name](element, asked); })()")


RUNS = ("See all runs", "/")
"""Where every page leads that was asked for a run that isn't there."""


def problem(title: str, remedy: str = "", kind: str = "error", link: tuple[str, str] | None = None) -> str:
    """One sentence in a box; kind is error, warning or hint. `link` is (label, address)."""
    sign = {"error": "!", "warning": "!", "hint": "i"}[kind]
    role = ' role="alert"' if kind == "error" else ""
    way = f'<a class="o-link" href="{escape(link[1])}">{escape(link[0])}</a>' if link else ""
    more = f'<span class="o-muted">{escape(remedy)}{way}</span>' if remedy or way else ""
    return (f'<div class="o-problem o-{kind}"{role}><i aria-hidden="true">{sign}</i><span>{escape(title)}</span>{more}'
            "</div>")


def misread(error) -> str:
    """A question that a pydantic record refused, from an address somebody changed, as one sentence."""
    from backend.refusals import refused

    return problem(f"The address can't be read: {refused(error)}.", "Open it anew from the list of runs.")


def empty(title: str, what_to_do: str, button: tuple[str, str] | None = None) -> str:
    """`button` is (label, address)."""
    link = f'<a class="o-button o-primary" href="{escape(button[1])}">{escape(button[0])}</a>' if button else ""
    return f'<div class="o-empty"><b>{escape(title)}</b><p>{escape(what_to_do)}</p>{link}</div>'


HELP = '<button class="o-icon" type="button" data-do="help" aria-label="Keys" title="Keys (?)">?</button>'
"""Opens the dialog of keys."""


def keys(rows: Iterable[tuple[str, str]]) -> str:
    """The dialog that `?` opens by keys.js: ("← →", "turn") are two keys, and what they do."""
    listed = ""
    for pressed, does in rows:
        signs = " ".join(f'<kbd class="o-kbd">{escape(key)}</kbd>' for key in pressed.split())
        listed += f"<div><dt>{signs}</dt><dd>{escape(does)}</dd></div>"
    return (f'<dialog class="o-dialog o-keys" aria-label="Keys"><h2 class="o-h2">Keys</h2><dl>{listed}</dl>'
            '<form method="dialog"><button class="o-button">Close</button></form></dialog>')


def skeleton(lines: int = 4, tall: bool = False) -> str:
    widths = (92 - 13 * (n % 4) for n in range(lines))
    bars = '<i class="o-tall"></i>' * tall + "".join(f'<i style="width:{width}%"></i>' for width in widths)
    return f'<div class="o-skeleton" role="status" aria-label="Loading">{bars}</div>'


CHIPS = {
    "won": "W", "lost": "L", "finished": "✓", "invalid": "!", "truncated": "T", "out_of_turns": "O", "env_error": "E",
    "env_lost": "E", "cancelled": "C", "queued": "Q", "preparing": "P", "running": "R", "stalled": "S", "stopping": "S",
    "stopped": "S", "failed": "F",
}


def chip(status: str, run: bool = False) -> str:
    """A status as letter and word. A run that is `lost` is an error; an episode that is lost is only a game."""
    css = "gone" if run and status == "lost" else status
    words = status.replace("env_", "environment ").replace("_", " ")
    sign = f'<i aria-hidden="true">{CHIPS.get(status, "?")}</i>'
    return f'<span class="o-chip o-{escape(css)}">{sign}{escape(words)}</span>'


def duration(seconds: float | None) -> str:
    """`42 s`, `3 min 5 s`, `1 h 12 min`, `2 d 3 h`; the same words as shell.js."""
    if seconds is None:
        return "–"
    s = max(0, int(seconds))
    if s < 60:
        return f"{s} s"
    if s < 3600:
        return f"{s // 60} min" + (f" {s % 60} s" if s % 60 else "")
    if s < 86_400:
        return f"{s // 3600} h {s % 3600 // 60} min"
    return f"{s // 86_400} d {s % 86_400 // 3600} h"


# ------------------------------------------------------------------------------------------------------ served files


class Files:
    """What is served under /o/: the stylesheets of all pages as one file, their scripts as another, since a browser waits
    longer for forty small files than for two; and `others` by name. Nothing else of the disk can be asked for.
    `early`: those of the others that the page at a path needs."""

    def __init__(self, css: Iterable[Path], js: Iterable[Path], others: Iterable[Path], early: Mapping[str, Iterable[Path]]):
        self.content = {"ortam.css": _joined(css), "ortam.js": _joined(js),
                        **{path.name: path.read_bytes() for path in others}}
        self._tags = self._for_all()
        self._early = {page: "".join(self._preload(path.name) for path in scripts) for page, scripts in early.items()}
        self._packed: dict[str, bytes] = {}

    def packed(self, name: str) -> bytes:
        """Gzipped once: Plotly's script is 4.8 MB without and 1.4 MB with."""
        if name not in self._packed:
            self._packed[name] = gzip.compress(self.content[name], 6)
        return self._packed[name]

    def address(self, name: str) -> str:
        """With a hash of the content, so that browsers may keep a file for ever."""
        return f"/o/{name}?v={hashlib.sha256(self.content[name]).hexdigest()[:10]}"

    def tags(self, page: str) -> str:
        """For <head> of the page at this path."""
        return self._tags + self._early.get(page, "")

    def _for_all(self) -> str:
        first = f"<script>{(HERE / 'first.js').read_text()}</script>"
        return (f'<link rel="icon" href="/o/icon.svg">{first}<link rel="stylesheet" href="{self.address("ortam.css")}">'
                f'<script defer src="{self.address("ortam.js")}"></script>')

    def _preload(self, name: str) -> str:
        return f'<link rel="preload" as="script" data-early="{name}" href="{self.address(name)}">'


def _joined(files: Iterable[Path]) -> bytes:
    return b"\n".join(b"/* " + path.name.encode() + b" */\n" + path.read_bytes() for path in dict.fromkeys(files))


POLICY = ("default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
          "img-src 'self' data: blob:; font-src 'self' data:; worker-src 'self' blob:; media-src 'self' blob:; "
          "object-src 'none'")
"""Nothing is fetched from elsewhere, whatever a model wrote. Gradio makes its components' scripts from strings."""


class Frame:
    """ASGI middleware that puts the frame into every HTML page Gradio serves, and around the answer to a wrong
    address."""

    def __init__(self, app, tags: Callable[[str], str], note: str = ""):
        """`tags`: what goes into <head> of the page at a path."""
        self.app, self.tags, self.note = app, tags, note

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http" or scope["method"] != "GET":
            return await self.app(scope, receive, send)
        start, body = None, b""
        wants_page = any(k == b"accept" and b"text/html" in v for k, v in scope["headers"])

        async def framed(message):
            nonlocal start, body
            if message["type"] == "http.response.start":
                sent = dict(message["headers"]).get(b"content-type", b"")
                if not sent.startswith(b"text/html") and not (wants_page and message["status"] == 404):
                    return await send(message)
                start = message
                return None
            if start is None:
                return await send(message)
            body += message.get("body", b"")
            if message.get("more_body"):
                return None
            page = self.dress(NOWHERE.encode() if start["status"] == 404 else body, scope["path"])
            headers = [(k, v) for k, v in start["headers"] if k not in OURS]
            headers += [(b"content-length", str(len(page)).encode()), (b"cache-control", b"no-store"),
                        (b"content-type", b"text/html; charset=utf-8"), (b"content-security-policy", POLICY.encode()),
                        (b"x-content-type-options", b"nosniff")]
            await send({**start, "headers": headers})
            return await send({"type": "http.response.body", "body": page})

        return await self.app(scope, receive, framed)

    def dress(self, page: bytes, path: str) -> bytes:
        page = page.replace(b"</head>", self.tags(path).encode() + b"</head>", 1)
        body = page.find(b"<body")
        if body < 0:
            return page
        after = page.find(b">", body) + 1
        waiting = "" if b'class="o-plain' in page else f'<div class="o-waiting">{skeleton(4, tall=True)}</div>'
        return page[:after] + (header(path, self.note) + waiting).encode() + page[after:]


OURS = (b"content-length", b"content-type", b"cache-control")
NOWHERE = ('<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
           'content="width=device-width, initial-scale=1"><title>No such page · Ortam</title></head><body>'
           '<main class="o-plain o-nowhere"><div class="o-empty"><b>There is no such page</b><p>The address '
           'may be mistyped. All runs are on the first page.</p>'
           '<a class="o-button o-primary" href="/">See all runs</a></div></main>'
           "</body></html>")
