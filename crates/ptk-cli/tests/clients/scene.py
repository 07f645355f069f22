"""What every client in Python does: the question, the tools and the report.

    python CLIENT.py URL FACE SCENE MODE

FACE is the API that the client speaks, SCENE what happens, MODE `whole` or
`stream`. The last line of the output is what the client saw, as one JSON object.
"""

import json
import sys

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

    def reply(self, text, finish, usage):
        """A reply of the model is whole."""
        has_usage = bool(usage and all(count > 0 for count in usage))
        self.replies.append({"text": text or "", "finish": finish, "usage": has_usage})

    def failed(self, error, status):
        """The client raised this."""
        told = REASON in str(error)
        self.errors.append({"type": type(error).__name__, "status": status, "told": told})

    def tell(self, **more):
        seen = {"calls": self.calls, "replies": self.replies, "errors": self.errors}
        # A text that came in one piece was not streamed.
        print(json.dumps({**seen, "streamed": self.pieces > 1, **more}, ensure_ascii=False))


def arguments():
    """The address, the face, the scene, and whether replies are streamed."""
    address, face, scene, mode = sys.argv[1:]
    return address, face, scene, mode == "stream"
