"""What a person sees. `web(...)` is the whole site as one ASGI application; `app.py` serves it.

How a page is written. A page is a module with `build(store, launcher) -> None`, named in `PAGES` below and called
inside its own Gradio route:

    from ui import shell

    CSS = [HERE / "runs.css"]       # optional: in <head> of every page, after style.css
    JS = [HERE / "runs.js"]         # optional: <script defer>; defines window.ortamRuns
    EARLY = [plotly()]              # optional: a big script of others, fetched while Gradio starts

    def build(store, launcher):     # launcher is None on a read-only site
        def look(asked: dict) -> dict: ...      # plain values in and out; in the script `await server.look({...})`
        shell.html("<h1 ...>", ["ortamRuns"], server_functions=[look])   # calls window.ortamRuns(element, server)

The page's script reads the address, asks its functions, and shows the HTML they answer with. Whatever asks again and
again sends a mark of what it shows, and an answer that changes nothing is nearly empty. What a run, a model or an
environment wrote goes through `ui.written`. View state lives in the browser and in the address, never in a module.

Header, nav and theme button are in the served HTML already; a page draws its content, starting with an `h1.o-title`.
Class names start with `o-`, colours are tokens of style.css. Scripts see a change of theme as the document event
`ortam:theme`. A Gradio listener, where one is needed, says `api_visibility="private"`; the named endpoints are in
`ui/endpoints.py` alone.
"""

import warnings
from importlib import import_module
from mimetypes import guess_type
from pathlib import Path

from ui import shell

HERE = Path(__file__).parent

PAGES = (
    ("", "Runs", "ui.runs"),
    ("launch", "Launch", "ui.launch"),
    ("environments", "Environments", "ui.environments"),
    ("play", "Play", "ui.play"),
    ("arena", "Arena", "ui.arena"),
    ("run", "Watch", "ui.watch"),
    ("episode", "Replay", "ui.replay"),
    ("group", "Group", "ui.group"),
    ("reprice", "Re-price", "ui.reprice"),
    ("compare", "Compare", "ui.compare"),
)
"""(path, title, module), in the order they are built."""


SCRIPTS = ("shell.js", "asking.js", "keys.js", "transport.js")
"""Of all pages, before their own."""


def pages():
    """The modules of PAGES."""
    return [(path, title, import_module(name)) for path, title, name in PAGES]


def site(store, launcher):
    """All pages and the named endpoints as one gr.Blocks, without the frame. Without a launcher it only shows."""
    import gradio as gr

    from ui import endpoints

    demo = gr.Blocks(analytics_enabled=False, title="Ortam", fill_width=True)
    for path, title, page in pages():
        with demo.route(title, path, show_in_navbar=False) if path else demo:
            page.build(store, launcher)
            if not path:
                endpoints.add(store, launcher)
    return demo


def web(store, launcher=None):
    """The site in its frame, as an ASGI application. Only the files named by pages can be fetched from the disk."""
    import gradio as gr
    from fastapi import FastAPI, Request
    from fastapi.responses import Response

    from ui import share
    from ui.share import routes
    from ui.theme import theme

    def named(what):
        return [path for page in (*(page for _, _, page in pages()), share) for path in getattr(page, what, ())]

    files = shell.Files([HERE / "style.css", *named("CSS")], [*(HERE / name for name in SCRIPTS), *named("JS")],
                        [HERE / "icon.svg", *named("EARLY")],
                        {f"/{path}": getattr(page, "EARLY", ()) for path, _, page in pages()})
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)

    @app.get("/o/{name}", include_in_schema=False)
    def file(name: str, request: Request):
        if name not in files.content:
            return Response(status_code=404)
        headers = {"Cache-Control": "public, max-age=31536000", "Vary": "Accept-Encoding"}
        if "gzip" not in request.headers.get("accept-encoding", ""):
            return Response(files.content[name], media_type=guess_type(name)[0], headers=headers)
        return Response(files.packed(name), media_type=guess_type(name)[0],
                        headers={**headers, "Content-Encoding": "gzip"})

    routes.add(app, store, launcher)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "SSR mode is not supported")  # said even where it is off
        gr.mount_gradio_app(app, site(store, launcher), path="/", theme=theme(), footer_links=[], run_history=False,
                            ssr_mode=False, show_error=True, pwa=False)
    return shell.Frame(app, files.tags, "" if launcher else "read only")
