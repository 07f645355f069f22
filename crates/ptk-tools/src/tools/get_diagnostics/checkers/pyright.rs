//! `pyright`, for the types of Python.

use std::ffi::OsString;

use super::{Checker, ExitMeans, python_homes, python_projects};
use crate::tools::get_diagnostics::config::{Builtin, Diagnostics};
use crate::tools::get_diagnostics::formats;
use crate::tools::get_diagnostics::project::Scope;

const MARKS: [&str; 4] = [
    "pyrightconfig.json",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
];

pub(super) fn checkers(declared: &Diagnostics, scope: &Scope) -> Vec<Checker> {
    if !declared.wants(Builtin::Pyright) {
        return Vec::new();
    }
    let projects = python_projects(scope, &MARKS).into_iter();
    projects
        .map(|folder| {
            let mut homes = python_homes(scope, &folder);
            homes.push(folder.join("node_modules/.bin"));
            let mut arguments = vec![OsString::from("--outputjson")];
            arguments.extend(scope.file().map(OsString::from));
            Checker {
                name: "pyright".to_owned(),
                program: "pyright".to_owned(),
                homes,
                arguments,
                folder,
                reader: formats::pyright,
                exit: ExitMeans::Findings,
                install: "pip install pyright".to_owned(),
                project: None,
                remark: None,
            }
        })
        .collect()
}
