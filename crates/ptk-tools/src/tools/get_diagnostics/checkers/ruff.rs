//! `ruff check`, for Python. A finding a line, so that what was read stays
//! when the rest is missing; no cache, so that nothing is left in the project.

use std::ffi::OsString;

use super::{Checker, ExitMeans, python_homes, python_projects};
use crate::tools::get_diagnostics::config::{Builtin, Diagnostics};
use crate::tools::get_diagnostics::formats;
use crate::tools::get_diagnostics::project::Scope;

pub(super) const FILES: &[&str] = &["py", "pyi"];
const MARKS: [&str; 5] = [
    "pyproject.toml",
    "ruff.toml",
    ".ruff.toml",
    "setup.py",
    "setup.cfg",
];

pub(super) fn checkers(declared: &Diagnostics, scope: &Scope) -> Vec<Checker> {
    if !declared.wants(Builtin::Ruff) {
        return Vec::new();
    }
    let projects = python_projects(scope, &MARKS).into_iter();
    let options = [
        "check",
        "--output-format",
        "json-lines",
        "--no-fix",
        "--no-cache",
    ];
    projects
        .map(|folder| {
            let mut arguments = options.map(OsString::from).to_vec();
            if let Some(file) = scope.file() {
                arguments.extend(["--".into(), file.into_os_string()]);
            }
            Checker {
                name: "ruff".to_owned(),
                program: "ruff".to_owned(),
                homes: python_homes(scope, &folder),
                arguments,
                folder,
                reader: formats::ruff,
                exit: ExitMeans::Findings,
                install: "pip install ruff".to_owned(),
                project: None,
                remark: None,
            }
        })
        .collect()
}
