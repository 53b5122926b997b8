"""Run folders and their SQLite files; the only room that knows the names of files and tables.

    runs/<id>/spec.yaml      what was asked              written once
    runs/<id>/run.db         what happened               one writer: the trainer
    runs/<id>/notes.db       what people say of it     written by pages
    runs/<id>/trainer.lock   held while a trainer lives
    runs/<id>/stop           there when a stop was asked for
    runs/<id>/trainer.log    what it printed
    runs/<id>/live.json      what is being played now    there only while a batch is played
    runs/<id>/result.json    how it ended                written last
    runs/studio.db           the queue, the saved reward sets, environments and filters
    runs/worker.lock         held while a worker serves the folder
"""

import contextlib
import os
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from backend.errors import OrtamError, RunNotFound
from backend.processes import alive, birth, own_name
from backend.records import ENDED, FactValue, RewardTerm, RunSpec, RunStatus
from backend.store.arriving import free_folder
from backend.store.games import Game
from backend.store.notes import Note
from backend.store.queue import Place, Queue
from backend.store.reading import CurvePoint, EpisodeRow
from backend.store.reward_sets import RewardSet, RewardSets, terms_to_yaml
from backend.store.run import Progress, Run
from backend.store.saved_filters import SavedFilter, SavedFilters
from backend.store.spec_file import refuse_secrets, to_yaml
from backend.store.writing import RunWriter, held, hold_if_free, write_whole

__all__ = ["CurvePoint", "EpisodeRow", "Game", "Note", "Place", "Progress", "Queue", "RewardSet", "Run", "RunSummary",
           "RunWriter", "SavedFilter", "Store", "alive", "birth", "own_name", "refuse_secrets", "terms_to_yaml",
           "to_yaml"]


TAGGED_RUNS = 100
"""Newest runs whose tags are suggested."""


class RunSummary(NamedTuple):
    id: str
    name: str
    model: str
    """Or who plays, in a match."""
    environments: tuple[str, ...]
    status: RunStatus
    step: int
    steps: int
    episodes: int
    reward: float | None
    """Mean total of the last step; None before one was scored."""
    started: float | None
    seconds: float | None
    demo: bool
    match: bool = False
    """Its steps are games then."""


