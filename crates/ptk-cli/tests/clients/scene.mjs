// What every client in JavaScript does: the question, the tools and the report.
//
//     node CLIENT.mjs FACE [SCENE MODE URL]…
//
// FACE is the API that the client speaks, SCENE what happens at that address,
// MODE `whole` or `stream`. A line of the output for each scene is what the
// client saw, as one JSON object.

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

/** What happens at an address, and what the client saw of it. */
class Scene {
  constructor(face, name, mode, address) {
    this.face = face;
    this.name = name;
    this.streams = mode === "stream";
    this.address = address;
    // Scripted replies are not to be lost on retries that nobody looks at.
    this.retries = name === "retry" ? 1 : 0;
    this.seen = { calls: [], replies: [], errors: [] };
    this.pieces = 0;
  }

  /** Runs a tool, and keeps what it was called with. */
  run(name, parameters) {
    this.seen.calls.push({ name, arguments: parameters });
    return name === "get_weather"
      ? `31 °C in ${parameters.city}, "clear"\n`
      : `12:00 in ${parameters.city}`;
  }

  /** A reply of the model is whole. */
  reply(text, finish, usage) {
    this.seen.replies.push({ text: text ?? "", finish, usage });
  }

  /** A text came in so many pieces. */
  came(pieces) {
    this.pieces = Math.max(this.pieces, pieces);
  }

  /** Prints what was seen. A text that came in one piece was not streamed. */
  tell(more) {
    console.log(JSON.stringify({ ...this.seen, streamed: this.pieces > 1, ...more }));
  }
}

/** Plays the scenes: `ask` returns an answer or throws a `failure`, `models`
 *  returns what there is to say about the models. */
export async function play(ask, failure, status, models) {
  const [face, ...scenes] = process.argv.slice(2);
  for (let at = 0; at < scenes.length; at += 3) {
    const scene = new Scene(face, ...scenes.slice(at, at + 3));
    const failures = { error: 2, broken: 1 }[scene.name];
    if (scene.name === "models") scene.tell(await models(scene));
    else if (failures === undefined) scene.tell({ answer: await ask(scene) });
    else await fail(scene, ask, failures, failure, status);
  }
}

/** Asks as often as there are failures in the scene. */
async function fail(scene, ask, failures, failure, status) {
  for (let asked = 0; asked < failures; asked += 1) {
    try {
      await ask(scene);
    } catch (error) {
      if (!(error instanceof failure)) throw error;
      const told = error.message.includes(REASON);
      const type = error.constructor.name;
      scene.seen.errors.push({ type, status: status(error) ?? null, told });
    }
  }
  scene.tell({});
}
