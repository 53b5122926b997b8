"""The games of a match, and what a person played of the same tasks: what standings need, and no more."""

from typing import Any, NamedTuple

from backend.records import Episode, EpisodeStatus
from backend.store import codec
from backend.store.reading import Reading


class Game(NamedTuple):
    seq: int
    """Grows with every write."""
    id: str
    group: int
    """The task's place in a match."""
    sample: int
    """The player's place in a match."""
    task: Any
    seed: int | None
    fingerprint: str | None
    policy: str
    status: EpisodeStatus
    total: float | None
    turns: int
    tokens: int | None
    started: float
    seconds: float | None
    facts: dict[str, Any]
    scores: dict[str, float | None]
    forked: bool = False
    """Whether it goes on from another episode's turn."""

    @classmethod
    def of(cls, episode: Episode) -> "Game":
        """Of any phase, outside of the order they were written in."""
        return cls(0, episode.id, episode.group, episode.sample, episode.task, episode.seed, episode.fingerprint,
                   episode.policy.name or episode.policy.kind, episode.status, episode.total, len(episode.turns),
                   episode.tokens, episode.started, episode.seconds, episode.facts, episode.scores)


_COLUMNS = ("seq, id, group_, sample, task, seed, fingerprint, policy, status, total, turns, tokens, started, seconds, "
            "facts, scores, parent IS NOT NULL")
_FROM = "(SELECT episodes.*, details.parent FROM episodes JOIN details ON details.episode = episodes.seq)"


def games(file: Reading, policy: str | None = None, after: int = 0) -> list[Game]:
    """All that were played, or those of one policy, in the order they were written; those after a seq. Raises OrtamError."""
    of_policy = "" if policy is None else " AND policy = ?"
    rows = file.rows(f"SELECT {_COLUMNS} FROM {_FROM} WHERE seq > ? AND phase = 'play'{of_policy} ORDER BY seq",
                     [after, *([] if policy is None else [codec.escape(policy)])])
    return [Game(seq, codec.unescape(id), group, sample, codec.from_json(task), None if seed is None else int(seed),
                 None if fingerprint is None else codec.unescape(fingerprint), codec.unescape(policy), status, total,
                 turns, tokens, started, seconds, codec.from_json(facts), codec.from_json(scores), bool(forked))
            for seq, id, group, sample, task, seed, fingerprint, policy, status, total, turns, tokens, started, seconds,
            facts, scores, forked in rows]
