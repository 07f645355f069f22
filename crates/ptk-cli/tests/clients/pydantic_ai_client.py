"""Pydantic AI's agents, over each of the three APIs."""

import asyncio

from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from pydantic_ai import Agent, ModelAPIError
from pydantic_ai.messages import ModelResponse, PartDeltaEvent, TextPartDelta
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from scene import MODEL, QUESTION, Report, arguments

address, face, scene, streams = arguments()
report = Report()
retries = 1 if scene == "retry" else 0


def model():
    if face == "messages":
        client = AsyncAnthropic(base_url=address, api_key="any", max_retries=retries)
        return AnthropicModel(MODEL, provider=AnthropicProvider(anthropic_client=client))
    client = AsyncOpenAI(base_url=f"{address}/v1", api_key="any", max_retries=retries)
    kinds = {"chat": OpenAIChatModel, "responses": OpenAIResponsesModel}
    return kinds[face](MODEL, provider=OpenAIProvider(openai_client=client))


async def count(_, events):
    """Counts the pieces of a text."""
    pieces = 0
    async for event in events:
        is_text = isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta)
        pieces += is_text
    report.pieces = max(report.pieces, pieces)


async def run():
    agent = Agent(model(), tools=report.functions())
    return await agent.run(QUESTION, event_stream_handler=count if streams else None)


def ask():
    result = asyncio.run(run())
    replies = [each for each in result.all_messages() if isinstance(each, ModelResponse)]
    for reply in replies:
        tokens = (reply.usage.input_tokens, reply.usage.output_tokens)
        report.reply(reply.text, reply.finish_reason, tokens)
    report.in_order([call.tool_name for reply in replies for call in reply.tool_calls])
    return result.output


report.play(scene, ask, ModelAPIError, lambda error: getattr(error, "status_code", None))
