"""python -m backend VERB ...: what the pages do, for a terminal and for scripts.

    run SPEC            train in the foreground; exit 0 when it finished
    launch SPEC         queue it and print the run's id
    check SPEC          look at environments, rewards and budget first; exit 1 if anything would fail
    environments        list what there is to train in; --import FILE adds an OpenEnv catalog's
    runs                list runs
    show RUN            one run: status, progress, reward terms
    compare RUN RUN     several runs: what came of them, and what was set differently
    episodes RUN        list episodes
    episode RUN ID      one episode as text
    reprice RUN         what its episodes would be worth by other reward terms
    stop RUN            stop after the step under way; --now ends it at once
    play USE            play an environment in the terminal; --player has a script play it
    export RUN          a run's episodes as a file: jsonl, parquet, trl, sft, trackio, html, png, gif; or its folder on the Hub
    import FILE         episodes of elsewhere as a run: openai, verifiers, trl, jsonl, parquet; or a run from the Hub
    worker              start queued runs until this command is ended

SPEC is a YAML file or a recipe's name; RUN an id, a unique prefix of one, or `latest`. Exit 0: done. 1: the run didn't
finish. 2: what was asked for can't be done, and one sentence on stderr says why.
"""

import argparse
import difflib
import io
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from backend.cli import foreground, printing
from backend.errors import OrtamError
from backend.launcher import Launcher, load_spec
from backend.store import Store
from backend.trusted import trust

RUNS = Path(__file__).resolve().parents[2] / "runs"


def main(argv: list[str] | None = None) -> int:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    asked = _parser().parse_args(_sorts_joined(sys.argv[1:] if argv is None else argv))
    if getattr(asked, "trusted", False):
        trust()
    try:
        return asked.work(Store(asked.runs), asked) or 0
    except OrtamError as error:
        print(printing.plain("; ".join(filter(None, (str(error), error.command)))), file=sys.stderr)
        return 2
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        print(f"{asked.runs} can't be used: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        verb = self.prog.split()[-1]
        if "invalid choice" in message and verb == "backend":
            written = message.split("'")[1]
            near = difflib.get_close_matches(written, VERBS, 1)
            hint = f"did you mean {near[0]}?" if near else f"use one of {', '.join(VERBS)}"
            message = f"there is no verb {written!r}; {hint}"
        self.exit(2, f"{message}; see {self.prog} --help\n")


def _sorts_joined(argv: list[str]) -> list[str]:
    """`--sort -total` and `--find -slate` as one word: argparse takes what begins with a dash for another option."""
    joined = list(argv)
    for place in range(len(joined) - 2, -1, -1):
        if joined[place] in ("--sort", "--find"):
            joined[place:place + 2] = [f"{joined[place]}={joined[place + 1]}"]
    return joined


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m backend", usage="python -m backend VERB ...", description=__doc__,
                     formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True, parser_class=_Parser, prog=parser.prog)
    for name, (work, line, arguments) in VERBS.items():
        verb = verbs.add_parser(name, help=line, description=f"{line[0].upper()}{line[1:]}.")
        for flags, options in arguments:
            verb.add_argument(*flags, **options)
        verb.add_argument("--runs", type=Path, metavar="DIR", default=Path(os.environ.get("ORTAM_RUNS") or RUNS),
                          help="folder of the runs; ORTAM_RUNS names it too")
        if name != "worker":
            verb.add_argument("--json", action="store_true", help="print JSON")
        verb.set_defaults(work=work)
    return parser


def _run(store: Store, asked: argparse.Namespace) -> int:
    launcher = Launcher(store)
    return foreground.train(launcher, launcher.prepare(load_spec(asked.spec)), asked.json)


def _launch(store: Store, asked: argparse.Namespace) -> None:
    id = Launcher(store).launch(load_spec(asked.spec))
    printing.json_line({"id": id}) if asked.json else print(id)
    if not store.worker_alive():
        print(f"no worker serves {store.folder} now, so it waits; start one with: python -m backend worker",
              file=sys.stderr)


