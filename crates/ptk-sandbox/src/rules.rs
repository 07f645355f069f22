//! Which folders git ignores: what is in them can be built again. Files that it
//! ignores are another thing, since an `.env` cannot.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The most that is read of a `.gitignore`.
const MAX_RULES: u64 = 1024 * 1024;
/// Characters that make a pattern of a rule.
const SIGNS: [char; 5] = ['*', '?', '[', '{', '\\'];

/// The rules of a folder's `.gitignore`, and of those above it.
#[derive(Debug)]
pub struct Rules {
    folder: PathBuf,
    text: String,
    /// Which names the rules may be about. To make rules of the text takes far
    /// longer than to see that none of them is about a folder.
    names: Vec<Name>,
    own: OnceLock<Gitignore>,
    above: Option<Arc<Self>>,
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

impl Rules {
    /// The rules in a folder whose path is given, by its `.gitignore`; those
    /// above it where there is none, or it cannot be read.
    #[must_use]
    pub fn read(file: Option<File>, path: &[u8], above: Option<Arc<Self>>) -> Option<Arc<Self>> {
        let mut text = Vec::new();
        let read = file.map(|file| file.take(MAX_RULES).read_to_end(&mut text));
        if !matches!(read, Some(Ok(_))) {
            return above;
        }
        let text = String::from_utf8_lossy(&text).into_owned();
        Some(Arc::new(Self {
            folder: PathBuf::from(OsStr::from_bytes(path)),
            names: text.lines().filter_map(Name::of).collect(),
            text,
            own: OnceLock::new(),
            above,
        }))
    }

    /// Whether a folder with this path is ignored. The innermost rule counts.
    #[must_use]
    pub fn ignores(&self, folder: &[u8]) -> bool {
        let name = folder.rsplit(|byte| *byte == b'/').next();
        let name = name.unwrap_or_default();
        let own = if self.names.iter().any(|it| it.has(name)) {
            let path = Path::new(OsStr::from_bytes(folder));
            self.own().matched(path, true)
        } else {
            Match::None
        };
        match own {
            Match::Ignore(_) => true,
            Match::Whitelist(_) => false,
            Match::None => self.above.as_ref().is_some_and(|it| it.ignores(folder)),
        }
    }

    fn own(&self) -> &Gitignore {
        self.own.get_or_init(|| {
            let mut builder = GitignoreBuilder::new(&self.folder);
            for line in self.text.lines() {
                // As git does: an invalid rule is skipped.
                let _ = builder.add_line(None, line);
            }
            builder.build().unwrap_or_else(|_| Gitignore::empty())
        })
    }
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
        let rules = Rules::read(Some(file), b"", None).unwrap();
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
