# Sourced by the scripts beside it: where things are kept, and how the tools
# that cargo does not bring along are installed, once, into the user's cache.

# shellcheck disable=SC2034 # used by those who source this
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/ptk
tools=$cache/tools
# Outside the clone, so that the next clone does not start from nothing.
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$cache/target}
export PATH=$tools/bin:$PATH

DENY_VERSION=0.20.2
FUZZ_VERSION=0.13.2
# The same as that of the crate `gungraun` in the workspace.
GUNGRAUN_VERSION=0.20.0
NEXTEST_VERSION=0.9.143
RUFF_VERSION=0.17.4
TYPOS_VERSION=1.51.1

say() { printf '\n== %s\n' "$*"; }

fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# need_component NAME: ends with a plain word if a part of the toolchain is missing.
need_component() {
    cargo "$1" --version >/dev/null 2>&1 && return
    local component=$1
    [ "$1" = fmt ] && component=rustfmt
    fail "\`cargo $1\` is missing; install it with: rustup component add $component"
}

# install_crate NAME VERSION: compiles a cargo subcommand into the tools folder.
install_crate() {
    [ "$("$tools/bin/$1" --version 2>/dev/null | head -n 1 | cut -d ' ' -f 2)" = "$2" ] && return
    say "Installing $1 $2 (once; takes a few minutes)"
    # From the root folder, so that no setting of this project applies to it.
    (cd / && CARGO_TARGET_DIR=$tools/build cargo install --quiet --locked --force --root "$tools" "$1@$2")
    rm -rf "$tools/build"
}

need_nextest() {
    cargo nextest --version >/dev/null 2>&1 || install_crate cargo-nextest "$NEXTEST_VERSION"
}

need_deny() { install_crate cargo-deny "$DENY_VERSION"; }

need_fuzz() { install_crate cargo-fuzz "$FUZZ_VERSION"; }

need_gungraun() {
    command -v valgrind >/dev/null || fail "valgrind is missing; install it with the system's package manager"
    install_crate gungraun-runner "$GUNGRAUN_VERSION"
}

# A checker and a language server for the tests of get_diagnostics.
need_ruff() {
    [ "$(ruff --version 2>/dev/null)" = "ruff $RUFF_VERSION" ] && return
    say "Installing ruff $RUFF_VERSION (once)"
    local venv=$tools/ruff
    python3 -m venv --clear "$venv" >/dev/null 2>&1 &&
        "$venv/bin/pip" install --quiet --disable-pip-version-check "ruff==$RUFF_VERSION" ||
        fail "ruff could not be installed; it needs python3 with venv, and the network once"
    mkdir -p "$tools/bin"
    ln -sf "$venv/bin/ruff" "$tools/bin/ruff"
}

# The Python package holds the ready binary; without Python it is compiled.
need_typos() {
    [ "$(typos --version 2>/dev/null)" = "typos-cli $TYPOS_VERSION" ] && return
    say "Installing typos $TYPOS_VERSION (once)"
    local venv=$tools/typos
    if python3 -m venv --clear "$venv" >/dev/null 2>&1 &&
        "$venv/bin/pip" install --quiet --disable-pip-version-check "typos==$TYPOS_VERSION"; then
        mkdir -p "$tools/bin"
        ln -sf "$venv/bin/typos" "$tools/bin/typos"
    else
        rm -rf "$venv"
        install_crate typos-cli "$TYPOS_VERSION"
    fi
}
