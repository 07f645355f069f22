"""Answers with llama.cpp's own server, from the package xllamacpp: a line of JSON
in, one out."""

import json
import sys
import time
import urllib.request

import xllamacpp

file, window, threads, reply = sys.argv[1], *map(int, sys.argv[2:])
params = xllamacpp.CommonParams()
params.model.path = file
params.port = 0
params.n_ctx = window
params.n_parallel = 1
params.cpuparams.n_threads = threads
params.cpuparams_batch.n_threads = threads
params.use_jinja = True
server = xllamacpp.Server(params)


def now():
    return time.perf_counter(), time.process_time()


def took(tokens, begin, end):
    return {"tokens": tokens, "clock": end[0] - begin[0], "cpu": end[1] - begin[1]}


def answer(prompt, grammar):
    body = {
        "messages": [{"role": "system", "content": ""}, {"role": "user", "content": prompt}],
        "max_tokens": reply,
        "temperature": 0,
        "stream": True,
        "cache_prompt": False,
        "stream_options": {"include_usage": True},
    }
    if grammar:
        body["grammar"] = grammar
    begin = now()
    request = urllib.request.Request(
        server.listening_address + "/v1/chat/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    first, usage = None, None
    with urllib.request.urlopen(request) as lines:
        for line in lines:
            if not line.startswith(b"data: {"):
                continue
            chunk = json.loads(line[len(b"data: "):])
            usage = chunk.get("usage") or usage
            if any(choice["delta"].get("content") for choice in chunk["choices"]):
                first = first or now()
    return {
        "reading": took(usage["prompt_tokens"], begin, first),
        "writing": took(usage["completion_tokens"] - 1, first, now()),
    }


for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps(answer(asked["prompt"], asked["grammar"])), flush=True)
