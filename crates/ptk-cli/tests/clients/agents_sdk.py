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

from scene import MODEL, QUESTION, play

# Otherwise it tells OpenAI about each run.
set_tracing_disabled(True)


class Replies(RunHooks):
    """Sees each reply. The SDK does not say why one ended."""

    def __init__(self, scene):
        self.scene = scene
        self.called = []

    async def on_llm_end(self, context, agent, response):
        self.called += [item.name for item in response.output if item.type == "function_call"]
        said = [item for item in response.output if item.type == "message"]
        text = "".join(part.text for item in said for part in item.content)
        usage = response.usage
        tokens = (usage.input_tokens, usage.output_tokens, usage.total_tokens)
        self.scene.reply(text, None, tokens)


async def run(scene):
    client = AsyncOpenAI(
        base_url=f"{scene.address}/v1", api_key="any", max_retries=scene.retries
    )
    kinds = {"chat": OpenAIChatCompletionsModel, "responses": OpenAIResponsesModel}
    agent = Agent(
        name="Forecaster",
        model=kinds[scene.face](model=MODEL, openai_client=client),
        # Otherwise only OpenAI's own server is asked for it.
        model_settings=ModelSettings(include_usage=True),
        tools=[function_tool(function) for function in scene.functions()],
    )
    replies = Replies(scene)
    if scene.streams:
        result = Runner.run_streamed(agent, QUESTION, hooks=replies)
        await count(scene, result)
    else:
        result = await Runner.run(agent, QUESTION, hooks=replies)
    scene.in_order(replies.called)
    return result.final_output


async def count(scene, result):
    """Counts the pieces of each text."""
    pieces = 0
    async for event in result.stream_events():
        if event.type == "raw_response_event":
            pieces = 0 if event.data.type == "response.created" else pieces
            pieces += event.data.type == "response.output_text.delta"
            scene.came(pieces)


# A response that fails while it is streamed has an error of the SDK's own.
play(lambda scene: asyncio.run(run(scene)), (APIError, AgentsException))
