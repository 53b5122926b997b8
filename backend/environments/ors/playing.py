"""A source of sessions on an ORS server, and one session.

A session is opened for one task and never replaced: the SDK keeps it alive with a ping every 10 s, and when the server
no longer has it, the episode is lost.
"""

import asyncio
from contextlib import suppress
from typing import Any, Literal

from backend.environments import Description, Observation, Task, Tool
from backend.environments.ors import reading
from backend.environments.ors.asking import Found, chosen_indices, chosen_split, fetch, find, now, tools_here
from backend.environments.ors.calls import ConnectionBroken, ToolRaised, call
from backend.environments.ors.clients import asking, connect, disconnect, in_words, keyed, session_of
from backend.environments.ors.places import Place
from backend.errors import EnvironmentFailed, SessionLost
from backend.records import FactValue, Fault, TaskSelection

GOODBYE_SECONDS = 2
MAX_TURNS = 30
HELD_OUT = ("test", "validation")
"""Splits that evaluation draws from, the first there is; else it draws from the tasks that training leaves."""


class OrsSource:
    def __init__(self, place: Place, selection: TaskSelection):
        """Asks the server what there is for `selection`. SpecError, EnvironmentFailed."""
        self._found: Found = now(find(place, selection, thorough=True))
        self._selection = selection
        self._description = description_of(self._found)

    def describe(self) -> Description:
        return self._description

    def tasks(self, selection: TaskSelection, options: dict[str, Any]) -> list[Task]:
        if selection == self._selection:
            return list(self._found.tasks)
        return now(self._select(selection))

    def held_out(self, selection: TaskSelection, options: dict[str, Any], count: int) -> list[Task]:
        return now(self._hold_out(selection, count))

    async def open(self) -> "OrsSession":
        return OrsSession(self._found, self._description)

    async def _select(self, selection: TaskSelection) -> list[Task]:
        async with asking(self._found.place, "give its tasks") as environment:
            split = chosen_split(selection.split, self._found.splits, self._found.place)
            indices = chosen_indices(selection, split, await environment.num_tasks(split))
            return await fetch(environment, split, indices)

    async def _hold_out(self, selection: TaskSelection, count: int) -> list[Task]:
        found = self._found
        async with asking(found.place, "give its tasks") as environment:
            trained = chosen_split(selection.split, found.splits, found.place)
            split = next((name for name in HELD_OUT if name in found.splits and name != trained), trained)
            size = await environment.num_tasks(split)
            taken = set(chosen_indices(selection, split, size)) if split == trained else set()
            after = max(taken, default=-1) + 1
            left = [index for index in (*range(after, size), *range(after)) if index not in taken]
            return await fetch(environment, split, left[:count])


