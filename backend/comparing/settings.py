"""What was asked of each run, setting by setting. Environments are matched by id and reward terms by name, wherever they
stand in their lists. One that some of the runs lack is a setting itself, and its own settings are held only against those of
runs that have it: what isn't there can't be set differently."""

import json
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple, get_args

from pydantic import BaseModel

from backend.records import RunSpec


class Setting(NamedTuple):
    path: str
    """Such as `train.learning_rate` or `rewards.win.weight`."""
    title: str
    """The field's own title, after the environment or term it belongs to."""
    values: tuple[Any, ...]
    """One a run; None where it isn't set, or the run has no such environment or term."""
    there: tuple[bool, ...]
    """Whether the run has the environment, term or section that it belongs to."""
    whole: bool
    """Whether it is such a one itself."""

    @property
    def differs(self) -> bool:
        return len({_plain(value) for value, there in zip(self.values, self.there, strict=True) if there}) > 1


def settings(specs: Sequence[RunSpec]) -> list[Setting]:
    """Every setting that any of the runs has, but for their names; those of the first run first. Before those of what some
    runs lack stands it itself, in a few words."""
    wholes = [_wholes(spec) for spec in specs]
    lacking = {path for told in wholes for path in told if not all(path in other for other in wholes)}
    flat = [dict(_flat(spec, lacking)) for spec in specs]
    paths = list(dict.fromkeys(path for told in flat for path in told if path != "name"))
    titles = {path: title for told in reversed(flat) for path, (title, _) in told.items()}
    order = {section: place for place, section in enumerate(RunSpec.model_fields)}
    paths.sort(key=lambda path: order[path.partition(".")[0]])  # an environment that only a later run has is among its like
    owners = {path: max((whole for whole in lacking if path.startswith(f"{whole}.")), key=len, default="") for path in paths}
    return [Setting(path, titles[path], tuple(told[path][1] if path in told else None for told in flat),
                    tuple(not owners[path] or owners[path] in whole for whole in wholes), path in lacking)
            for path in paths]


def differing(specs: Sequence[RunSpec]) -> list[Setting]:
    return [setting for setting in settings(specs) if setting.differs]


def _plain(value: Any) -> str:
    return json.dumps(float(value) if isinstance(value, int) and not isinstance(value, bool) else value, sort_keys=True,
                      default=str)


LISTED = {"environments": ("id", "Environment"), "rewards": ("name", "Reward term")}
"""Section -> the field by which its entries are matched, and what one is called."""


def _wholes(spec: RunSpec) -> dict[str, BaseModel]:
    """What a run may lack altogether: path -> environment, term or section."""
    told = {f"{section}.{getattr(one, key)}": one for section, (key, _) in LISTED.items() for one in getattr(spec, section)}
    return told | {name: value for name in RunSpec.model_fields if isinstance(value := getattr(spec, name), BaseModel)}


ENOUGH = ("Environment", "Value")
"""Titles of what says enough by itself."""


def _in_words(whole: BaseModel) -> str:
    """What isn't as usual in it: `catch · Tasks 600`."""
    return " · ".join(value if title in ENOUGH else f"{title} {value}" for title, value in _unusual(whole)) or "as usual"


def _unusual(whole: BaseModel) -> Iterator[tuple[str, str]]:
    for name, field in type(whole).model_fields.items():
        value = getattr(whole, name)
        if name in ("id", "name") or value == field.get_default():
            continue
        if isinstance(value, BaseModel):
            yield from _unusual(value)
        else:
            yield field.title or name, value if isinstance(value, str) else json.dumps(_written(value), default=str)


def _flat(spec: RunSpec, lacking: Collection[str]) -> Iterator[tuple[str, tuple[str, Any]]]:
    """(path, (title, value)) of each setting."""
    for name, field in RunSpec.model_fields.items():
        value = getattr(spec, name)
        if name in LISTED:
            key, kind = LISTED[name]
            for one in value:
                called = getattr(one, key)
                if f"{name}.{called}" in lacking:
                    yield f"{name}.{called}", (f"{kind} {called}", _in_words(one))
                yield from _fields(one, f"{name}.{called}", f"{called} · ", leave=(key,))
        elif isinstance(value, BaseModel):
            if name in lacking:
                yield name, (_called(name), _in_words(value))
            yield from _fields(value, name, _before(name))
        elif value is None and (record := _record(field.annotation)):
            if name in lacking:
                yield name, (_called(name), None)
            yield from ((f"{name}.{inner}", (f"{_before(name)}{f.title or inner}", None))
                        for inner, f in record.model_fields.items())
        else:
            yield name, (field.title or name, _written(value))


def _before(section: str) -> str:
    """For sections whose fields are called as those of others are."""
    return "" if section in ("train", "generation", "resources") else f"{_called(section)} · "


def _called(section: str) -> str:
    return section.replace("_", "-").capitalize()


def _fields(record: BaseModel, path: str, before: str, leave: Sequence[str] = ()) -> Iterator[tuple[str, tuple[str, Any]]]:
    for name, field in type(record).model_fields.items():
        if name in leave:
            continue
        value, here, title = getattr(record, name), f"{path}.{name}", f"{before}{field.title or name}"
        if isinstance(value, BaseModel):
            yield from _fields(value, here, before)
        elif isinstance(value, dict):
            yield from _options(value, here, title)
        else:
            yield here, (title, _written(value))


def _options(options: dict[str, Any], path: str, title: str) -> Iterator[tuple[str, tuple[str, Any]]]:
    for name, value in options.items():
        if isinstance(value, dict) and value:
            yield from _options(value, f"{path}.{name}", f"{title} · {name}")
        else:
            yield f"{path}.{name}", (f"{title} · {name}", value)


def _written(value: Any) -> Any:
    """Lists and records as they stand in a file."""
    if isinstance(value, (list, tuple)):
        return [_written(one) for one in value]
    return value.model_dump(mode="json", exclude_none=True) if isinstance(value, BaseModel) else value


def _record(annotation: Any) -> type[BaseModel] | None:
    return next((kind for kind in get_args(annotation) if isinstance(kind, type) and issubclass(kind, BaseModel)), None)
