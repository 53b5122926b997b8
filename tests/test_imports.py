"""Who may import whom, what may be heavy, and that an import does nothing.

Imports are read from the source, lazy ones included, so that one hidden in a function counts too.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

EVERYTHING = {"ui", "backend.cli", "backend.executors", "backend.launcher", "backend.worker", "backend.store",
              "backend.records", "backend.errors", "backend.trusted", "backend.environments", "backend.rewards",
              "backend.signal", "backend.preflight", "backend.repricing", "backend.play", "backend.standings",
              "backend.comparing", "backend.exchange", "backend.refusals"}

ALLOWED = {
    "app": EVERYTHING,
    "backend.__main__": {"backend.cli"},
    "backend.cli": EVERYTHING - {"backend.cli"},
    "ui": {"backend.launcher", "backend.store", "backend.records", "backend.errors", "backend.environments",
           "backend.rewards", "backend.signal", "backend.preflight", "backend.repricing", "backend.play",
           "backend.trusted", "backend.standings", "backend.comparing", "backend.exchange", "backend.refusals"},
    "backend.exchange": {"backend.store", "backend.records", "backend.errors", "backend.environments", "backend.refusals"},
    "backend.launcher": {"backend.executors", "backend.store", "backend.records", "backend.errors",
                         "backend.environments", "backend.rewards", "backend.refusals"},
    "backend.play": {"backend.environments", "backend.rewards", "backend.store", "backend.records", "backend.errors"},
    "backend.preflight": {"backend.environments", "backend.rewards", "backend.records", "backend.errors"},
    "backend.worker": {"backend.launcher", "backend.executors", "backend.store", "backend.records", "backend.errors"},
    "backend.recipes": set(),
    "backend.executors": {"backend.processes", "backend.records", "backend.errors"},
    "backend.trainer": {"backend.environments", "backend.rewards", "backend.signal", "backend.store", "backend.records",
                        "backend.errors"},
    "backend.store": {"backend.processes", "backend.records", "backend.errors", "backend.refusals"},
    "backend.signal": {"backend.records", "backend.rewards"},
    "backend.repricing": {"backend.store", "backend.rewards", "backend.records", "backend.errors"},
    "backend.standings": {"backend.signal", "backend.store", "backend.records", "backend.errors"},
    "backend.comparing": {"backend.store", "backend.signal", "backend.records", "backend.errors"},
    "backend.rewards": {"backend.records", "backend.errors", "backend.trusted"},
    "backend.environments": {"backend.records", "backend.errors", "backend.trusted"},
    "backend.records": set(),
    "backend.refusals": {"backend.records", "backend.errors"},
    "backend.errors": set(),
    "backend.trusted": set(),
    "backend.processes": set(),
}
"""Room -> rooms it may import, besides itself. To add a room: name it here, with no more than it needs."""

NAMES_ONLY = {"backend.environments", "backend.environments.catalog", "backend.environments.listing",
              "backend.environments.sample", "backend.environments.snapshot"}
"""What the pages may know of environments: what there is, never a connection to it. The launcher may ask."""

WITH_A_TOKENIZER = {"backend.preflight.model_view": {"transformers", "trl"}}
"""Modules outside the trainer that load training libraries, only where used: to show a prompt as the model sees it."""

HEAVY = {"torch", "transformers", "trl", "accelerate", "peft", "datasets"}
SHARED_WITH_THE_TRAINER = ("backend.records", "backend.errors", "backend.trusted", "backend.store", "backend.rewards",
                           "backend.environments", "backend.signal")


def modules() -> dict[str, Path]:
    paths = [ROOT / "app.py", *ROOT.glob("ui/**/*.py"), *ROOT.glob("backend/**/*.py")]
    found = {}
    for path in sorted(p for p in paths if p.exists()):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def room(module: str) -> str | None:
    """The room of one of our modules; None for a module that isn't ours."""
    top, *rest = module.split(".")
    if top in ("app", "ui"):
        return top
    return f"backend.{rest[0]}" if top == "backend" and rest else None


