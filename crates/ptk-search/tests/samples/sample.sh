#!/usr/bin/env bash
set -euo pipefail

# Says hello.
hello() {
  echo "hello $1"
}

function build {
  cargo build
}

hello "$@"
