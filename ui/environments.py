"""Environments: what there is to train in, what it looks like to a model, and environments of one's own.

The browser asks `look` for all cards and searches them itself; `show` gives one environment whole. What is tried goes
on in a thread of the server, and the browser asks how far it is.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import urlencode

import yaml
from pydantic import ValidationError

from backend.environments.catalog import CATALOG, check
from backend.environments.listing import STATUSES, Listed, to_plain, way
from backend.errors import OrtamError
from backend.launcher.known import Known, bring, known, whole
from backend.launcher.trying import Attempt, Trying
from backend.records import EnvironmentSpec
from backend.refusals import refused
from backend.store.shelf import LONGEST_NAME, SavedEnvironment, Shelf
from ui import environment_cards as cards
from ui import shell
from ui.environment_cards import Shown
from ui.written import attribute, counted, text

HERE = Path(__file__).parent
CSS = [HERE / "environments.css"]
JS = [HERE / "environments.js"]

SHAPES = ("wordle", "openenv+http://127.0.0.1:8001", "space:openenv/echo_env", "docker:image:latest", "folder:path",
          "textarena:2048-v0", "ors+http://127.0.0.1:8000#environment", "ors:Org/Name", "python:file.py:Class")
"""One of each way to name an environment."""

YOURS, BUILT_IN = "Yours", "Built in"
GROUPS = {"textarena:": "TextArena's games", "ors": "Open Reward Standard", "folder:": "OpenEnv, once it is cloned"}
ELSEWHERE = "OpenEnv, on a server elsewhere"
"""Headings over the cards; GROUPS by how `use:` begins."""
READ_ONLY = "This site only shows; start it without --read-only to change anything."
WAIT = 1.5
"""Seconds the server holds a question about an attempt that isn't over."""

Answer = dict[str, Any]


def build(store, launcher) -> None:
    shelf, trying, read_only = Shelf(store.folder), Trying(), launcher is None

    def look(asked: Answer) -> Answer:
        """All cards; empty where they are those of `mark`."""
        page = everything(shelf, read_only)
        return {} if page["mark"] == asked.get("mark") else page

    def show(asked: Answer) -> Answer:
        """The one that the address names."""
        query = {name: str(value) for name, value in asked.items() if name in ("use", "saved", "entry")}
        found = next((one for one in shown(shelf) if one.query == urlencode(query)), None)
        if found is None:
            return {"html": nowhere(query)}
        return {"html": cards.page(found, read_only), "title": found.listed.title}

    def attempt(asked: Answer) -> Answer:
        return said(lambda: tried(trying, asked), read_only)

    def saved(asked: Answer) -> Answer:
        """The saved one called `name`, to change it."""
        found = shelf.get(str(asked.get("name", "")))
        return said(lambda: found.model_dump(exclude={"told", "saved"}) | {"options": as_yaml(found.options)}
                    if found else {"problem": "It was deleted meanwhile."}, read_only)

    def save(asked: Answer) -> Answer:
        return said(lambda: kept(shelf, trying, asked), read_only)

    def delete(asked: Answer) -> Answer:
        return said(lambda: {"gone": shelf.delete(str(asked.get("name", "")))}, read_only)

    def imports(asked: Answer) -> Answer:
        """Imports the catalog file whose text is `text`."""
        return said(lambda: imported(shelf, str(asked.get("text", "")), str(asked.get("checkout") or "")), read_only)

    def check_out(asked: Answer) -> Answer:
        """Says where a repository was cloned to."""
        where = whole(str(asked.get("checkout") or ""))
        return said(lambda: {"moved": shelf.check_out(str(asked.get("repository")), where)}, read_only)

    def forget(asked: Answer) -> Answer:
        return said(lambda: {"gone": shelf.forget(str(asked.get("repository")))}, read_only)

    shell.html(frame(read_only), ["ortamEnvironments"],
               server_functions=[look, show, attempt, saved, save, delete, imports, check_out, forget])


