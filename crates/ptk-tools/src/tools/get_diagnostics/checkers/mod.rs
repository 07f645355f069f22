//! The checkers, one file each: what they are for, and how they are run.

mod cargo;
mod configured;
mod go;
mod pyright;
mod ruff;
mod tsc;

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::config::Diagnostics;
use super::formats::Reader;
use super::project::Scope;

/// Projects of one kind that are checked at once.
const MAX_PROJECTS: usize = 4;

/// A checker that is to be run.
#[derive(Debug, Clone)]
pub(super) struct Checker {
    /// The name of the checker.
    pub(super) name: String,
    /// The program, by name.
    pub(super) program: String,
    /// Folders in which the program is looked for before the `PATH`.
    pub(super) homes: Vec<PathBuf>,
    pub(super) arguments: Vec<OsString>,
    /// The folder in which it runs.
    pub(super) folder: PathBuf,
    pub(super) reader: Reader,
    pub(super) exit: ExitMeans,
    /// How it is installed.
    pub(super) install: String,
    /// Which project it is for, where there are several of its kind.
    pub(super) project: Option<String>,
    /// A note on what it does not check.
    pub(super) remark: Option<String>,
}

/// The meaning of an exit code other than 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExitMeans {
    /// It found something; if nothing can be read, it failed.
    Findings,
    /// It found an error; if there is none, it failed.
    Errors,
}

impl Checker {
    /// The command as a person would write it.
    pub(super) fn command(&self) -> String {
        let arguments = self.arguments.iter();
        let arguments = arguments.map(|argument| argument.to_string_lossy());
        command(std::iter::once(self.program.as_str().into()).chain(arguments))
    }
}

/// Words quoted as a shell needs them.
pub(super) fn command<'a>(words: impl Iterator<Item = Cow<'a, str>>) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=:,@%+".contains(c);
    let quoted = words.map(|word| {
        if !word.is_empty() && word.chars().all(is_plain) {
            return word.into_owned();
        }
        format!("'{}'", word.replace('\'', r"'\''"))
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// The checkers for a call.
pub(super) fn all(declared: &Diagnostics, scope: &Scope) -> Vec<Checker> {
    if let Some(checker) = configured::checker(declared, scope) {
        return vec![checker];
    }
    let of_all = [
        cargo::checkers(declared, scope),
        tsc::checkers(declared, scope),
        ruff::checkers(declared, scope),
        pyright::checkers(declared, scope),
        go::checkers(declared, scope),
    ];
    let few = of_all.into_iter().flat_map(|some| few(scope, some));
    few.collect()
}

/// As many checkers as run at once, the last with a note on the others.
fn few(scope: &Scope, mut checkers: Vec<Checker>) -> Vec<Checker> {
    let left_out = checkers.len().saturating_sub(MAX_PROJECTS);
    checkers.truncate(MAX_PROJECTS);
    if let (Some(last), 1..) = (checkers.last_mut(), left_out) {
        last.remark = Some(format!(
            "{left_out} more projects of this kind were not checked; ask about their folders"
        ));
    }
    if checkers.len() > 1 {
        for checker in &mut checkers {
            let folder = checker.folder.strip_prefix(&scope.root);
            checker.project = folder.ok().map(|folder| folder.display().to_string());
        }
    }
    checkers
}

/// Whether the scope of a call can be of a language with these extensions: a
/// folder, such a file, or one that is of no known language.
fn concerns(scope: &Scope, extensions: &[&str]) -> bool {
    const KNOWN: [&[&str]; 4] = [cargo::FILES, tsc::FILES, ruff::FILES, go::FILES];
    let file = scope.file();
    let Some(extension) = file
        .as_deref()
        .and_then(Path::extension)
        .and_then(|all| all.to_str())
    else {
        return true;
    };
    extensions.contains(&extension) || !KNOWN.iter().any(|known| known.contains(&extension))
}

/// Where Python programs of a project are.
fn python_homes(scope: &Scope, folder: &Path) -> Vec<PathBuf> {
    let folders = folder
        .ancestors()
        .take_while(|above| above.starts_with(&scope.root));
    let environments = folders.flat_map(|above| [above.join(".venv/bin"), above.join("venv/bin")]);
    environments.collect()
}

/// Where Python projects are: by their files, or the whole where there are
/// scripts without a project.
fn python_projects(scope: &Scope, marks: &[&str]) -> Vec<PathBuf> {
    if !concerns(scope, ruff::FILES) {
        return Vec::new();
    }
    let projects = scope.projects(marks);
    let is_script = |name: &str| super::project::has_extension(name, ruff::FILES);
    if projects.is_empty() && !scope.matching(is_script).is_empty() {
        return vec![scope.root.clone()];
    }
    projects
}
