// Anthropic's SDK for JavaScript, with its own loop: the tool runner.

import Anthropic, { APIError } from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";

import { MODEL, play, QUESTION, TOOLS } from "./scene.mjs";

const messages = [{ role: "user", content: QUESTION }];

function connected({ address, retries }) {
  return new Anthropic({ baseURL: address, apiKey: "any", maxRetries: retries });
}

/** The message of a stream. */
async function streamed(scene, stream) {
  let pieces = 0;
  stream.on("text", () => (pieces += 1));
  const message = await stream.finalMessage();
  scene.came(pieces);
  return message;
}

async function ask(scene) {
  const tools = TOOLS.map(({ name, description, parameters }) =>
    betaTool({ name, description, inputSchema: parameters, run: (input) => scene.run(name, input) }),
  );
  const runner = connected(scene).beta.messages.toolRunner({
    model: MODEL, max_tokens: 1000, messages, tools, stream: scene.streams,
  });
  let answer;
  for await (const reply of runner) {
    const message = scene.streams ? await streamed(scene, reply) : reply;
    const { content, stop_reason, usage } = message;
    answer = content.map((block) => (block.type === "text" ? block.text : "")).join("");
    scene.reply(answer, stop_reason, [usage.input_tokens, usage.output_tokens]);
  }
  return answer;
}

async function models(scene) {
  const client = connected(scene);
  const counted = await client.messages.countTokens({ model: MODEL, messages });
  const listed = [];
  for await (const model of client.models.list()) listed.push(model.id);
  return { models: listed, counted: counted.input_tokens > 0 };
}

await play(ask, APIError, (error) => error.status, models);