def frame(read_only: bool) -> str:
    name, note = SavedEnvironment.model_fields["name"], SavedEnvironment.model_fields["note"]
    shapes = " ".join(f'<button type="button" class="o-fact" data-shape="{attribute(shape)}">{text(shape)}</button>'
                      for shape in SHAPES)
    return Template((HERE / "environments.html").read_text("utf-8")).substitute(
        writable="hidden" if read_only else "", shapes=shapes, skeleton=shell.skeleton(6, tall=True),
        name_title=name.title, note_title=note.title, name_longest=LONGEST_NAME,
        none=shell.empty("No environment matches", "Search looks at names, tools, facts, addresses and what they "
                                                   "teach."))


def said(work: Callable[[], Answer], read_only: bool) -> Answer:
    """What `work` gives, or the sentence of what went wrong as `problem`."""
    if read_only:
        return {"problem": READ_ONLY}
    try:
        return work()
    except OrtamError as error:
        return {"problem": error.said, "field": error.field}


# --------------------------------------------------------------------------------------------------------------- all


def shown(shelf: Shelf) -> list[Shown]:
    return [Shown(one.listed, query_of(one), group_of(one), one.saved,
                  one.imported.repository if one.imported else "") for one in known(shelf)]


def query_of(one: Known) -> str:
    if one.saved:
        return urlencode({"saved": one.saved.name})
    return urlencode({"entry": one.imported.id} if one.imported else {"use": one.listed.use})


def group_of(one: Known) -> str:
    if one.saved:
        return YOURS
    if one.imported:
        return f"From {one.imported.repository.removeprefix('https://').removeprefix('github.com/')}"
    usual = BUILT_IN if one.listed.status == "built in" else ELSEWHERE
    return next((group for prefix, group in GROUPS.items() if one.listed.use.startswith(prefix)), usual)


def everything(shelf: Shelf, read_only: bool) -> Answer:
    groups: dict[str, list[Shown]] = {}
    for one in shown(shelf):
        groups.setdefault(one.group, []).append(one)
    html = "".join(section(name, several, read_only) for name, several in groups.items())
    counts = {status: sum(one.listed.status == status for several in groups.values() for one in several)
              for status in STATUSES}
    return {"html": html, "mark": hashlib.sha256(html.encode()).hexdigest()[:16],
            "statuses": {status: count for status, count in counts.items() if count}}


def section(name: str, several: list[Shown], read_only: bool) -> str:
    repository = several[0].repository
    tools = ""
    if repository and not read_only:
        where = next((one.listed.use.removeprefix("folder:") for one in several if one.listed.use), "")
        hint = f"cloned: {where} and so on" if where else "Where it was cloned to"
        tools = (f'<form class="o-env-checkout" data-repository="{attribute(repository)}"><input type="text" '
                 f'name="checkout" placeholder="{attribute(hint)}" spellcheck="false" '
                 f'aria-label="Where {attribute(repository)} was cloned to">'
                 '<button type="submit" class="o-button o-small">Set</button>'
                 '<button type="button" class="o-button o-small" data-do="forget">Remove these</button></form>')
    return (f'<section class="o-env-group"><div class="o-env-grouphead"><h2 class="o-h2">{text(name)} '
            f'<em data-count>{len(several)}</em></h2>{tools}</div><div class="o-env-grid">'
            f'{"".join(cards.card(one, read_only) for one in several)}</div></section>')


def nowhere(query: dict[str, str]) -> str:
    asked = next(iter(query.values()), "")
    return shell.empty("There is no such environment", f"Nothing listed here is called “{asked[:200]}”. It may have "
                       "been renamed or deleted; an address that isn't listed can be tried.",
                       ("See all environments", "/environments"))


# ------------------------------------------------------------------------------------------------------- one's own


def tried(trying: Trying, asked: Answer) -> Answer:
    """`token` names the attempt; it is begun where `use` is given. Gives `waiting`, in seconds, until it is over."""
    token = str(asked.get("token", ""))[:80]
    attempt = trying.begin(token, asked_for(asked)) if "use" in asked else None
    attempt = trying.look(token, WAIT) or attempt
    if attempt is None:
        return {"problem": "The server was restarted meanwhile; try again."}
    if attempt.problem:
        return {"problem": attempt.problem}
    if attempt.told is None:
        return {"waiting": attempt.seconds, "html": waiting(attempt)}
    status, run = way(attempt.spec.use)
    one = Listed(attempt.spec.use, attempt.told.title, attempt.told.about, status, run, attempt.told,
                 options=attempt.spec.options, note=attempt.told.notice)
    return {"html": found(one, attempt.seconds), "name": attempt.told.title[:60]}


