//! Models by their names.

use std::path::Path;
use std::sync::Arc;

use ptk_llm::http::{ConnectError, Connection};
use ptk_llm::{CommandProvider, Provider, Script, ScriptError};

/// The prefix of a model that gives the replies of a file.
const SCRIPT: &str = "script:";
/// The prefix of a command that acts as a model.
const COMMAND: &str = "cmd:";
/// The prefix of a model in a file on this machine.
const LOCAL: &str = "local/";

/// Why there is no model of a name.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelNameError {
    /// The server cannot be used.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The script cannot be read.
    #[error("{file}: {error}")]
    Script {
        /// The file.
        file: String,
        /// The reason.
        error: ScriptError,
    },
    /// The command line cannot be split into words.
    #[error("{COMMAND}{0}: the command is empty, or a quote is not closed")]
    Command(String),
    /// The model on this machine cannot be opened.
    #[error("{LOCAL}{name}: {message}")]
    Local {
        /// The name.
        name: String,
        /// The reason.
        message: String,
    },
}

/// The provider of the model with this name.
pub(crate) fn provider(name: &str) -> Result<Arc<dyn Provider>, ModelNameError> {
    if let Some(file) = name.strip_prefix(SCRIPT) {
        let script = Script::open(Path::new(file)).map_err(|error| ModelNameError::Script {
            file: file.to_owned(),
            error,
        })?;
        return Ok(Arc::new(script));
    }
    if let Some(line) = name.strip_prefix(COMMAND) {
        let command = CommandProvider::parse(line);
        let command = command.ok_or_else(|| ModelNameError::Command(line.to_owned()))?;
        return Ok(Arc::new(command));
    }
    if let Some(name) = name.strip_prefix(LOCAL) {
        return local(name).map_err(|message| ModelNameError::Local {
            name: name.to_owned(),
            message,
        });
    }
    Ok(Arc::new(Connection::parse(name).open()?))
}

#[cfg(feature = "local")]
fn local(name: &str) -> Result<Arc<dyn Provider>, String> {
    use ptk_local::{Library, Local, Settings};

    let settings = Library::open_default()
        .and_then(|library| Settings::installed(&library, name))
        .map_err(|error| error.to_string())?;
    let model = Local::open(settings).map_err(|error| error.to_string())?;
    Ok(Arc::new(model))
}

#[cfg(not(feature = "local"))]
fn local(_: &str) -> Result<Arc<dyn Provider>, String> {
    Err(
        "this program was built without llama.cpp; build it with the feature `local` of ptk"
            .to_owned(),
    )
}
