"""What was asked of each run, setting by setting. Environments are matched by id and reward terms by name, wherever they
stand in their lists."""

import json
from collections.abc import Iterator, Sequence
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

    @property
    def differs(self) -> bool:
        return len({_plain(value) for value in self.values}) > 1


def settings(specs: Sequence[RunSpec]) -> list[Setting]:
    """Every setting that any of the runs has, but for their names; those of the first run first."""
    flat = [dict(_flat(spec)) for spec in specs]
    paths = list(dict.fromkeys(path for told in flat for path in told if path != "name"))
    titles = {path: title for told in reversed(flat) for path, (title, _) in told.items()}
    order = {section: place for place, section in enumerate(RunSpec.model_fields)}
    paths.sort(key=lambda path: order[path.partition(".")[0]])  # an environment that only a later run has is among its like
    return [Setting(path, titles[path], tuple(told[path][1] if path in told else None for told in flat))
            for path in paths]


def differing(specs: Sequence[RunSpec]) -> list[Setting]:
    return [setting for setting in settings(specs) if setting.differs]


def _plain(value: Any) -> str:
    return json.dumps(float(value) if isinstance(value, int) and not isinstance(value, bool) else value, sort_keys=True,
                      default=str)


def _flat(spec: RunSpec) -> Iterator[tuple[str, tuple[str, Any]]]:
    """(path, (title, value)) of each setting."""
    for name, field in RunSpec.model_fields.items():
        value = getattr(spec, name)
        if name in ("environments", "rewards"):
            for one in value:
                called = one.id if name == "environments" else one.name
                yield from _fields(one, f"{name}.{called}", f"{called} · ", leave=("id", "name"))
        elif isinstance(value, BaseModel):
            yield from _fields(value, name, _before(name))
        elif value is None and (record := _record(field.annotation)):
            yield from ((f"{name}.{inner}", (f"{_before(name)}{f.title or inner}", None))
                        for inner, f in record.model_fields.items())
        else:
            yield name, (field.title or name, _written(value))


def _before(section: str) -> str:
    """For sections whose fields are called as those of others are."""
    return "" if section in ("train", "generation", "resources") else f"{section.replace('_', '-').capitalize()} · "


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
