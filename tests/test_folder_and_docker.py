"""Environments that are started for a run from a folder or an image."""

import asyncio
import os
import shutil
import stat
import sys
from pathlib import Path

import pytest

from backend.environments import Task, discovery, manifest
from backend.environments.playthrough import Playthrough
from backend.environments.sources import check, described, reach, settled, source
from backend.errors import EnvironmentFailed, SpecError
from backend.records import EnvironmentSpec

CASES = Path(__file__).parent / "cases"

MODELS = """
from openenv.core.env_server import Action, Observation
class AddAction(Action):
    number: int
class AddObservation(Observation):
    total: int = 0
"""
APP = """
import os
from openenv.core.env_server import Environment, State, create_app
{imports}
class Add(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True
    def reset(self, seed=None, episode_id=None, **_):
        self.total = seed or 0
        return AddObservation(total=self.total)
    def step(self, action, timeout_s=None, **_):
        self.total += action.number
        return AddObservation(total=self.total, reward=1.0)
    @property
    def state(self):
        return State()
app = create_app(Add, AddAction, AddObservation, env_name="add",
                 max_concurrent_envs=int(os.environ["MAX_CONCURRENT_ENVS"]))
"""


def made(folder: Path, imports: str = "from models import AddAction, AddObservation", case: str | None = None,
         server: str = "server") -> Path:
    (folder / server).mkdir(parents=True)
    for package in (folder / server, folder):
        (package / "__init__.py").touch()
    (folder / "models.py").write_text(MODELS)
    (folder / server / "app.py").write_text(APP.format(imports=imports))
    if case:
        shutil.copy(CASES / case, folder / "openenv.yaml")
    return folder


def spec(use: str) -> EnvironmentSpec:
    return EnvironmentSpec(id="it", use=use)


def added(asked: EnvironmentSpec, sessions: int = 4) -> Playthrough:
    """Starts it, and adds 3 to a total that begins at the seed, 5."""
    async def play(address: str):
        play = Playthrough(source(asked, address), asked, pauses=())
        await play.begin(Task("5", 5))
        await play.call("add", {"number": 3})
        await play.end()
        return play

    with reach(asked, sessions) as address:
        return asyncio.run(play(address))


@pytest.mark.parametrize("imports", ["from models import AddAction, AddObservation",
                                     "from ..models import AddAction, AddObservation",
                                     "from add_env.models import AddAction, AddObservation"])
def test_a_folder_is_served_however_it_imports_its_own_parts(tmp_path, imports):
    asked = spec(f"folder:{made(tmp_path / 'add_env', imports, 'openenv_01_minimal_v1.yaml')}")
    check(asked)
    assert described(asked) is None, "only the served environment can tell"
    play = added(asked)
    assert play.fault is None and play.facts["total"] == 8 and play.facts["env_reward"] == 1


def test_a_folder_that_cannot_be_served_says_why(tmp_path):
    asked = spec(f"folder:{made(tmp_path / 'add_env', 'import a_package_that_is_missing')}")
    with pytest.raises(EnvironmentFailed, match="add_env server didn't start(.|\n)*No module named 'a_package_that_is"):
        added(asked)


def test_a_relative_folder_is_kept_with_its_whole_path(tmp_path, monkeypatch):
    made(tmp_path / "add_env")
    monkeypatch.chdir(tmp_path)
    assert settled(spec("folder:add_env")).use == f"folder:{tmp_path / 'add_env'}"
    assert settled(spec("catch")) == spec("catch")


# ------------------------------------------------------------------------------------------------------- openenv.yaml


def read(tmp_path: Path, case: str | None, folder: str = "env_one", **more) -> manifest.Manifest:
    return manifest.read(made(tmp_path / folder, case=case, **more))


def test_a_plain_manifest_gives_no_warning(tmp_path):
    found = read(tmp_path, "openenv_01_minimal_v1.yaml")
    assert (found.name, found.app, found.root) == ("env_one", "server.app:app", tmp_path / "env_one")
    assert found.warnings == ()


@pytest.mark.parametrize("case, folder, name, warnings", [
    (None, "env_one", "env_one", ["there is no openenv.yaml"]),
    ("openenv_02_template_placeholder.yaml", "mine", "mine", ["name still holds the placeholder __ENV_NAME__"]),
    ("openenv_03_legacy_no_spec_version.yaml", "env_three", "env_three", ["spec_version is missing"]),
    ("openenv_05_name_differs_from_folder.yaml", "weblookup_env", "web_lookup",
     ["name is web_lookup, but the folder is weblookup_env"]),
    ("openenv_07_dicts_where_strings_expected.yaml", "lab", "dashed-name-lab",
     ["name is dashed-name-lab", "runtime holds a mapping where a text belongs", "app holds a mapping",
      "tasks isn't used", "action_space isn't used", "observation_space isn't used", "reward isn't used"]),
    ("openenv_10_grader_baseline.yaml", "quality_env", "quality_env", ["grader isn't used", "baseline isn't used"]),
])
def test_odd_manifests_are_read_with_a_warning_for_each_odd_field(tmp_path, case, folder, name, warnings):
    found = read(tmp_path, case, folder)
    assert (found.name, found.app) == (name, "server.app:app")
    for warning in warnings:
        assert any(warning in said for said in found.warnings), found.warnings
    assert len(found.warnings) == len({*found.warnings}) >= len(warnings)


