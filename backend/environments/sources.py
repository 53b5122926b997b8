"""From a spec's environment to a source of sessions.

To add a kind: write a module with a `Source`, and name its `use:` prefix here.
"""

from backend.environments import Source
from backend.environments.catalog import check
from backend.environments.openenv import OpenEnvSource
from backend.records import EnvironmentSpec


def source(spec: EnvironmentSpec, base_url: str) -> Source:
    """Plays `spec` on the OpenEnv server at `base_url`. SpecError if the spec can't be played."""
    return OpenEnvSource(base_url, check(spec).adapter)


def in_process(spec: EnvironmentSpec) -> Source:
    """Plays a catalog entry in this process, without a server. SpecError if the spec can't be played."""
    from backend.environments.in_process import InProcess

    return InProcess(check(spec))
