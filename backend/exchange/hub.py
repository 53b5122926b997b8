"""A run's folder to the Hub and back: a dataset repository that holds what travels of a run, nothing else.

Who is asking is what the environment or a login says (HF_TOKEN, `hf auth login`); no token is ever written. What is sent is
looked through for secrets first. What is brought is taken apart before it becomes a run: only the files a run has, as plain
files of bearable size, a spec that reads, a database that holds tables and nothing that acts.
"""

import contextlib
import re
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from backend.errors import OrtamError
from backend.records import NAME, RunSpec
from backend.store import Run, Store
from backend.store.arriving import TRAVELS, arriving, copy, settle
from backend.store.spec_file import SECRET_TEXT, refuse_secrets

LARGEST = {"run.db": 20_000_000_000, "trainer.log": 200_000_000}
SMALL = 2_000_000
"""Bytes of the other files."""
BLOCK = 4_000_000
_VIRTUAL = re.compile(r"\bvirtual\b", re.IGNORECASE)
_INDEX_OF_WORDS = re.compile(r"create virtual table \w+ using fts5\(", re.IGNORECASE)


def repository(address: str) -> str:
    """`owner/name` of `hub:owner/name`. Raises OrtamError."""
    found = re.fullmatch(r"hub:([A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95})", address)
    if not found or ".." in address or "--" in address:
        raise OrtamError(f"{address!r:.120} isn't a place on the Hub; write it like hub:owner/name")
    return found[1]


def logged_in() -> bool:
    from huggingface_hub import get_token

    return bool(get_token())


# -------------------------------------------------------------------------------------------------------------- sending


def send(run: Run, address: str, public: bool = False, told: Callable[[int], None] = lambda n: None) -> str:
    """The address of the repository, which is made, private unless said otherwise, where it isn't there yet.

    Raises OrtamError where nobody is logged in, the Hub refuses, or something in the folder looks like a secret.
    """
    name = repository(address)
    with tempfile.TemporaryDirectory(prefix="ortam-hub-") as folder:
        staged = Path(folder)
        files = copy(run, staged)
        refuse_secrets(run.spec)
        for n, path in enumerate(files, 1):
            _refuse_secret_text(path)
            told(n)
        (staged / "README.md").write_text(card(run, name), "utf-8", errors="replace")
        with _asking(name) as hub:
            if not hub.token:
                raise OrtamError("nobody is logged in to the Hub here; set HF_TOKEN, or run: hf auth login")
            hub.create_repo(name, repo_type="dataset", private=not public, exist_ok=True)
            hub.upload_folder(repo_id=name, repo_type="dataset", folder_path=staged, allow_patterns=[*TRAVELS, "README.md"],
                              commit_message=f"Run {run.id}")
            return f"{hub.endpoint}/datasets/{name}"


def card(run: Run, name: str) -> str:
    spec, summary = run.spec, Store(run.path.parent).summary(run)
    return (f"---\ntags:\n- ortam\n- reinforcement-learning\n---\n\n# {spec.name}\n\n"
            f"A recorded run: {_code(spec.model)} on {', '.join(_code(asked.id) for asked in spec.environments)}, "
            f"{summary.step} steps, {summary.episodes} episodes, {summary.status}. It holds every episode turn by turn.\n\n"
            f"Look at it with Ortam:\n\n```\npython -m backend import hub:{name}\npython app.py\n```\n")


def _code(words: str) -> str:
    plain = re.sub(r"[`\s]+", " ", words)[:120]
    return f"`{plain}`"


def _refuse_secret_text(path: Path) -> None:
    """Across blocks too; what the database keeps compressed isn't seen."""
    pattern = re.compile(SECRET_TEXT.pattern.encode())
    before = b""
    with open(path, "rb") as file:
        while block := file.read(BLOCK):
            if pattern.search(before + block):
                raise OrtamError(f"{path.name} holds what looks like a token or a password, so it isn't sent; take it out first")
            before = block[-200:]


# ------------------------------------------------------------------------------------------------------------- bringing


