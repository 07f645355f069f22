//! Literals of JSON and of other languages.

/// The JSON literal that `word` stands for, in whatever language.
pub(super) fn literal(word: &str) -> Option<&'static str> {
    const WORDS: &[(&str, &str)] = &[
        ("true", "true"),
        ("false", "false"),
        ("null", "null"),
        ("none", "null"),
        ("undefined", "null"),
        ("nan", "null"),
        ("infinity", "null"),
        ("-infinity", "null"),
        ("+infinity", "null"),
    ];
    if word.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    WORDS
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(word))
        .map(|&(_, json)| json)
}
