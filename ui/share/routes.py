"""Addresses under /share: the menu and the files are only read, so they work on a read-only site; an upload is not.

A file is always an attachment with a safe name and never taken for a page. An upload is streamed to a file of its own, is
refused above MOST bytes, and only comes from our own pages: it carries a header that no other site can set.
"""

import asyncio
import io
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote, unquote, urlencode, urlsplit

from backend.errors import EpisodeNotFound, OrtamError, RunNotFound, SpecError
from backend.exchange import Choice, export, file_name, hub
from backend.exchange.importing import READERS, Brought, bring
from ui.share import FORMATS, gif, png
from ui.share.menu import menu
from ui.written import counted, query, text

MOST = 1_000_000_000
"""Bytes of an upload."""
SHOWN = 20
"""Skipped lines that are listed on the page; the run's log has more."""
AT_ONCE = 2
"""Files written at the same time for all who ask."""
NOT_A_PAGE = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
              "Content-Security-Policy": "default-src 'none'; sandbox"}


def add(app, store, launcher) -> None:
    from fastapi import BackgroundTasks, Request
    from fastapi.concurrency import run_in_threadpool
    from fastapi.responses import FileResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
    from starlette.requests import ClientDisconnect

    writing = threading.BoundedSemaphore(AT_ONCE)

    @app.get("/share/menu", include_in_schema=False)
    def shown(request: Request):
        try:
            choice = choice_of(store, dict(request.query_params))
            may_send = launcher is not None and hub.logged_in()
            return JSONResponse({"html": menu(choice, query_of(choice), may_send)}, headers=NOT_A_PAGE)
        except OrtamError as error:
            return JSONResponse({"problem": str(error)}, headers=NOT_A_PAGE)

    @app.get("/share/file/{format}", include_in_schema=False)
    def file(format: str, request: Request):
        asked = dict(request.query_params)
        if format not in FORMATS:
            return PlainTextResponse(f"There is no format {format!r:.20}.", 404, NOT_A_PAGE)
        try:
            choice = choice_of(store, asked)
            if format != "trackio" and not choice.count():
                raise OrtamError("Nothing is recorded here, so there is nothing to take away.")
            if format == "sft" and choice.id is None and choice.won().count():
                choice = choice.won()
            headers = {**NOT_A_PAGE, **attachment(named(choice), FORMATS[format].SUFFIX)}
            if format in ("png", "gif"):
                return Response(picture(choice, format, asked), media_type=f"image/{format}", headers=headers)
            if streamed := getattr(FORMATS[format], "lines", None):
                return StreamingResponse(packed(streamed(choice)), media_type="application/octet-stream",
                                         headers=headers)
            if not writing.acquire(blocking=False):
                return PlainTextResponse("Other files are being written; try again in a moment.", 503, NOT_A_PAGE)
            folder = tempfile.TemporaryDirectory(prefix="ortam-share-")
            try:
                path = Path(folder.name) / "file"
                export(FORMATS[format], choice, path)
            except BaseException:
                folder.cleanup()
                raise
            finally:
                writing.release()
            after = BackgroundTasks()
            after.add_task(folder.cleanup)
            return FileResponse(path, media_type="application/octet-stream", headers=headers, background=after)
        except (RunNotFound, EpisodeNotFound) as error:
            return PlainTextResponse(str(error), 404, NOT_A_PAGE)
        except OrtamError as error:
            return PlainTextResponse(str(error), 400, NOT_A_PAGE)

    @app.post("/share/hub/{way}", include_in_schema=False)
    async def to_or_from_the_hub(way: str, request: Request):
        asked = request.query_params
        if way not in ("send", "bring"):
            return JSONResponse({"problem": f"There is no way {way!r:.20}."}, 404, NOT_A_PAGE)
        if launcher is None or not ours(request.headers):
            return JSONResponse({"problem": "Only this site's own page may do that, and not where it only shows runs."}, 403,
                                NOT_A_PAGE)
        try:
            place = f"hub:{asked.get('at', '')}"
            if way == "send":
                address = await run_in_threadpool(hub.send, store.run(asked.get("run", "")), place, asked.get("public") == "1")
                return JSONResponse({"html": f'<p>Sent to <span class="o-mono">{text(address)}</span>.</p>'}, headers=NOT_A_PAGE)
            run = await run_in_threadpool(hub.bring, store, place)
            link = f"/run?{urlencode({'id': run.id})}"
            return JSONResponse({"run": run.id, "html": f'<p>Brought as <span class="o-mono">{text(run.id)}</span>. <a '
                                                        f'class="o-link" href="{link}">Look at it</a></p>'}, headers=NOT_A_PAGE)
        except OrtamError as error:
            said = str(error)
            return JSONResponse({"problem": f"{said[:1].upper()}{said[1:]}."}, 400, NOT_A_PAGE)

    @app.post("/share/import", include_in_schema=False)
    async def upload(request: Request):
        def refused(status: int, why: str):
            return JSONResponse({"problem": why}, status, NOT_A_PAGE)

        if launcher is None:
            return refused(403, "This site only shows runs; start it without --read-only to import one.")
        if not ours(request.headers):
            return refused(403, "An upload has to come from this site's own page.")
        format, called = request.query_params.get("format", ""), unquote(request.query_params.get("name", ""))[:200]
        if format not in READERS:
            return refused(400, f"Choose what the file holds: {', '.join(READERS)}.")
        length = request.headers.get("content-length", "")
        if length.isdecimal() and int(length) > MOST:
            return refused(413, too_large())
        try:
            with tempfile.TemporaryDirectory(prefix="ortam-import-") as folder:
                path = Path(folder) / f"file{Path(file_name(called)).suffix[:12]}"
                size = 0
                with open(path, "wb") as kept:
                    async for chunk in request.stream():
                        size += len(chunk)
                        if size > MOST:
                            return refused(413, too_large())
                        await run_in_threadpool(kept.write, chunk)
                brought = await _while_connected(request, lambda told: bring(store, path, format, None, told, called or "file"))
        except OrtamError as error:
            return refused(400, str(error))
        except ClientDisconnect:
            return refused(400, "The upload broke off.")
        except OSError as error:
            return refused(507, f"The file can't be kept here for its import ({error.strerror or error}); free space in "
                                f"{tempfile.gettempdir()}.")
        return JSONResponse({"run": brought.run.id, "html": told(brought)}, headers=NOT_A_PAGE)


