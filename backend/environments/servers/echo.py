"""The Echo server."""

from backend.environments.games.echo import Echo
from backend.environments.servers import environment, run


def build(sessions: int):
    from openenv.core.env_server import Action, Observation, create_app

    class EchoAction(Action):
        message: str

    class EchoObservation(Observation):
        text: str
        echoed_length: int | None = None
        messages: int = 0

    return create_app(environment(Echo, EchoAction, EchoObservation), EchoAction, EchoObservation, env_name="echo",
                      max_concurrent_envs=sessions)


if __name__ == "__main__":
    run(build)
