"""CARLA on an OpenEnv server: driving a car in a simulated town, one tool for each kind of action, camera pictures.

Written from the published action and observation classes; the tests play on a server of the same protocol.
"""

from dataclasses import replace
from typing import Any

from backend.environments import Description, Observation
from backend.environments.adapters import Adapter, Checked, WithoutState, number, tool
from backend.environments.adapters.observed import Seen, compact, seen
from backend.environments.adapters.pictures import taken_out
from backend.environments.discovery import Told


def _number(about: str, low: float, high: float) -> dict[str, Any]:
    return {"type": "number", "minimum": low, "maximum": high, "description": about}


PLACE = {"type": "number", "description": "In metres, in the town's own coordinates."}
TOOLS = (
    tool("observe", "Do nothing and let the world go on for one step."),
    tool("control", "Drive by hand for one step.", throttle=_number("0 is none, 1 is full.", 0, 1),
         steer=_number("-1 is fully left, 1 fully right.", -1, 1), brake=_number("0 is none, 1 is full.", 0, 1)),
    tool("emergency_stop", "Brake as hard as the car can."),
    tool("brake_vehicle", "Brake with a given strength.", brake_intensity=_number("0 is none, 1 is full.", 0, 1)),
    tool("maintain_speed", "Keep a speed.", target_speed_kmh=_number("In km/h.", 0, 200)),
    tool("lane_change", "Change the lane.", lane_direction={"type": "string", "enum": ["left", "right"],
                                                            "description": "To which side."}),
    tool("init_navigation_agent", "Start the autopilot.", navigation_behavior={
        "type": "string", "enum": ["cautious", "normal", "aggressive"], "description": "How it drives."}),
    tool("set_destination", "Tell the autopilot where to go.", destination_x=PLACE, destination_y=PLACE,
         destination_z=PLACE),
    tool("follow_route", "Let the autopilot drive for some steps.",
         route_steps={"type": "integer", "minimum": 1, "description": "How many steps."}),
    tool("capture_image", "Take a picture with the camera in front; no time passes."),
)
DESCRIPTION = Description(
    title="CARLA",
    about="Drive a car in a simulated town, where an action can't be taken back. Teaches to act in time.",
    tools=TOOLS,
    facts={},
    prompt=("You drive a car in a simulated town. The world goes on by one step with each call, except for "
            "`capture_image`. Use the tools, such as `control`, `maintain_speed`, `lane_change` or `emergency_stop`, "
            "to drive safely and to reach the goal, if there is one."),
    max_turns=50,
    viewer="screen",
    rewards=(("env_reward_total", "env_reward_total"),),
    options={"scenario_name": {"type": "string", "description": "Which scenario to play."},
             "scenario_config": {"type": "object", "description": "Settings of the scenario, such as weather."}},
    notice="Tested against a server of the same protocol, not against the real simulator, which holds one session.",
    capacity=1,
)
ONLY_FACTS = frozenset({"scene_description", "camera_image"})


def fits(told: Told) -> bool:
    return told.has("action_type", "scene_description", "speed_kmh", "camera_image")


def adapter(told: Told) -> Adapter:
    fields = seen(told.observation, ONLY_FACTS)
    facts = {field.name: field.about for field in fields} | {"reward": "the reward for the last action"}
    return Carla(replace(DESCRIPTION, facts=facts), fields)


class Carla(WithoutState):
    def __init__(self, description: Description, fields: list[Seen]):
        self.description = description
        self._fields = fields
        self._checked = Checked(TOOLS)

    def fresh(self) -> "Carla":
        return self

    def action(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self._checked(tool, arguments)
        return {"action_type": tool, **arguments}

    def read(self, data: dict[str, Any]) -> Observation:
        images, observation = taken_out(data["observation"])
        reward = number(data.get("reward"))
        text = observation["scene_description"] or compact({name: value for name, value in observation.items()
                                                            if name != "metadata"})
        if images:
            text = f"{text}\n[a picture of the camera in front]"
        return Observation(text, reward, bool(data.get("done")),
                           {field.name: field.value(observation) for field in self._fields} | {"reward": reward},
                           raw=compact({name: value for name, value in observation.items() if name != "metadata"}),
                           images=images)
