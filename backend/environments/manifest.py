"""`openenv.yaml` of an environment's folder, read tolerantly: an odd field is a warning, and nothing in it is run.

All that serving a folder needs of it is where the application is. In the wild fields are missing, hold mappings where
texts belong, name other ports and shell commands, or still hold a template's placeholders.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from backend.errors import SpecError

USUAL_APP = "server.app:app"
APP = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
TEXTS = ("name", "type", "runtime", "app", "version", "description", "action", "observation")
USED = ("spec_version", "port", *TEXTS)
UPWARDS = 3
"""Folders above an environment's that its application's path may begin in."""


@dataclass(frozen=True)
class Manifest:
    name: str
    app: str
    """module:attribute."""
    root: Path
    """The folder that `app` is imported from."""
    warnings: tuple[str, ...]
    """A sentence for each odd field."""


def read(folder: Path) -> Manifest:
    """Raises SpecError (field `use`) where there is no application to serve."""
    if not folder.is_dir():
        raise SpecError("use", f"there is no folder {folder}; correct the path")
    fields, warnings = _fields(folder / "openenv.yaml")
    name = fields.get("name")
    if not isinstance(name, str) or not name.strip() or name.startswith("__"):
        name = folder.name
    elif name != folder.name:
        warnings.append(f"name is {name}, but the folder is {folder.name}; the name is used")
    app, root = _app(folder, fields.get("app"), warnings)
    return Manifest(name.strip(), app, root, tuple(warnings))


def _fields(path: Path) -> tuple[dict[str, Any], list[str]]:
    try:
        told = yaml.safe_load(path.read_text(encoding="utf-8", errors="replace"))
    except FileNotFoundError:
        return {}, ["there is no openenv.yaml; the usual places are tried"]
    except (OSError, yaml.YAMLError) as error:
        return {}, [f"openenv.yaml can't be read ({str(error).splitlines()[0]}); the usual places are tried"]
    if not isinstance(told, dict):
        return {}, ["openenv.yaml holds no fields; the usual places are tried"]
    warnings = []
    fields = {str(name): value for name, value in told.items()}
    if "spec_version" not in fields:
        warnings.append("spec_version is missing; read as the older form")
    elif fields["spec_version"] != 1:
        warnings.append(f"spec_version is {str(fields['spec_version'])[:20]!r}, not 1; read as 1")
    for name in TEXTS:
        value = fields.get(name)
        if value is not None and not isinstance(value, str):
            warnings.append(f"{name} holds {_kind(value)} where a text belongs; ignored")
        elif isinstance(value, str) and re.fullmatch(r"__\w+__", value):
            warnings.append(f"{name} still holds the placeholder {value}; ignored")
    if "port" in fields and fields["port"] != 8000:
        warnings.append(f"port is {str(fields['port'])[:20]}; ignored, since a free port is taken")
    warnings += [f"{name} isn't used" for name in fields if name not in USED]
    return fields, warnings


def _kind(value: Any) -> str:
    return {dict: "a mapping", list: "a list", bool: "yes or no"}.get(type(value), "a number")


def _app(folder: Path, written: Any, warnings: list[str]) -> tuple[str, Path]:
    above = [folder, *folder.parents[:UPWARDS]]
    if isinstance(written, str):
        if not APP.fullmatch(written):
            warnings.append(f"app is {written[:60]!r}, not module:attribute such as {USUAL_APP}; the usual place is "
                            "tried")
        elif root := next((root for root in above if _file(root, written)), None):
            return _importable(folder, written, root)
        else:
            warnings.append(f"app is {written}, but there is no such file; the usual place is tried")
    if _file(folder, USUAL_APP):
        return _importable(folder, USUAL_APP, folder)
    raise SpecError("use", f"{folder} has no application to serve: neither its openenv.yaml's app nor server/app.py is "
                           "there; is it an OpenEnv environment's folder?")


def _file(root: Path, app: str) -> Path | None:
    place = root.joinpath(*app.split(":")[0].split("."))
    return next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()), None)


def _importable(folder: Path, app: str, root: Path) -> tuple[str, Path]:
    """As a part of the folder's package where it imports from above its own, as many do."""
    file = _file(root, app)
    text = file.read_text(encoding="utf-8", errors="replace") if file else ""
    if root == folder and folder.name.isidentifier() and re.search(r"^from \.\.", text, re.MULTILINE):
        return f"{folder.name}.{app}", folder.parent
    return app, root
