"""What a person sees. `web(...)` is the whole site as one ASGI application; `app.py` serves it.

How a page is written. A page is a module with `build(store, launcher) -> None`, named in `PAGES` below; it is called
inside its own Gradio route and makes its components there:

    from ui import shell

    CSS = [Path(__file__).parent / "watch.css"]        # optional: put into <head> of every page, after style.css
    JS = [Path(__file__).parent / "watch.js"]          # optional: <script defer>, before Gradio has drawn anything
    FILES = [...]                                       # optional: only served, at /o/<file name> (a big library, say)

    def build(store, launcher):
        view = shell.html(shell.skeleton())             # a gr.HTML without Gradio's box; its value is markup: escape

        def load(request: gr.Request):                  # query parameters: /run?id=... -> {"id": "..."}
            return draw(store, dict(request.query_params).get("id", ""))

        shell.on_load(load, None, view)                 Blocks.load of this page, private and without a progress bar

Header, nav and theme button are in the served HTML already; a page draws only its content, starting with an `h1.o-title`.
A read-only site has no launcher: it is None.
Every listener says `api_visibility="private"`; the named endpoints are in `ui/endpoints.py` alone. View state lives in
gr.State or in the address, never in a module. A timer is `gr.Timer(2)` with `tick(fn, inputs, outputs, queue=False,
show_progress="hidden", api_visibility="private")`; keep `run.version()` in a gr.State and return gr.skip() while it stands.
Scripts see the theme change as the document event `ortam:theme`, and find components by their `elem_id`. Class names start
with `o-`, colours are tokens of style.css.
"""

import warnings
from importlib import import_module
from pathlib import Path

from ui import shell

HERE = Path(__file__).parent

PAGES = (
    ("", "Runs", "ui.runs"),
    ("launch", "Launch", "ui.launch"),
    ("run", "Watch", "ui.watch"),
    ("episode", "Replay", "ui.replay"),
)
"""(path, title, module), in the order they are built."""


def pages():
    """The modules of PAGES."""
    return [(path, title, import_module(name)) for path, title, name in PAGES]


def site(store, launcher):
    """All pages and the named endpoints as one gr.Blocks, without the frame. No launcher: nothing can be started or stopped."""
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
    from fastapi import FastAPI
    from fastapi.responses import FileResponse, Response

    from ui.theme import theme

    def named(what):
        return [path for _, _, page in pages() for path in getattr(page, what, ())]

    files = shell.Files([HERE / "style.css", *named("CSS")], [HERE / "shell.js", *named("JS")], [HERE / "icon.svg", *named("FILES")])
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)

    @app.get("/o/{name}", include_in_schema=False)
    def file(name: str):
        if name not in files.paths:
            return Response(status_code=404)
        return FileResponse(files.paths[name], headers={"Cache-Control": "public, max-age=31536000"})

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "SSR mode is not supported")  # said even where it is off
        gr.mount_gradio_app(app, site(store, launcher), path="/", theme=theme(), footer_links=[], run_history=False,
                            ssr_mode=False, show_error=True, pwa=False)
    return shell.Frame(app, files.tags(), "" if launcher else "read only")
