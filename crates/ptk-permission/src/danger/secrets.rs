//! Files that hold keys, passwords and what a person typed. No command of a
//! model's reads them.

use std::path::{Path, PathBuf};

use ptk_sandbox::{config_folder, key_file};

use super::targets::Surroundings;
use crate::shell::{ShellCommand, Word};

/// Secret files in the home folder, each with what is below it.
const IN_HOME: [&str; 24] = [
    ".ssh",
    ".gnupg",
    ".aws/credentials",
    ".azure",
    ".config/gcloud",
    ".config/gh/hosts.yml",
    ".config/ptk",
    ".docker/config.json",
    ".kube/config",
    ".netrc",
    ".git-credentials",
    ".pypirc",
    ".npmrc",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".password-store",
    ".local/share/keyrings",
    ".mozilla",
    ".config/google-chrome",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".psql_history",
    ".mysql_history",
];
/// Secret files of the whole machine.
const OF_THE_MACHINE: [&str; 4] = ["/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/root/.ssh"];
/// Programs that show names and sizes, and nothing of what is in a file.
const HARMLESS: [&str; 9] = [
    "ls", "stat", "test", "[", "cd", "echo", "printf", "mkdir", "du",
];

/// The refusal for the first such file that a command names.
pub(super) fn named_by(command: &ShellCommand, around: &Surroundings) -> Option<String> {
    if HARMLESS.contains(&command.name()?) {
        return None;
    }
    let redirects = command.redirects.iter().map(|redirect| &redirect.target);
    let words = command.args().iter().chain(redirects);
    words
        .filter(|word| is_secret(word, command, around))
        .map(|word| match word.source() {
            word if word.contains("ptk") && !word.contains("keys.json") => {
                format!("{word} says what is allowed, and only a person changes it")
            }
            word => format!("{word} holds secrets"),
        })
        .next()
}

fn is_secret(word: &Word, command: &ShellCommand, around: &Surroundings) -> bool {
    let start = word.start();
    let behind = ["=@", "@", "="].into_iter().find_map(|mark| {
        let (before, _) = start.split_once(mark)?;
        word.without(&format!("{before}{mark}"))
    });
    let words = std::iter::once(word).chain(behind.as_ref());
    let mut files = words.filter_map(|word| around.files(word, &command.folder));
    files.any(|files| files.iter().any(|file| is_kept(file, around)))
}

fn is_kept(file: &Path, around: &Surroundings) -> bool {
    if file.extension().is_some_and(|extension| extension == "pub") {
        return false;
    }
    let is_below = |place: &Path| file.starts_with(place);
    let in_home = around.home.iter().flat_map(|it| with_real(it)).any(|home| {
        let mut places = IN_HOME.iter().map(|place| home.join(place));
        places.any(|place| is_below(&place))
    });
    let own = config_folder().into_iter().chain(key_file());
    let mut own = own.flat_map(|place| with_real(&place));
    let of_the_machine = OF_THE_MACHINE.iter().map(Path::new);
    in_home || own.any(|place| is_below(&place)) || of_the_machine.into_iter().any(is_below)
}

/// A path, and where it really is: it may be a link, and what a command names
/// has none in its folders.
fn with_real(path: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let real = path.canonicalize().ok();
    std::iter::once(path.to_owned()).chain(real)
}
