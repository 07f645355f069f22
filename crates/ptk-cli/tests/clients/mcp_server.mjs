// An MCP server on stdin and stdout with one tool. It writes the arguments of
// its call into the file that is its argument.

import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

const forecast = {
  name: "forecast",
  description: "Get the weather forecast for a city",
  inputSchema: {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
  },
};

function answer({ method, params }) {
  switch (method) {
    case "initialize":
      return {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: "weather", version: "1" },
      };
    case "tools/list":
      return { tools: [forecast] };
    case "tools/call":
      writeFileSync(process.argv[2], JSON.stringify(params.arguments));
      return { content: [{ type: "text", text: "Rain" }] };
    default:
      return undefined;
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  if (request.id === undefined) continue;
  const result = answer(request);
  const error = { code: -32601, message: `${request.method} is not known` };
  const outcome = result ? { result } : { error };
  console.log(JSON.stringify({ jsonrpc: "2.0", id: request.id, ...outcome }));
}
