//! The configuration of checking, under `[diagnostics]` in `ptk.toml`.

use std::time::Duration;

use serde::Deserialize;

use super::formats::Format;

/// How long the checkers may take by default, in seconds.
const DEFAULT_TIMEOUT: u64 = 120;
/// How long they may take at most.
const MAX_TIMEOUT: u64 = 600;

/// How a project is checked. By default, the files of the workspace decide.
///
/// ```
/// use ptk_tools::tools::get_diagnostics::Diagnostics;
///
/// let declared: Diagnostics = serde_json::from_str(r#"{
///     "command": ["make", "check"],
///     "format": "gcc",
///     "timeout": 300
/// }"#)?;
/// assert_eq!(declared.command, ["make", "check"]);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Diagnostics {
    /// The program that checks this project, and its arguments. It replaces the
    /// checkers that are detected.
    pub command: Vec<String>,
    /// The format of the output of `command`.
    pub format: Format,
    /// Checkers that are not run, though there is something for them.
    pub disable: Vec<Builtin>,
    /// How many seconds a checker may take: 120 by default, at most 600.
    pub timeout: Option<u64>,
    /// Language servers that are asked too.
    pub servers: Vec<Server>,
}

/// A language server, under `[[diagnostics.servers]]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Its name in results.
    pub name: String,
    /// The program and its arguments. It communicates on its input and output.
    pub command: Vec<String>,
    /// The extensions of the files that it knows, without a dot.
    pub extensions: Vec<String>,
    /// The id of their language, for example `python`. By default the
    /// extension.
    pub language_id: Option<String>,
}

/// A checker that is known without being declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Builtin {
    /// `cargo check`
    Cargo,
    /// `tsc`
    Tsc,
    /// `ruff check`
    Ruff,
    /// `pyright`
    Pyright,
    /// `go vet`
    Go,
}

impl Diagnostics {
    pub(super) fn time(&self) -> Duration {
        let seconds = self.timeout.unwrap_or(DEFAULT_TIMEOUT);
        Duration::from_secs(seconds.clamp(1, MAX_TIMEOUT))
    }

    pub(super) fn wants(&self, checker: Builtin) -> bool {
        !self.disable.contains(&checker)
    }
}

impl Server {
    pub(super) fn knows(&self, name: &str) -> bool {
        let extension = name.rsplit_once('.').map(|(_, extension)| extension);
        extension.is_some_and(|extension| {
            let mut known = self.extensions.iter();
            known.any(|known| known.trim_start_matches('.') == extension)
        })
    }

    pub(super) fn language(&self, name: &str) -> String {
        let extension = name.rsplit_once('.').map(|(_, extension)| extension);
        let language = self.language_id.as_deref().or(extension);
        language.unwrap_or("plaintext").to_owned()
    }
}
