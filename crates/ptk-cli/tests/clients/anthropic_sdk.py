"""Anthropic's SDK for Python, with its own loop: the tool runner."""

from anthropic import Anthropic, APIError, beta_tool

from scene import MODEL, QUESTION, play

MESSAGES = [{"role": "user", "content": QUESTION}]


def connected(scene):
    return Anthropic(base_url=scene.address, api_key="any", max_retries=scene.retries)


def ask(scene):
    runner = connected(scene).beta.messages.tool_runner(
        model=MODEL,
        max_tokens=1000,
        messages=MESSAGES,
        tools=[beta_tool(function) for function in scene.functions()],
        stream=scene.streams,
    )
    answer = None
    for reply in runner:
        if scene.streams:
            scene.came(sum(event.type == "text" for event in reply))
            reply = reply.get_final_message()
        answer = "".join(block.text for block in reply.content if block.type == "text")
        tokens = (reply.usage.input_tokens, reply.usage.output_tokens)
        scene.reply(answer, reply.stop_reason, tokens)
    return answer


def models(scene):
    client = connected(scene)
    counted = client.messages.count_tokens(model=MODEL, messages=MESSAGES)
    listed = [model.id for model in client.models.list()]
    return {"models": listed, "counted": counted.input_tokens > 0}


play(ask, APIError, models=models)
