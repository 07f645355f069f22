#!/usr/bin/env python3
"""Serves the packages in a folder as an npm registry and as a Python index.

    packaging/registry.py FOLDER

Prints its address, and serves on the loopback until its standard input ends.
With it, `npx ptk` and `uvx ptk-cli` are checked before anything is published.
"""

import base64
import hashlib
import json
import re
import sys
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

FOLDER = Path(sys.argv[1])


def npm_document(name, address):
    """What the npm registry says of a package: its one version."""
    versions = {}
    for file in FOLDER.glob("*.tgz"):
        with tarfile.open(file) as archive:
            manifest = json.load(archive.extractfile("package/package.json"))
        if manifest["name"] == name:
            digest = base64.b64encode(hashlib.sha512(file.read_bytes()).digest()).decode()
            manifest["dist"] = {"tarball": f"{address}/file/{file.name}", "integrity": f"sha512-{digest}"}
            versions[manifest["version"]] = manifest
    return versions and {"name": name, "dist-tags": {"latest": max(versions)}, "versions": versions}


def python_links(name):
    """The page of a project in a Python index."""
    return "".join(
        f'<a href="/file/{file.name}#sha256={hashlib.sha256(file.read_bytes()).hexdigest()}">{file.name}</a>\n'
        for file in sorted(FOLDER.glob("*.whl"))
        if re.sub(r"[-_.]+", "-", file.name.split("-")[0]).lower() == name
    )


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        address = f"http://{self.headers['Host']}"
        folder, _, name = self.path.strip("/").partition("/")
        if folder == "file":
            file = FOLDER / Path(name).name
            body, kind = (file.read_bytes() if file.is_file() else b""), "application/octet-stream"
        elif folder == "simple":
            body, kind = python_links(name).encode(), "text/html"
        else:
            document = npm_document(folder, address) if not name else None
            body, kind = (json.dumps(document).encode() if document else b""), "application/json"
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(f"http://127.0.0.1:{server.server_port}", flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
