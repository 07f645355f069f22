#!/usr/bin/env python3
"""llama.cpp's own tool calling as an agent, with the command line of `ptk run`.

The evaluator runs it in the place of `ptk`. It asks the server natively, as any
client would, runs the calls with `ptk tools call`, and prints the events that
the evaluator reads. PTK_EVALUATION_SERVER is the server's address,
PTK_EVALUATION_PTK the real ptk, which lends the tools.
"""

import json
import os
import subprocess
import sys
import time
import urllib.request

SERVER = os.environ["PTK_EVALUATION_SERVER"]
PTK = os.environ["PTK_EVALUATION_PTK"]
# The limits of `ptk run`.
ITERATIONS = 10
CALLS = 20
# A quarter of the window, as PTK allows.
TOKENS = 2048


def say(kind, **fields):
    print(json.dumps({"type": kind, **fields}), flush=True)


def definition(name):
    shown = subprocess.run([PTK, "tools", "show", name, "--json"], capture_output=True, text=True, check=True)
    return json.loads(shown.stdout)


def ask(messages, tools):
    body = {"messages": messages, "tools": tools, "temperature": 0, "max_tokens": TOKENS}
    request = urllib.request.Request(
        f"{SERVER}/v1/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def run(name, arguments):
    done = subprocess.run(
        [PTK, "tools", "call", name, arguments, "--approve", "auto", "--json"],
        capture_output=True, text=True, check=False,
    )
    lines = done.stdout.splitlines()
    return json.loads(lines[-1]) if lines else {"success": False, "error": done.stderr.strip()}


def main():
    words = sys.argv[1:]
    prompt = words[words.index("--") + 1]
    names = words[words.index("--tools") + 1].split(",")
    tools = [definition(name) for name in names]
    messages = [{"role": "user", "content": prompt}]
    usage = {"input_tokens": 0, "output_tokens": 0}
    started, made = time.monotonic(), 0

    def metadata(iterations):
        took = int((time.monotonic() - started) * 1000)
        return {"iterations": iterations, "tool_calls": made, "duration_ms": took, "usage": usage}

    for iteration in range(1, ITERATIONS + 1):
        reply = ask(messages, tools)
        used = reply.get("usage", {})
        usage["input_tokens"] += used.get("prompt_tokens", 0)
        usage["output_tokens"] += used.get("completion_tokens", 0)
        message = reply["choices"][0]["message"]
        text = message.get("content") or ""
        calls = message.get("tool_calls") or []
        say("message_chunk", part="text", chunk=text)
        if not calls:
            say("receive_message", message=text, metadata=metadata(iteration))
            return 0
        messages.append({"role": "assistant", "content": text, "tool_calls": calls})
        for call in calls:
            name, arguments = call["function"]["name"], call["function"]["arguments"]
            made += 1
            try:
                values = json.loads(arguments)
            except ValueError:
                values = {}
            say("tool_call_start", call_id=call["id"], tool=name, arguments=values)
            result = run(name, arguments) if name in names else {"success": False, "error": "no such tool"}
            say("tool_call_end", call_id=call["id"], tool=name, success=result.get("success", False), result=result)
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(result)})
        if made >= CALLS:
            break
    say("error", message="It came to no answer", code="MAX_ITERATIONS_REACHED", metadata=metadata(ITERATIONS))
    return 1


sys.exit(main())
