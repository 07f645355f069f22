//! Escapes untrusted text for a terminal: texts of models, tools and files may
//! contain codes that overwrite other text, reverse it, or hide in it.

/// The text with all control and invisible characters escaped.
pub(crate) fn visible(text: &str) -> String {
    let mut visible = String::with_capacity(text.len());
    for c in text.chars() {
        push(&mut visible, c);
    }
    visible
}

/// The same in one line, for names and paths: a line break could begin a line
/// that looks like ptk's own.
pub(crate) fn in_line(text: &str) -> String {
    visible(text).replace('\n', "\\n")
}

/// Appends a character of an answer.
pub(crate) fn push_prose(visible: &mut String, c: char) {
    if is_of_prose(c) {
        visible.push(c);
    } else {
        push(visible, c);
    }
}

/// Whether a character belongs to ordinary text though it is not visible by
/// itself: characters that join or colour others, and non-breaking blanks.
pub(crate) fn is_of_prose(c: char) -> bool {
    matches!(
        c,
        '\u{a0}' | '\u{202f}' | '\u{3000}' | '\u{200c}'..='\u{200d}' | '\u{fe00}'..='\u{fe0f}'
    )
}

/// Appends a character, escaped if it is not visible.
fn push(visible: &mut String, c: char) {
    if is_seen(c) {
        visible.push(c);
    } else {
        visible.extend(c.escape_unicode());
    }
}

/// Whether a character is visible at its position. Characters that Unicode lets
/// a terminal ignore are not, nor are blanks other than a plain one.
pub(crate) fn is_seen(c: char) -> bool {
    match c {
        '\n' | '\t' | ' ' => true,
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{2800}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fff8}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => false,
        c => !c.is_control() && !c.is_whitespace(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_hide_is_written_out() {
        for c in
            "\u{ad}\u{34f}\u{61c}\u{115f}\u{3164}\u{fe0f}\u{e0001}\u{200b}\u{202e}\u{1b}\u{a0}\r"
                .chars()
        {
            let text = visible(&format!("a{c}b"));
            assert_eq!(text, format!("a{}b", c.escape_unicode()));
        }
        assert_eq!(visible("ä \t\n→ 漢"), "ä \t\n→ 漢");
    }
}
