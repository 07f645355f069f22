//! The prompts of earlier chats, in the state folder. Answers to questions are
//! not among them, nor what looks like a secret.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use ptk::events::Redaction;
use ptk_sandbox::{private_file, private_folder, write_private};

/// The file in the state folder: a JSON string in each line.
const FILE: &str = "prompts.jsonl";
/// The file that is locked while the other one is changed.
const LOCK: &str = "prompts.lock";
/// The file that replaces the other one when that is too large.
const NEXT: &str = "prompts.next";
/// The most bytes of the file. Beyond that, the older half is dropped.
const MAX_BYTES: u64 = 512 * 1024;
/// The most prompts that are read.
const MAX_PROMPTS: usize = 500;

/// The prompts of earlier chats.
pub(crate) struct PromptHistory {
    /// `None` if the user has no state folder.
    folder: Option<PathBuf>,
    redaction: Redaction,
}

impl PromptHistory {
    /// The prompts of this user.
    pub(crate) fn of_user() -> Self {
        Self {
            folder: ptk_sandbox::state_folder(),
            redaction: Redaction::secrets(),
        }
    }

    /// The last prompts, the last one last. None if they cannot be read: then
    /// the chat works without them.
    pub(crate) fn read(&self) -> Vec<String> {
        let folder = self.folder.as_deref();
        let text = folder.and_then(|folder| tail(&folder.join(FILE), MAX_BYTES).ok());
        let mut prompts = parsed(&text.unwrap_or_default());
        let excess = prompts.len().saturating_sub(MAX_PROMPTS);
        prompts.drain(..excess);
        prompts
    }

    /// Keeps a prompt, unless a secret seems to be in it. If that fails, it is
    /// only in the history of this chat.
    pub(crate) fn keep(&self, prompt: &str) {
        if let Some(folder) = &self.folder
            && self.redaction.apply(prompt) == prompt
        {
            drop(add(folder, prompt));
        }
    }
}

/// Appends a prompt. Other chats may do the same at the same time.
fn add(folder: &Path, prompt: &str) -> io::Result<()> {
    private_folder(folder)?;
    let lock = private_file()
        .write(true)
        .create(true)
        .truncate(false)
        .open(folder.join(LOCK))?;
    lock.lock()?;
    let path = folder.join(FILE);
    let mut file = private_file().append(true).create(true).open(&path)?;
    let mut line = serde_json::to_string(prompt)?;
    line.push('\n');
    file.write_all(line.as_bytes())?;
    if file.metadata()?.len() > MAX_BYTES {
        let next = folder.join(NEXT);
        write_private(&next, tail(&path, MAX_BYTES / 2)?)?;
        std::fs::rename(next, path)?;
    }
    Ok(())
}

/// The last whole lines of a file, in at most so many bytes.
fn tail(path: &Path, most: u64) -> io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let start = length.saturating_sub(most);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(if start == 0 {
        text
    } else {
        // The first line is cut.
        text.split_once('\n')
            .map_or_else(String::new, |(_, rest)| rest.to_owned())
    })
}

/// The prompts of the lines that can be read.
fn parsed(text: &str) -> Vec<String> {
    let lines = text.lines();
    lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(folder: &Path) -> PromptHistory {
        PromptHistory {
            folder: Some(folder.join("state")),
            redaction: Redaction::secrets(),
        }
    }

    #[test]
    fn prompts_come_back_in_order_and_only_their_owner_reads_them() {
        let folder = tempfile::tempdir().unwrap();
        let history = history(folder.path());
        assert_eq!(history.read(), [""; 0]);
        for prompt in ["first", "second\nof two lines", "Đọc tệp"] {
            history.keep(prompt);
        }
        history.keep("use --token sk-live-0123456789abcdef0123456789abcdef");
        assert_eq!(history.read(), ["first", "second\nof two lines", "Đọc tệp"]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |name: &str| {
                let found = std::fs::metadata(folder.path().join(name)).unwrap();
                found.permissions().mode() & 0o777
            };
            assert_eq!(mode("state/prompts.jsonl"), 0o600);
            assert_eq!(mode("state"), 0o700);
        }
    }

    #[test]
    fn the_file_stays_small_and_damaged_lines_are_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let history = history(folder.path());
        let long = "x".repeat(20_000);
        for number in 0..60 {
            history.keep(&format!("{number} {long}"));
        }
        let file = folder.path().join("state").join(FILE);
        assert!(std::fs::metadata(&file).unwrap().len() <= MAX_BYTES);
        let prompts = history.read();
        assert!(prompts.last().unwrap().starts_with("59 "));
        let numbers = prompts
            .iter()
            .map(|it| it.split_once(' ').unwrap().0.to_owned());
        let numbers: Vec<u32> = numbers.map(|it| it.parse().unwrap()).collect();
        assert!(
            numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]),
            "{numbers:?}"
        );
        std::fs::write(&file, "\"a\"\n{broken\n\"b\"\n\"cut of").unwrap();
        assert_eq!(history.read(), ["a", "b"]);
    }

    #[test]
    fn chats_that_write_at_the_same_time_lose_nothing() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for chat in 0..4 {
                let path = folder.path();
                scope.spawn(move || {
                    for number in 0..50 {
                        history(path).keep(&format!("{chat} {number}"));
                    }
                });
            }
        });
        let mut prompts = history(folder.path()).read();
        prompts.sort();
        prompts.dedup();
        assert_eq!(prompts.len(), 200);
    }
}
