"""Which adapter fits a server found elsewhere, told by its schemas and not by its name.

To add one: write a module with `fits(told) -> bool` and `adapter(told) -> Adapter`, and name it below. The first that
fits is taken; what none of them fits is played as its schemas say.
"""

from importlib import import_module

from backend.environments import discovery
from backend.environments.adapters import Adapter
from backend.environments.adapters.discovered import discovered

RECOGNISED = ("textarena", "openspiel", "echoing", "browsergym", "carla")
"""Modules beside this one."""


def adapter(address: str, seconds: float = discovery.SECONDS) -> Adapter:
    """Raises EnvironmentFailed where no OpenEnv server answers."""
    told = discovery.schemas(address, seconds)
    for name in RECOGNISED:
        known = import_module(f"backend.environments.adapters.{name}")
        if known.fits(told):
            return known.adapter(told)
    return discovered(discovery.asked(told, seconds))
