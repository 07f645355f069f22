"""OpenAI's SDK for Python: chat completions and responses."""

import json

from openai import APIError, OpenAI

from scene import MODEL, QUESTION, TOOLS, play


def connected(scene):
    return OpenAI(base_url=f"{scene.address}/v1", api_key="any", max_retries=scene.retries)


def chat(scene):
    client = connected(scene)
    tools = [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": description,
                "parameters": parameters,
                "strict": True,
            },
        }
        for name, description, parameters in TOOLS
    ]
    messages = [{"role": "user", "content": QUESTION}]
    while True:
        asked = {"model": MODEL, "messages": messages, "tools": tools}
        if scene.streams:
            usage = {"include_usage": True}
            with client.chat.completions.stream(**asked, stream_options=usage) as stream:
                scene.came(sum(event.type == "content.delta" for event in stream))
                completion = stream.get_final_completion()
        else:
            completion = client.chat.completions.create(**asked)
        choice = completion.choices[0]
        usage = completion.usage
        tokens = usage and (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens)
        scene.reply(choice.message.content, choice.finish_reason, tokens)
        if not choice.message.tool_calls:
            return choice.message.content
        messages.append(choice.message)
        for call in choice.message.tool_calls:
            result = scene.run(call.function.name, json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def streamed(scene, stream):
    """The response of a stream; the SDK leaves it to us to look for failures."""
    pieces = 0
    for event in stream:
        pieces += event.type == "response.output_text.delta"
        if event.type == "response.failed":
            raise APIError(event.response.error.message, stream._response.request, body=None)
    scene.came(pieces)
    return stream.get_final_response()


def responses(scene):
    client = connected(scene)
    tools = [
        {
            "type": "function",
            "name": name,
            "description": description,
            "parameters": parameters,
            "strict": True,
        }
        for name, description, parameters in TOOLS
    ]
    items = [{"role": "user", "content": QUESTION}]
    while True:
        asked = {"model": MODEL, "input": items, "tools": tools, "store": False}
        if scene.streams:
            with client.responses.stream(**asked) as stream:
                response = streamed(scene, stream)
        else:
            response = client.responses.create(**asked)
        usage = response.usage
        tokens = usage and (usage.input_tokens, usage.output_tokens, usage.total_tokens)
        scene.reply(response.output_text, response.status, tokens)
        items += response.output
        calls = [item for item in response.output if item.type == "function_call"]
        if not calls:
            return response.output_text
        for call in calls:
            result = scene.run(call.name, json.loads(call.arguments))
            items.append(
                {"type": "function_call_output", "call_id": call.call_id, "output": result}
            )


def models(scene):
    client = connected(scene)
    listed = [model.id for model in client.models.list()]
    return {"models": listed, "model": client.models.retrieve(listed[0]).id}


def ask(scene):
    return {"chat": chat, "responses": responses}[scene.face](scene)


play(ask, APIError, models=models)
