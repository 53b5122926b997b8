"""What crosses a process or a disk: `spec` is what a person asked for, `episode` what happened then."""

from backend.records.episode import (
    ENDED,
    NEVER_PLAYED,
    UNSCORED,
    Episode,
    EpisodeStatus,
    Event,
    FactValue,
    Fault,
    Judged,
    Kept,
    MetricPoint,
    Parent,
    Policy,
    Result,
    RunStatus,
    Turn,
)
from backend.records.spec import (
    NAME,
    Asked,
    CheckpointPlayer,
    EndpointPlayer,
    EnvironmentSpec,
    Evaluation,
    Fork,
    GenerationSettings,
    JudgeSettings,
    Match,
    ModelPlayer,
    PlayerSpec,
    Resources,
    RewardTerm,
    RunSpec,
    ScriptPlayer,
    TaskSelection,
    TrainSettings,
    WarmUp,
)

__all__ = [
    "Asked", "CheckpointPlayer", "ENDED", "EndpointPlayer", "EnvironmentSpec", "Episode", "EpisodeStatus",
    "Evaluation", "Event", "FactValue", "Fault", "Fork", "GenerationSettings", "JudgeSettings", "Judged", "Kept",
    "Match", "MetricPoint", "ModelPlayer", "NAME", "NEVER_PLAYED", "Parent", "PlayerSpec", "Policy", "Resources",
    "Result", "RewardTerm", "RunSpec", "RunStatus", "ScriptPlayer", "TaskSelection", "TrainSettings", "Turn",
    "UNSCORED", "WarmUp",
]
