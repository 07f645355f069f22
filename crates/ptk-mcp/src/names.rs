//! The names under which models see the tools of servers.

use std::collections::BTreeSet;

/// What stands between the name of a server and that of its tool. No server's
/// name contains it, so that a name tells its server.
pub(crate) const SEPARATOR: &str = "__";
/// The longest name that the APIs of all providers take.
const MAX_NAME: usize = 64;
/// The longest name of a server: the names of its tools need room behind it.
pub(crate) const MAX_SERVER_NAME: usize = 32;
/// How many characters of a hash tell names apart that were cut.
const HASH: usize = 6;

/// The name for models of a tool of a server. It consists of letters, digits,
/// `_` and `-`, and is none of those that are taken.
pub(crate) fn tool_name(server: &str, tool: &str, taken: &BTreeSet<String>) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let plain: String = tool
        .chars()
        .map(|c| if is_part(c) { c } else { '_' })
        .collect();
    let name = format!("{server}{SEPARATOR}{plain}");
    if name.len() <= MAX_NAME && !taken.contains(&name) {
        return name;
    }
    let hash = blake3::hash(tool.as_bytes()).to_hex();
    let hash: String = hash.chars().take(HASH).collect();
    // The name is ASCII: each character is a byte.
    let kept: String = name.chars().take(MAX_NAME - HASH - 1).collect();
    format!("{kept}_{hash}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_every_model() {
        let none = BTreeSet::new();
        assert_eq!(tool_name("git", "log", &none), "git__log");
        assert_eq!(tool_name("fs", "read file/ü.1", &none), "fs__read_file___1");
        let long = tool_name("files", &"x".repeat(300), &none);
        assert_eq!(long.len(), MAX_NAME);
        assert_ne!(long, tool_name("files", &"x".repeat(301), &none));
    }

    #[test]
    fn two_tools_never_get_one_name() {
        let taken = BTreeSet::from(["fs__a_b".to_owned()]);
        let second = tool_name("fs", "a.b", &taken);
        assert_ne!(second, "fs__a_b");
        assert!(second.starts_with("fs__a_b_"));
    }
}
