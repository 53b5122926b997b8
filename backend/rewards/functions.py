"""Reward terms that are the user's own Python, by file and name. They run in the trainer, and only in trusted mode."""

import ast
import hashlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from backend.errors import RewardError
from backend.rewards.expression import NotANumber
from backend.trusted import refusal, trusted


def place_of(value: str) -> tuple[Path, str]:
    """`file.py:function` as the file's absolute path and the name."""
    file, _, name = value.rpartition(":")
    return Path(file).expanduser().resolve(), name


def check_function(value: str) -> None:
    """Raises RewardError; looks at the file without running it."""
    if not trusted():
        raise RewardError(refusal("a function of your own"))
    file, name = place_of(value)
    try:
        tree = ast.parse(file.read_bytes())
    except OSError as error:
        raise RewardError(f"{file} can't be read ({error.strerror}); correct the path before the colon") from None
    except (SyntaxError, ValueError) as error:
        line = f" at line {error.lineno}" if isinstance(error, SyntaxError) else ""
        raise RewardError(f"{file} isn't valid Python{line}: {getattr(error, 'msg', error)}") from None
    found = [node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    if name not in found:
        has = f"it defines {', '.join(found)}" if found else "it defines no function"
        raise RewardError(f"{file} has no function {name}; {has}")
    if any(isinstance(node, ast.AsyncFunctionDef) and node.name == name for node in tree.body):
        raise RewardError(f"{name} in {file} is async; write it with a plain def")


def fingerprint(value: str) -> str:
    """SHA-256 of the file."""
    return hashlib.sha256(place_of(value)[0].read_bytes()).hexdigest()


def load_function(value: str) -> Callable[[Any], Any]:
    """Runs the file. Raises RewardError."""
    check_function(value)
    file, name = place_of(value)
    module_name = f"ortam_reward_{hashlib.sha256(str(file).encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(module_name, file)
    if spec is None or spec.loader is None:
        raise RewardError(f"{file} can't be loaded as Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    sys.path.insert(0, str(file.parent))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise RewardError(f"{file} failed while it was loaded ({type(error).__name__}: {error})") from error
    finally:
        sys.path.remove(str(file.parent))
    return getattr(module, name)


def call(function: Callable[[Any], Any], played: Any) -> Any:
    """Raises NotANumber for whatever goes wrong in it."""
    try:
        return function(played)
    except Exception as error:
        kind = type(error).__name__
        raise NotANumber(kind, f"{function.__name__} failed: {error or kind}") from error