class Store:
    """A directory of runs."""

    def __init__(self, folder: Path | str):
        self.folder = Path(folder)
        self.queue = Queue(self.folder)
        self._reward_sets = RewardSets(self.folder)
        self._saved_filters = SavedFilters(self.folder)
        self._summaries: dict[str, tuple[str, RunSummary]] = {}

    def create(self, spec: RunSpec) -> Run:
        """A new folder with the spec in it. Raises SpecError where the spec holds what looks like a secret."""
        refuse_secrets(spec)
        path = free_folder(self.folder, f"{time.strftime('%Y%m%d-%H%M%S')}-{spec.name}")
        write_whole(path / "spec.yaml", to_yaml(spec))
        return Run(path)

    def runs(self, search: str = "") -> list[RunSummary]:
        """Newest first, recorded demos last; `search` looks at id, model, environments and status."""
        words = search.lower().split()
        found = []
        for run in self._all():
            try:
                summary = self.summary(run)
            except Exception as error:  # one broken folder must not hide the others
                print(f"{run.id} can't be read: {error}", flush=True)
                continue
            text = " ".join((summary.id, summary.model, *summary.environments, summary.status)).lower()
            if all(word in text for word in words):
                found.append(summary)
        return found

    def named(self, name: str) -> list[Run]:
        """All runs created under this name, newest first, without a look into any."""
        mine = re.compile(rf"\d{{8}}-\d{{6}}-{re.escape(name)}(-\d+)?")
        found = [id for id in self._names() if mine.fullmatch(id) and (self.folder / id / "spec.yaml").is_file()]
        return [Run(self.folder / id) for id in sorted(found, reverse=True)]

    def run(self, ref: str) -> Run:
        """By id, unique prefix of an id or of a name, or `latest`. Raises RunNotFound."""
        if ref != "latest" and ref in self._names() and (self.folder / ref / "spec.yaml").is_file():
            return Run(self.folder / ref)  # without a look at all the others, since pages ask for it every two seconds
        runs = self._all()
        if not runs:
            raise RunNotFound(f"{self.folder} holds no runs yet", "start one with: python -m backend launch quickstart")
        if ref == "latest":
            return runs[0]
        found = [run for run in runs if ref and (run.id.startswith(ref) or _named(run.id).startswith(ref))]
        if len(found) == 1:
            return found[0]
        if found:
            raise RunNotFound(f"{ref!r} could be any of {', '.join(run.id for run in found[:5])}; write more of the id")
        raise RunNotFound(f"no run in {self.folder} is called {ref!r}", "list them with: python -m backend runs")

    def summary(self, run: Run) -> RunSummary:
        version = run.version()
        kept = self._summaries.get(run.id)
        if kept is None or kept[0] != version:
            kept = self._summaries[run.id] = version, self._summarise(run)
        summary = kept[1]
        if summary.status in ENDED or summary.started is None:
            return summary
        return summary._replace(seconds=max(0.0, time.time() - summary.started))

    @staticmethod
    def _summarise(run: Run) -> RunSummary:
        spec = run.spec
        progress = run.progress()
        episodes, reward = run.so_far()
        return RunSummary(run.id, spec.name, spec.plays, tuple(asked.id for asked in spec.environments), run.status(),
                          progress.step, progress.steps, episodes, reward, run.started(), progress.elapsed, run.demo,
                          spec.match is not None)

    # ---------------------------------------------------------------------------------------------------- reward terms

    def reward_sets(self) -> list[RewardSet]:
        """Those that were saved, by name."""
        return self._reward_sets.all()

    def reward_set(self, name: str) -> RewardSet | None:
        return next((found for found in self.reward_sets() if found.name == name), None)

    def save_reward_set(self, name: str, terms: Sequence[RewardTerm]) -> None:
        """Replaces what was saved under this name. Raises RewardError for a name or terms that can't be saved, SpecError
        for terms that hold what looks like a secret."""
        self._reward_sets.save(name, terms)

    def delete_reward_set(self, name: str) -> bool:
        """Whether there was one."""
        return self._reward_sets.delete(name)

    # --------------------------------------------------------------------------------------------- filters and tags

    def saved_filters(self) -> list[SavedFilter]:
        """By name."""
        return self._saved_filters.all()

    def save_filter(self, name: str, asked: str) -> None:
        """Replaces what was saved under this name. Raises SpecError for what can't be saved."""
        self._saved_filters.save(name, asked)

    def delete_filter(self, name: str) -> bool:
        """Whether there was one."""
        return self._saved_filters.delete(name)

    def tags(self) -> list[str]:
        """Used in any of the newest runs, the commonest first."""
        counted: Counter[str] = Counter()
        for run in self._all()[:TAGGED_RUNS]:
            with contextlib.suppress(OrtamError):  # one broken file must not hide the others
                counted.update(run.tags())
        return [tag for tag, _ in counted.most_common()]

    def last_facts(self, use: str) -> dict[str, FactValue]:
        """What each fact was in the newest recorded episode of this environment; empty where none was ever recorded."""
        for run in self._all():
            with contextlib.suppress(OrtamError):  # one broken folder must not hide the others
                ids = [asked.id for asked in run.spec.environments if asked.use == use]
                if ids and (rows := run.episodes(sort="-seq", limit=1, environment=ids)):
                    return rows[0].facts
        return {}

    @contextlib.contextmanager
    def worker_lock(self) -> Iterator[bool]:
        """Whether this process is now the folder's worker, until the block ends."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with hold_if_free(self.folder / "worker.lock") as mine:
            yield mine

    def worker_alive(self) -> bool:
        """Whether some worker serves this folder now."""
        return held(self.folder / "worker.lock")

    def _names(self) -> list[str]:
        return os.listdir(self.folder) if self.folder.is_dir() else []

    def _all(self) -> list[Run]:
        runs = [Run(self.folder / name) for name in self._names() if (self.folder / name / "spec.yaml").is_file()]
        return sorted(runs, key=_age, reverse=True)


def _age(run: Run) -> tuple[bool, str, int]:
    """Later is larger; of two runs of one second, the one whose spec was written later."""
    return not run.demo, run.id[:len("YYYYMMDD-HHMMSS")], (run.path / "spec.yaml").stat().st_mtime_ns


def _named(id: str) -> str:
    return re.sub(r"^\d{8}-\d{6}-", "", id)
