//! Files that a program must not write in the roots.
//!
//! This holds back a program that means no harm, also from files that are not
//! there yet, and it is how the caller learns what was refused. Files that are
//! there are mounted read-only besides.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;

use super::Recording;

/// How many refused files are reported.
const MOST_TOLD: usize = 20;

/// Which files must not be written, and which of them a program has tried to.
pub(super) struct Refused {
    roots: Vec<Box<[u8]>>,
    /// The names of a path, one below the other.
    paths: Vec<Vec<Box<[u8]>>>,
    allowed: Vec<Box<[u8]>>,
    met: BTreeSet<Vec<u8>>,
}

impl Refused {
    pub(super) fn new(recording: &Recording) -> Self {
        let bytes = |path: &std::path::PathBuf| path.as_os_str().as_bytes().into();
        let names = |path: &String| {
            path.as_bytes()
                .split(|byte| *byte == b'/')
                .map(Into::into)
                .collect()
        };
        Self {
            roots: recording.roots.iter().map(bytes).collect(),
            paths: recording.refused.iter().map(names).collect(),
            allowed: recording.allowed.iter().map(bytes).collect(),
            met: BTreeSet::new(),
        }
    }

    /// Whether what is at a path must not be written.
    pub(super) fn refuses(&mut self, path: &[u8]) -> bool {
        let Some(below) = self.below_root(path) else {
            return false;
        };
        let names: Vec<&[u8]> = below.split(|byte| *byte == b'/').collect();
        let fits = |refused: &Vec<Box<[u8]>>| {
            let mut both = names.iter().zip(refused);
            names.len() >= refused.len() && both.all(|(name, known)| is(name, known))
        };
        let is_allowed = self.allowed.iter().any(|allowed| is_in(path, allowed));
        let is_refused = !is_allowed && self.paths.iter().any(fits);
        if is_refused && self.met.len() < MOST_TOLD {
            let below = below.to_vec();
            self.met.insert(below);
        }
        is_refused
    }

    /// Whether a folder must not be moved away, because such files lie in it.
    pub(super) fn holds(&mut self, path: &[u8]) -> bool {
        let Some(below) = self.below_root(path) else {
            return false;
        };
        let names: Vec<&[u8]> = below.split(|byte| *byte == b'/').collect();
        let is_above = |refused: &Vec<Box<[u8]>>| {
            let mut both = names.iter().zip(refused);
            names.len() < refused.len() && both.all(|(name, known)| is(name, known))
        };
        let is_refused = self.paths.iter().any(is_above);
        if is_refused && self.met.len() < MOST_TOLD {
            let below = below.to_vec();
            self.met.insert(below);
        }
        is_refused
    }

    fn below_root<'p>(&self, path: &'p [u8]) -> Option<&'p [u8]> {
        self.roots
            .iter()
            .find_map(|root| path.strip_prefix(&**root)?.strip_prefix(b"/"))
    }

    /// The files that were refused, relative to their root.
    pub(super) fn met(&self) -> Vec<String> {
        let met = self.met.iter();
        met.map(|path| String::from_utf8_lossy(path).into_owned())
            .collect()
    }
}

/// Whether a name matches a known one; a `*` is any beginning of it. Case is
/// ignored, since some file systems do so.
fn is(name: &[u8], known: &[u8]) -> bool {
    match known.strip_prefix(b"*") {
        Some(end) => {
            let at = name.len().checked_sub(end.len());
            at.and_then(|at| name.get(at..))
                .is_some_and(|it| it.eq_ignore_ascii_case(end))
        }
        None => name.eq_ignore_ascii_case(known),
    }
}

/// Whether a path is another, or lies below it.
fn is_in(path: &[u8], other: &[u8]) -> bool {
    path.strip_prefix(other)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_is_refused_in_the_roots() {
        let recording = Recording {
            roots: vec!["/project/it".into()],
            left_out: Vec::new(),
            refused: [".git/hooks", ".envrc", "*.code-workspace"]
                .map(str::to_owned)
                .into(),
            allowed: vec!["/project/it/mine/.envrc".into()],
            pack: "/pack".into(),
            largest: 1,
            most: 1,
        };
        let mut refused = Refused::new(&recording);
        for (path, expected) in [
            ("/project/it/.git/hooks/pre-commit", true),
            ("/project/it/.GIT/hooks", true),
            ("/project/it/sub/.git/hooks", false),
            ("/project/it/.git/index", false),
            ("/project/it/hooks", false),
            ("/project/it/.envrc", true),
            ("/project/it/.envrc.old", false),
            ("/project/it/mine/.envrc", false),
            ("/project/it/a.code-workspace", true),
            ("/project/item/.envrc", false),
            ("/project/it", false),
        ] {
            assert_eq!(refused.refuses(path.as_bytes()), expected, "{path}");
        }
        assert!(refused.holds(b"/project/it/.git"));
        assert!(!refused.holds(b"/project/it/sub"));
        assert_eq!(refused.met().len(), 5);
    }
}
