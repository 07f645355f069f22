"""Ollama's client for Python."""

from ollama import Client, ResponseError

from scene import MODEL, QUESTION, TOOLS, Report, arguments

address, face, scene, streams = arguments()
report = Report()
client = Client(host=address)
tools = [
    {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": parameters},
    }
    for name, description, parameters in TOOLS
]


def whole(messages):
    """One reply: its text, its calls, and its last part."""
    if not streams:
        reply = client.chat(MODEL, messages, tools=tools)
        return reply.message.content or "", reply.message.tool_calls or [], reply
    text, calls, pieces = "", [], 0
    for part in client.chat(MODEL, messages, tools=tools, stream=True):
        text += part.message.content or ""
        calls += part.message.tool_calls or []
        pieces += bool(part.message.content)
    report.pieces = max(report.pieces, pieces)
    return text, calls, part


def ask():
    messages = [{"role": "user", "content": QUESTION}]
    while True:
        text, calls, last = whole(messages)
        assert last.done, "the last part does not say that it is the last"
        report.reply(text, last.done_reason, (last.prompt_eval_count or 0, last.eval_count or 0))
        if not calls:
            return text
        messages.append({"role": "assistant", "content": text, "tool_calls": calls})
        for call in calls:
            name = call.function.name
            result = report.run(name, call.function.arguments)
            messages.append({"role": "tool", "tool_name": name, "content": result})


if scene == "models":
    listed = [model.model for model in client.list().models]
    report.tell(models=listed, can=client.show(listed[0]).capabilities)
else:
    report.play(scene, ask, ResponseError, lambda error: error.status_code)
