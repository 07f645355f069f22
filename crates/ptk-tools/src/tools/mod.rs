//! The built-in tools, one file or folder each.

mod aliases;
pub mod bash;
mod edit;
pub mod get_diagnostics;
mod glob;
mod grep;
mod list_files;
mod read;
mod read_file;
mod search;
mod search_code;
mod source;
pub(crate) mod text;
mod write_file;

pub use edit::Edit;
pub use glob::{Glob, GlobArgs};
pub use grep::{Grep, GrepArgs, GrepOutput, GrepResult};
pub use list_files::{ListFiles, ListFilesArgs};
pub use read::Read;
pub use read_file::ReadFile;
pub use search::files::FileList;
pub use search_code::{SearchCode, SearchCodeArgs, SearchCodeOptions, SearchCodeResult};
pub use text::text_of;
pub use write_file::WriteFile;

use self::bash::Bash;
use self::get_diagnostics::{Diagnostics, GetDiagnostics};
use crate::{Effects, Registry, RegistryError, Typed, TypedTool};

/// Names the tools that need no settings.
macro_rules! plain_tools {
    ($($tool:ident),*) => {
        /// The names and effects of built-in tools that work on files, enabled
        /// or not.
        pub(crate) const EFFECTS: &[(&str, Effects)] =
            &[$((<$tool as TypedTool>::NAME, <$tool as TypedTool>::EFFECTS)),*];

        fn register_plain(registry: &mut Registry) -> Result<(), RegistryError> {
            $(registry.register(Typed::new($tool))?;)*
            Ok(())
        }
    };
}

plain_tools!(
    ReadFile, Read, WriteFile, Edit, ListFiles, Glob, Grep, SearchCode
);

/// The tools that a model is offered by default.
pub const DEFAULT: [&str; 7] = [
    "read_file",
    "write_file",
    "edit",
    "list_files",
    "grep",
    "bash",
    "get_diagnostics",
];

/// The tool without which this one is useless, if there is one.
#[must_use]
pub fn belongs_to(name: &str) -> Option<&'static str> {
    matches!(name, "bash_output" | "bash_kill").then_some("bash")
}

/// All built-in tools, with the checkers that the user has configured.
///
/// # Errors
///
/// Never, as long as their names differ.
pub fn all(diagnostics: Diagnostics) -> Result<Registry, RegistryError> {
    let mut registry = Registry::new();
    register_plain(&mut registry)?;
    Bash::default().register(&mut registry)?;
    registry.register(Typed::new(GetDiagnostics::new(diagnostics)))?;
    Ok(registry)
}
