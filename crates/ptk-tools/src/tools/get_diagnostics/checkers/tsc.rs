//! `tsc`, for TypeScript. Never through `npx`, which would fetch it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{Checker, ExitMeans, concerns};
use crate::tools::get_diagnostics::config::{Builtin, Diagnostics};
use crate::tools::get_diagnostics::formats;
use crate::tools::get_diagnostics::project::{Scope, has_extension};

pub(super) const FILES: &[&str] = &["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs"];
/// Extensions that are TypeScript even without a project around them.
const TYPED: &[&str] = &["ts", "tsx", "mts", "cts"];
/// Files that are named to it where there is no project.
const MAX_FILES: usize = 200;

pub(super) fn checkers(declared: &Diagnostics, scope: &Scope) -> Vec<Checker> {
    if !declared.wants(Builtin::Tsc) || !concerns(scope, FILES) {
        return Vec::new();
    }
    let projects = scope.projects(&["tsconfig.json"]);
    if !projects.is_empty() {
        let projects = projects.into_iter();
        return projects
            .map(|folder| checker(scope, folder, Vec::new()))
            .collect();
    }
    let files = scope.matching(|name| has_extension(name, TYPED));
    if files.is_empty() {
        return Vec::new();
    }
    let left_out = files.len().saturating_sub(MAX_FILES);
    let files = files.into_iter().take(MAX_FILES);
    let named = files.map(|path| match path.strip_prefix(&scope.root) {
        // A name that begins with a dash is not an option.
        Ok(relative) => Path::new(".").join(relative).into_os_string(),
        Err(_) => path.into_os_string(),
    });
    let named = named.collect();
    let mut checker = checker(scope, scope.root.clone(), named);
    checker.remark = (left_out > 0)
        .then(|| format!("{left_out} more files were not checked; add a tsconfig.json"));
    vec![checker]
}

fn checker(scope: &Scope, folder: PathBuf, files: Vec<OsString>) -> Checker {
    let above = folder.ancestors();
    let above = above.take_while(|above| above.starts_with(&scope.root));
    let homes = above.map(|above| above.join("node_modules/.bin")).collect();
    let options = ["--noEmit", "--pretty", "false"].map(OsString::from);
    Checker {
        name: "tsc".to_owned(),
        program: "tsc".to_owned(),
        homes,
        arguments: options.into_iter().chain(files).collect(),
        folder,
        reader: formats::tsc,
        exit: ExitMeans::Findings,
        install: "npm install --save-dev typescript".to_owned(),
        project: None,
        remark: None,
    }
}
