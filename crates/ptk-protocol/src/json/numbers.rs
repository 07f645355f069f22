//! Numbers as JSON has them, and as other languages have them.

/// How an unquoted token reads as a number.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Number {
    /// A JSON number, good as it is.
    Exact,
    /// A number in a form that JSON does not have, rewritten digit by digit.
    Rewritten(String),
    /// The token is not a number, or one that JSON readers cannot hold: better
    /// kept as text.
    Text,
}

pub(super) fn read(token: &str) -> Number {
    let bytes = token.as_bytes();
    let length = strict_length(bytes);
    if length == bytes.len() && length > 0 {
        return if fits_reader(token) {
            Number::Exact
        } else {
            Number::Text
        };
    }
    let unsigned = token.strip_prefix(['+', '-']).unwrap_or(token);
    let sign = if token.starts_with('-') { "-" } else { "" };
    if let Some((radix, digits)) = of_radix(unsigned) {
        return match u64::from_str_radix(digits, radix) {
            Ok(value) if !digits.starts_with('+') => Number::Rewritten(format!("{sign}{value}")),
            _ => Number::Text,
        };
    }
    if !unsigned.contains(|c: char| c.is_ascii_digit()) {
        return Number::Text;
    }
    if let Some(grouped) = without_groups(unsigned) {
        let number = format!("{sign}{grouped}");
        let is_number = strict_length(number.as_bytes()) == number.len() && fits_reader(&number);
        return if is_number {
            Number::Rewritten(number)
        } else {
            Number::Text
        };
    }
    let mut whole = String::with_capacity(token.len() + 3);
    whole.push_str(sign);
    if unsigned.starts_with('.') {
        whole.push('0');
    }
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => unsigned.split_at(at),
        None => (unsigned, ""),
    };
    whole.push_str(mantissa);
    if mantissa.ends_with('.') {
        whole.push('0');
    }
    whole.push_str(exponent);
    if exponent.ends_with(['e', 'E', '+', '-']) {
        whole.push('0');
    }
    if strict_length(whole.as_bytes()) == whole.len() && fits_reader(&whole) {
        Number::Rewritten(whole)
    } else {
        Number::Text
    }
}

/// The radix and the digits of `0x1F`, `0o17` and `0b101`.
fn of_radix(unsigned: &str) -> Option<(u32, &str)> {
    let (prefix, digits) = unsigned.split_at_checked(2)?;
    let radix = match prefix {
        "0x" | "0X" => 16,
        "0o" | "0O" => 8,
        "0b" | "0B" => 2,
        _ => return None,
    };
    Some((radix, digits))
}

/// The number without the underscores of `1_000_000.5`. They count only between
/// groups of three digits: `2024_01_15` is no number.
fn without_groups(unsigned: &str) -> Option<String> {
    let whole = unsigned.find(['.', 'e', 'E']).unwrap_or(unsigned.len());
    let (whole, rest) = unsigned.split_at_checked(whole)?;
    let (first, groups) = whole.split_once('_')?;
    let are_digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    let grouped = (1..=3).contains(&first.len())
        && are_digits(first)
        && groups
            .split('_')
            .all(|group| group.len() == 3 && are_digits(group));
    grouped.then(|| format!("{}{rest}", whole.replace('_', "")))
}

/// The length of the JSON number at the start; 0 if there is none.
pub(super) fn strict_length(bytes: &[u8]) -> usize {
    let digits = |from: usize| {
        bytes
            .get(from..)
            .unwrap_or_default()
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count()
    };
    let mut end = usize::from(bytes.first() == Some(&b'-'));
    end += match bytes.get(end) {
        Some(b'0') => 1,
        Some(b'1'..=b'9') => digits(end),
        _ => return 0,
    };
    if bytes.get(end) == Some(&b'.') {
        match digits(end + 1) {
            0 => return end,
            fraction => end += 1 + fraction,
        }
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        match digits(end + 1 + sign) {
            0 => {}
            exponent => end += 1 + sign + exponent,
        }
    }
    end
}

/// Whether the number is finite for readers that keep it in 64 bits.
fn fits_reader(number: &str) -> bool {
    const SURELY_FINITE: usize = 300;
    let has_exponent = number.contains(['e', 'E']);
    (!has_exponent && number.len() < SURELY_FINITE)
        || number.parse::<f64>().is_ok_and(f64::is_finite)
}
