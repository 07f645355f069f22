#!/usr/bin/env python3
"""Makes a Python wheel that holds the binary.

    packaging/wheel.py BINARY --tag TAG --version VERSION --output FOLDER …

The wheel installs `ptk`, the same binary that is in all other packages, and
`ptk-cli`, so that `uvx ptk-cli` finds a command of the package's own name. It is
the same for the same input and SOURCE_DATE_EPOCH.
"""

import argparse
import base64
import hashlib
import os
import time
import zipfile
from pathlib import Path

NAME = "ptk_cli"
ALIAS = b"""\
#!/bin/sh
exec "$(dirname "$(readlink -f "$0")")/ptk" "$@"
"""


def metadata(given):
    """The core metadata, version 2.4."""
    lines = [
        "Metadata-Version: 2.4",
        "Name: ptk-cli",
        f"Version: {given.version}",
        f"Summary: {given.summary}",
        f"License-Expression: {given.licence}",
        *(f"License-File: {it.name}" for it in given.licence_file),
        f"Project-URL: Repository, {given.repository}",
        "Requires-Python: >=3.8",
        "Classifier: Environment :: Console",
        "Classifier: Operating System :: POSIX :: Linux",
        "Classifier: Programming Language :: Rust",
        "Description-Content-Type: text/markdown",
        "",
        given.readme.read_text(),
    ]
    return "\n".join(lines).encode()


def record_line(name, content):
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}\n"


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("binary", type=Path)
    for name in ("tag", "version", "summary", "licence", "repository"):
        arguments.add_argument(f"--{name}", required=True)
    arguments.add_argument("--readme", type=Path, required=True)
    arguments.add_argument("--licence-file", type=Path, action="append", default=[])
    arguments.add_argument("--output", type=Path, required=True)
    given = arguments.parse_args()

    info = f"{NAME}-{given.version}.dist-info"
    scripts = f"{NAME}-{given.version}.data/scripts"
    tag = f"py3-none-{given.tag}"
    # Each file with its mode.
    files = {
        f"{scripts}/ptk": (given.binary.read_bytes(), 0o755),
        f"{scripts}/ptk-cli": (ALIAS, 0o755),
        f"{info}/METADATA": (metadata(given), 0o644),
        f"{info}/WHEEL": (
            f"Wheel-Version: 1.0\nGenerator: ptk\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(),
            0o644,
        ),
    }
    for file in given.licence_file:
        files[f"{info}/licenses/{file.name}"] = (file.read_bytes(), 0o644)
    record = "".join(record_line(name, content) for name, (content, _) in files.items())
    files[f"{info}/RECORD"] = (f"{record}{info}/RECORD,,\n".encode(), 0o644)

    # The format knows no year before 1980.
    epoch = max(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), 315_532_800)
    wheel = given.output / f"{NAME}-{given.version}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, (content, mode) in files.items():
            entry = zipfile.ZipInfo(name, time.gmtime(epoch)[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100000 | mode) << 16
            entry.create_system = 3
            archive.writestr(entry, content)
    print(wheel)


main()
