//! Text between `$'` and `'`, with its escapes.

/// The decoded text; `None` where the result is not a text.
pub(super) fn decoded(text: &str) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('\\') {
        plain.push_str(before);
        let (c, after) = escape(behind)?;
        plain.push(c);
        rest = after;
    }
    plain.push_str(rest);
    Some(plain)
}

/// The character that an escape stands for, and what follows it.
fn escape(text: &str) -> Option<(char, &str)> {
    let kind = text.chars().next()?;
    let after = text.get(kind.len_utf8()..)?;
    let simple = match kind {
        'a' => '\u{7}',
        'b' => '\u{8}',
        'e' | 'E' => '\u{1b}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        '\\' | '\'' | '"' | '?' => kind,
        'x' => return number(after, 16, 2),
        'u' => return number(after, 16, 4),
        'U' => return number(after, 16, 8),
        '0'..='7' => return number(text, 8, 3),
        _ => return None,
    };
    Some((simple, after))
}

fn number(text: &str, radix: u32, most: usize) -> Option<(char, &str)> {
    let digits = text.chars().take(most);
    let digits = digits.take_while(|c| c.is_digit(radix)).count();
    let (number, after) = text.split_at_checked(digits)?;
    let c = u32::from_str_radix(number, radix).ok()?;
    // A byte beyond ASCII is half a character, and NUL ends the text.
    let c = char::from_u32(c).filter(|c| *c != '\0');
    let is_byte = most < 4;
    Some((c.filter(|c| !is_byte || c.is_ascii())?, after))
}
