//! Texts in quotation marks, and texts behind a colon.

/// A text in quotation marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quote<'a> {
    /// The byte of its opening mark.
    pub(super) start: usize,
    /// The byte behind its closing mark.
    pub(super) end: usize,
    /// What stands between them.
    pub(super) text: &'a str,
}

/// The marks that open a quotation, and those that close it.
const MARKS: &[(&str, &str)] = &[
    ("```", "```"),
    ("`", "`"),
    ("\"", "\""),
    ("“", "”"),
    ("„", "“"),
    ("«", "»"),
    ("‘", "’"),
    ("'", "'"),
];

/// The texts in quotation marks, in order. An apostrophe is no such mark.
pub(super) fn quotes(text: &str) -> Vec<Quote<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..) {
        let Some(letter) = rest.chars().next() else {
            break;
        };
        let follows_word = text
            .get(..at)
            .and_then(|before| before.chars().next_back())
            .is_some_and(char::is_alphanumeric);
        let quote = (!follows_word)
            .then(|| quote_at(rest).or_else(|| literal_at(rest)))
            .flatten();
        match quote {
            Some((inside, length)) => {
                found.push(Quote {
                    start: at,
                    end: at + length,
                    text: inside,
                });
                at += length;
            }
            None => at += letter.len_utf8(),
        }
    }
    found
}

/// The quotation at the beginning of a text, and its length with its marks.
fn quote_at(rest: &str) -> Option<(&str, usize)> {
    let (open, close) = MARKS.iter().find(|(open, _)| rest.starts_with(open))?;
    let inside = rest.get(open.len()..)?;
    let ends = inside.match_indices(close);
    let (end, _) = ends.into_iter().find(|(end, _)| {
        let behind = inside.get(end + close.len()..).unwrap_or_default();
        let is_apostrophe = ["'", "’"].contains(close);
        !is_apostrophe || !behind.starts_with(char::is_alphanumeric)
    })?;
    let quoted = inside.get(..end)?;
    (!quoted.trim().is_empty()).then(|| (quoted, open.len() + end + close.len()))
}

/// An object or a list in JSON at the beginning of a text: it is meant as it
/// stands.
fn literal_at(rest: &str) -> Option<(&str, usize)> {
    if !rest.starts_with(['{', '[']) {
        return None;
    }
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<serde_json::Value>();
    values.next()?.ok()?;
    let end = values.byte_offset();
    Some((rest.get(..end)?, end))
}

/// The text behind the first colon that ends a word, and where it begins: what
/// is to be written, if anything is.
pub(super) fn behind_colon(text: &str) -> Option<(usize, &str)> {
    let quotes = quotes(text);
    let colons = text.match_indices(':').filter(|(at, _)| {
        let behind = text.get(at + 1..).unwrap_or_default();
        let is_quoted = quotes
            .iter()
            .any(|quote| quote.start < *at && *at < quote.end);
        !is_quoted && behind.starts_with(char::is_whitespace)
    });
    let (at, _) = colons.into_iter().next()?;
    let behind = text.get(at + 1..)?;
    let trimmed = behind.trim();
    let start = at + 1 + (behind.len() - behind.trim_start().len());
    (!trimmed.is_empty()).then_some((start, trimmed))
}

#[cfg(test)]
mod tests {
    use super::{behind_colon, quotes};

    fn texts(text: &str) -> Vec<&str> {
        quotes(text).iter().map(|quote| quote.text).collect()
    }

    #[test]
    fn quotations_are_found_whatever_their_marks() {
        assert_eq!(
            texts("a \"b c\" d 'e' `f` “g” «h»"),
            ["b c", "e", "f", "g", "h"]
        );
        assert_eq!(texts("what's in Anna's folder?"), [""; 0]);
        assert_eq!(texts("write 'it's late' there"), ["it's late"]);
        assert_eq!(texts("an \"open one"), [""; 0]);
    }

    #[test]
    fn the_text_behind_a_colon_is_what_follows_it() {
        assert_eq!(
            behind_colon("save as a.txt: see you  "),
            Some((15, "see you"))
        );
        assert_eq!(behind_colon("see http://a.example"), None);
        assert_eq!(behind_colon("write \"a: b\" there"), None);
    }
}
