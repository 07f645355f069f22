"""What every client in Python does: the question, the tools and the report.

    python CLIENT.py FACE [SCENE MODE URL]…

FACE is the API that the client speaks, SCENE what happens at that address, MODE
`whole` or `stream`. A line of the output for each scene is what the client saw,
as one JSON object.
"""

import json
import os
import sys

from typing_extensions import TypedDict

MODEL = "scripted"
QUESTION = "What is the weather in Hà Nội?"
# What the server says when its model fails.
REASON = "the model is resting"

WEATHER = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "note": {"type": "string"},
        "options": {
            "type": "object",
            "properties": {"unit": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["unit", "days"],
            "additionalProperties": False,
        },
    },
    "required": ["city", "note", "options"],
    "additionalProperties": False,
}
TIME = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
# Name, description and parameters.
TOOLS = [
    ("get_weather", "The weather in a city.", WEATHER),
    ("get_time", "The time in a city.", TIME),
]


class Options(TypedDict):
    unit: str
    days: int


class Report:
    """What a client saw."""

    def __init__(self):
        self.calls = []
        self.replies = []
        self.errors = []
        self.pieces = 0

    def run(self, name, arguments):
        """Runs a tool, and keeps what it was called with."""
        self.calls.append({"name": name, "arguments": arguments})
        if name == "get_weather":
            return f"31 °C in {arguments['city']}, \"clear\"\n"
        return f"12:00 in {arguments['city']}"

    def functions(self):
        """The same tools, for libraries that make them of functions."""

        def get_weather(city: str, note: str, options: Options) -> str:
            """The weather in a city."""
            return self.run("get_weather", {"city": city, "note": note, "options": options})

        def get_time(city: str) -> str:
            """The time in a city."""
            return self.run("get_time", {"city": city})

        return [get_weather, get_time]

    def in_order(self, names):
        """Some libraries run calls at the same time: here is the order in which
        the model made them."""
        self.calls.sort(key=lambda call: names.index(call["name"]))

    def reply(self, text, finish, usage):
        """A reply of the model is whole."""
        self.replies.append({"text": text or "", "finish": finish, "usage": usage})

    def play(self, scene, ask, failure, status):
        """Asks, and tells what came of it: an answer, or as many failures as
        there are in the scene."""
        failures = {"error": 2, "broken": 1}.get(scene)
        if failures is None:
            self.tell(answer=ask())
            return
        for _ in range(failures):
            try:
                ask()
            except failure as error:
                self.failed(error, status(error))
        self.tell()

    def failed(self, error, status):
        """The client raised this. Of its types, the first that is public counts."""
        kinds = (kind.__name__ for kind in type(error).__mro__)
        kind = next(name for name in kinds if not name.startswith("_"))
        self.errors.append({"type": kind, "status": status, "told": REASON in str(error)})

    def tell(self, **more):
        seen = {"calls": self.calls, "replies": self.replies, "errors": self.errors}
        # A text that came in one piece was not streamed.
        print(json.dumps({**seen, "streamed": self.pieces > 1, **more}, ensure_ascii=False))


def arguments():
    """The address, the face, the scene, and whether replies are streamed.

    Returns in a process for each scene: that is as good as starting the program
    anew, and does not take the time of importing the library.
    """
    face, *scenes = sys.argv[1:]
    status = 0
    for scene, mode, address in zip(scenes[::3], scenes[1::3], scenes[2::3]):
        child = os.fork()
        if child == 0:
            return address, face, scene, mode == "stream"
        status |= os.waitpid(child, 0)[1]
    sys.exit(status != 0)
