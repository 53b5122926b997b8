"""One game of a match: a playthrough played to its end by a script or by what a speaker says, and its episode."""

import random
from collections.abc import Callable

from backend.environments import Source, Task, first_messages, messages_of
from backend.environments.players import Player, players
from backend.environments.playthrough import Playthrough
from backend.environments.repeating import repeat
from backend.records import (
    UNSCORED,
    CheckpointPlayer,
    EndpointPlayer,
    Episode,
    EpisodeStatus,
    FactValue,
    Fault,
    Parent,
    Policy,
    RunSpec,
    ScriptPlayer,
    Turn,
)
from backend.rewards import Played, Terms
from backend.trainer.rollout import looks_like_a_call
from backend.trainer.speakers import Said, Speaker, SpeakerFailed, Talk

UNPARSED = Fault(where="model", kind="unparsed_call", message="This looks like a tool call, but it could not be parsed, so "
                 "it was not played.")


class Game:
    """`group` is the task's place in the match and `place` the player's. `parent`: whose turns are repeated first."""

    def __init__(self, spec: RunSpec, there: Source, task: Task, group: int, place: int, label: str,
                 parent: Episode | None = None):
        assert spec.match is not None
        self.spec, self.there, self.task, self.label, self.parent = spec, there, task, label, parent
        self.asked = spec.environments[0]
        self.player, self.fork = spec.match.players[place], spec.match.fork
        self.group, self.place = group, place
        self.stop = ""
        self.truncated = False
        self.fault: Fault | None = None
        """Of who plays: an endpoint that gave no answer, a script that broke."""
        self._last_words: list[Turn] = []
        self._move: Player | None = None
        self._talk: Talk | None = None
        self._play: Playthrough

    async def begin(self, speaker: Speaker | None) -> None:
        """Opens it and, in a fork, plays the parent's turns again. Raises CannotRepeat."""
        clean: Callable[[str], str] = speaker.clean if speaker else str
        self._play = Playthrough(self.there, self.asked, clean=clean)
        if self.parent and self.fork:
            await repeat(self._play, self.parent, self.fork.turn)
        else:
            await self._play.begin(self.task)
        if self._over:
            return
        if isinstance(self.player, ScriptPlayer):
            self._move = players(self.asked.use)[self.player.name](random.Random(f"{self.player.name}/{self.task.key}"))
        elif speaker:
            try:
                self._talk = speaker.talk([*self._prompt(), *messages_of(self._play.turns)], self._play.tools,
                                           f"{self.label}/{self.task.key}")
            except SpeakerFailed as error:
                self._unanswered(error)

    async def play(self) -> None:
        """To its end, and closes it. Never raises for what a player did."""
        try:
            if self._move:
                await self._play_script(self._move)
            elif self._talk:
                await self._play_words(self._talk)
        except SpeakerFailed as error:
            self._unanswered(error)
        except Exception as error:  # a script that meets what it wasn't written for
            self.fault = Fault(where="model", kind=type(error).__name__, message=str(error) or type(error).__name__)
        finally:
            if self._talk:
                self._talk.end()
            await self._play.end()

    async def episode(self, terms: Terms) -> Episode:
        play, status = self._play, self._status()
        told = (*play.turns, *self._last_words)
        turns = tuple(turn.model_copy(update={"index": index}) for index, turn in enumerate(told))
        facts = self._facts(turns)
        scores: dict[str, float | None] = {term.name: None for term in terms.terms}
        verdict = None
        if status not in UNSCORED:
            verdict = (await terms.score_all([Played(facts, self.asked.id, self._prompt(), turns)]))[0]
            scores = verdict.scores
        tokens = facts["completion_tokens"]
        return Episode(
            id=f"play-{self.group}-{self.place}", phase="play", step=0, group=self.group, sample=self.place,
            environment=self.asked.id, task=self.task.key, seed=self.task.seed, fingerprint=play.fingerprint,
            policy=self._policy(), parent=self._parent(), status=status, stop=self._why(status), prompt=self._prompt(),
            opening=play.opening or "", images=play.images, start_facts=play.start_facts, facts=facts, scores=scores,
            total=terms.total(scores), tokens=tokens, started=play.started, seconds=play.seconds,
            fault=play.fault or self.fault or (next(iter(verdict.faults), None) if verdict else None),
            judged=verdict.judged if verdict else {}, turns=turns)

    # ------------------------------------------------------------------------------------------------------ playing

    @property
    def _over(self) -> bool:
        return bool(self._play.done or self._play.fault or len(self._play.turns) >= self._play.max_turns)

    def _unanswered(self, error: SpeakerFailed) -> None:
        self.fault = Fault(where="engine", kind="no_answer", message=str(error))

    async def _play_script(self, move: Player) -> None:
        while not self._over:
            call = move(self._play)
            if call is None:
                self.stop = "the player made no further call"
                return
            await self._play.call(*call)

    async def _play_words(self, talk: Talk) -> None:
        answers: list[str] = []
        made = 0
        while not self._over:
            said = await talk.next(answers)
            if said is None:
                self.truncated = True
                self._cut_last(made)
                return
            if not said.calls:
                if said.cut or _unparsed(said) or await self._play.say(said.text) is None:
                    self._end_in_words(said)
                else:
                    self._play.turns[-1] = self._play.turns[-1].model_copy(update=_words(said))
                return
            before = len(self._play.turns)
            answers = [told for told, _ in await self._play.calls([(call.tool, call.arguments) for call in said.calls])]
            made = len(self._play.turns) - before
            self._play.turns[before] = self._play.turns[before].model_copy(update=_words(said))

    def _cut_last(self, made: int) -> None:
        """The answers to the last message's calls found no room: these turns were played, but nobody read them."""
        turns = self._play.turns
        for place in range(len(turns) - made, len(turns)):
            turns[place] = turns[place].model_copy(update={"cut": True})

    def _end_in_words(self, said: Said) -> None:
        self.truncated = said.cut
        unparsed = _unparsed(said)
        if unparsed or said.text or said.thought or said.tokens:
            words = {**_words(said), **({"said": said.raw or said.text, "fault": UNPARSED} if unparsed else {})}
            self._last_words = [Turn(index=0, done=self._play.done, facts=self._play.facts, **words)]

    # ------------------------------------------------------------------------------------------------------- telling

    def _prompt(self) -> tuple[dict, ...]:
        return tuple(first_messages(self.asked, self.there.describe(), self._play.opening))

    def _facts(self, turns: tuple[Turn, ...]) -> dict[str, FactValue]:
        known = [turn.tokens for turn in turns if turn.tokens is not None]
        tokens = sum(known) if known and not isinstance(self.player, ScriptPlayer) else None
        return {**self._play.facts, "truncated": self.truncated, "completion_tokens": tokens}

    def _status(self) -> EpisodeStatus:
        status = self._play.status(self.truncated)
        if self._play.fault or self._play.done:
            return status
        if self.fault:
            return "cancelled"
        if self._last_words and self._last_words[0].fault and status in ("finished", "lost"):
            return "invalid"
        return status

    def _why(self, status: EpisodeStatus) -> str:
        if self.fault and not (self._play.fault or self._play.done):
            return "the player gave no answer" if self.fault.where == "engine" else "the player broke"
        return self._play.why(status, self.stop or "the model made no further call")

    def _policy(self) -> Policy:
        player = self.player
        if isinstance(player, EndpointPlayer):
            return Policy(kind="endpoint", name=player.model)
        if isinstance(player, CheckpointPlayer):
            return Policy(kind="checkpoint", name=player.name)
        return Policy(kind="script" if isinstance(player, ScriptPlayer) else "model", name=player.name)

    def _parent(self) -> Parent | None:
        return Parent(run=self.fork.run, episode=self.fork.episode, turn=self.fork.turn) if self.fork else None


def _unparsed(said: Said) -> bool:
    return looks_like_a_call(said.raw or said.text)


def _words(said: Said) -> dict:
    return {"said": said.text, "thought": said.thought, "tokens": said.tokens, "model_seconds": said.seconds}
