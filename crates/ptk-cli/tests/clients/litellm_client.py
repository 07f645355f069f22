"""LiteLLM, over OpenAI's, Anthropic's and Ollama's APIs."""

import json

import litellm
from openai import APIError

from scene import MODEL, QUESTION, TOOLS, play

FUNCTIONS = [
    {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": parameters},
    }
    for name, description, parameters in TOOLS
]


def whole(scene, messages):
    """One reply; pieces of it are put together by LiteLLM."""
    where = {
        "chat": {"model": f"openai/{MODEL}", "api_base": f"{scene.address}/v1"},
        "messages": {"model": f"anthropic/{MODEL}", "api_base": scene.address},
        "ollama": {"model": f"ollama_chat/{MODEL}", "api_base": scene.address},
    }[scene.face]
    asked = {**where, "api_key": "any", "messages": messages, "tools": FUNCTIONS, "max_retries": 0}
    if not scene.streams:
        return litellm.completion(**asked)
    usage = {"include_usage": True}
    parts = list(litellm.completion(**asked, stream=True, stream_options=usage))
    scene.came(sum(1 for part in parts if part.choices and part.choices[0].delta.content))
    return litellm.stream_chunk_builder(parts, messages=messages)


def ask(scene):
    messages = [{"role": "user", "content": QUESTION}]
    while True:
        reply = whole(scene, messages)
        choice = reply.choices[0]
        usage = reply.usage
        tokens = (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens)
        scene.reply(choice.message.content, choice.finish_reason, tokens)
        if not choice.message.tool_calls:
            return choice.message.content
        messages.append(choice.message.model_dump())
        for call in choice.message.tool_calls:
            result = scene.run(call.function.name, json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


play(ask, APIError)
