//! Which protections commands get here, found out before a person is asked
//! about a command.

use super::environment;
use crate::Unprotected;
use crate::services::Services;
use ptk_sandbox::command::{Command, Protections, StartError};

/// The protections of commands, if they are not complete and that is not
/// allowed. Found out once.
pub(crate) async fn incomplete(services: &Services) -> Option<&Protections> {
    if services.unprotected == Unprotected::Allow {
        return None;
    }
    let found = services.incomplete.get_or_init(|| try_out(services));
    found.await.as_ref()
}

/// The protections of a command, if they are not complete. Tried with one that
/// does nothing.
async fn try_out(services: &Services) -> Option<Protections> {
    let command = Command {
        program: "sh".into(),
        arguments: vec!["-c".into(), ":".into()],
        folder: services.workspace.root().to_owned(),
        variables: environment::inherited(),
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
