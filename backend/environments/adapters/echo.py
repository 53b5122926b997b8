"""Echo: one tool, whose message comes back."""

from backend.environments import Description
from backend.environments.adapters import Shipped, tool

DESCRIPTION = Description(
    title="Echo",
    about="Says back what it is told. The smallest environment, for trying out the machine.",
    tools=(tool("echo", "Send a message; the environment sends it back.",
                message={"type": "string", "description": "The message to send."}),),
    facts={
        "echoed_length": "characters of the last message; None before the first",
        "messages": "messages sent so far",
    },
    prompt="Use the tool `echo` to send the message 'Hello world!' to the environment.",
    max_turns=4,
    rewards=(("env_reward", "env_reward"),),
)

ADAPTER = Shipped(DESCRIPTION, lambda _, arguments: {"message": arguments["message"]})
