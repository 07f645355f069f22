//! Text that is run without having been seen.

use super::Inspector;
use crate::shell::{Role, ShellCommand, is_shell, is_standard_input};

/// Programs that fetch from elsewhere.
const DOWNLOADERS: [&str; 6] = ["curl", "wget", "fetch", "aria2c", "http", "nc"];
/// Programs that run what they are fed.
const INTERPRETERS: [&str; 10] = [
    "python", "python3", "perl", "ruby", "node", "php", "eval", "source", ".", "deno",
];
/// How much of a command is shown in a warning.
const MAX_SHOWN: usize = 80;

impl Inspector<'_> {
    /// Refuses or warns of text that is run without having been seen.
    pub(super) fn run_unseen(&mut self, command: &ShellCommand) {
        let Some(name) = command.name() else {
            let shown = shortened(&command.shown());
            self.warn(format!(
                "which program runs in `{shown}` is not known before it runs"
            ));
            return;
        };
        let has_script = command.args().iter().any(|arg| {
            let file = arg.literal().filter(|it| !it.starts_with('-'));
            file.is_some_and(|file| !is_standard_input(file))
        });
        let is_fed =
            is_shell(name) && command.role == Role::Blind || is_interpreter(name) && !has_script;
        let downloader = command
            .fed_by
            .iter()
            .find(|it| DOWNLOADERS.contains(&it.as_str()));
        match downloader {
            Some(downloader) if is_fed => {
                self.refuse(format!("{name} runs what {downloader} fetches, unseen"));
            }
            _ if command.role == Role::Blind || is_fed && !command.fed_by.is_empty() => {
                self.warn(format!("what {name} runs cannot be seen before it runs"));
            }
            _ => {}
        }
    }
}

/// Whether a program runs what it is fed, whichever version it is.
fn is_interpreter(name: &str) -> bool {
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    INTERPRETERS.contains(&name) || INTERPRETERS.contains(&plain)
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}
