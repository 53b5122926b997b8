"""Playing on servers that speak the Open Reward Standard (https://openrewardstandard.io), one session an episode.

    places.py    how `ors+https://…#env` and `ors:Org/Name` are written, and what of it stays secret
    clients.py   the SDK's client of one server, and its troubles in words
    asking.py    what a server has: environments, splits, tasks, tools
    reading.py   what it answers, as tools, texts, images and facts
    playing.py   a source of sessions, and one session
    calls.py     one tool call

Written against the openreward SDK 0.1.167, whose client and whose session (creation, keepalive, deletion) are used as
they are. Only tool calls are sent by `calls.py`: the SDK sends a call again when the connection breaks before the
server has answered, so that a move may be made twice, and takes spaces out of answers longer than 4096 characters.
"""