def asked_for(asked: Answer) -> EnvironmentSpec:
    """Raises OrtamError."""
    use = str(asked.get("use") or "").strip()
    if not use:
        raise OrtamError("Write an address first, such as openenv+http://127.0.0.1:8001.")
    return EnvironmentSpec(id="tried", use=use[:1000], options=from_yaml(asked.get("options")))


def waiting(attempt: Attempt) -> str:
    starts = "It is started here to be asked." if attempt.spec.use.startswith(("docker:", "folder:")) else (
        "A Space that sleeps takes a minute to come up." if attempt.spec.use.startswith("space:") else "")
    return (f'<p class="o-small o-muted">Asking {text(attempt.spec.use)} · {attempt.seconds:.0f} s. {starts}</p>'
            f"{shell.skeleton(3)}")


def found(one: Listed, seconds: float) -> str:
    note = f'<p class="o-env-note">{text(one.note)}</p>' if one.note else ""
    took = f"{counted(len(one.description.tools), 'tool')} · answered in {seconds:.1f} s" if one.description else ""
    return (f'<div class="o-env-found"><div class="o-env-head"><h3>{text(one.title)}</h3>{cards.chip(one.status)}'
            f'<span class="o-small o-muted">{took}</span></div><p class="o-env-about">{text(one.about)}</p>{note}'
            f"{cards.folds(one)}</div>")


def kept(shelf: Shelf, trying: Trying, asked: Answer) -> Answer:
    """Saves what the form holds; `token` names the attempt that found out what it is, `was` the name it had."""
    spec = asked_for(asked)
    if spec.use in CATALOG:
        check(spec)
    was = str(asked.get("was") or "")
    attempt = trying.look(str(asked.get("token", ""))[:80])
    before = shelf.get(was) if was else None
    told = None
    if attempt and attempt.told and attempt.spec == spec:
        told = to_plain(attempt.told)
    elif before and before.spec() == spec.model_copy(update={"id": "environment"}):
        told = before.told
    try:
        one = SavedEnvironment(name=str(asked.get("name") or ""), use=spec.use, options=spec.options,
                               note=str(asked.get("note") or ""), told=told)
    except ValidationError as error:
        wrong = refused(error, SavedEnvironment)
        field = wrong.field.partition(".")[0]
        title = SavedEnvironment.model_fields[field].title or field
        raise OrtamError("Give it a name first." if not asked.get("name") else
                         f"{title}: {wrong.said}.") from None
    shelf.save(one, was)
    return {"name": one.name, "query": urlencode({"saved": one.name})}


def imported(shelf: Shelf, written: str, checkout: str) -> Answer:
    snapshot = bring(shelf, written.encode("utf-8", "surrogatepass"), checkout)
    lines = "".join(f"<li>{text(line)}</li>" for line in (*snapshot.notices, *snapshot.skipped))
    told = f"{counted(len(snapshot.cards), 'environment')} imported"
    if snapshot.skipped:
        told += f", {len(snapshot.skipped):,} skipped"
    kind = "hint" if snapshot.cards else "warning"
    return {"html": shell.problem(f"{told}.", "", kind) + (f'<ul class="o-env-skipped">{lines}</ul>' if lines else ""),
            "count": len(snapshot.cards)}


def from_yaml(written: Any) -> dict[str, Any]:
    """Raises OrtamError."""
    if isinstance(written, dict):
        return written
    try:
        value = yaml.safe_load(str(written or ""))
    except yaml.YAMLError:
        value = written
    if value is not None and not isinstance(value, dict):
        raise OrtamError("Options are written one a line, as name: value.")
    return value or {}


def as_yaml(options: dict[str, Any]) -> str:
    return yaml.safe_dump(options, sort_keys=False, allow_unicode=True) if options else ""
