//! `go vet`, for Go.

use super::{Checker, ExitMeans, concerns};
use crate::tools::get_diagnostics::config::{Builtin, Diagnostics};
use crate::tools::get_diagnostics::formats;
use crate::tools::get_diagnostics::project::Scope;

pub(super) const FILES: &[&str] = &["go"];

pub(super) fn checkers(declared: &Diagnostics, scope: &Scope) -> Vec<Checker> {
    if !declared.wants(Builtin::Go) || !concerns(scope, FILES) {
        return Vec::new();
    }
    let projects = scope.projects(&["go.mod"]).into_iter();
    projects
        .map(|folder| Checker {
            name: "go vet".to_owned(),
            program: "go".to_owned(),
            homes: Vec::new(),
            arguments: ["vet", "-json", "./..."].map(Into::into).to_vec(),
            folder,
            reader: formats::go_vet,
            exit: ExitMeans::Findings,
            install: "install Go (https://go.dev/dl)".to_owned(),
            project: None,
            remark: None,
        })
        .collect()
}
