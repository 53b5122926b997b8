"""spec.yaml: what was asked, resolved and re-runnable, and never a secret."""

import functools
import re
from typing import Any

import yaml
from pydantic import ValidationError

from backend.errors import SpecError
from backend.records import RunSpec
from backend.refusals import refused

# After a dash, an underscore or, as in accessToken, a lower-case letter.
_SECRET_NAME = re.compile(r"(^|[_-]|(?-i:(?<=[a-z])(?=[A-Z])))(token|api[_-]?key|secret|password|passwd|credentials?|"
                          r"authorization)$", re.IGNORECASE)
SECRET_TEXT = re.compile(r"\b(hf_[A-Za-z0-9]{20,}|sk-[A-Za-z0-9_-]{20,}|gh[pousr]_[A-Za-z0-9]{20,}|AKIA[0-9A-Z]{16})\b"
                          r"|://[^/\s@:]+:[^/\s@]+@")


def to_yaml(spec: RunSpec) -> str:
    """The whole spec, defaults written out, in the order of the record."""
    return yaml.dump(_plain(spec.model_dump()), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


@functools.lru_cache(maxsize=512)
def from_kept_yaml(text: str) -> RunSpec:
    """A spec that was accepted once; fields of a newer version are dropped. Raises SpecError."""
    try:
        data = _loaded(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise SpecError("", f"spec.yaml can't be read: {str(error).splitlines()[0]}") from None
    for _ in range(100):
        try:
            return RunSpec.model_validate(data)
        except ValidationError as error:
            unknown = [e["loc"] for e in error.errors() if e["type"] == "extra_forbidden"]
            if not unknown:
                raise SpecError("", f"spec.yaml can't be read: {refused(error, RunSpec)}") from None
            for place in unknown:
                _drop(data, place)
    raise SpecError("", "spec.yaml can't be read")


def _loaded(text: str) -> Any:
    try:
        return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError:
        return yaml.load(text, Loader=yaml.SafeLoader)  # slower, but takes a lone surrogate


def refuse_secrets(spec: RunSpec) -> None:
    """Raises SpecError where a value looks like a token or a password; those belong in environment variables."""
    refuse_secrets_in(spec.model_dump())


def refuse_secrets_in(fields: dict[str, Any]) -> None:
    """The same for what isn't a whole spec."""
    _look(fields, "")


def _look(value: Any, place: str) -> None:
    remedy = "a run folder is made to be shared; set it as an environment variable of the worker instead"
    if isinstance(value, dict):
        for key, inner in value.items():
            here = f"{place}.{key}" if place else str(key)
            if inner and isinstance(inner, str) and _SECRET_NAME.search(str(key)):
                raise SpecError(here, f"this looks like a secret, and {remedy}")
            _look(inner, here)
    elif isinstance(value, (list, tuple)):
        for index, inner in enumerate(value):
            _look(inner, f"{place}.{index}")
    elif isinstance(value, str) and SECRET_TEXT.search(value):
        raise SpecError(place, f"this holds what looks like a token or password, and {remedy}")


def _drop(data: Any, place: tuple) -> None:
    for key in place[:-1]:
        if isinstance(data, dict) and key not in data:
            continue  # not of the text: which kind of record was taken
        data = data[key]
    data.pop(place[-1], None)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return value


class _Dumper(yaml.SafeDumper):
    """Indents lists below their key."""

    def increase_indent(self, flow=False, indentless=False):
        return super().increase_indent(flow, False)
