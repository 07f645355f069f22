// The AI SDK, with its provider for servers that speak as OpenAI's does.

import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { AISDKError, generateText, isStepCount, jsonSchema, streamText, tool } from "ai";

import {
  address, MODEL, pieces, play, QUESTION, reply, retries, run, streams, TOOLS,
} from "./scene.mjs";

const provider = createOpenAICompatible({
  name: "ptk", baseURL: `${address}/v1`, apiKey: "any", includeUsage: true,
});
const tools = Object.fromEntries(
  TOOLS.map(({ name, description, parameters }) => [
    name,
    tool({
      description,
      inputSchema: jsonSchema(parameters),
      execute: (input) => run(name, input),
    }),
  ]),
);

async function streamed(asked) {
  let failure;
  let count = 0;
  const result = streamText({ ...asked, onError: ({ error }) => (failure = error) });
  for await (const part of result.fullStream) {
    if (part.type === "text-delta") count += 1;
    if (part.type === "finish-step") {
      pieces(count);
      count = 0;
    }
  }
  if (failure) throw failure;
  return { steps: await result.steps, text: await result.text };
}

async function ask() {
  const asked = {
    model: provider(MODEL), prompt: QUESTION, tools, maxRetries: retries, stopWhen: isStepCount(5),
  };
  const { steps, text } = streams ? await streamed(asked) : await generateText(asked);
  for (const step of steps) {
    const { inputTokens, outputTokens, totalTokens } = step.usage;
    reply(step.text, step.finishReason, [inputTokens, outputTokens, totalTokens]);
  }
  return text;
}

await play(ask, AISDKError, (error) => error.statusCode);
