"""Ollama's client for Python."""

from ollama import Client, ResponseError

from scene import MODEL, QUESTION, TOOLS, play

FUNCTIONS = [
    {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": parameters},
    }
    for name, description, parameters in TOOLS
]


def whole(scene, messages):
    """One reply: its text, its calls, and its last part."""
    client = Client(host=scene.address)
    if not scene.streams:
        reply = client.chat(MODEL, messages, tools=FUNCTIONS)
        return reply.message.content or "", reply.message.tool_calls or [], reply
    text, calls, pieces = "", [], 0
    for part in client.chat(MODEL, messages, tools=FUNCTIONS, stream=True):
        text += part.message.content or ""
        calls += part.message.tool_calls or []
        pieces += bool(part.message.content)
    scene.came(pieces)
    return text, calls, part


def ask(scene):
    messages = [{"role": "user", "content": QUESTION}]
    while True:
        text, calls, last = whole(scene, messages)
        assert last.done, "the last part does not say that it is the last"
        scene.reply(text, last.done_reason, (last.prompt_eval_count, last.eval_count))
        if not calls:
            return text
        messages.append({"role": "assistant", "content": text, "tool_calls": calls})
        for call in calls:
            name = call.function.name
            result = scene.run(name, call.function.arguments)
            messages.append({"role": "tool", "tool_name": name, "content": result})


def models(scene):
    client = Client(host=scene.address)
    listed = [model.model for model in client.list().models]
    return {"models": listed, "can": client.show(listed[0]).capabilities}


play(ask, ResponseError, models=models)
