"""What the project says about itself: the README's tree and commands, and the pins."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```\w*\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def tree() -> dict[str, str]:
    """Path -> phrase, from the block of the README that starts with app.py; children stand two spaces further in."""
    block = next(b for b in BLOCKS if b.startswith("app.py"))
    named, folders = {}, []
    for line in block.splitlines():
        if not line.strip():
            continue
        depth = (len(line) - len(line.lstrip())) // 2
        names, _, phrase = line.strip().partition("  ")
        for name in names.split():
            path = "".join([*folders[:depth], name])
            named[path.rstrip("/")] = phrase.strip()
            if name.endswith("/"):
                folders = [*folders[:depth], name]
    return named


TREE = tree()


def output(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def kept_in_git() -> set[str]:
    listed = output("git", "ls-files").split("\n")
    return {path for path in listed if path and (ROOT / path).exists()}


@pytest.mark.parametrize("path", TREE)
def test_what_the_tree_names_exists_and_has_a_phrase(path):
    assert (ROOT / path).exists()
    assert TREE[path]


def test_the_pictures_of_the_readme_exist():
    pictures = re.findall(r"!\[.*?\]\((.+?)\)", README)
    assert pictures
    for picture in pictures:
        assert (ROOT / picture).is_file(), picture


def test_every_room_is_in_the_tree():
    """What stands directly in ui/ and backend/, and the folders inside a room; the rest, a room says itself."""
    rooms = set()
    for path in kept_in_git():
        parts = path.split("/")
        if parts[0] in ("ui", "backend") and path.endswith(".py"):
            rooms.add("/".join(parts[:2]))
            if len(parts) > 3:
                rooms.add("/".join(parts[:3]))
    assert rooms - {"backend/__init__.py"} <= set(TREE)


def test_every_file_at_the_top_is_in_the_tree():
    top = {path.split("/")[0] for path in kept_in_git()}
    assert top - {"README.md", ".gitignore", ".gitattributes", ".dockerignore"} <= {path.split("/")[0] for path in TREE}


def commands(start: str) -> set[str]:
    lines = [line.strip() for block in BLOCKS for line in block.splitlines()]
    return {line.removeprefix(start).strip() for line in lines if line.startswith(start)}


def test_the_make_targets_of_the_readme_exist():
    targets = {line.split()[0] for line in commands("make ")}
    assert {"run", "test"} <= targets
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_the_options_of_the_application_exist():
    said = output(sys.executable, "app.py", "--help")
    wanted = set(re.findall(r"--[a-z-]+", " ".join(commands("python app.py"))))
    assert wanted and wanted <= set(re.findall(r"--[a-z-]+", said))


def verbs() -> set[str]:
    """Of `python -m backend`; `a | b` names several."""
    return {part.split()[0] for line in commands("python -m backend ")
            for part in re.split(r"\s\|\s", re.split(r"\s{2,}", line)[0])}


@pytest.mark.parametrize("verb", sorted(verbs()))
def test_a_verb_of_the_command_line_exists(verb):
    helped = subprocess.run([sys.executable, "-m", "backend", verb, "--help"], cwd=ROOT, capture_output=True, text=True)
    assert helped.returncode == 0, helped.stderr


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-gpu.txt", "requirements-dev.txt"])
def test_every_requirement_is_pinned_to_one_version(name):
    for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith(("#", "-r ")):
            assert re.fullmatch(r"[A-Za-z0-9_.-]+==[0-9][0-9a-z.]*", line), line


def test_every_library_that_is_imported_is_required():
    """Under the name it is imported by; a library that only comes along with another one isn't ours to import."""
    from importlib.metadata import packages_distributions

    from tests.test_imports import MODULES, imports

    ours = {"app", "ui", "backend"}
    distributions = packages_distributions()
    required = {re.split("==", line)[0].lower().replace("_", "-")
                for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines() if "==" in line}
    used: dict[str, str] = {}
    for module in MODULES:
        for line, imported in imports(module):
            used.setdefault(imported.split(".")[0], f"{MODULES[module].relative_to(ROOT)}:{line}")
    strange = {name: place for name, place in used.items() if name not in sys.stdlib_module_names | ours
               and not {d.lower().replace("_", "-") for d in distributions.get(name, ["?"])} & required}
    assert not strange
