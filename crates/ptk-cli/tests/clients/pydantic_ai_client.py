"""Pydantic AI's agents, over each of the three APIs."""

from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from pydantic_ai import Agent, ModelAPIError
from pydantic_ai.messages import ModelResponse, PartDeltaEvent, TextPartDelta
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from scene import MODEL, QUESTION, play


def model(scene):
    settings = {"api_key": "any", "max_retries": scene.retries}
    if scene.face == "messages":
        client = AsyncAnthropic(base_url=scene.address, **settings)
        return AnthropicModel(MODEL, provider=AnthropicProvider(anthropic_client=client))
    client = AsyncOpenAI(base_url=f"{scene.address}/v1", **settings)
    kinds = {"chat": OpenAIChatModel, "responses": OpenAIResponsesModel}
    return kinds[scene.face](MODEL, provider=OpenAIProvider(openai_client=client))


def ask(scene):
    async def count(_, events):
        """Counts the pieces of a text."""
        pieces = 0
        async for event in events:
            is_delta = isinstance(event, PartDeltaEvent)
            pieces += is_delta and isinstance(event.delta, TextPartDelta)
        scene.came(pieces)

    agent = Agent(model(scene), tools=scene.functions())
    result = agent.run_sync(QUESTION, event_stream_handler=count if scene.streams else None)
    replies = [each for each in result.all_messages() if isinstance(each, ModelResponse)]
    for reply in replies:
        tokens = (reply.usage.input_tokens, reply.usage.output_tokens)
        scene.reply(reply.text, reply.finish_reason, tokens)
    scene.in_order([call.tool_name for reply in replies for call in reply.tool_calls])
    return result.output


play(ask, ModelAPIError)