def bring(store: Store, address: str, name: str | None = None) -> Run:
    """A run of its own, made of what a repository holds. Raises OrtamError where that isn't a run, or isn't fit to be one."""
    from backend.exchange.importing import name_allowed

    repo = repository(address)
    if name:
        name_allowed(name)
    with tempfile.TemporaryDirectory(prefix="ortam-hub-") as folder, arriving(store.folder) as draft:
        with _asking(repo) as hub:
            told = hub.repo_info(repo, repo_type="dataset", files_metadata=True)
            _bearable(repo, {file.rfilename: file.size for file in told.siblings or ()})
            from huggingface_hub import snapshot_download

            snapshot_download(repo, repo_type="dataset", revision=told.sha, allow_patterns=list(TRAVELS), local_dir=folder,
                              endpoint=hub.endpoint, token=hub.token)
        for file in TRAVELS:
            source = Path(folder) / file
            if source.is_symlink() or (source.exists() and not source.is_file()):
                raise OrtamError(f"{repo}: {file} isn't a plain file")
            if source.is_file():
                if source.stat().st_size > LARGEST.get(file, SMALL):
                    raise OrtamError(f"{repo}: {file} is too large to be of a run")
                shutil.move(source, draft / file)
        spec = fit(draft, repo)
        named = name or (spec.name if re.fullmatch(NAME, spec.name) else "imported")
        return settle(draft, store.folder, f"{time.strftime('%Y%m%d-%H%M%S')}-{named}")


def _bearable(repo: str, files: dict[str, int | None]) -> None:
    if not {"spec.yaml", "run.db"} <= files.keys():
        raise OrtamError(f"{repo} isn't a run: it holds no {'spec.yaml' if 'spec.yaml' not in files else 'run.db'}")
    for name in TRAVELS:
        size = files.get(name)
        if size is not None and size > LARGEST.get(name, SMALL):
            raise OrtamError(f"{repo}: {name} has {size / 1e6:,.0f} MB, more than one of a run may have")


def fit(draft: Path, called: str) -> RunSpec:
    """The spec of a folder that is safe to be taken for a run. Raises OrtamError."""
    spec = Run(draft).spec
    if not (draft / "run.db").is_file():
        raise OrtamError(f"{called} isn't a run: it holds no run.db")
    try:
        uri = (draft / "run.db").absolute().as_uri()
        with contextlib.closing(sqlite3.connect(f"{uri}?mode=ro&immutable=1", uri=True)) as connection:
            connection.execute("PRAGMA trusted_schema=OFF")
            kinds = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
            sound = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.DatabaseError as error:
        raise OrtamError(f"{called}: run.db isn't a database that can be read ({error})") from None
    acting = [f"{kind} {name}" for kind, name, sql in kinds
              if kind not in ("table", "index") or _VIRTUAL.search(sql or "") and not _INDEX_OF_WORDS.match(sql)]
    if acting:
        raise OrtamError(f"{called}: run.db holds a {acting[0]:.60}, which no run has")
    if sound != "ok":
        raise OrtamError(f"{called}: run.db is broken ({sound})")
    if "episodes" not in {name for kind, name, _ in kinds if kind == "table"}:
        raise OrtamError(f"{called}: run.db isn't a run's; it has no episodes")
    return spec


# -------------------------------------------------------------------------------------------------------------- the Hub


@contextlib.contextmanager
def _asking(repo: str) -> Iterator[Any]:
    """The Hub's client; what goes wrong there becomes one sentence."""
    from huggingface_hub import HfApi, get_token
    from huggingface_hub.errors import (
        HfHubHTTPError,
        HFValidationError,
        HTTPError,
        LocalEntryNotFoundError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
    )

    try:
        yield HfApi(token=get_token())
    except RepositoryNotFoundError:
        raise OrtamError(f"the Hub has no dataset {repo}, or it isn't shown to who is logged in here; check the name and "
                         "HF_TOKEN") from None
    except OfflineModeIsEnabled:
        raise OrtamError("HF_HUB_OFFLINE is set, so the Hub isn't asked; unset it first") from None
    except HFValidationError as error:
        raise OrtamError(f"{repo} can't be a name on the Hub ({str(error).splitlines()[0]})") from None
    except HfHubHTTPError as error:
        code = error.response.status_code if error.response is not None else ""
        why = {401: "it doesn't know the token", 403: "the token may not do this"}.get(code, str(error).splitlines()[0])
        raise OrtamError(f"the Hub refused {repo}: {why} ({code})") from None
    except (HTTPError, LocalEntryNotFoundError, ConnectionError) as error:
        raise OrtamError(f"the Hub can't be reached ({str(error).splitlines()[0] if str(error) else type(error).__name__}); "
                         "check the network and HF_ENDPOINT") from None

