"""An Open Reward Standard server with three small environments.

    python -m backend.environments.examples.ors_server --port 8090

Then `use: ors+http://127.0.0.1:8090#sums` plays the first of them:

    sums      one tool for all tasks; what a wrong answer is off by comes as metadata
    locks     each task has a tool of its own besides the one they share
    riddles   only a terminal tool: the answer ends the episode
"""

from openreward.environments import (
    Environment,
    JSONObject,
    ListToolsOutput,
    Server,
    TextBlock,
    ToolOutput,
    ToolSpec,
    terminal,
    tool,
)
from pydantic import BaseModel, Field

from backend.environments.servers import run


class Answer(BaseModel):
    answer: int = Field(description="The sum.")


class Sums(Environment):
    TRIES = 3
    LEFT = {"train": range(2, 22), "test": range(40, 45)}

    @classmethod
    def list_splits(cls) -> list[str]:
        return list(cls.LEFT)

    @classmethod
    def list_tasks(cls, split: str) -> list[JSONObject]:
        return [{"id": f"{left}+{right}", "left": left, "right": right, "level": "easy" if left < 10 else "hard"}
                for left in cls.LEFT[split] for right in range(1, 6)]

    def __init__(self, task_spec: JSONObject = {}, secrets: dict[str, str] = {}):  # noqa: B006 - as the SDK has it
        super().__init__(task_spec, secrets)
        self.tries = 0

    def get_prompt(self) -> list[TextBlock]:
        return [_text(f"What is {self.task_spec['left']} + {self.task_spec['right']}?")]

    @tool
    async def answer(self, given: Answer) -> ToolOutput:
        """Answer the question. There are three tries."""
        self.tries += 1
        off_by = abs(given.answer - self.task_spec["left"] - self.task_spec["right"])
        finished = off_by == 0 or self.tries == self.TRIES
        return ToolOutput(blocks=[_text("Right." if off_by == 0 else "Wrong.")], reward=float(off_by == 0),
                          finished=finished, metadata={"off_by": off_by, "won": off_by == 0 if finished else None})


class Turn(BaseModel):
    to: int = Field(ge=0, le=9)


class Press(BaseModel):
    keys: list[str]


class Locks(Environment):
    OPENERS = {
        "dial": ToolSpec(name="turn-dial", description="Turn the dial.", input_schema=Turn.model_json_schema()),
        "keypad": ToolSpec(name="press-keys", description="Press keys, in order.", input_schema={
            "type": "object", "required": ["keys"],
            "properties": {"keys": {"type": "array", "items": {"enum": ["red", "green", "blue"]}, "minItems": 1}}}),
    }

    @classmethod
    def list_splits(cls) -> list[str]:
        return ["train"]

    @classmethod
    def list_tasks(cls, split: str) -> list[JSONObject]:
        dials = [{"lock": "dial", "opens": number} for number in range(10)]
        keypads = [{"lock": "keypad", "opens": [first, "red"]} for first in ("red", "green", "blue")]
        return [*dials, *keypads]

    def get_prompt(self) -> list[TextBlock]:
        return [_text(f"Open the {self.task_spec['lock']}.")]

    def list_task_tools(self) -> ListToolsOutput:
        return ListToolsOutput(tools=[self.OPENERS[self.task_spec["lock"]]])

    @tool
    async def look(self) -> ToolOutput:
        """Look at the lock."""
        return ToolOutput(blocks=[_text(f"It opens with {self.task_spec['opens']}.")])

    @tool(shared=False)
    async def turn_dial(self, turn: Turn) -> ToolOutput:
        return self._tried(turn.to)

    @tool(shared=False)
    async def press_keys(self, press: Press) -> ToolOutput:
        return self._tried(press.keys)

    # A method's name can't hold a dash, a tool's can.
    vars().update({"turn-dial": turn_dial, "press-keys": press_keys})

    def _tried(self, what) -> ToolOutput:
        open_now = what == self.task_spec["opens"]
        return ToolOutput(blocks=[_text("It opens." if open_now else "Nothing moves.")], reward=float(open_now),
                          finished=open_now, metadata={"won": True} if open_now else None)


class Guess(BaseModel):
    answer: str


class Riddles(Environment):
    KNOWN = {
        "train": [("What has hands but can't clap?", "clock"), ("What gets wetter as it dries?", "towel"),
                  ("What has a neck but no head?", "bottle")],
        "test": [("What has keys but opens no lock?", "piano")],
    }

    @classmethod
    def list_splits(cls) -> list[str]:
        return list(cls.KNOWN)

    @classmethod
    def list_tasks(cls, split: str) -> list[JSONObject]:
        return [{"question": question, "answer": answer} for question, answer in cls.KNOWN[split]]

    def get_prompt(self) -> list[TextBlock]:
        return [_text(self.task_spec["question"])]

    @terminal
    @tool
    async def submit(self, guess: Guess) -> ToolOutput:
        """Answer the riddle in one word."""
        won = guess.answer.strip().lower() == self.task_spec["answer"]
        return ToolOutput(blocks=[_text("Yes." if won else f"No: {self.task_spec['answer']}.")], reward=float(won),
                          finished=True, metadata={"won": won})


def _text(text: str) -> TextBlock:
    return TextBlock(text=text)


if __name__ == "__main__":
    run(lambda sessions: Server([Sums, Locks, Riddles]).app)
