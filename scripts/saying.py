"""A model's server for the scripts beside it: who uses it says what it says."""

import http.server


class Saying(http.server.BaseHTTPRequestHandler):
    """Answers are sent whole; `do_POST` is theirs who use it."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.answer("application/json", b'{"object": "list", "data": [{"id": "m"}]}')

    def answer(self, kind, body):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
