//! Characters that look like others, and that models and editors exchange.

/// What a character is written as on a plain keyboard; `None` if it is itself.
pub(super) fn plain(c: char) -> Option<&'static str> {
    Some(match c {
        '\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{201b}' | '\u{2032}' | '\u{02bc}' => "'",
        '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{201f}' | '\u{2033}' => "\"",
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' => "-",
        '\u{00a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => " ",
        '\u{2026}' => "...",
        // Invisible characters.
        '\u{00ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' => "",
        c => return full_width(c),
    })
}

/// The plain character of a full-width one.
fn full_width(c: char) -> Option<&'static str> {
    const PLAIN: &str = "!\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~";
    let at = u32::from(c).checked_sub(0xff01)?;
    let at = usize::try_from(at).ok()?;
    PLAIN.get(at..=at)
}

/// White space that does not end a line, by any of its characters.
pub(super) fn is_blank(c: char) -> bool {
    c == ' ' || c == '\t' || plain(c).is_some_and(|plain| plain.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lookalikes_become_what_they_look_like() {
        assert_eq!(plain('\u{ff08}'), Some("("));
        assert_eq!(plain('\u{ff5e}'), Some("~"));
        assert_eq!(plain('\u{2014}'), Some("-"));
        assert_eq!(plain('a'), None);
        assert_eq!(plain('\u{ff5f}'), None);
        assert!(is_blank('\u{a0}') && is_blank('\t') && !is_blank('\n'));
    }
}
