"""Gold calls through the gateway: each text is what the model says, and what the
OpenAI SDK makes of it has to be the calls.

    served-corpus.py PTK CASES

CASES is a file of JSON lines: {"id", "dialect", "kind", "text", "tools", "gold"}.
Every second request streams. Prints how many are exact, by dialect and by kind,
and what became of the others. Ends with 1 below 99 %.
"""

import asyncio
import collections
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading

import openai
import saying

AT_ONCE = 8
LEAST = 0.99


class Model(saying.Saying):
    """Says the text of the case that the first message names."""

    cases = []

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        asked = next(it for it in body["messages"] if it["role"] == "user")
        text = self.cases[int(asked["content"].split()[1])]["text"]
        if not body.get("stream"):
            choice = {"index": 0, "finish_reason": "stop"}
            choice["message"] = {"role": "assistant", "content": text}
            self.answer("application/json", json.dumps({"choices": [choice]}).encode())
            return
        pieces = [text[at : at + 5] for at in range(0, len(text), 5)]
        chunks = [{"choices": [{"index": 0, "delta": {"content": it}}]} for it in pieces]
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        events = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
        self.answer("text/event-stream", "".join([*events, "data: [DONE]\n\n"]).encode())


def same(one, other):
    """Equal as JSON is: 1 and 1.0 are, 1 and true are not."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


async def calls(client, number, case):
    """The calls that the SDK gives, or the code of its error; and the notes."""
    tools = [{"type": "function", "function": tool} for tool in case["tools"]]
    ask = {"model": "m", "messages": [{"role": "user", "content": f"Case {number}"}], "tools": tools}
    notes = []
    try:
        if number % 2 == 0:
            answer = await client.chat.completions.create(**ask)
            found = answer.choices[0].message.tool_calls or []
            found = [(it.function.name, it.function.arguments) for it in found]
            notes = (answer.model_extra or {}).get("ptk", {}).get("problems", [])
        else:
            found = []
            async for chunk in await client.chat.completions.create(**ask, stream=True):
                notes += (chunk.model_extra or {}).get("ptk", {}).get("problems", [])
                for piece in (chunk.choices and chunk.choices[0].delta.tool_calls) or []:
                    if piece.id:
                        found.append([piece.function.name, ""])
                    found[piece.index][1] += piece.function.arguments or ""
    except openai.APIError as error:
        return None, [error.code or type(error).__name__]
    codes = [note["code"] for note in notes]
    try:
        return [(name, json.loads(args)) for name, args in found], codes
    except ValueError:
        return [("not JSON", found)], codes


async def run(url, cases):
    client = openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0)
    gate = asyncio.Semaphore(AT_ONCE)
    tally = collections.defaultdict(lambda: [0, 0])
    silent = []
    wrong = []

    async def one(number, case):
        async with gate:
            found, codes = await calls(client, number, case)
        gold = [(call["name"], call["args"]) for call in case["gold"]]
        exact = found is not None and len(found) == len(gold)
        exact = exact and all(a[0] == b[0] and same(a[1], b[1]) for a, b in zip(found, gold))
        for group in ("all", case["dialect"], case["kind"]):
            tally[group][0] += exact
            tally[group][1] += 1
        if not exact:
            wrong.append((case["dialect"], case["kind"], codes, case["text"], found))
        if not exact and not codes:
            silent.append(case["id"])

    await asyncio.gather(*(one(number, case) for number, case in enumerate(cases)))
    for group, (right, all_of_them) in sorted(tally.items(), key=lambda it: it[0] != "all"):
        print(f"{group:<22} {right:>6} of {all_of_them:>6}  {100 * right / all_of_them:6.2f} %")
    print(f"not exact, and not labelled either: {len(silent)}")
    for dialect, kind, codes, text, found in wrong[: int(os.environ.get("SHOWN", "0"))]:
        print(f"{dialect} {kind} {codes}: {text!r}\n    {found}")
    right, all_of_them = tally["all"]
    return right / all_of_them


def main():
    ptk, file = sys.argv[1:]
    with open(file, encoding="utf-8") as lines:
        Model.cases = [json.loads(line) for line in lines]
    model = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        gateway = subprocess.Popen(
            [ptk, "serve", "--listen", "127.0.0.1:0", "--mode", "text", "--access-log", "off"]
            + ["--upstream", f"http://127.0.0.1:{model.server_port}/v1"],
            env={**os.environ, "PTK_STATE": folder, "XDG_CONFIG_HOME": folder},
            stderr=subprocess.PIPE,
            text=True,
        )
        url = gateway.stderr.readline().split()[-1]
        try:
            exact = asyncio.run(run(url, Model.cases))
        finally:
            gateway.terminate()
            gateway.wait()
    sys.exit(exact < LEAST)


main()
