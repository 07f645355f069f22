//! The command that `ptk.toml` names.

use super::{Checker, ExitMeans, command};
use crate::tools::get_diagnostics::config::Diagnostics;
use crate::tools::get_diagnostics::project::Scope;

pub(super) fn checker(declared: &Diagnostics, scope: &Scope) -> Option<Checker> {
    let (program, arguments) = declared.command.split_first()?;
    let words = declared.command.iter();
    Some(Checker {
        name: command(words.map(|word| word.as_str().into())),
        program: program.clone(),
        homes: Vec::new(),
        arguments: arguments.iter().map(Into::into).collect(),
        folder: scope.workspace.root().to_owned(),
        reader: declared.format.reader(),
        exit: ExitMeans::Findings,
        install: "install it, or mend `command` under [diagnostics] in ptk.toml".to_owned(),
        project: None,
        remark: None,
    })
}
