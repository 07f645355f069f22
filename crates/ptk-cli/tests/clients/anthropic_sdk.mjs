// Anthropic's SDK for JavaScript, with its own loop: the tool runner.

import Anthropic, { APIError } from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";

import {
  address, MODEL, pieces, play, QUESTION, reply, retries, run, scene, streams, tell, TOOLS,
} from "./scene.mjs";

const client = new Anthropic({ baseURL: address, apiKey: "any", maxRetries: retries });
const messages = [{ role: "user", content: QUESTION }];

function whole({ content, stop_reason, usage }) {
  const text = content.map((block) => (block.type === "text" ? block.text : "")).join("");
  reply(text, stop_reason, [usage.input_tokens, usage.output_tokens]);
  return text;
}

async function ask() {
  const tools = TOOLS.map(({ name, description, parameters }) =>
    betaTool({ name, description, inputSchema: parameters, run: (input) => run(name, input) }),
  );
  const runner = client.beta.messages.toolRunner({
    model: MODEL, max_tokens: 1000, messages, tools, stream: streams,
  });
  let answer;
  for await (const turn of runner) {
    if (streams) {
      let count = 0;
      turn.on("text", () => (count += 1));
      answer = whole(await turn.finalMessage());
      pieces(count);
    } else {
      answer = whole(turn);
    }
  }
  return answer;
}

if (scene === "models") {
  const counted = await client.messages.countTokens({ model: MODEL, messages });
  const listed = [];
  for await (const model of client.models.list()) listed.push(model.id);
  tell({ models: listed, counted: counted.input_tokens > 0 });
} else {
  await play(ask, APIError, (error) => error.status);
}
