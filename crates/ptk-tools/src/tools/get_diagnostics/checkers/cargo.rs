//! `cargo check`, for Rust.

use super::{Checker, ExitMeans, concerns};
use crate::tools::get_diagnostics::config::{Builtin, Diagnostics};
use crate::tools::get_diagnostics::formats;
use crate::tools::get_diagnostics::project::Scope;

pub(super) const FILES: &[&str] = &["rs"];

pub(super) fn checkers(declared: &Diagnostics, scope: &Scope) -> Vec<Checker> {
    if !declared.wants(Builtin::Cargo) || !concerns(scope, FILES) {
        return Vec::new();
    }
    let projects = scope.projects(&["Cargo.toml"]).into_iter();
    projects
        .map(|folder| Checker {
            name: "cargo check".to_owned(),
            program: "cargo".to_owned(),
            homes: Vec::new(),
            arguments: [
                "check",
                "--workspace",
                "--all-targets",
                // One package that does not compile hides no other.
                "--keep-going",
                "--message-format=json",
            ]
            .map(Into::into)
            .to_vec(),
            folder,
            reader: formats::rustc_json,
            exit: ExitMeans::Errors,
            install: "install Rust with rustup (https://rustup.rs)".to_owned(),
            project: None,
            remark: None,
        })
        .collect()
}
