// OpenAI's SDK for JavaScript: chat completions, with its own loop, and responses.

import OpenAI, { APIError } from "openai";

import { MODEL, play, QUESTION, TOOLS } from "./scene.mjs";

function connected({ address, retries }) {
  return new OpenAI({ baseURL: `${address}/v1`, apiKey: "any", maxRetries: retries });
}

async function chat(scene) {
  const tools = TOOLS.map((tool) => ({
    type: "function",
    function: { ...tool, parse: JSON.parse, function: (input) => scene.run(tool.name, input) },
  }));
  const asked = { model: MODEL, messages: [{ role: "user", content: QUESTION }], tools };
  const runner = connected(scene).chat.completions.runTools(
    scene.streams ? { ...asked, stream: true, stream_options: { include_usage: true } } : asked,
  );
  let pieces = 0;
  if (scene.streams) runner.on("content", () => (pieces += 1));
  runner.on("chatCompletion", ({ choices: [choice], usage }) => {
    scene.came(pieces);
    pieces = 0;
    const tokens = usage && [usage.prompt_tokens, usage.completion_tokens, usage.total_tokens];
    scene.reply(choice.message.content, choice.finish_reason, tokens);
  });
  return await runner.finalContent();
}

async function response(scene, asked) {
  const client = connected(scene);
  if (!scene.streams) return await client.responses.create(asked);
  const stream = client.responses.stream(asked);
  let pieces = 0;
  for await (const event of stream) {
    if (event.type === "response.output_text.delta") pieces += 1;
    // The SDK leaves it to us to look for failures.
    if (event.type === "response.failed") throw new APIError(undefined, event.response.error);
  }
  scene.came(pieces);
  return await stream.finalResponse();
}

async function responses(scene) {
  const tools = TOOLS.map((tool) => ({ type: "function", strict: true, ...tool }));
  const input = [{ role: "user", content: QUESTION }];
  for (;;) {
    const asked = { model: MODEL, input, tools, store: false };
    const { output, output_text, status, usage } = await response(scene, asked);
    const tokens = usage && [usage.input_tokens, usage.output_tokens, usage.total_tokens];
    scene.reply(output_text, status, tokens);
    input.push(...output);
    const calls = output.filter((item) => item.type === "function_call");
    if (calls.length === 0) return output_text;
    for (const { call_id, name, arguments: parameters } of calls) {
      const result = scene.run(name, JSON.parse(parameters));
      input.push({ type: "function_call_output", call_id, output: result });
    }
  }
}

async function models(scene) {
  const client = connected(scene);
  const listed = [];
  for await (const model of client.models.list()) listed.push(model.id);
  return { models: listed, model: (await client.models.retrieve(listed[0])).id };
}

const ask = (scene) => ({ chat, responses })[scene.face](scene);
await play(ask, APIError, (error) => error.status, models);
