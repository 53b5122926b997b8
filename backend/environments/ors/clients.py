"""The openreward SDK's client of one server, and its troubles in words.

The client is made here, with the server's own addresses: the SDK's usual one takes them from variables of the whole
process, and puts `sessions.` and `api.` before a host that has neither.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from backend.environments import Task
from backend.environments.ors.places import Place
from backend.errors import EnvironmentError_, EnvironmentFailed, SpecError

CONNECT_SECONDS, QUIET_SECONDS = 10, 120


def connect(place: Place):
    """A client of one environment for the loop that runs; `disconnect` it."""
    import aiohttp
    from openreward.api._session.http import set_retry_policy
    from openreward.api.environments.client import AsyncEnvironment

    def client(url: str) -> aiohttp.ClientSession:
        # Many servers drop a connection that is idle for 5 s; one that is reused at that moment would lose its call.
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=3)
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=QUIET_SECONDS)
        return aiohttp.ClientSession(base_url=url, connector=connector, timeout=timeout, trust_env=True,
                                     read_bufsize=2**24)

    http = client(place.url)
    set_retry_policy(http, "env-server")
    owner, _, name = place.name.rpartition("/") if place.of_catalog else ("", "", place.environment or "environment")
    return AsyncEnvironment(owner or None, name, place.environment, http, place.key,
                            client(place.api_url) if place.api_url else None)


async def disconnect(environment) -> None:
    await environment.client.close()
    if environment.api_client:
        await environment.api_client.close()


@asynccontextmanager
async def asking(place: Place, what: str) -> AsyncIterator[Any]:
    """A client for a few questions. Raises what `in_words` does."""
    environment = connect(place)
    try:
        with in_words(place, what):
            yield environment
    finally:
        await disconnect(environment)


@contextmanager
def in_words(place: Place, what: str) -> Iterator[None]:
    """What goes wrong within it, as EnvironmentFailed in one sentence; `what` it should have done.

    The cause is left out: what the server said may hold the secrets that it was given, which the sentence hides.
    """
    import aiohttp
    from openreward.api.environments.types import AuthenticationError
    from openreward.api.errors import OpenRewardError

    try:
        yield
    except (SpecError, EnvironmentError_):
        raise
    except AuthenticationError:
        raise _asks_for_a_key(place) from None
    except aiohttp.ClientResponseError as error:
        if error.status in (401, 403):
            raise _asks_for_a_key(place) from None
        said = place.hide(error.message).strip()
        raise EnvironmentFailed(f"{place.name} didn't {what} (HTTP {error.status}: {said:.1000}); see whether it is an "
                                "Open Reward Standard server, and what its log says.") from None
    except (aiohttp.ClientError, OSError, TimeoutError, OpenRewardError) as error:
        last = place.hide((str(error).strip() or type(error).__name__).splitlines()[-1].strip())
        raise EnvironmentFailed(f"Nothing that speaks the Open Reward Standard answers at {place.name} ({last:.300}); "
                                "start the server or correct the address.") from None
    except (AssertionError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise EnvironmentFailed(f"{place.name} answered with something that isn't Open Reward Standard "
                                f"({place.hide(repr(error)):.300}); see whether it is the right server.") from None


def keyed(place: Place) -> dict[str, str]:
    return {"X-API-Key": place.key} if place.key else {}


def session_of(environment, place: Place, task: Task):
    """The SDK's session, not yet begun. It is given the task itself, so that a whole group plays the same one."""
    from openreward.api.environments.types import Task as SdkTask
    from openreward.api.sandboxes.secrets import WELL_KNOWN_SECRETS

    given = SdkTask(environment.server, task.options["environment"], task.options["task"], environment.namespace)
    secrets = {name: (value, WELL_KNOWN_SECRETS.get(name, [])) for name, value in place.secrets.items()}
    return environment.session(task=given, secrets=secrets or None)


def _asks_for_a_key(place: Place) -> EnvironmentFailed:
    return EnvironmentFailed(f"{place.name} asks for an API key that it accepts; correct the one it was given, or name "
                             "the variable that holds it with options: {api_key_variable: NAME}.")