def imports(module: str) -> Iterator[tuple[int, str]]:
    """(line, module) of each import in the source, wherever it stands."""
    path = MODULES[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[:len(package.split(".")) - node.level + 1] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                whole = f"{source}.{alias.name}"
                yield node.lineno, whole if whole in MODULES else source


def python(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs code in a fresh interpreter that sees our modules from an empty working directory."""
    return subprocess.run([sys.executable, "-B", "-c", code], cwd=folder, capture_output=True, text=True, timeout=120,
                          env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "PYTHONPATH": str(ROOT),
                               "PYTHONIOENCODING": "utf-8"})


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_only_the_rooms_it_may(module):
    here = room(module)
    if here is None:
        assert not list(imports(module)), "the backend package itself holds nothing"
        return
    assert here in ALLOWED, f"{here} is a new room: say in ALLOWED what it may import"
    for line, imported in imports(module):
        there = room(imported)
        if there is None or there == here:
            continue
        assert there in ALLOWED[here], f"{MODULES[module].relative_to(ROOT)}:{line} imports {imported}"
        if there == "backend.environments" and here in ("ui", "backend.launcher"):
            names = NAMES_ONLY | ({"backend.environments.sources", "backend.environments.players"}
                                  if here == "backend.launcher" else set())
            assert imported in names, f"{MODULES[module].relative_to(ROOT)}:{line} imports {imported}"


@pytest.mark.parametrize("module", [m for m in MODULES if room(m) not in (None, "backend.trainer")])
def test_only_the_trainer_loads_training_libraries(module):
    for line, imported in imports(module):
        assert imported.split(".")[0] not in HEAVY - WITH_A_TOKENIZER.get(module, set()), \
            f"{MODULES[module].relative_to(ROOT)}:{line} imports {imported}"


@pytest.mark.parametrize("module", [m for m in MODULES if m.startswith("backend")])
def test_the_backend_knows_no_gradio(module):
    for line, imported in imports(module):
        assert imported.split(".")[0] != "gradio", f"{MODULES[module].relative_to(ROOT)}:{line} imports {imported}"


@pytest.mark.parametrize("module", MODULES)
def test_a_module_only_defines_things_at_import(module):
    defines = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign,
               ast.AnnAssign)
    if module.endswith("__main__"):
        return
    for node in ast.parse(MODULES[module].read_text(encoding="utf-8")).body:
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        guarded = isinstance(node, ast.If) and ("__main__" in ast.unparse(node.test)
                                                or "TYPE_CHECKING" in ast.unparse(node.test))
        assert text or guarded or isinstance(node, defines), \
            f"{MODULES[module].relative_to(ROOT)}:{node.lineno} does something at import"


def test_the_application_starts_without_training_libraries(tmp_path):
    ran = python(f"import app, sys; print([m for m in {sorted(HEAVY)} if m in sys.modules])", tmp_path)
    assert ran.stdout.strip() == "[]", ran.stderr


def test_rooms_shared_with_the_trainer_load_no_gradio(tmp_path):
    shared = [m for m in MODULES if room(m) in SHARED_WITH_THE_TRAINER and not m.endswith("__main__")]
    ran = python(f"import importlib, sys\nfor m in {shared}: importlib.import_module(m)\n"
                 f"print([m for m in ['gradio', *{sorted(HEAVY)}] if m in sys.modules])", tmp_path)
    assert ran.stdout.strip() == "[]", ran.stderr


def test_importing_everything_opens_no_socket_starts_no_process_and_writes_nothing(tmp_path):
    light = [m for m in MODULES if room(m) != "backend.trainer" and not m.endswith("__main__")]
    ran = python(
        "import sys, threading\n"
        "import gradio\n"
        "seen = []\n"
        "def watch(event, args):\n"
        "    if event in ('socket.bind', 'socket.connect', 'subprocess.Popen', 'os.mkdir'):\n"
        "        seen.append((event, str(args)[:200]))\n"
        "threads = threading.active_count()\n"
        "sys.addaudithook(watch)\n"
        "import importlib\n"
        f"for m in {light}: importlib.import_module(m)\n"
        "print(seen, threading.active_count() - threads)\n", tmp_path)
    assert ran.stdout.strip() == "[] 0", ran.stderr
    assert not list(tmp_path.iterdir())
