"""A class of the user's own as an environment, after TRL's contract:

    class Hunt:
        def __init__(self):                           no arguments; an object is made for each episode
        def reset(self, **kwargs) -> str | None       gives what the player reads first; gets seed, task and the options
        def guess(self, number: int) -> str           each public method is a tool: docstring, `Args:`, type hints
        def get_reward(self) -> float                 if it has one: what the episode was worth, asked once at its end

Public attributes with plain values (`self.won = False` in `__init__`) are facts; `done` ends the episode. `_close`, if it
has one, is called when the episode is over. Tools and `get_reward` may be async.

The class never runs in the process that asks about it: `python -m backend.environments.own_class USE` describes it, and
a server of its own plays it, where each episode has a thread to itself.
"""

import importlib
import importlib.util
import os
import sys
import traceback
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType

from backend.errors import SpecError

PREFIX = "python:"
EXAMPLE = "python:envs/hunt.py:Hunt or python:my_package.hunt:Hunt"


def place_of(use: str) -> tuple[str, str]:
    """(module, or the absolute path of a file; class). Raises SpecError."""
    place, _, name = use.removeprefix(PREFIX).rpartition(":")
    if not name.isidentifier() or not place:
        raise SpecError("use", f"{use!r:.120} names no class; write a file or a module and a class in it, such as "
                               f"{EXAMPLE}")
    if not (place.endswith(".py") or "/" in place or os.sep in place):
        if not all(part.isidentifier() for part in place.split(".")):
            raise SpecError("use", f"{place!r:.120} is neither a module nor a file that ends in .py; write {EXAMPLE}")
        return place, name
    file = Path(place).expanduser().resolve()
    if not file.is_file():
        raise SpecError("use", f"there is no file {file}; correct the path before the last colon")
    return str(file), name


def load(use: str) -> type:
    """Runs the module. Raises SpecError for what is wrong with it."""
    place, name = place_of(use)
    try:
        module = _from_file(Path(place)) if place.endswith(".py") else importlib.import_module(place)
    except BaseException as error:  # a module may also call sys.exit
        raise SpecError("use", f"{place} can't be loaded: {_where(error, place)}") from error
    found = getattr(module, name, None)
    if isinstance(found, type):
        return found
    classes = [one for one, value in vars(module).items() if isinstance(value, type)
               and value.__module__ == module.__name__]
    near = get_close_matches(name, classes, 1) or classes[:1]
    hint = f"did you mean {near[0]}?" if near else "it defines no class"
    raise SpecError("use", f"{place} has no class {name}; {hint}")


def _from_file(file: Path) -> ModuleType:
    sys.path.insert(0, str(file.parent))
    spec = importlib.util.spec_from_file_location(f"own_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} isn't Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return module


def _where(error: BaseException, place: str) -> str:
    """The error, and the last line of the user's own that led to it."""
    said = f"{type(error).__name__}: {error}".rstrip(": ")
    if isinstance(error, ModuleNotFoundError) and error.name and place.split(".")[0] == error.name:
        return (f"{said}. A module has to be installed for {sys.executable} or lie in Ortam's folder; else name its "
                "file, such as python:envs/hunt.py:Hunt")
    if isinstance(error, SyntaxError):
        return f"{said} in {error.filename}" if error.filename else said
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == place]
    return f"{said} (line {lines[-1].lineno})" if lines else said
