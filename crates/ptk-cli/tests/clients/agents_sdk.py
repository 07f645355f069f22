"""OpenAI's Agents SDK, over chat completions and responses."""

import asyncio

from agents import (
    Agent,
    AgentsException,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunHooks,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from openai import APIError, AsyncOpenAI

from scene import MODEL, QUESTION, Report, arguments

address, face, scene, streams = arguments()
report = Report()
retries = 1 if scene == "retry" else 0
# Otherwise it tells OpenAI about each run.
set_tracing_disabled(True)


class Replies(RunHooks):
    """Sees each reply. The SDK does not say why one ended."""

    def __init__(self):
        self.called = []

    async def on_llm_end(self, context, agent, response):
        self.called += [item.name for item in response.output if item.type == "function_call"]
        texts = [
            part.text
            for item in response.output
            if item.type == "message"
            for part in item.content
        ]
        usage = response.usage
        tokens = (usage.input_tokens, usage.output_tokens, usage.total_tokens)
        report.reply("".join(texts), None, tokens)


async def run():
    client = AsyncOpenAI(base_url=f"{address}/v1", api_key="any", max_retries=retries)
    kinds = {"chat": OpenAIChatCompletionsModel, "responses": OpenAIResponsesModel}
    model = kinds[face](model=MODEL, openai_client=client)
    tools = [function_tool(function) for function in report.functions()]
    # Otherwise only OpenAI's own server is asked for it.
    settings = ModelSettings(include_usage=True)
    agent = Agent(name="Forecaster", model=model, model_settings=settings, tools=tools)
    replies = Replies()
    if streams:
        result = Runner.run_streamed(agent, QUESTION, hooks=replies)
        await count(result)
    else:
        result = await Runner.run(agent, QUESTION, hooks=replies)
    report.in_order(replies.called)
    return result.final_output


async def count(result):
    """Counts the pieces of each text."""
    pieces = 0
    async for event in result.stream_events():
        if event.type == "raw_response_event":
            pieces = 0 if event.data.type == "response.created" else pieces
            pieces += event.data.type == "response.output_text.delta"
            report.pieces = max(report.pieces, pieces)


# A response that fails while it is streamed has an error of the SDK's own.
failures = (APIError, AgentsException)
status = lambda error: getattr(error, "status_code", None)
report.play(scene, lambda: asyncio.run(run()), failures, status)
