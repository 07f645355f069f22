"""Anthropic's SDK for Python, with its own loop: the tool runner."""

from anthropic import Anthropic, APIError, beta_tool

from scene import MODEL, QUESTION, Report, arguments

address, face, scene, streams = arguments()
report = Report()
retries = 1 if scene == "retry" else 0
client = Anthropic(base_url=address, api_key="any", max_retries=retries)
tools = [beta_tool(function) for function in report.functions()]


def whole(message):
    text = "".join(block.text for block in message.content if block.type == "text")
    usage = message.usage
    report.reply(text, message.stop_reason, (usage.input_tokens, usage.output_tokens))
    return text


def ask():
    messages = [{"role": "user", "content": QUESTION}]
    runner = client.beta.messages.tool_runner(
        model=MODEL, max_tokens=1000, messages=messages, tools=tools, stream=streams
    )
    answer = None
    for reply in runner:
        if streams:
            pieces = [event for event in reply if event.type == "text"]
            report.pieces = max(report.pieces, len(pieces))
            reply = reply.get_final_message()
        answer = whole(reply)
    return answer


if scene == "models":
    messages = [{"role": "user", "content": QUESTION}]
    counted = client.messages.count_tokens(model=MODEL, messages=messages)
    listed = [model.id for model in client.models.list()]
    report.tell(models=listed, counted=counted.input_tokens > 0)
else:
    report.play(scene, ask, APIError, lambda error: getattr(error, "status_code", None))
