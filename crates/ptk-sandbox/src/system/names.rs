//! Names on Windows. There a file can be had by many: in other letters, by a
//! short name such as `SECRET~1`, with dots and spaces behind it, or with the
//! name of a stream. PTK takes the one that its folder lists, and no other.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

/// Names that stand for devices, with any ending, in each folder.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];
/// Such names with a digit behind them.
const NUMBERED: [&str; 2] = ["com", "lpt"];
/// These are digits, too.
const DIGITS: &str = "0123456789¹²³";

/// Why a name cannot be used.
pub(super) fn problem(name: &str) -> Option<&'static str> {
    // It is followed by the name of a stream of the same file.
    if name.contains(':') {
        return Some("a name with a colon is not a file of its own on Windows");
    }
    if name.ends_with(['.', ' ']) {
        return Some("Windows drops dots and spaces at the end of a name");
    }
    let stem = name.split('.').next().unwrap_or_default();
    let stem = stem.trim_end().to_lowercase();
    let is_numbered = |device: &str| {
        let mut rest = stem.strip_prefix(device).unwrap_or_default().chars();
        rest.next().is_some_and(|digit| DIGITS.contains(digit)) && rest.next().is_none()
    };
    if DEVICES.contains(&stem.as_str()) || NUMBERED.into_iter().any(is_numbered) {
        return Some("it names a device of Windows");
    }
    if is_short(&stem) {
        return Some("it looks like the short name that Windows gives a file; write the long one");
    }
    None
}

/// Whether a name without its ending is like those that Windows makes: at most
/// eight characters, the last ones `~` and a number.
fn is_short(stem: &str) -> bool {
    let (name, number) = stem.rsplit_once('~').unwrap_or_default();
    !name.is_empty()
        && !number.is_empty()
        && stem.chars().count() <= 8
        && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a name of a path below a folder exists, but not with these letters.
/// What does not exist can be spelled in any way.
pub(super) fn is_misspelled(root: &Path, below: &Path) -> bool {
    let path = root.join(below);
    // The usual case: it exists, as it is spelled, and no link leads to it.
    if path.canonicalize().is_ok_and(|real| real == path) {
        return false;
    }
    let mut folder = root.to_owned();
    for name in below {
        let next = folder.join(name);
        if next.symlink_metadata().is_err() {
            return false;
        }
        if !lists(&folder, name) {
            return true;
        }
        folder = next;
    }
    false
}

/// Whether a folder lists a name. One that cannot be read lists none.
fn lists(folder: &Path, name: &OsStr) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| entry.file_name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_name_of_a_file_is_taken() {
        for name in [
            ".env::$DATA",
            "notes.txt:hidden",
            ".env.",
            ".env ",
            "...",
            "NUL",
            "nul.txt",
            "Com1",
            "com¹.log",
            "lpt9 .txt",
            "CONIN$",
            "SECRET~1",
            "secret~1.txt",
            "A~1234.E",
        ] {
            assert!(problem(name).is_some(), "{name}");
        }
        for name in [
            ".env",
            "notes.txt",
            "command.rs",
            "com10",
            "com",
            "console",
            "null",
            "~",
            "~1",
            "a~b",
            "backup~",
            "long-name~1.txt",
            "日本語",
        ] {
            assert_eq!(problem(name), None, "{name}");
        }
    }

    #[test]
    fn what_is_there_is_spelled_as_its_folder_lists_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join("src")).unwrap();
        fs::write(root.join("src/Main.rs"), "").unwrap();
        for below in ["src", "src/Main.rs", "src/new.rs", "new/file", ""] {
            assert!(!is_misspelled(&root, Path::new(below)), "{below}");
        }
        assert!(lists(&root, "src".as_ref()));
        assert!(!lists(&root, "SRC".as_ref()));
        assert!(!lists(&root.join("missing"), "src".as_ref()));
    }
}
