//! A prompt cache on disk: the evaluated state of the system prompt is saved, so
//! that the next run does not evaluate it again.
//!
//! A file's name is a hash of the model, the tokens and the format version, so a
//! file is never used for another prompt. The folder has a size limit; the least
//! recently used files are removed first. If a file cannot be read or written,
//! the prompt is evaluated as usual.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::token::LlamaToken;
use sha2::{Digest as _, Sha256};

use crate::copy::hex;

/// The most bytes of all files together.
const MAX_FOLDER: u64 = 512 * 1024 * 1024;
/// The most bytes of one file.
const MAX_FILE: u64 = MAX_FOLDER / 2;
/// Fewer tokens are evaluated as fast as a file is read.
const MIN_TOKENS: usize = 128;
/// The format of a file: the state of a sequence, as llama.cpp writes it with
/// its own version, and its SHA-256.
const FORM: &str = "ptk prompt 1";
/// The length of a SHA-256 in bytes.
const SUM: usize = 32;
const SUFFIX: &str = ".prompt";
const UNFINISHED: &str = ".new-";
/// The age at which an unfinished file counts as abandoned.
const ABANDONED: Duration = Duration::from_secs(3600);

/// The prompt cache of one model.
#[derive(Debug)]
pub(super) struct Prompts {
    folder: PathBuf,
    model: Sha256,
}

impl Prompts {
    /// The cache for the model in this file, kept in this folder.
    pub(super) fn new(folder: &Path, model: &Path) -> io::Result<Self> {
        let file = fs::canonicalize(model)?;
        let metadata = fs::metadata(&file)?;
        let changed = metadata.modified()?.duration_since(UNIX_EPOCH);
        let mut hash = Sha256::new();
        for part in [
            FORM.as_bytes(),
            file.as_os_str().as_encoded_bytes(),
            &metadata.len().to_le_bytes(),
            &changed.unwrap_or_default().as_nanos().to_le_bytes(),
        ] {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
        Ok(Self {
            folder: folder.to_owned(),
            model: hash,
        })
    }

    /// Whether this many tokens are worth a file.
    pub(super) const fn is_worth(tokens: usize) -> bool {
        tokens >= MIN_TOKENS
    }

    /// Whether there is a file for these tokens.
    pub(super) fn has(&self, tokens: &[LlamaToken]) -> bool {
        Self::is_worth(tokens.len()) && self.path(tokens).exists()
    }

    /// Loads the state of these tokens, and returns whether that worked. If
    /// not, the state of the context is undefined, and the file is removed.
    pub(super) fn recall(
        &self,
        context: &mut LlamaContext<'_>,
        sequence: i32,
        tokens: &[LlamaToken],
    ) -> bool {
        let path = self.path(tokens);
        let is_right = is_whole(&path) && {
            let read = context.state_seq_load_file(&path, sequence, tokens.len());
            read.is_ok_and(|(read, _)| read == tokens)
        };
        // Both are best effort: if they fail, the file is tried again.
        let _ = if is_right {
            let file = File::options().append(true).open(&path);
            file.and_then(|file| file.set_modified(SystemTime::now()))
        } else {
            fs::remove_file(&path)
        };
        is_right
    }

    /// Saves the state of the context, which holds exactly these tokens.
    pub(super) fn keep(
        &self,
        context: &LlamaContext<'_>,
        sequence: i32,
        tokens: &[LlamaToken],
    ) -> io::Result<()> {
        ptk_sandbox::private_folder(&self.folder)?;
        let file = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .tempfile_in(&self.folder)?;
        let written = context.state_seq_save_file(file.path(), sequence, tokens);
        let written = written.map_err(io::Error::other)? as u64;
        if written <= MAX_FILE {
            let sum = Sha256::digest(fs::read(file.path())?);
            File::options()
                .append(true)
                .open(file.path())?
                .write_all(&sum)?;
            file.persist(self.path(tokens))?;
        }
        self.trim(SystemTime::now())
    }

    fn path(&self, tokens: &[LlamaToken]) -> PathBuf {
        let mut hash = self.model.clone();
        for token in tokens {
            hash.update(token.0.to_le_bytes());
        }
        self.folder.join(hex(hash) + SUFFIX)
    }

    /// Removes the least recently used files until the size limit is met.
    fn trim(&self, now: SystemTime) -> io::Result<()> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            let used = metadata.modified().unwrap_or(UNIX_EPOCH);
            let age = now.duration_since(used).unwrap_or_default();
            if name.ends_with(SUFFIX) {
                files.push((used, metadata.len(), entry.path()));
            } else if name.starts_with(UNFINISHED) && age > ABANDONED {
                let _ = fs::remove_file(entry.path());
            }
        }
        files.sort();
        let mut size: u64 = files.iter().map(|(_, size, _)| size).sum();
        for (_, own, path) in files {
            if size <= MAX_FOLDER {
                break;
            }
            fs::remove_file(path)?;
            size -= own;
        }
        Ok(())
    }
}

/// Whether the checksum at the end of a file is right. llama.cpp aborts the
/// process if it loads a damaged one.
fn is_whole(path: &Path) -> bool {
    let file = fs::read(path).unwrap_or_default();
    let parts = file.split_last_chunk::<SUM>();
    parts.is_some_and(|(state, sum)| Sha256::digest(state)[..] == sum[..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompts(folder: &Path, model: &Path) -> Prompts {
        Prompts::new(folder, model).unwrap()
    }

    #[test]
    fn a_name_follows_from_the_model_and_the_tokens() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (folder.path().join("one"), folder.path().join("other"));
        fs::write(&one, "1").unwrap();
        fs::write(&other, "1").unwrap();
        let tokens = [LlamaToken(1), LlamaToken(2)];
        let path = prompts(folder.path(), &one).path(&tokens);
        assert_eq!(prompts(folder.path(), &one).path(&tokens), path);
        assert_ne!(prompts(folder.path(), &one).path(&tokens[..1]), path);
        assert_ne!(prompts(folder.path(), &other).path(&tokens), path);
        fs::write(&one, "12").unwrap();
        assert_ne!(prompts(folder.path(), &one).path(&tokens), path);
    }

    #[test]
    fn what_was_not_used_for_longest_goes_first() {
        let folder = tempfile::tempdir().unwrap();
        let model = folder.path().join("model.gguf");
        fs::write(&model, "").unwrap();
        let now = SystemTime::now();
        for (name, minutes) in [("b.prompt", 3), ("a.prompt", 2), ("c.prompt", 1)] {
            let file = File::create(folder.path().join(name)).unwrap();
            file.set_len(MAX_FOLDER / 2).unwrap();
            file.set_modified(now - Duration::from_secs(60 * minutes))
                .unwrap();
        }
        for (name, age) in [(".new-1", ABANDONED * 2), (".new-2", Duration::ZERO)] {
            let file = File::create(folder.path().join(name)).unwrap();
            file.set_modified(now - age).unwrap();
        }
        prompts(folder.path(), &model).trim(now).unwrap();
        let mut left: Vec<String> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, [".new-2", "a.prompt", "c.prompt", "model.gguf"]);
    }
}
