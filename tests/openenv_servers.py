"""OpenEnv servers for the tests, made with openenv itself: each protocol an adapter knows, and some that none knows.

`python -m tests.openenv_servers --port 0 --sessions 8` serves them all, each under a path of its own.
"""

import base64
import json
from pathlib import Path
from typing import Annotated, Any, Literal

from backend.environments.servers import run

CASES = Path(__file__).parent / "cases"
JPEG = base64.b64encode(b"\xff\xd8\xff\xe0" + bytes(60) + b"\xff\xd9").decode()


def mcp_cases() -> dict[str, dict[str, Any]]:
    """Tool name -> as a server lists it."""
    found = {}
    for path in sorted(CASES.glob("mcp_*.json")):
        for tool in json.loads(path.read_text(encoding="utf-8")):
            if isinstance(tool, str):
                tool = {"name": tool, "description": "", "inputSchema": {"type": "object"}}
            found[tool["name"]] = tool
    return found


def build(sessions: int):
    import time

    from fastapi import FastAPI, Response
    from fastmcp import FastMCP
    from fastmcp.tools import Tool
    from fastmcp.tools.base import ToolResult
    from mcp.types import ImageContent, TextContent
    from openenv.core.env_server import Action, Environment, Observation, State, create_app
    from openenv.core.env_server.mcp_environment import MCPEnvironment
    from openenv.core.env_server.mcp_types import CallToolAction, CallToolObservation
    from pydantic import BaseModel, Field, RootModel

    from backend.environments.games.wordle import Wordle

    whole = FastAPI()
    whole.get("/health")(lambda: {"status": "healthy"})
    whole.get("/asleep/schema")(lambda: Response(status_code=503))
    whole.get("/private/schema")(lambda: Response(status_code=401))
    whole.get("/page/schema")(lambda: Response("<html>"))

    def serve(path: str, env, action, observation, **more):
        whole.mount(f"/{path}", create_app(env, action, observation, env_name=path, **{"max_concurrent_envs": sessions,
                                                                                     **more}))

    class Base(Environment):
        SUPPORTS_CONCURRENT_SESSIONS = True

        def __init__(self):
            super().__init__()
            self._state = State()

        @property
        def state(self):
            return self._state

    # ------------------------------------------------------------------------------- actions that are one of several

    class Point(BaseModel):
        x: int
        y: int = 0

    class Walk(Action):
        """Go somewhere."""

        kind: Literal["walk"] = "walk"
        to: Point
        how: Literal["slowly", "fast"] = Field(description="How to go.")

    class Say(Action):
        """Say something.

        To whoever hears it."""

        kind: Literal["say"] = "say"
        words: list[str] = Field(min_length=1)
        loud: bool | None = None

    class Do(RootModel[Annotated[Walk | Say, Field(discriminator="kind")]]):
        pass

    class Inner(BaseModel):
        score: float = 0.0
        name: str = ""

    class Seen(Observation):
        steps: int = Field(0, description="Actions so far.")
        solved: bool = False
        inner: Inner = Inner()
        note: str | None = None
        cells: list[int] = []
        turns: int = 7

    class Several(Base):
        """Walks and says."""

        def reset(self, seed=None, episode_id=None, **options):
            self.steps = 0
            return Seen(note=f"{seed} {json.dumps(options)}", metadata={"fingerprint": f"task {seed}"} if seed else {})

        def step(self, action, timeout_s=None, **_):
            done, self.steps = action.root, self.steps + 1
            if isinstance(done, Say):
                return Seen(steps=self.steps, note=" ".join(done.words), solved=True, done=True, reward=True)
            return Seen(steps=self.steps, inner=Inner(score=done.to.x / 2, name=done.how), cells=[done.to.x, done.to.y],
                        reward=float("nan"))

    serve("several", Several, Do, Seen)

    class Wrapped(Action):
        what: Walk | Say

    class WrappedOne(Several):
        def step(self, action, timeout_s=None, **_):
            return super().step(Do(root=action.what))

    serve("wrapped", WrappedOne, Wrapped, Seen)

    # -------------------------------------------------------------------------------- one action, names of all shapes

    class OddAction(Action):
        from_: str = Field(alias="from")
        class_: Literal["a", "b"] = Field(alias="class")
        self_: int = Field(0, alias="self")
        dashed: float | str = Field(1.5, alias="with-dash")

    class Told(Observation):
        text: str = ""
        picture: str | None = None

    class Odd(Base):
        def reset(self, seed=None, episode_id=None, **_):
            return Told(text="ready")

        def step(self, action, timeout_s=None, **_):
            if action.from_ == "sleep":
                time.sleep(action.self_)
            if action.from_ == "raise":
                raise RuntimeError("the engine stalled")
            if action.from_ == "long":
                return Told(text="é" * 2_500_000)
            if action.from_ == "picture":
                return Told(text="look", picture=JPEG)
            return Told(text=json.dumps(action.model_dump(by_alias=True, exclude={"metadata"})), reward=2)

    serve("odd", Odd, OddAction, Told)
    serve("small", Odd, OddAction, Told, max_concurrent_envs=3)

    # ------------------------------------------------------------------------------------------------------ MCP tools

    class Given(Tool):
        """A tool of a given schema, that answers with its arguments."""

        async def run(self, arguments):
            return ToolResult(content=[TextContent(type="text", text=json.dumps(arguments, ensure_ascii=False))])

    class Cases(MCPEnvironment):
        SUPPORTS_CONCURRENT_SESSIONS = True

        def __init__(self):
            server = FastMCP("cases")
            for case in mcp_cases().values():
                server.add_tool(Given(name=case["name"], description=case["description"],
                                      parameters=case["inputSchema"]))

            @server.tool
            def fail(why: str) -> str:
                """Fail."""
                raise ValueError(why)

            @server.tool
            def draw() -> ToolResult:
                """Draw."""
                return ToolResult(content=[TextContent(type="text", text="a drawing"),
                                           ImageContent(type="image", data=JPEG, mimeType="image/jpeg")])

            super().__init__(server)
            self._state = State()

        def reset(self, seed=None, episode_id=None, **_):
            return Observation(metadata={"message": f"Cases of {seed}."})

        def _step_impl(self, action, timeout_s=None, **_):
            return Observation()

        @property
        def state(self):
            return self._state

    serve("cases", Cases, CallToolAction, CallToolObservation)

    class EchoTools(Cases):
        def __init__(self):
            server = FastMCP("echo")

            @server.tool
            def echo_message(message: str) -> str:
                """Give the message back."""
                return message

            MCPEnvironment.__init__(self, server)
            self._state = State()

    serve("echo", EchoTools, CallToolAction, CallToolObservation)

    # ------------------------------------------------------------- the published action and observation classes

    class TextArenaMessage(BaseModel):
        sender_id: int
        content: str
        category: str

    class TextArenaAction(Action):
        message: str

    class TextArenaObservation(Observation):
        prompt: str
        messages: list[TextArenaMessage] = []
        current_player_id: int = 0
        legal_players: list[int] = []
        info: dict[str, Any] = {}

    class TextArenaState(State):
        env_id: str
        num_players: int = 1
        max_turns: int | None = None
        turn: int = 0
        raw_state: dict[str, Any] = {}

    class TextArena(Base):
        """Sends the whole history each turn, ignores seeds, as the published server does."""

        name, state_of_the_game = "", {}

        def __init__(self):
            super().__init__()
            self._state = TextArenaState(env_id=self.name)
            self._history = ""

        def reset(self, seed=None, episode_id=None, **_):
            self._history = f"\n[GAME] {self.begin()}"
            self._state.raw_state = {"game_state": self.state_of_the_game}
            return self._told(0.0, False)

        def step(self, action, timeout_s=None, **_):
            self._history += f"\n[Player] {action.message}"
            told, reward, done = self.play(action.message)
            self._state.raw_state["game_info"] = self.info()
            self._history += f"\n[GAME] {told}" if told else ""
            return self._told(reward, done)

        def info(self):
            return {}

        def _told(self, reward, done):
            return TextArenaObservation(
                prompt=self.name, messages=[TextArenaMessage(sender_id=-1, content=self._history, category="MESSAGE")],
                legal_players=[0], reward=reward, done=done)

    class WordleServed(TextArena):
        """TextArena's words around our Wordle: a win and a refusal that ends the game are not spoken of."""

        name = "Wordle-v0"

        def begin(self):
            self._game = Wordle()
            self._game.reset()
            self.state_of_the_game = {"secret_word": self._game._secret}
            return "You are Playing Wordle."

        def play(self, message):
            before = len(self._game._tried)
            seen = self._game.step(message)
            if len(self._game._tried) == before:
                return (None if seen["done"] else "You attempted an invalid move. Reason: it is no word.",
                        seen["reward"], seen["done"])
            if seen["won"]:
                return None, 1.0, True
            board = seen["text"].split("Feedback:\n")[1].split("\n")
            told = f"You submitted [{message}].\nFeedback:\n{board[0]}\n{board[1]}\nYou have some left."
            return told, 0.0, seen["done"]

    serve("wordle", WordleServed, TextArenaAction, TextArenaObservation, state_cls=TextArenaState)

    import textarena

    class Arena(TextArena):
        """A real game of TextArena's, wrapped as the published server wraps it."""

        def reset(self, seed=None, episode_id=None, **_):
            self._game = textarena.make(env_id=self.name)
            self._game.reset(num_players=1)
            self._state.raw_state = {"game_state": self._game.state.game_state}
            return self._heard(0.0, False)

        def step(self, action, timeout_s=None, **_):
            done, _ = self._game.step(action.message)
            rewards = self._game.state.rewards
            self._state.raw_state["game_info"] = self._game.state.game_info
            return self._heard(float(rewards[0]) if rewards else 0.0, done)

        def _heard(self, reward, done):
            self._history = self._game.get_observation()[1]
            return self._told(reward, done)

    class SudokuServed(Arena):
        name = "Sudoku-v0-very-easy"

    class GuessServed(Arena):
        name = "GuessTheNumber-v0"

    serve("sudoku", SudokuServed, TextArenaAction, TextArenaObservation, state_cls=TextArenaState)
    serve("guess", GuessServed, TextArenaAction, TextArenaObservation, state_cls=TextArenaState)

    class OpenSpielAction(Action):
        action_id: int
        game_name: str = "catch"
        game_params: dict[str, Any] = {}

    class OpenSpielObservation(Observation):
        info_state: list[float]
        legal_actions: list[int]
        game_phase: str = "playing"
        current_player_id: int = 0
        opponent_last_action: int | None = None

    class OpenSpielState(State):
        game_name: str = "catch"
        game_params: dict[str, Any] = {}

    class OpenSpiel(Base):
        name = "catch"

        def __init__(self):
            from open_spiel.python import rl_environment

            super().__init__()
            self._state = OpenSpielState(game_name=self.name)
            self._game = rl_environment.Environment(self.name)

        def reset(self):
            return self._told(self._game.reset())

        def step(self, action, timeout_s=None, **_):
            return self._told(self._game.step([action.action_id]))

        def _told(self, step):
            seen = step.observations
            return OpenSpielObservation(
                info_state=list(seen["info_state"][0]), legal_actions=seen["legal_actions"][0], done=step.last(),
                game_phase="terminal" if step.last() else "initial" if step.first() else "playing",
                current_player_id=seen["current_player"], reward=None if step.rewards is None else step.rewards[0])

    class Cliff(OpenSpiel):
        name = "cliff_walking"

    serve("catch", OpenSpiel, OpenSpielAction, OpenSpielObservation, state_cls=OpenSpielState)
    serve("cliff", Cliff, OpenSpielAction, OpenSpielObservation, state_cls=OpenSpielState)

    class BrowserGymAction(Action):
        action_str: str

    class BrowserGymObservation(Observation):
        text: str = ""
        url: str = ""
        screenshot: list[list[list[int]]] | None = None
        goal: str = ""
        axtree_txt: str = ""
        pruned_html: str = ""
        error: str = ""
        last_action_error: bool = False

    class Browser(Base):
        """A page with one button, [12]."""

        def reset(self, seed=None, task_name=None):
            return self._page()

        def step(self, action, timeout_s=None, **_):
            if action.action_str == 'click("12")':
                return self._page(reward=1.0, done=True)
            return self._page(reward=0.0, last_action_error=True, error=f"can't do {action.action_str}")

        def _page(self, **more):
            red = [[[255, 0, 0]] * 4] * 2
            return BrowserGymObservation(url="http://page.example/", goal="Press the button.", screenshot=red,
                                         axtree_txt="[12] button 'Go'", **more)

    serve("browser", Browser, BrowserGymAction, BrowserGymObservation)

    class CarlaAction(Action):
        action_type: Literal["control", "emergency_stop", "observe", "capture_image", "lane_change"] = "observe"
        throttle: float = Field(0.0, ge=0.0, le=1.0)
        steer: float = Field(0.0, ge=-1.0, le=1.0)
        brake: float = Field(0.0, ge=0.0, le=1.0)
        lane_direction: str | None = None

    class CarlaObservation(Observation):
        scene_description: str = ""
        speed_kmh: float = Field(0.0, description="Current speed in km/h")
        location: tuple[float, float, float] = (0.0, 0.0, 0.0)
        goal_distance: float | None = None
        collision_detected: bool = False
        done_reason: str = ""
        camera_image: str | None = None

    class Car(Base):
        def reset(self, scenario_name=None, scenario_config=None):
            self._speed = 40.0
            return CarlaObservation(scene_description="A road.", speed_kmh=self._speed)

        def step(self, action, timeout_s=None, **_):
            if action.action_type == "capture_image":
                return CarlaObservation(scene_description="A road.", speed_kmh=self._speed, camera_image=JPEG)
            self._speed = 0.0 if action.action_type == "emergency_stop" else self._speed + 10 * action.throttle
            stopped = self._speed == 0
            return CarlaObservation(scene_description="You stand." if stopped else "A road.", speed_kmh=self._speed,
                                    done=stopped, done_reason="stopped" if stopped else "", reward=float(stopped))

    serve("carla", Car, CarlaAction, CarlaObservation)
    return whole


if __name__ == "__main__":
    run(build)