def _check(store: Store, asked: argparse.Namespace) -> int:
    from backend.cli.checking import checked

    return checked(asked.spec, asked.json)


def _environments(store: Store, asked: argparse.Namespace) -> None:
    from backend.cli import environments

    if asked.file:
        environments.bring_file(store, asked.file, asked.checkout, asked.json)
    else:
        environments.show(store, asked.words, asked.json)


def _runs(store: Store, asked: argparse.Namespace) -> None:
    printing.runs(store.runs(asked.search), asked.json)


def _show(store: Store, asked: argparse.Namespace) -> None:
    printing.show(store, store.run(asked.run), asked.json)


def _compare(store: Store, asked: argparse.Namespace) -> None:
    from backend.cli.comparing import compared

    compared(store, asked.refs, asked.json)


def _episodes(store: Store, asked: argparse.Namespace) -> None:
    run = store.run(asked.run)
    rows = run.episodes(where=asked.where, sort=asked.sort, limit=asked.limit, find=asked.find)
    printing.episodes(rows, asked.json, run.excerpts(rows, asked.find) if asked.find else {})


def _episode(store: Store, asked: argparse.Namespace) -> None:
    printing.episode(store.run(asked.run).episode(asked.id), asked.json)


def _reprice(store: Store, asked: argparse.Namespace) -> None:
    from backend.cli.pricing import repriced

    repriced(store, asked.run, asked.rewards, asked.json)


def _stop(store: Store, asked: argparse.Namespace) -> None:
    launcher, run = Launcher(store), store.run(asked.run)
    said = launcher.kill(run.id) if asked.now else launcher.stop(run.id)
    printing.json_line({"id": run.id, "status": run.status(), "said": said}) if asked.json else print(said)


def _play(store: Store, asked: argparse.Namespace) -> None:
    from backend.cli.playing import played
    from backend.play import chosen

    what = chosen(store, asked.use, asked.seed, asked.task, asked.split, asked.worth)
    played(store, what, asked.player, asked.games, asked.json)


def _export(store: Store, asked: argparse.Namespace) -> None:
    from backend.cli.exchanging import exported

    exported(store, asked)


def _import(store: Store, asked: argparse.Namespace) -> None:
    from backend.cli.exchanging import imported

    imported(store, asked)


def _worker(store: Store, asked: argparse.Namespace) -> None:
    import threading

    from backend.worker import Worker

    stopped = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: stopped.set())
    Worker(store).serve(stopped)


def _limit(text: str) -> int:
    if not text.isdecimal() or len(text) > 18 or int(text) < 1:
        raise argparse.ArgumentTypeError(f"write a whole number of at least 1, not {text!r:.60}")
    return int(text)


_SPEC = (("spec",), {"metavar": "SPEC", "help": "a YAML file or a recipe's name"})
_TRUSTED = (("--trusted",), {"action": "store_true", "help": "allow Python code of your own, as environment or reward"})
_RUN = (("run",), {"metavar": "RUN", "help": "id, unique prefix, or latest"})
_ID = (("id",), {"metavar": "ID", "help": "the episode's id, such as 62-3-7"})

FORMATS = ("jsonl", "parquet", "trl", "sft", "trackio", "html", "png", "gif")
READERS = ("openai", "verifiers", "trl", "jsonl", "parquet")

