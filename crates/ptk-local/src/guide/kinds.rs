//! Kinds of files by the names that people give them.

/// What is called so, and the endings of such files.
const KINDS: &[(&[&str], &[&str])] = &[
    (&["rust", "rs"], &["rs"]),
    (&["python", "py"], &["py"]),
    (&["javascript", "js"], &["js"]),
    (&["typescript", "ts"], &["ts"]),
    (&["tsx"], &["tsx"]),
    (&["jsx"], &["jsx"]),
    (&["java"], &["java"]),
    (&["kotlin"], &["kt"]),
    (&["swift"], &["swift"]),
    (&["go", "golang"], &["go"]),
    (&["ruby", "rb"], &["rb"]),
    (&["php"], &["php"]),
    (&["perl"], &["pl"]),
    (&["lua"], &["lua"]),
    (&["haskell"], &["hs"]),
    (&["scala"], &["scala"]),
    (&["c"], &["c", "h"]),
    (&["c++", "cpp"], &["cpp", "hpp", "cc", "h"]),
    (&["c#", "csharp"], &["cs"]),
    (&["header"], &["h"]),
    (&["shell", "sh", "bash"], &["sh"]),
    (&["powershell"], &["ps1"]),
    (&["sql", "database"], &["sql"]),
    (&["html"], &["html"]),
    (&["css", "style", "stylesheet"], &["css"]),
    (&["json"], &["json"]),
    (&["yaml", "yml"], &["yaml", "yml"]),
    (&["toml"], &["toml"]),
    (&["xml"], &["xml"]),
    (&["ini"], &["ini"]),
    (&["csv"], &["csv"]),
    (&["spreadsheet"], &["csv", "xlsx", "xls", "ods"]),
    (&["tsv"], &["tsv"]),
    (&["excel", "xlsx"], &["xlsx", "xls"]),
    (&["word", "docx"], &["docx", "doc"]),
    (&["powerpoint"], &["pptx", "ppt"]),
    (&["markdown", "md"], &["md"]),
    (&["text", "txt", "plain text"], &["txt"]),
    (&["pdf"], &["pdf"]),
    (&["log"], &["log"]),
    (&["lock"], &["lock"]),
    (&["tex", "latex"], &["tex"]),
    (&["svg"], &["svg"]),
    (&["png"], &["png"]),
    (&["jpeg", "jpg"], &["jpg", "jpeg"]),
    (&["gif"], &["gif"]),
    (
        &["image", "picture", "photo"],
        &["png", "jpg", "jpeg", "gif", "webp", "svg"],
    ),
    (&["video", "movie"], &["mp4", "mov", "mkv", "avi", "webm"]),
    (
        &["audio", "music", "sound"],
        &["mp3", "wav", "flac", "ogg", "m4a"],
    ),
    (&["zip", "archive"], &["zip", "tar", "gz", "7z"]),
    (&["jupyter", "notebook"], &["ipynb"]),
    (&["wasm"], &["wasm"]),
    (&["proto"], &["proto"]),
    (&["vue"], &["vue"]),
];

/// What such files are called beside their kind.
const NOUNS: &[&str] = &[
    "file",
    "script",
    "document",
    "doc",
    "source",
    "program",
    "module",
    "page",
    "table",
    "sheet",
    "note",
    "format",
    "migration",
    "recording",
    "query",
];

/// Kinds that need no noun, since nothing else is called so.
const ALONE: &[&str] = &[
    "images",
    "pictures",
    "photos",
    "videos",
    "stylesheets",
    "spreadsheets",
];

/// The endings of files that are called so, by one word in the singular.
pub(super) fn endings(kind: &str) -> Option<&'static [&'static str]> {
    let singular = kind.strip_suffix('s');
    let named = |names: &[&str]| {
        names
            .iter()
            .any(|name| *name == kind || singular == Some(*name))
    };
    let mut kinds = KINDS.iter();
    kinds
        .find(|(names, _)| named(names))
        .map(|(_, endings)| *endings)
}

/// Whether a folded word is "files" or the like.
pub(super) fn is_noun(folded: &str) -> bool {
    NOUNS.contains(&folded)
        || folded
            .strip_suffix('s')
            .is_some_and(|one| NOUNS.contains(&one))
        || folded
            .strip_suffix("ies")
            .is_some_and(|one| NOUNS.contains(&format!("{one}y").as_str()))
}

/// Whether a folded word is a kind of files without a noun behind it.
pub(super) fn stands_alone(folded: &str) -> bool {
    ALONE.contains(&folded)
}

/// Whether files are known to end so.
pub(super) fn is_ending(ending: &str) -> bool {
    /// Endings of files that no kind is named after.
    const OTHERS: &[&str] = &[
        "bak",
        "bat",
        "cfg",
        "conf",
        "css",
        "dat",
        "env",
        "htm",
        "list",
        "mjs",
        "out",
        "rst",
        "tmp",
        "org",
        "adoc",
        "diff",
        "patch",
        "sqlite",
        "db",
        "properties",
        "gradle",
        "scss",
        "ics",
        "eml",
        "rtf",
        "odt",
        "ods",
        "example",
        "template",
        "ignore",
    ];
    OTHERS.contains(&ending) || KINDS.iter().any(|(_, endings)| endings.contains(&ending))
}

#[cfg(test)]
mod tests {
    use super::{endings, is_ending, is_noun};

    #[test]
    fn kinds_are_known_by_their_names_and_endings() {
        assert_eq!(endings("rust"), Some(["rs"].as_slice()));
        assert_eq!(endings("photos"), endings("image"));
        assert_eq!(endings("sandwich"), None);
        assert!(is_ending("csv") && !is_ending("com"));
    }

    #[test]
    fn nouns_are_known_in_the_plural() {
        assert!(is_noun("files") && is_noun("script") && is_noun("queries"));
        assert!(!is_noun("recipes"));
    }
}
