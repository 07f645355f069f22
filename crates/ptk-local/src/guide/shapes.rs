//! Words that are recognised by how they are written.

/// Whether a text is a pattern of paths.
pub(super) fn is_glob(text: &str) -> bool {
    let has_mark = text.contains('*') || text.contains('{') && text.contains('}');
    let has_name = text
        .chars()
        .any(|letter| letter.is_alphanumeric() || letter == '.');
    // Two stars and no path are emphasis.
    let is_emphasis = text.starts_with("**") && !text.contains('/');
    has_mark && has_name && !is_emphasis && !text.contains(' ')
}

/// Whether a text is a number, or a sum of numbers.
pub(super) fn is_number(text: &str) -> bool {
    let digits = text.trim_end_matches('%').trim_start_matches('-');
    !digits.is_empty()
        && digits.starts_with(|first: char| first.is_ascii_digit())
        && digits
            .chars()
            .all(|letter| letter.is_ascii_digit() || ".,+-*/×^=".contains(letter))
        && !digits.contains("--")
}

/// The name of code that a word is, without a plural's ending.
pub(super) fn identifier(text: &str) -> Option<String> {
    let is_code = |letter: char| letter.is_alphanumeric() || "_:.()-$@#".contains(letter);
    if !text.chars().all(is_code) || text.chars().count() < 2 {
        return None;
    }
    let name = text.strip_suffix("()").unwrap_or(text);
    if name.contains('_') || name.contains("::") {
        return Some(name.to_owned());
    }
    let letters: Vec<char> = name.chars().collect();
    let capitals = letters
        .iter()
        .filter(|letter| letter.is_uppercase())
        .count();
    let single = name.strip_suffix('s').unwrap_or(name);
    if capitals >= 2
        && single
            .chars()
            .all(|letter| letter.is_uppercase() || letter.is_numeric())
    {
        return Some(single.to_owned());
    }
    let is_camel = letters.windows(2).any(
        |pair| matches!(pair, [before, after] if before.is_lowercase() && after.is_uppercase()),
    );
    (is_camel || text.ends_with("()")).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{identifier, is_glob, is_number};

    #[test]
    fn patterns_numbers_and_names_of_code_are_recognised() {
        assert!(is_glob("*.rs") && is_glob("src/**/*.{js,ts}") && is_glob("**/a.txt"));
        assert!(!is_glob("**bold**") && !is_glob("a * b") && !is_glob("*"));
        assert!(is_number("12") && is_number("2+2") && is_number("3.5%"));
        assert!(!is_number("v2") && !is_number("-"));
        for (word, name) in [
            ("snake_case", "snake_case"),
            ("CamelCase", "CamelCase"),
            ("run()", "run"),
            ("TODOs", "TODO"),
            ("a::b", "a::b"),
        ] {
            assert_eq!(identifier(word).as_deref(), Some(name));
        }
        assert_eq!(identifier("Hello"), None);
        assert_eq!(identifier("I"), None);
    }
}
