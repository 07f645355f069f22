"""LangChain's model for OpenAI's APIs, with its tools bound to it."""

from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from openai import APIError

from scene import MODEL, QUESTION, play


def whole(scene, model, messages):
    """One reply; pieces of it are added up by LangChain."""
    if not scene.streams:
        return model.invoke(messages)
    parts = list(model.stream(messages))
    scene.came(sum(1 for part in parts if part.text))
    first, *rest = parts
    return sum(rest, first)


def ask(scene):
    tools = {each.name: each for each in map(tool, scene.functions())}
    model = ChatOpenAI(
        model=MODEL,
        base_url=f"{scene.address}/v1",
        api_key="any",
        max_retries=scene.retries,
        use_responses_api=scene.face == "responses",
        stream_usage=True,
    ).bind_tools(list(tools.values()))
    messages = [HumanMessage(QUESTION)]
    while True:
        reply = whole(scene, model, messages)
        told = reply.response_metadata
        usage = reply.usage_metadata
        tokens = usage and (usage["input_tokens"], usage["output_tokens"], usage["total_tokens"])
        scene.reply(reply.text, told.get("finish_reason") or told.get("status"), tokens)
        assert not reply.invalid_tool_calls, reply.invalid_tool_calls
        if not reply.tool_calls:
            return reply.text
        messages.append(reply)
        # A tool that is given a call answers with the message for the model.
        messages += [tools[call["name"]].invoke(call) for call in reply.tool_calls]


# A response that fails while it is streamed is a plain `ValueError` to LangChain.
play(ask, (APIError, ValueError))
