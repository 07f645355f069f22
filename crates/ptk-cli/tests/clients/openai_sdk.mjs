// OpenAI's SDK for JavaScript: chat completions, with its own loop, and responses.

import OpenAI, { APIError } from "openai";

import {
  address, face, MODEL, pieces, play, QUESTION, reply, retries, run, scene, streams, tell, TOOLS,
} from "./scene.mjs";

const client = new OpenAI({ baseURL: `${address}/v1`, apiKey: "any", maxRetries: retries });

async function chat() {
  const tools = TOOLS.map((tool) => ({
    type: "function",
    function: { ...tool, parse: JSON.parse, function: (parameters) => run(tool.name, parameters) },
  }));
  const asked = { model: MODEL, messages: [{ role: "user", content: QUESTION }], tools };
  const runner = client.chat.completions.runTools(
    streams ? { ...asked, stream: true, stream_options: { include_usage: true } } : asked,
  );
  let count = 0;
  if (streams) runner.on("content", () => (count += 1));
  runner.on("chatCompletion", ({ choices: [choice], usage }) => {
    pieces(count);
    count = 0;
    const tokens = usage ? [usage.prompt_tokens, usage.completion_tokens, usage.total_tokens] : [];
    reply(choice.message.content, choice.finish_reason, tokens);
  });
  return await runner.finalContent();
}

async function response(asked) {
  if (!streams) return await client.responses.create(asked);
  const stream = client.responses.stream(asked);
  let count = 0;
  for await (const event of stream) {
    if (event.type === "response.output_text.delta") count += 1;
    // The SDK leaves it to us to look for failures.
    if (event.type === "response.failed") throw new APIError(undefined, event.response.error);
  }
  pieces(count);
  return await stream.finalResponse();
}

async function responses() {
  const tools = TOOLS.map((tool) => ({ type: "function", strict: true, ...tool }));
  const input = [{ role: "user", content: QUESTION }];
  for (;;) {
    const { output, output_text, status, usage } = await response({
      model: MODEL, input, tools, store: false,
    });
    const tokens = usage ? [usage.input_tokens, usage.output_tokens, usage.total_tokens] : [];
    reply(output_text, status, tokens);
    input.push(...output);
    const calls = output.filter((item) => item.type === "function_call");
    if (calls.length === 0) return output_text;
    for (const { call_id, name, arguments: parameters } of calls) {
      const result = run(name, JSON.parse(parameters));
      input.push({ type: "function_call_output", call_id, output: result });
    }
  }
}

if (scene === "models") {
  const listed = [];
  for await (const model of client.models.list()) listed.push(model.id);
  tell({ models: listed, model: (await client.models.retrieve(listed[0])).id });
} else {
  await play({ chat, responses }[face], APIError, (error) => error.status);
}
