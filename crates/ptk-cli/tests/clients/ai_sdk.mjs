// The AI SDK, with its provider for servers that speak as OpenAI's does.

import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { AISDKError, generateText, isStepCount, jsonSchema, streamText, tool } from "ai";

import { MODEL, play, QUESTION, TOOLS } from "./scene.mjs";

async function streamed(scene, asked) {
  let failure;
  let pieces = 0;
  const result = streamText({ ...asked, onError: ({ error }) => (failure = error) });
  for await (const part of result.fullStream) {
    if (part.type === "text-delta") pieces += 1;
    if (part.type === "finish-step") {
      scene.came(pieces);
      pieces = 0;
    }
  }
  if (failure) throw failure;
  return { steps: await result.steps, text: await result.text };
}

async function ask(scene) {
  const provider = createOpenAICompatible({
    name: "ptk", baseURL: `${scene.address}/v1`, apiKey: "any", includeUsage: true,
  });
  const tools = TOOLS.map(({ name, description, parameters }) => {
    const execute = (input) => scene.run(name, input);
    return [name, tool({ description, inputSchema: jsonSchema(parameters), execute })];
  });
  const asked = {
    model: provider(MODEL),
    prompt: QUESTION,
    tools: Object.fromEntries(tools),
    maxRetries: scene.retries,
    stopWhen: isStepCount(5),
  };
  const { steps, text } = scene.streams ? await streamed(scene, asked) : await generateText(asked);
  for (const step of steps) {
    const { inputTokens, outputTokens, totalTokens } = step.usage;
    scene.reply(step.text, step.finishReason, [inputTokens, outputTokens, totalTokens]);
  }
  return text;
}

await play(ask, AISDKError, (error) => error.statusCode);