def test_a_path_from_further_up_is_followed(tmp_path):
    folder = made(tmp_path / "envs" / "env_four", case="openenv_04_nested_app_path_other_port.yaml")
    found = manifest.read(folder)
    assert (found.app, found.root) == ("envs.env_four.server.app:app", tmp_path)
    assert "port is 8004" in found.warnings[0]
    assert added(spec(f"folder:{folder}")).facts["total"] == 8


def test_nothing_in_a_manifest_is_run(tmp_path):
    folder = made(tmp_path / "add_env")
    touch = f"touch {tmp_path}/run"
    (folder / "openenv.yaml").write_text(f"spec_version: 1\nname: add_env\napp: '{touch}; server.app:app'\n"
                                         f"startup_command: {touch}\nport: !!python/object/apply:os.abort []\n")
    found = manifest.read(folder)
    assert found.app == "server.app:app" and "openenv.yaml can't be read" in found.warnings[0]
    (folder / "openenv.yaml").write_text(f"spec_version: 1\nname: add_env\napp: '{touch}'\n")
    assert "not module:attribute" in manifest.read(folder).warnings[0]
    assert added(spec(f"folder:{folder}")).facts["total"] == 8
    assert not (tmp_path / "run").exists()


def test_a_folder_without_an_application_is_refused(tmp_path):
    with pytest.raises(SpecError, match="has no application to serve"):
        check(spec(f"folder:{tmp_path}"))


# -------------------------------------------------------------------------------------------------------------- docker

DOCKER = """#!{python}
# Stands in for Docker's command line where there is no Docker: a container is a server of the folder beside it.
import os, signal, subprocess, sys, pathlib
here = pathlib.Path(__file__).parent
with open(here / "log", "a") as log: print(*sys.argv[1:], file=log)
match sys.argv[1:]:
    case ["image", "inspect", "--format", *_]: print("8000/tcp ")
    case ["image", "inspect", image]: sys.exit(image == "absent")
    case ["pull", *_]: sys.exit("pull access denied")
    case ["run", *rest]:
        sessions = next(a for a in rest if a.startswith("MAX_CONCURRENT_ENVS=")).split("=")[1]
        code = ("import subprocess, sys\\nserver = subprocess.Popen([sys.executable, '-m', "
                "'backend.environments.servers.hosted', '--app', 'server.app:app', '--root', {folder!r}, "
                "'--folder', {folder!r}, '--port', '0', '--sessions', "
                + repr(sessions) + "], stdout=open({out!r}, 'w'), stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, "
                "start_new_session=True, "
                "cwd={root!r})\\nopen({pid!r}, 'w').write(str(server.pid))")
        subprocess.run([sys.executable, "-c", code], check=True)
    case ["port", *_]:
        while not (told := pathlib.Path({out!r}).read_text()).startswith("ready"): pass
        print("127.0.0.1:" + told.strip().rsplit(":", 1)[1])
    case ["inspect", *_]: print("true")
    case ["kill", _]: os.kill(int(pathlib.Path({pid!r}).read_text()), signal.SIGKILL)
"""


@pytest.fixture
def docker(tmp_path, monkeypatch):
    bin = tmp_path / "bin"
    bin.mkdir()
    (bin / "docker").write_text(DOCKER.format(
        python=sys.executable, folder=str(made(tmp_path / "add_env")), out=str(tmp_path / "out"),
        pid=str(tmp_path / "pid"), root=str(Path(__file__).parents[1])))
    (bin / "docker").chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{bin}{os.pathsep}{os.environ['PATH']}")
    return bin


def test_an_image_is_run_with_the_sessions_it_needs_and_stopped_at_the_end(docker, tmp_path):
    asked = spec("docker:registry.example/add-env:latest")
    check(asked)
    assert added(asked, sessions=9).facts["total"] == 8
    log = (docker / "log").read_text().splitlines()
    run = next(line for line in log if line.startswith("run "))
    assert "--publish 127.0.0.1::8000/tcp --env MAX_CONCURRENT_ENVS=9 registry.example/add-env:latest" in run
    assert log[-1].startswith("kill ortam-")
    with pytest.raises(EnvironmentFailed, match="Nothing answers"):
        discovery.healthy((tmp_path / "out").read_text().split()[1])


def test_an_image_that_cannot_be_fetched_says_why(docker):
    with pytest.raises(EnvironmentFailed, match="absent server didn't start(.|\n)*pull failed: pull access denied"):
        added(spec("docker:absent"))


def test_a_machine_without_docker_is_told_so_in_a_sentence(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SpecError, match="docker: needs Docker, and there is no docker command on this machine"):
        check(spec("docker:registry.example/add-env"))
