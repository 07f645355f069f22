#!/usr/bin/env python3
"""Lists the crates in the binary of one target.

    packaging/components.py TARGET --features LIST [--rustc VERSION] --sbom FILE --licences FILE

Writes a bill of materials (CycloneDX 1.6, JSON) and a text with the licences
and copyright notices of all crates. Both are the same for the same Cargo.lock
and SOURCE_DATE_EPOCH.
"""

import argparse
import datetime
import hashlib
import json
import os
import re
import subprocess
import sys
import tomllib
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LICENCE_FILE = re.compile(r"^(licen[sc]e|copying|notice|unlicense|copyright)", re.IGNORECASE)
# Longer files are no licences.
MOST_LICENCE_BYTES = 256 * 1024
# Folders in crates that hold code of others, with licences of its own.
BUNDLED = {
    "llama-cpp-sys-2": ["llama.cpp"],
    "libsqlite3-sys": ["sqlite3"],
}


def cargo(*arguments):
    """What a cargo command prints."""
    return subprocess.run(
        ["cargo", *arguments], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def linked(target, features):
    """The crates that are linked into the binary, as (name, version).

    Not those that only run while it is built: build scripts and macros.
    """
    printed = cargo(
        "tree", "--locked", "--package", "ptk-cli", "--features", features, "--target", target,
        "--edges", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}",
    )
    found = set()
    for line in printed.splitlines():
        words = line.split()
        if len(words) >= 2 and words[1].startswith("v"):
            found.add((words[0], words[1].removeprefix("v")))
    return found


def checksums():
    """The SHA-256 of each crate from a registry, as Cargo.lock has it."""
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())
    return {(it["name"], it["version"]): it.get("checksum") for it in lock["package"]}


def purl(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def expression(package):
    """The licence as an SPDX expression; older crates separate with a slash."""
    return (package["license"] or "").replace("/", " OR ")


def component(package, digest):
    entry = {
        "type": "library",
        "bom-ref": purl(package),
        "name": package["name"],
        "version": package["version"],
        "purl": purl(package),
    }
    if package["description"]:
        entry["description"] = " ".join(package["description"].split())
    if expression(package):
        entry["licenses"] = [{"expression": expression(package)}]
    if digest:
        entry["hashes"] = [{"alg": "SHA-256", "content": digest}]
    if package["repository"]:
        entry["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return entry


def bill(main, packages, digests, edges, target, features, rustc):
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    components = [component(it, digests[it["name"], it["version"]]) for it in packages if it is not main]
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": datetime.datetime.fromtimestamp(epoch, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {
                "type": "application",
                "bom-ref": purl(main),
                "name": "ptk",
                "version": main["version"],
                "licenses": [{"expression": expression(main)}],
                "properties": [
                    {"name": "cargo:target", "value": target},
                    {"name": "cargo:features", "value": features},
                    *([{"name": "cargo:rustc", "value": rustc}] if rustc else []),
                ],
            },
        },
        "components": components,
        "dependencies": [
            {"ref": purl(it), "dependsOn": sorted(edges[it["id"]])} for it in packages
        ],
    }
    # Named by its content, so that the same content has the same name.
    content = json.dumps(document, sort_keys=True)
    document["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, content)}"
    return document


def licence_files(package):
    folder = Path(package["manifest_path"]).parent
    folders = [folder, *(folder / it for it in BUNDLED.get(package["name"], []))]
    for place in folders:
        if place.is_dir():
            for file in sorted(place.iterdir()):
                if file.is_file() and LICENCE_FILE.match(file.name) and file.stat().st_size <= MOST_LICENCE_BYTES:
                    yield file.read_text(errors="replace").strip()


def licences(packages):
    """Each text once, with the crates that it holds for."""
    texts, without = {}, []
    for package in packages:
        found = list(licence_files(package))
        label = f"{package['name']} {package['version']}"
        if not found:
            without.append(f"{label}: {expression(package)}, by {', '.join(package['authors']) or 'its authors'}")
        for text in found:
            key = hashlib.sha256(" ".join(text.split()).encode()).hexdigest()
            texts.setdefault(key, (text, []))[1].append(label)
    lines = ["ptk contains these crates, under these licences.", ""]
    lines += [f"{it['name']} {it['version']}: {expression(it)}" for it in packages]
    if without:
        lines += ["", "Without a licence file of their own:", "", *without]
    for text, holders in sorted(texts.values(), key=lambda it: it[1]):
        lines += ["", "=" * 72, ", ".join(sorted(set(holders))), "=" * 72, "", text]
    return "\n".join(lines) + "\n"


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("target")
    arguments.add_argument("--features", required=True)
    arguments.add_argument("--rustc", help="what compiled the binary, if that is known")
    arguments.add_argument("--sbom", type=Path, required=True)
    arguments.add_argument("--licences", type=Path, required=True)
    given = arguments.parse_args()

    wanted = linked(given.target, given.features)
    metadata = json.loads(
        cargo("metadata", "--locked", "--format-version", "1", "--filter-platform", given.target,
              "--features", f"{','.join('ptk-cli/' + it for it in given.features.split(','))}")
    )
    packages = sorted(
        (it for it in metadata["packages"] if (it["name"], it["version"]) in wanted),
        key=lambda it: (it["name"], it["version"]),
    )
    if len(packages) != len(wanted):
        known = {(it["name"], it["version"]) for it in packages}
        sys.exit(f"error: cargo tree and cargo metadata differ about {sorted(wanted - known)}")
    application = next(it for it in packages if it["name"] == "ptk-cli")
    by_id = {it["id"]: it for it in packages}
    edges = {
        node["id"]: {
            purl(by_id[it["pkg"]])
            for it in node["deps"]
            if it["pkg"] in by_id and any(kind["kind"] is None for kind in it["dep_kinds"])
        }
        for node in metadata["resolve"]["nodes"]
    }
    document = bill(application, packages, checksums(), edges, given.target, given.features, given.rustc)
    given.sbom.write_text(json.dumps(document, indent=2) + "\n")
    foreign = [it for it in packages if it["source"]]
    given.licences.write_text(licences(foreign))
    print(f"{given.target}: {len(packages)} crates, {len(foreign)} of them from a registry")


main()
