//! Which protections commands get here, found out before a person is asked
//! about a command.

use ptk_sandbox::command::{Command, Protections, StartError};

use super::environment;
use crate::services::Services;

/// The protections of a command, if they are not complete. Tried with one that
/// does nothing.
pub(crate) async fn incomplete(services: &Services) -> Option<Protections> {
    let command = Command {
        program: "sh".into(),
        arguments: vec!["-c".into(), ":".into()],
        folder: services.workspace.root().to_owned(),
        variables: environment::variables(std::env::vars_os()),
        has_input: false,
        is_merged: true,
        policy: Some(services.policy.clone()?),
        is_strict: true,
        held: None,
    };
    match command.start(services.helper.as_ref()).await {
        Err(StartError::Unprotected(protections)) => Some(protections),
        // Any other error is reported when the command itself is started.
        Ok(_) | Err(_) => None,
    }
}