async def _while_connected(request, work: Callable[[Callable[[int], None]], Brought]) -> Brought:
    """`work` is handed what it calls now and then; it raises OrtamError there once nobody waits for the answer."""
    gone = threading.Event()

    def told(_: int) -> None:
        if gone.is_set():
            raise OrtamError("The import was stopped, since whoever asked for it has gone.")

    async def watch() -> None:
        while not await request.is_disconnected():
            await asyncio.sleep(0.5)
        gone.set()

    watching = asyncio.create_task(watch())
    try:
        return await asyncio.to_thread(work, told)
    finally:
        watching.cancel()


# --------------------------------------------------------------------------------------------------------- what is asked


def choice_of(store, asked: dict[str, str]) -> Choice:
    """From run, id or step, group, phase and attempt. Raises OrtamError."""
    run = store.run(asked.get("run") or "latest")
    if asked.get("id"):
        run.episode(asked["id"])
        return Choice(run, id=asked["id"])
    if asked.get("group"):
        for name in ("step", "group", *(["attempt"] if asked.get("attempt") else [])):
            if not asked.get(name, "").isdecimal() or len(asked[name]) > 12:
                raise SpecError(name, "write a whole number")
        phase = asked.get("phase")
        return Choice(run, group=(int(asked["step"]), int(asked["group"])),
                      phase=phase if phase in ("train", "eval", "play") else None,
                      attempt=int(asked["attempt"]) if asked.get("attempt") else None)
    return Choice(run)


def query_of(choice: Choice) -> str:
    told = {"run": choice.run.id}
    if choice.id is not None:
        told["id"] = choice.id
    if choice.group is not None:
        told |= {"step": str(choice.group[0]), "group": str(choice.group[1]), "phase": choice.phase or "",
                 "attempt": "" if choice.attempt is None else str(choice.attempt)}
    return query(told)


def named(choice: Choice) -> str:
    parts = [choice.run.id]
    if choice.id is not None:
        parts.append(choice.id)
    if choice.group is not None:
        parts.append(f"{choice.group[0]}-{choice.group[1]}")
    return file_name(*parts)


def attachment(name: str, suffix: str) -> dict[str, str]:
    return {"Content-Disposition": f"attachment; filename=\"{name}{suffix}\"; filename*=UTF-8''{quote(name + suffix)}"}


def picture(choice: Choice, format: str, asked: dict[str, str]) -> bytes:
    episode, file, dark = png.only_one(choice), io.BytesIO(), asked.get("dark") == "1"
    if format == "gif":
        gif.save(choice, episode, file, dark)
    else:
        turn = asked.get("turn", "")
        png.save(choice, episode, file, int(turn) if turn.isdecimal() and len(turn) < 8 else None, dark)
    return file.getvalue()


def packed(lines: Iterator[str], size: int = 256_000) -> Iterator[bytes]:
    """A few hundred kilobytes at a time."""
    waiting, held = [], 0
    for line in lines:
        body = line.encode("utf-8", "replace")
        waiting.append(body)
        held += len(body)
        if held > size:
            yield b"".join(waiting)
            waiting, held = [], 0
    yield b"".join(waiting)


# ------------------------------------------------------------------------------------------------------------ an upload


def ours(headers) -> bool:
    """Another site can neither set this header nor read what we answer; old browsers and tools say no origin at all."""
    if headers.get("x-ortam") != "import" or headers.get("sec-fetch-site", "same-origin") != "same-origin":
        return False
    origin = headers.get("origin")
    return origin is None or urlsplit(origin).netloc == headers.get("host")


def too_large() -> str:
    return (f"The file is larger than {MOST // 1_000_000:,} MB; import it on this machine with: "
            "python -m backend import FILE --format NAME")


def told(brought: Brought) -> str:
    run = f"/episode?{urlencode({'run': brought.run.id})}"
    head = (f'<p><b>{counted(brought.episodes, "episode")}</b> imported as <span class="o-mono">{text(brought.run.id)}</span>. '
            f'<a class="o-button o-small" href="{run}">Replay them</a></p>')
    count = len(brought.skipped) + brought.more_skipped
    if not count:
        return head
    rows = "".join(f"<li><b>Line {skip.line:,}:</b> {text(skip.reason[:300])}</li>" for skip in brought.skipped[:SHOWN])
    more = f"<li>and {count - SHOWN:,} more</li>" if count > SHOWN else ""
    return f'{head}<p>{counted(count, "line")} skipped:</p><ul class="o-skipped">{rows}{more}</ul>'
