// What every client in JavaScript does: the question, the tools and the report.
//
//     node CLIENT.mjs FACE SCENE MODE URL
//
// FACE is the API that the client speaks, SCENE what happens at that address,
// MODE `whole` or `stream`. A line of the output is what the client saw, as one
// JSON object.

export const MODEL = "scripted";
export const QUESTION = "What is the weather in Hà Nội?";
// What the server says when its model fails.
const REASON = "the model is resting";

const WEATHER = {
  type: "object",
  properties: {
    city: { type: "string" },
    note: { type: "string" },
    options: {
      type: "object",
      properties: { unit: { type: "string" }, days: { type: "integer" } },
      required: ["unit", "days"],
      additionalProperties: false,
    },
  },
  required: ["city", "note", "options"],
  additionalProperties: false,
};
const TIME = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};
export const TOOLS = [
  { name: "get_weather", description: "The weather in a city.", parameters: WEATHER },
  { name: "get_time", description: "The time in a city.", parameters: TIME },
];

const [, , face, scene, mode, address] = process.argv;
export { address, face, scene };
export const streams = mode === "stream";
export const retries = scene === "retry" ? 1 : 0;

const seen = { calls: [], replies: [], errors: [] };
let most = 0;

/** Runs a tool, and keeps what it was called with. */
export function run(name, parameters) {
  seen.calls.push({ name, arguments: parameters });
  return name === "get_weather"
    ? `31 °C in ${parameters.city}, "clear"\n`
    : `12:00 in ${parameters.city}`;
}

/** A reply of the model is whole. */
export function reply(text, finish, usage) {
  seen.replies.push({ text: text ?? "", finish, usage });
}

/** A text came in so many pieces. */
export function pieces(count) {
  most = Math.max(most, count);
}

/** Prints what was seen. A text that came in one piece was not streamed. */
export function tell(more) {
  console.log(JSON.stringify({ ...seen, streamed: most > 1, ...more }));
}

/** Asks, and tells what came of it: an answer, or as many failures as there are
 *  in the scene. */
export async function play(ask, failure, status) {
  const failures = { error: 2, broken: 1 }[scene];
  if (failures === undefined) {
    tell({ answer: await ask() });
    return;
  }
  for (let asked = 0; asked < failures; asked += 1) {
    try {
      await ask();
    } catch (error) {
      if (!(error instanceof failure)) throw error;
      const told = error.message.includes(REASON);
      seen.errors.push({ type: error.constructor.name, status: status(error) ?? null, told });
    }
  }
  tell({});
}
