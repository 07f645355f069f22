//! Attempts to get out of the sandbox: none succeeds, neither as root nor as
//! an ordinary user.
//!
//! Each attempt is a script that a command runs. Whether it got out is not
//! asked of the script, but looked up outside: files are as they were, nobody
//! connected to the servers, the process to be killed lives, and the secrets
//! were not told.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "the lints allow these inside tests, but not in the functions that tests share"
)]

mod escape;

use escape::{Scene, Who};

/// The user of the test: root, most often.
#[test]
fn nothing_gets_out() {
    Scene::new(Who::Same).try_all();
}

#[test]
fn nothing_gets_out_as_an_ordinary_user() {
    only_by_root(Who::Nobody);
}

#[test]
fn nothing_gets_out_where_there_are_no_namespaces() {
    only_by_root(Who::Bare);
}

/// What cannot get out anywhere proves nothing.
#[test]
#[ignore = "runs the attempts without a sandbox; scripts/long-checks escapes does"]
fn all_get_out_where_nothing_holds_them() {
    assert!(escape::is_root(), "only root can become somebody else");
    escape::try_free();
}

/// Only root can become somebody else.
fn only_by_root(who: Who) {
    if escape::is_root() {
        Scene::new(who).try_all();
    } else {
        eprintln!("not tried: only root can become somebody else");
    }
}
