//! Attempts to escape the sandbox: none succeeds, neither as root nor as an
//! ordinary user.
//!
//! Each attempt is a script that a command runs. Whether it escaped is not
//! asked of the script, but checked outside: files are unchanged, the servers
//! had no connections, the process to be killed is alive, and the secrets were
//! not printed.

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

/// As the user of the test: most often root.
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

/// PTK's own keys are not even read in a workspace that holds them.
#[test]
fn nothing_reads_the_keys() {
    Scene::new(Who::Same).try_keys();
}

#[test]
fn nothing_reads_the_keys_as_an_ordinary_user() {
    if escape::is_root() {
        Scene::new(Who::Nobody).try_keys();
    }
}

/// A program that makes random attempts changes nothing either.
#[test]
fn a_program_with_a_free_hand_changes_nothing() {
    Scene::new(Who::Same).fuzz(30, 400);
}

#[test]
fn a_program_with_a_free_hand_changes_nothing_as_an_ordinary_user() {
    if escape::is_root() {
        Scene::new(Who::Nobody).fuzz(30, 400);
    }
}

#[test]
#[ignore = "takes a minute for each user; scripts/long-checks escapes runs it"]
fn a_program_with_a_free_hand_changes_nothing_in_a_minute() {
    assert!(escape::is_root(), "only root can become somebody else");
    for who in [Who::Same, Who::Nobody, Who::Bare] {
        Scene::new(who).fuzz(60, u64::MAX >> 1);
    }
}

/// Shared memory is limited exactly where `ptk doctor` says so.
#[test]
fn shared_memory_is_limited_where_there_are_control_groups() {
    let output = assert_cmd::Command::new(assert_cmd::cargo::cargo_bin!("ptk"))
        .args(["doctor", "--json"])
        .output()
        .unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let notes = &report["notes"];
    assert_eq!(
        notes["counts_shared_memory"] == true,
        notes["why"].is_null()
    );
    let is_filled = Scene::new(Who::Same).fill_shared_memory();
    assert_eq!(
        is_filled,
        notes["counts_shared_memory"] == false,
        "{report}"
    );
}

/// An attempt that fails even without a sandbox proves nothing.
#[test]
#[ignore = "runs the attempts without a sandbox; scripts/long-checks escapes does"]
fn all_get_out_where_nothing_holds_them() {
    assert!(escape::is_root(), "only root can become somebody else");
    escape::try_free();
}

/// Runs as another user, which only root can do.
fn only_by_root(who: Who) {
    if escape::is_root() {
        Scene::new(who).try_all();
    } else {
        eprintln!("not tried: only root can become somebody else");
    }
}
