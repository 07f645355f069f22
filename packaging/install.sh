#!/bin/sh
# Installs ptk @VERSION@: downloads the archive for this machine, checks its
# SHA-256 and puts the binary into ~/.local/bin.
#
#   PTK_INSTALL_DIR   directory to install into [default: ~/.local/bin]
#   PTK_VERSION       version to install [default: @VERSION@]
#   PTK_BASE_URL      where the archives are [default: @REPOSITORY@/releases/download/vVERSION]
set -eu

fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# The name of this machine in the names of the archives.
find_target() {
    [ "$(uname -s)" = Linux ] || fail "ptk has no archive for $(uname -s), only for Linux"
    case $(uname -m) in
    x86_64 | amd64) echo x86_64-unknown-linux-gnu ;;
    aarch64 | arm64) echo aarch64-unknown-linux-gnu ;;
    *) fail "ptk has no archive for $(uname -m), only for x86-64 and arm64; build it from source: cargo install ptk-cli" ;;
    esac
}

check_libc() {
    # Small systems have no getconf.
    glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null) ||
        glibc=$(ldd --version 2>/dev/null | sed -n '1s/^ldd (.*) //p')
    [ -n "$glibc" ] || fail "this system has no glibc; build ptk from source: cargo install ptk-cli"
    glibc=${glibc#glibc }
    needed=@GLIBC_MINOR@
    minor=${glibc#*.}
    minor=${minor%%[!0-9]*}
    [ "${glibc%%.*}" -gt 2 ] || [ "$minor" -ge "$needed" ] ||
        fail "ptk needs glibc 2.$needed or newer, and this system has $glibc; build ptk from source: cargo install ptk-cli"
}

# fetch URL FILE
fetch() {
    case $1 in
    file://*) cp "${1#file://}" "$2" ;;
    https://*)
        if command -v curl >/dev/null; then
            curl --fail --silent --show-error --location --proto '=https' --tlsv1.2 --output "$2" "$1"
        elif command -v wget >/dev/null; then
            # It would follow a redirect to http, even with --https-only.
            wget --quiet --max-redirect=0 --output-document="$2" "$1" ||
                fail "$1 could not be downloaded; check the network and PTK_BASE_URL. If the address redirects, install curl: wget could be led to http"
        else
            fail "curl or wget is needed to download ptk"
        fi
        ;;
    # What is not encrypted can be changed on its way, with its checksum.
    *) fail "PTK_BASE_URL must begin with https:// or file://, and is: $1" ;;
    esac || fail "$1 could not be downloaded; check the network and PTK_BASE_URL"
}

hash_of() {
    if command -v sha256sum >/dev/null; then
        sha256sum "$1"
    elif command -v shasum >/dev/null; then
        shasum -a 256 "$1"
    else
        fail "sha256sum or shasum is needed to check the download"
    fi | cut -d ' ' -f 1
}

# Sets $replaced to the version of the ptk that is there already; ends if that is
# something else.
check_existing() {
    replaced=
    [ -e "$directory/ptk" ] || return 0
    [ ! -d "$directory/ptk" ] || fail "$directory/ptk is a directory; set PTK_INSTALL_DIR to another one"
    replaced=$("$directory/ptk" --version 2>/dev/null </dev/null) || true
    case $replaced in
    "ptk "*) ;;
    *) fail "$directory/ptk may be another program: it does not tell its version as ptk does. Remove it, or set PTK_INSTALL_DIR to another directory" ;;
    esac
}

tell_where() {
    printf 'Installed %s to %s%s.\n' "$("$directory/ptk" --version)" "$directory/ptk" "${replaced:+, in place of $replaced}"
    case :$PATH: in
    *:"$directory":*)
        first=$(command -v ptk)
        [ "$first" = "$directory/ptk" ] ||
            printf 'Another ptk comes first on your PATH: %s\n' "$first"
        ;;
    *)
        # shellcheck disable=SC2016 # the reader's PATH, not this script's
        printf '%s is not on your PATH. Add this line to the start-up file of your shell:\n  export PATH="%s:$PATH"\n' \
            "$directory" "$directory"
        ;;
    esac
}

main() {
    version=${PTK_VERSION:-@VERSION@}
    base=${PTK_BASE_URL:-@REPOSITORY@/releases/download/v$version}
    directory=${PTK_INSTALL_DIR:-${HOME:?HOME is not set}/.local/bin}
    target=$(find_target)
    check_libc
    name=ptk-$version-$target
    mkdir -p "$directory"
    # Absolute, as PATH needs it.
    directory=$(CDPATH='' cd -- "$directory" && pwd)
    check_existing
    # Within the directory: what is complete is moved to its place in one step.
    work=$(mktemp -d "$directory/.ptk-install.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM

    fetch "$base/SHA256SUMS" "$work/SHA256SUMS"
    expected=$(awk -v name="$name.tar.gz" '$2 == name { print $1 }' "$work/SHA256SUMS")
    [ -n "$expected" ] || fail "$base/SHA256SUMS does not list $name.tar.gz"
    fetch "$base/$name.tar.gz" "$work/$name.tar.gz"
    actual=$(hash_of "$work/$name.tar.gz")
    [ "$actual" = "$expected" ] ||
        fail "the SHA-256 of $name.tar.gz is $actual, and $expected was expected: nothing was installed"

    tar -xzf "$work/$name.tar.gz" -C "$work"
    "$work/$name/ptk" --version >/dev/null ||
        fail "the downloaded ptk does not start on this system: nothing was installed"
    mv -f "$work/$name/ptk" "$directory/ptk"
    tell_where
}

# Called at the end, so that a script that was cut off in transit does nothing.
main