class OrsSession:
    def __init__(self, found: Found, description: Description):
        self.tools: tuple[Tool, ...] = description.tools
        """Of the task, once it is reset."""
        self._found, self._description = found, description
        self._place = found.place
        self._environment = connect(found.place)
        self._session: Any = None
        self._facts: dict[str, FactValue] = {}
        self.answer = self._answer if found.terminal else None
        """As the standard has it: the first message without a call is the answer, and goes to the terminal tool."""

    async def reset(self, task: Task) -> Observation:
        with in_words(self._place, "start an episode"):
            self._session = session_of(self._environment, self._place, task)
            await self._session.__aenter__()
            blocks = [vars(block) for block in await self._session.get_prompt()]
            self.tools = await tools_here(self._session, self._found.terminal)
        words, images = reading.words_and_images(blocks)
        given = task.options["task"]
        unknown = dict.fromkeys(self._description.facts)
        self._facts = {**unknown, "finished": False, **reading.facts_of(given, "task_")}
        return Observation(
            text="\n\n".join(filter(None, [words, reading.about_tools(self.tools, self._description.tools)])),
            facts=dict(self._facts), images=images,
            fingerprint=reading.fingerprint(task.options["environment"], task.options["split"], task.options["index"],
                                            given))

    async def call(self, tool: str, arguments: dict[str, Any]) -> Observation:
        answer = await self._ask(tool, arguments)
        with in_words(self._place, f"answer {tool} as the standard says"):
            if answer["ok"]:
                return self._read(answer["output"])
            reason, said = answer.get("reason"), self._place.hide(str(answer["error"]))
        if reason == "not_found" or said.endswith("is not a valid tool"):
            raise ValueError(f"there is no tool {tool!r:.60} in this task; use "
                             f"{' or '.join(known.name for known in self.tools)}")
        if reason == "name_collision" or said.startswith("Tool name collision"):
            told = f"{tool} can't be called: the server has two such tools."
            return self._fault("environment", "name_collision", told, said)
        if reason == "episode_finished":
            self._facts["finished"] = True
            told = "The episode has finished. Make no more calls."
            return self._fault("model", "after_the_end", told, said, done=True)
        raise ValueError(f"the environment refused the call of {tool}: {reading.complaint(said)}")

    async def _answer(self, words: str) -> Observation:
        terminal = self._found.terminal
        assert terminal
        return await self.call(terminal.name, dict.fromkeys(terminal.parameters["properties"], words))

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            with suppress(Exception):  # a server that hears no ping drops the session by itself
                async with asyncio.timeout(GOODBYE_SECONDS):
                    await session.__aexit__(None, None, None)
        await disconnect(self._environment)

    async def _ask(self, tool: str, arguments: dict[str, Any]) -> Any:
        import aiohttp

        place, session = self._place, self._session
        if session is None:
            raise SessionLost(f"No episode is open at {place.name}; begin one first.")
        variant = self._environment.variant
        headers = {**keyed(place), "X-Session-ID": session.sid, "X-Deployment": session.deployment}
        try:
            return await call(session.client, f"/{variant}/call" if variant else "/call", headers, tool, arguments)
        except ToolRaised as error:
            raise EnvironmentFailed(f"{tool} failed at {place.name}, which ends the episode: "
                                    f"{place.hide(str(error)):.2000}") from None
        except ConnectionBroken as error:
            raise SessionLost(f"The connection to {place.name} was lost in the middle of an episode "
                              f"({place.hide(str(error)):.300}); see whether the server still runs.") from None
        except aiohttp.ClientResponseError as error:
            raise self._refused(tool, error) from None
        except ValueError as error:
            raise EnvironmentFailed(f"{place.name} answered {tool} with something that isn't JSON "
                                    f"({place.hide(str(error)):.300}).") from None

    def _fault(self, where: Literal["environment", "model"], kind: str, told: str, said: str,
               done: bool = False) -> Observation:
        fault = Fault(where=where, kind=kind, message=said)
        return Observation(text=told, raw=said, done=done, facts=dict(self._facts), fault=fault)

    def _refused(self, tool: str, error) -> Exception:
        said = f"HTTP {error.status}: {self._place.hide(error.message).strip():.1000}"
        if error.status in (404, 410):
            return SessionLost(f"{self._place.name} no longer has this session ({said}); it may have been restarted.")
        if error.status in (502, 503, 504):
            return SessionLost(f"{self._place.name} can't be reached any more ({said}).")
        if error.status in (400, 422):
            return ValueError(f"the environment refused the arguments of {tool}")
        return EnvironmentFailed(f"{self._place.name} failed in {tool} ({said}).")

    def _read(self, output: dict[str, Any]) -> Observation:
        words, images = reading.words_and_images(output.get("blocks") or [])
        done = bool(output.get("finished"))
        self._facts = {**self._facts, **reading.facts_of(output.get("metadata")), "finished": done}
        shown = reading.for_the_model(words, images)
        return Observation(text=shown, raw=None if shown == words else words, done=done, facts=dict(self._facts),
                           reward=reading.reward_of(output.get("reward")), images=images)


def description_of(found: Found) -> Description:
    place, terminal = found.place, found.terminal
    tools, notes = reading.all_tools(found.tools)
    title = place.environment or place.name
    of_tasks = {name: f"{name.removeprefix('task_')} of the task" for task in found.tasks
                for name in reading.facts_of(task.options["task"], "task_")}
    declared = {reading.fact_name(name): "what the environment last told under this name; None before"
                for name in place.facts}
    counted = f"{found.size} task{'' if found.size == 1 else 's'} in the split {found.split}"
    ending = (f" When you are done, call `{terminal.name}` or answer in plain words: either is judged and ends the episode."
              if terminal else "")
    return Description(
        title=title,
        about=f"{title} on the Open Reward Standard server {place.name}: {counted}.",
        tools=tools,
        facts={**reading.FINISHED, **of_tasks, **declared},
        prompt=f"Do the task below with the tools you have.{ending}",
        max_turns=MAX_TURNS,
        notice=" ".join(notes),
    )
