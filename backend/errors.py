"""What the user can act on. Everything else is a bug and keeps its traceback.

    OrtamError
    ├── SpecError            a spec, recipe or form field is wrong; `field` names it
    ├── RewardError          a reward term doesn't parse or names an unknown fact
    ├── ModelError           a model can't be loaded
    ├── NotFound
    │   ├── RunNotFound          no run, or more than one, matches what was asked
    │   └── EpisodeNotFound      the run has no such episode
    ├── CannotRepeat         an episode's turns can't be played again, or come out differently
    ├── PortTaken            something else listens there
    └── EnvironmentError_    where episodes are played
        ├── EnvironmentFailed    it refused to start, reset or answer: the episode is `env_error`
        └── SessionLost          it went away in the middle of an episode: the episode is `env_lost`

Each message is one sentence that names the place and the remedy. They are caught once, at the page or the command.
"""


class OrtamError(Exception):
    """One clear sentence for a person."""

    command = ""
    """What helps in a terminal, where a page has a link; "" where the sentence says it all."""
    field = ""
    """The dotted place of what is wrong, such as `train.group_size` or `environments.0.use`; "" for the whole, or none."""

    @property
    def said(self) -> str:
        """The sentence without the field, for where that is seen."""
        return str(self).removeprefix(f"{self.field}: ") if self.field else str(self)


class SpecError(OrtamError):
    """A field of a spec is wrong."""

    def __init__(self, field: str, message: str):
        self.field = field
        super().__init__(f"{field}: {message}" if field else message)


class RewardError(OrtamError):
    """A reward term can't be evaluated as written."""


class ModelError(OrtamError):
    """A model can't be loaded."""


class NotFound(OrtamError):
    """What was asked for isn't here."""

    def __init__(self, message: str, command: str = ""):
        self.command = command
        super().__init__(message)


class RunNotFound(NotFound):
    """No run, or more than one, matches."""


class EpisodeNotFound(NotFound):
    """The run has no such episode."""


class CannotRepeat(OrtamError):
    """An episode's turns can't be played again, or the environment answers them differently."""


class PortTaken(OrtamError):
    """Something else already listens on the port."""


class EnvironmentError_(OrtamError):
    """Something is wrong at the environment, not with the policy."""


class EnvironmentFailed(EnvironmentError_):
    """It refused to start, to reset or to answer."""


class SessionLost(EnvironmentError_):
    """The connection went away in the middle of an episode."""