VERBS: dict[str, tuple[Callable, str, list]] = {
    "run": (_run, "train in the foreground", [_SPEC, _TRUSTED]),
    "launch": (_launch, "queue a run and print its id", [_SPEC, _TRUSTED]),
    "check": (_check, "look whether a spec would work before anything is spent", [_SPEC, _TRUSTED]),
    "environments": (_environments, "list what there is to train in", [
        (("words",), {"nargs": "?", "default": "", "help": "words to look for"}),
        (("--import",), {"dest": "file", "type": Path, "metavar": "FILE",
                         "help": "add the environments of a snapshot that openenv catalog build wrote"}),
        (("--checkout",), {"default": "", "metavar": "DIR", "help": "where their repository was cloned to"})]),
    "runs": (_runs, "list runs", [(("search",), {"nargs": "?", "default": "", "help": "words to look for"})]),
    "show": (_show, "show one run", [_RUN]),
    "compare": (_compare, "hold runs against each other", [
        (("refs",), {"metavar": "RUN", "nargs": "+", "help": "ids, or unique prefixes of them"})]),
    "episodes": (_episodes, "list episodes", [
        _RUN, (("--where",), {"metavar": "EXPR", "help": "such as 'won and guesses <= 3'"}),
        (("--find",), {"metavar": "WORDS", "help": "in the transcript, such as 'crane -slate tool:guess \"not a word\"'"}),
        (("--sort",), {"metavar": "NAME", "default": "-step",
                       "help": "a column or a reward term; --sort=-total for the largest first"}),
        (("--limit",), {"type": _limit, "default": 50, "metavar": "N", "help": "how many; 50"})]),
    "episode": (_episode, "show one episode, turn by turn", [_RUN, _ID]),
    "reprice": (_reprice, "work out what a run's episodes would be worth by other reward terms", [
        _RUN, (("--rewards",), {"metavar": "FILE", "required": True,
                                "help": "a YAML file (a list of terms, or a spec) or a saved set's name"})]),
    "stop": (_stop, "stop a run after the step under way", [
        _RUN, (("--now",), {"action": "store_true", "help": "end it at once instead"})]),
    "play": (_play, "play an environment in the terminal", [
        (("use",), {"metavar": "USE", "help": "a catalog name such as wordle, or where it comes from"}),
        (("--seed",), {"type": int, "metavar": "N", "help": "of the task; 0"}),
        (("--task",), {"metavar": "K", "help": "its number, where the environment lists tasks"}),
        (("--split",), {"metavar": "NAME", "help": "of the tasks, where it lists them in splits"}),
        (("--player",), {"metavar": "NAME", "help": "a scripted player, such as random"}),
        (("--games",), {"type": _limit, "metavar": "N", "help": "have every scripted player play so many tasks"}),
        (("--worth",), {"metavar": "WHOSE", "default": "own", "help": "reward terms: own, run:ID or set:NAME"}),
        _TRUSTED]),
    "export": (_export, "write a run's episodes to a file, or its folder to the Hub", [
        _RUN, (("--to",), {"metavar": "DIR|FILE", "required": True,
                           "help": "a file, a folder to name one in, or hub:owner/name"}),
        (("--format",), {"choices": FORMATS, "metavar": "NAME",
                         "help": f"{', '.join(FORMATS)}; else what the file's name says, and jsonl in a folder"}),
        (("--where",), {"metavar": "EXPR", "help": "only those, such as 'won and guesses <= 3'"}),
        (("--sort",), {"metavar": "NAME", "help": "a column or a reward term; else as they were played"}),
        (("--limit",), {"type": _limit, "metavar": "N", "help": "how many; all"}),
        (("--episode",), {"metavar": "ID", "help": "only this one"}),
        (("--group",), {"metavar": "STEP-GROUP", "help": "only this group's, such as 62-3"}),
        (("--replace",), {"action": "store_true", "help": "write over a file that is there"}),
        (("--public",), {"action": "store_true", "help": "on the Hub: for everyone to see; else private"})]),
    "import": (_import, "make a run of episodes from elsewhere", [
        (("file",), {"metavar": "FILE", "help": "a file, or hub:owner/name for a run somebody shared"}),
        (("--format",), {"choices": READERS, "metavar": "NAME", "help": f"{', '.join(READERS)}"}),
        (("--name",), {"metavar": "NAME", "help": "of the run; else after the file"})]),
    "worker": (_worker, "start queued runs, one after another", [_TRUSTED]),
}
"""Verb -> what does it, its line of help, its arguments."""
