//! Checks of the dialects that flags name, once it is known which are declared.

use clap::CommandFactory as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use ptk_protocol::dialects::Registry;
use ptk_protocol::schema::suggest;

use super::Cli;
use crate::engine::{read_dialects, taught_dialects};

/// The flags that name dialects, as errors do.
pub(crate) const DIALECT: &str = "--dialect <NAME>";
pub(crate) const DIALECTS: &str = "--dialects <NAMES>";

/// Checks that a dialect can be parsed.
pub(crate) fn check_read(registry: &Registry, dialect: &str) -> Result<(), clap::Error> {
    if dialect == "auto" || registry.get(dialect).is_ok() {
        return Ok(());
    }
    let known = read_dialects(registry);
    Err(unknown_dialect(DIALECT, dialect, known))
}

/// Checks that a dialect can be taught; the error names this flag.
pub(crate) fn check_taught(
    registry: &Registry,
    flag: &str,
    dialect: &str,
) -> Result<(), clap::Error> {
    let known = registry.get(dialect);
    if known.is_ok_and(|dialect| dialect.writer().is_some()) {
        return Ok(());
    }
    let known = taught_dialects(registry);
    Err(unknown_dialect(flag, dialect, known))
}

/// What is said of a dialect that is not among those known.
fn unknown_dialect(flag: &str, name: &str, known: Vec<String>) -> clap::Error {
    let mut error = clap::Error::new(ErrorKind::InvalidValue).with_cmd(&Cli::command());
    let text = |text: &str| ContextValue::String(text.to_owned());
    error.insert(ContextKind::InvalidArg, text(flag));
    error.insert(ContextKind::InvalidValue, text(name));
    if let Some(near) = suggest::nearest(name, known.iter().map(String::as_str)) {
        error.insert(ContextKind::SuggestedValue, text(near));
    }
    error.insert(ContextKind::ValidValue, ContextValue::Strings(known));
    error
}
