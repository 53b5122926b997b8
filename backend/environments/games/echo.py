"""Echo: says back what it is told. The smallest environment there is, for trying out the machine.

Reward is a tenth of the message's length in characters, as in OpenEnv's own echo environment. It never ends by itself.
"""

from backend.environments.games import GameOver, fingerprint


class Echo:
    def __init__(self):
        self._messages = None

    def reset(self, seed: int | None = None) -> dict:
        self._messages = 0
        return {"text": "Send a message and it comes back.", "reward": None, "done": False, "echoed_length": None,
                "messages": 0, "metadata": {"fingerprint": fingerprint("echo")}}

    def step(self, message: str) -> dict:
        if self._messages is None:
            raise GameOver("nothing was opened yet; reset first")
        self._messages += 1
        return {"text": message, "reward": len(message) / 10, "done": False, "echoed_length": len(message),
                "messages": self._messages}
