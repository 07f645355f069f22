//! Files that a prompt mentions with `@`. The model is sent their plain names,
//! because it hands them to tools as they stand.

use std::path::Path;

/// The most mentions of a prompt that are looked at: a pasted text may be full
/// of `@`.
const MAX_MENTIONS: usize = 200;
/// The punctuation that may follow a name in a sentence.
const PUNCTUATION: [char; 11] = ['.', ',', ';', ':', '!', '?', ')', ']', '}', '"', '\''];

/// The prompt, with the `@` left out before each name of a file or folder that
/// there is under `root`. Any other `@` stays.
pub(crate) fn plain(prompt: &str, root: &Path) -> String {
    let mut plain = String::with_capacity(prompt.len());
    let mut rest = prompt;
    let mut before = None;
    let mut left = MAX_MENTIONS;
    while let Some(at) = rest.find('@') {
        let (text, mention) = rest.split_at(at);
        plain.push_str(text);
        let before_it = text.chars().next_back().or(before);
        // An address such as a@b.c mentions no file.
        let begins = before_it.is_none_or(|c| c.is_whitespace() || "([{\"'".contains(c));
        let named = mention.get(1..).unwrap_or_default();
        let is_mention = begins && left > 0 && {
            left -= 1;
            names_file(named, root)
        };
        if !is_mention {
            plain.push('@');
        }
        rest = named;
        before = Some('@');
    }
    plain.push_str(rest);
    plain
}

/// Whether a text begins with the name of a file or folder under `root`.
fn names_file(text: &str, root: &Path) -> bool {
    let is_there = |name: &str| !name.is_empty() && root.join(name).symlink_metadata().is_ok();
    if let Some(quoted) = text.strip_prefix('"') {
        return quoted
            .split_once('"')
            .is_some_and(|(name, _)| is_there(name));
    }
    let mut name = text.split(char::is_whitespace).next().unwrap_or_default();
    loop {
        if is_there(name) {
            return true;
        }
        match name.strip_suffix(PUNCTUATION) {
            Some(shorter) => name = shorter,
            None => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_plainly_and_any_other_at_sign_stays() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::create_dir(root.join("src")).unwrap();
        for name in ["notes.txt", "src/main.rs", "my notes.txt", "tệp.txt"] {
            std::fs::write(root.join(name), "").unwrap();
        }
        for (prompt, expected) in [
            ("Read @notes.txt", "Read notes.txt"),
            (
                "@notes.txt, @src/main.rs; (@tệp.txt)?",
                "notes.txt, src/main.rs; (tệp.txt)?",
            ),
            ("@src/ and @\"my notes.txt\".", "src/ and \"my notes.txt\"."),
            (
                "Ask @ada, ada@notes.txt or @missing.rs",
                "Ask @ada, ada@notes.txt or @missing.rs",
            ),
            ("@Override\n@ @@notes.txt @", "@Override\n@ @@notes.txt @"),
            ("", ""),
        ] {
            assert_eq!(plain(prompt, root), expected);
        }
    }
}
