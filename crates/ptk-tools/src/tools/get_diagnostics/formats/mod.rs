//! The formats of checkers' output, one file each.

mod gcc;
mod go_vet;
mod json_lines;
mod pyright;
mod ruff;
mod rustc_json;
mod sarif;
mod tsc;

use serde::Deserialize;

use super::diagnostic::Reading;
use crate::process::clean;

/// The format of a configured command's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Lines such as `src/main.c:3:5: error: expected ';'`.
    #[default]
    Gcc,
    /// An object a line: `file`, `line`, `message`, and `column`, `end_line`,
    /// `severity`, `code`, `source` where they are known.
    JsonLines,
    /// What `rustc --error-format=json` and `cargo --message-format=json`
    /// write.
    RustcJson,
    /// The Static Analysis Results Interchange Format, version 2.
    Sarif,
}

/// The output of a checker.
#[derive(Debug, Clone, Copy)]
pub(super) struct Output<'a> {
    pub(super) stdout: &'a [u8],
    pub(super) stderr: &'a [u8],
}

/// A function that reads diagnostics from a checker's output.
pub(super) type Reader = fn(Output<'_>, &mut Reading);

pub(super) use go_vet::read as go_vet;
pub(super) use pyright::read as pyright;
pub(super) use ruff::read as ruff;
pub(super) use rustc_json::read as rustc_json;
pub(super) use tsc::read as tsc;

impl Format {
    pub(super) fn reader(self) -> Reader {
        match self {
            Self::Gcc => gcc::read,
            Self::JsonLines => json_lines::read,
            Self::RustcJson => rustc_json::read,
            Self::Sarif => sarif::read,
        }
    }
}

/// The lines of a text for people, without colours.
fn lines(bytes: &[u8]) -> impl Iterator<Item = String> {
    bytes.split(|byte| *byte == b'\n').map(|line| {
        let text = clean(line);
        text.trim_end().to_owned()
    })
}

/// The lines that hold a JSON object. Others are passed over: programs that
/// checkers run, such as build scripts, write what they like.
fn objects<'a, T: Deserialize<'a>>(bytes: &'a [u8], reading: &mut Reading) -> Vec<T> {
    let mut objects = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        let line = line.trim_ascii();
        if !line.starts_with(b"{") {
            continue;
        }
        match serde_json::from_slice(line) {
            Ok(object) => objects.push(object),
            Err(error) => reading.broken(format!("a line is not what was expected: {error}")),
        }
    }
    objects
}
