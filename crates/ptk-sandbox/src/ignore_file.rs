//! The rules of a `.gitignore` or a file like it, and of those above it.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use bstr::{BString, ByteSlice as _};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The most that is read of an ignore file.
const MAX_RULES: u64 = 1024 * 1024;
/// How many such files apply in folders that lie in each other. More than this
/// are no work of a person.
const MAX_NESTED: usize = 256;
/// Characters that make a pattern of a rule.
const SIGNS: [char; 5] = ['*', '?', '[', '{', '\\'];

/// The rules of one file, and of those above it.
#[derive(Debug)]
pub struct IgnoreFile {
    folder: PathBuf,
    text: BString,
    /// Which names the rules may be about. To make rules of the text takes far
    /// longer than to see that none of them is about a name.
    names: Vec<Name>,
    own: OnceLock<Gitignore>,
    above: Option<Arc<Self>>,
    /// How many files are above it.
    depth: usize,
}

/// The verdict of ignore rules on a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// No rule is about it.
    Silent,
    /// It is left out.
    Ignored,
    /// It is named as an exception, so that it is seen even where it is hidden.
    Wanted,
}

impl Verdict {
    pub(crate) fn of<T>(matched: &Match<T>) -> Self {
        match matched {
            Match::None => Self::Silent,
            Match::Ignore(_) => Self::Ignored,
            Match::Whitelist(_) => Self::Wanted,
        }
    }

    /// This verdict, or another one where this is silent.
    pub(crate) fn or_else(self, other: impl FnOnce() -> Self) -> Self {
        match self {
            Self::Silent => other(),
            verdict => verdict,
        }
    }
}

/// The names that a rule may be about.
#[derive(Debug, PartialEq, Eq)]
enum Name {
    Exactly(String),
    Ending(String),
    Any,
}

impl Name {
    /// The names that a line may be about, if it is a rule.
    fn of(line: &str) -> Option<Self> {
        let rule = line.trim_end();
        if rule.is_empty() || rule.starts_with('#') {
            return None;
        }
        let rule = rule.strip_prefix('!').unwrap_or(rule);
        let name = rule.trim_end_matches('/').rsplit('/').next()?;
        let ending = name.strip_prefix('*').unwrap_or(name);
        Some(match ending {
            _ if ending.contains(SIGNS) || ending.is_empty() => Self::Any,
            _ if ending.len() < name.len() => Self::Ending(ending.to_owned()),
            _ => Self::Exactly(ending.to_owned()),
        })
    }

    fn has(&self, name: &[u8]) -> bool {
        match self {
            Self::Exactly(wanted) => name == wanted.as_bytes(),
            Self::Ending(ending) => name.ends_with(ending.as_bytes()),
            Self::Any => true,
        }
    }
}

impl IgnoreFile {
    /// The rules in a folder whose path is given, by a file in it; those above
    /// it where there is none, or it cannot be read. Paths that are judged
    /// later begin where this one begins.
    #[must_use]
    pub fn read(file: Option<File>, path: &[u8], above: Option<Arc<Self>>) -> Option<Arc<Self>> {
        let Some(Ok(text)) = file.map(text_of) else {
            return above;
        };
        let names: Vec<Name> = text
            .lines()
            .filter_map(|line| Name::of(&line.to_str_lossy()))
            .collect();
        let depth = above.as_ref().map_or(0, |above| above.depth + 1);
        if names.is_empty() || depth >= MAX_NESTED {
            return above;
        }
        Some(Arc::new(Self {
            folder: path.to_path_lossy().into_owned(),
            names,
            text,
            own: OnceLock::new(),
            above,
            depth,
        }))
    }

    /// Whether a folder with this path is ignored.
    #[must_use]
    pub fn ignores(&self, folder: &[u8]) -> bool {
        self.verdict(folder, true) == Verdict::Ignored
    }

    /// The verdict on a path. The innermost rule counts.
    #[must_use]
    pub fn verdict(&self, path: &[u8], is_folder: bool) -> Verdict {
        let name = path.rsplit(|byte| *byte == b'/').next();
        let name = name.unwrap_or_default();
        let own = if self.names.iter().any(|it| it.has(name)) {
            Verdict::of(&self.own().matched(path.to_path_lossy(), is_folder))
        } else {
            Verdict::Silent
        };
        own.or_else(|| match &self.above {
            Some(above) => above.verdict(path, is_folder),
            None => Verdict::Silent,
        })
    }

    fn own(&self) -> &Gitignore {
        self.own.get_or_init(|| {
            let mut builder = GitignoreBuilder::new(&self.folder);
            for line in self.text.lines() {
                // As git does: an invalid rule is skipped.
                let _ = builder.add_line(None, &line.to_str_lossy());
            }
            builder.build().unwrap_or_else(|_| Gitignore::empty())
        })
    }
}

fn text_of(file: File) -> io::Result<BString> {
    let mut text = Vec::new();
    file.take(MAX_RULES).read_to_end(&mut text)?;
    Ok(text.into())
}

#[cfg(test)]
mod tests {
    use std::io::{Seek as _, Write as _};

    use super::*;

    /// What the rules of a text alone say of a folder.
    fn judged(text: &str, folder: &str) -> (bool, bool) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file.rewind().unwrap();
        let Some(rules) = IgnoreFile::read(Some(file), b"", None) else {
            return (false, false);
        };
        let whole = rules.own().matched(folder, true).is_ignore();
        (rules.ignores(folder.as_bytes()), whole)
    }

    #[test]
    fn no_rule_is_overlooked_because_of_a_name() {
        let rules = [
            "target",
            "target/",
            "/target",
            "  target",
            "target  ",
            "a/target",
            "**/target",
            "target/**",
            "target/*",
            "*.out",
            "*.out/",
            "t*",
            "*t",
            "t?rget",
            "[t]arget",
            "{target,x}",
            "tar\\get",
            "\\#x",
            "\\!x",
            "#x",
            "!target",
            "*\n!target",
            "target\n!/target",
            "",
            "/",
            "*",
        ];
        let folders = [
            "target",
            "a/target",
            "x.out",
            "a/x.out",
            "#x",
            "!x",
            "x",
            "b/target/y",
            " target",
        ];
        for text in rules {
            for folder in folders {
                let (found, whole) = judged(text, folder);
                assert_eq!(found, whole, "{text:?} {folder}");
            }
        }
        assert_eq!(judged("target/\n", "a/target"), (true, true));
        assert_eq!(judged("target/\n", "src"), (false, false));
    }
}
