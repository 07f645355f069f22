//! The address of a message before a mark: `to=read_file<|message|>`.

use crate::dialects::engine::json_marks::is_name_character;
use crate::dialects::harmony::{MESSAGE, RECIPIENT};

/// The longest address that is recognised, with a quotation mark before it.
pub(super) const LONGEST_ADDRESS: usize = 128;

/// The character before the address with which the text ends, if it does.
pub(super) fn before_address(text: &str) -> Option<char> {
    let text = text.trim_end();
    let text = without_end(text, MESSAGE).unwrap_or(text);
    let text = text.trim_end().trim_end_matches(is_name_character);
    without_end(text, RECIPIENT)?.chars().next_back()
}

fn without_end<'t>(text: &'t str, end: &str) -> Option<&'t str> {
    let (before, last) = text.split_at_checked(text.len().checked_sub(end.len())?)?;
    last.eq_ignore_ascii_case(end).then_some(before)
}

#[cfg(test)]
mod tests {
    use super::before_address;

    #[test]
    fn the_character_before_an_address_is_found() {
        for (text, expected) in [
            ("say \"to=read_file<|message|>", Some('"')),
            ("say “TO=functions.read_file<|Message|>\n", Some('“')),
            ("'to=read_file", Some('\'')),
            (" to=read_file<|message|>", Some(' ')),
            ("\"to=read_file<|message|>!", None),
            ("\"to read_file<|message|>", None),
        ] {
            assert_eq!(before_address(text), expected, "{text}");
        }
    }
}
