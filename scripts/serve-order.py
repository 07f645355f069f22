"""Which functions `ptk serve` runs, so that the linker can put them side by side.

    serve-order.py PTK MAP LIST

PTK is a release build with its symbols, MAP what the linker said of it. It is
run under callgrind, from its start to its end: with chat completions, and again
with requests to each of its faces. Into LIST come the functions that ran: the
crate, and the name without what is only true of one build; those that only the
second run had stand apart. `build.rs` of ptk-cli makes patterns of them.
"""

import collections
import http.client
import http.server
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading

import saying

# The system maps so many bytes of code around each that is asked for.
WINDOW = 64 * 1024
# How often all requests are made, and by how many clients at once.
ROUNDS = 2
CLIENTS = 4
# Characters of a name that tell it from others.
LONGEST = 160

CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Rome", "days": 2}}\n</tool_call>'
BROKEN = '<tool_call>\n{"name": "get_weather", "arguments": {\'city\': "Rome",}}\n'
SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "The city"},
        "days": {"type": "integer", "description": "How many days"},
    },
    "required": ["city"],
}


class Model(saying.Saying):
    """A model that does as it is told: the last words name what it says."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        asked = str(body["messages"][-1]["content"])
        text = "It is sunny in Rome, and warm. " * 50
        if "call" in asked:
            text = "I'll look that up.\n" + CALL
        elif "broken" in asked:
            text = BROKEN
        usage = {"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30}
        if not body.get("stream"):
            message = {"role": "assistant", "content": text}
            choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
            self.answer("application/json", json.dumps({"choices": choices, "usage": usage}).encode())
            return
        chunks = [{"choices": [{"index": 0, "delta": {"content": it}}]} for it in re.findall(".{1,6}", text, re.S)]
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage})
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in [*map(json.dumps, chunks), "[DONE]"]:
            event = f"data: {event}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
        self.wfile.write(b"0\r\n\r\n")


def tools(form):
    about = {"name": "get_weather", "description": "Looks something up"}
    if form == "messages":
        return [{**about, "input_schema": SCHEMA}]
    if form == "responses":
        return [{"type": "function", **about, "parameters": SCHEMA}]
    return [{"type": "function", "function": {**about, "parameters": SCHEMA}}]


def chats():
    """Chat completions: method, path and body."""
    yield "GET", "/v1/models", None
    system = {"role": "system", "content": "You are a helpful assistant."}
    for said in ["Say something.", "Make a call."]:
        for stream in [False, True]:
            messages = [system, {"role": "user", "content": said}]
            chat = {"model": "m", "stream": stream, "temperature": 0.2, "messages": messages}
            yield "POST", "/v1/chat/completions", chat
            yield "POST", "/v1/chat/completions", {**chat, "tools": tools("chat")}


def all_requests():
    """The same, the other faces, and what goes wrong."""
    yield from chats()
    for path in ["/", "/healthz", "/readyz", "/metrics", "/api/tags"]:
        yield "GET", path, None
    for said in ["Say something.", "Make a call.", "Make a broken call: broken."]:
        for stream in [False, True]:
            messages = [{"role": "user", "content": said}]
            asked = {"model": "m", "stream": stream, "max_tokens": 100, "messages": messages}
            yield "POST", "/v1/chat/completions", {**asked, "tools": tools("chat")}
            yield "POST", "/api/chat", {**asked, "tools": tools("chat")}
            yield "POST", "/v1/messages", {**asked, "tools": tools("messages")}
            asked = {"model": "m", "stream": stream, "input": said, "tools": tools("responses")}
            yield "POST", "/v1/responses", asked
    yield "POST", "/v1/chat/completions", {"model": "m"}


def ask_all(address, requests):
    clients = [threading.Thread(target=ask, args=[address, requests]) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()


def ask(address, requests):
    host, port = address.rsplit("/", 1)[-1].split(":")
    client = http.client.HTTPConnection(host, int(port))
    for _ in range(ROUNDS):
        for method, path, body in requests():
            client.request(method, path, body and json.dumps(body), {"content-type": "application/json"})
            answer = client.getresponse()
            answer.read()
            if answer.status >= 500:
                print(f"{path}: {answer.status}", file=sys.stderr)
                os._exit(1)


def run(program, requests, folder):
    """The functions that run for requests."""
    model = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    model.daemon_threads = True
    threading.Thread(target=model.serve_forever, daemon=True).start()
    counts = folder / "callgrind.out"
    valgrind = ["valgrind", "--tool=callgrind", "--demangle=no", f"--callgrind-out-file={counts}"]
    valgrind.append(f"--log-file={folder / 'log'}")
    upstream = f"http://127.0.0.1:{model.server_port}/v1"
    options = ["--listen", "127.0.0.1:0", "--mode", "text", "--access-log", "off", "--upstream", upstream]
    own = {**os.environ, "PTK_STATE": str(folder), "XDG_CONFIG_HOME": str(folder)}
    # Who looks for mistakes runs more than others do.
    own.pop("RUST_BACKTRACE", None)
    served = subprocess.Popen([*valgrind, program, "serve", *options], stderr=subprocess.PIPE, text=True, env=own)
    address = served.stderr.readline().split()[-1]
    threading.Thread(target=served.stderr.read, daemon=True).start()
    ask_all(address, requests)
    served.send_signal(signal.SIGTERM)
    served.wait()
    ran = re.findall(r"^c?fn=\(\d+\) (\S+)$", counts.read_text(), re.M)
    return {re.sub(r"'\d+$", "", name) for name in ran}


def without_build(name):
    """A name without the hashes of crates and of the function, and without the
    number that the optimiser has put behind it."""
    name = re.sub(r"\.llvm\.\d+$", "", name)
    name = re.sub(r"17h[0-9a-f]{16}E$", "17h*E", name)
    name = re.sub(r"Cs[0-9A-Za-z]+_", "Cs*_", name)
    return name if len(name) <= LONGEST else name[:LONGEST] + "*"


def functions(linked):
    """Every function: its crate, its symbol and its size. What is not Rust has
    no crate."""
    section = r"^ *\w+ +\w+ +(\w+) +\d+ +(\S+):\(\.text\.(?:unlikely\.)?(\S+)\)$"
    for size, file, name in re.findall(section, linked.read_text(), re.M):
        crate = re.search(r"\.(\w+)\.\w+-cgu\.", file)
        yield crate[1] if crate else "*", name, int(size, 16)


def main():
    program, linked, out = map(pathlib.Path, sys.argv[1:])
    all_functions = list(functions(linked))
    known = set()
    parts = []
    for requests in [chats, all_requests]:
        with tempfile.TemporaryDirectory() as folder:
            ran = run(program, requests, pathlib.Path(folder))
        all_bytes = collections.Counter()
        times = collections.Counter()
        for crate, name, size in all_functions:
            alike = f"{crate} {without_build(name)}"
            all_bytes[alike] += size
            times[alike] += name in ran
        # Those of which few run cost less where they are.
        near = {alike for alike, ran in times.items() if ran and all_bytes[alike] <= 2 * ran * WINDOW}
        parts.append("".join(f"{alike}\n" for alike in sorted(near - known)))
        size = sum(all_bytes[alike] for alike in near - known)
        print(f"{sum(times.values())} functions ran; {len(near - known)} new names for {size} bytes of code")
        known |= near
    out.write_text("\n".join(parts))


main()
