"""What every client in Python does: the question, the tools and the report.

    python CLIENT.py FACE [SCENE MODE URL]…

FACE is the API that the client speaks, SCENE what happens at that address, MODE
`whole` or `stream`. A line of the output for each scene is what the client saw,
as one JSON object.
"""

import json
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


class Scene:
    """What happens at an address, and what the client saw of it."""

    def __init__(self, face, name, mode, address):
        self.face = face
        self.name = name
        self.streams = mode == "stream"
        self.address = address
        # Scripted replies are not to be lost on retries that nobody looks at.
        self.retries = 1 if name == "retry" else 0
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

    def came(self, pieces):
        """A text came in so many pieces."""
        self.pieces = max(self.pieces, pieces)

    def failed(self, error, status):
        """The client raised this. Of its types, the first that is public counts."""
        kinds = (kind.__name__ for kind in type(error).__mro__)
        kind = next(name for name in kinds if not name.startswith("_"))
        self.errors.append({"type": kind, "status": status, "told": REASON in str(error)})

    def tell(self, **more):
        seen = {"calls": self.calls, "replies": self.replies, "errors": self.errors}
        # A text that came in one piece was not streamed.
        print(json.dumps({**seen, "streamed": self.pieces > 1, **more}, ensure_ascii=False))


def status_code(error):
    """The status of an error, if it has one."""
    return getattr(error, "status_code", None)


def play(ask, failure, status=status_code, models=None):
    """Plays the scenes: `ask` returns an answer or raises a `failure`, `models`
    returns what there is to say about the models."""
    face, *scenes = sys.argv[1:]
    for name, mode, address in zip(scenes[::3], scenes[1::3], scenes[2::3]):
        scene = Scene(face, name, mode, address)
        failures = {"error": 2, "broken": 1}.get(name)
        if name == "models":
            scene.tell(**models(scene))
        elif failures is None:
            scene.tell(answer=ask(scene))
        else:
            fail(scene, ask, failures, failure, status)


def fail(scene, ask, failures, failure, status):
    """Asks as often as there are failures in the scene."""
    for _ in range(failures):
        try:
            ask(scene)
        except failure as error:
            scene.failed(error, status(error))
    scene.tell()
