//! Reads the JSON of arguments whose values are mostly strings, long ones
//! included, faster than a parser that knows no text beforehand.

use serde_json::{Map, Value};

use super::{EXACT_DIGITS, has_inexact_number};
use crate::json::scan::{hex_unit, plain_run};

/// From this length on a string takes the room that is left at once, instead
/// of growing step by step.
const LONG: usize = 1 << 12;

/// The object, and whether its numbers are exact. `None` where anything is out
/// of the ordinary: a parser that can say what is wrong takes over then.
pub(super) fn read(json: &str) -> Option<(Map<String, Value>, bool)> {
    let mut reader = Reader { json, at: 0 };
    let mut map = Map::new();
    let mut is_exact = true;
    reader.take(b'{')?;
    if reader.peek()? == b'}' {
        reader.at += 1;
        return reader.ends().then_some((map, true));
    }
    loop {
        reader.take(b'"')?;
        let key = reader.string()?;
        reader.take(b':')?;
        let value = if reader.peek()? == b'"' {
            reader.at += 1;
            Value::String(reader.string()?)
        } else if let Some(number) = reader.small_number() {
            Value::from(number)
        } else {
            let rest = json.get(reader.at..)?;
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
            let value = values.next()?.ok()?;
            let length = values.byte_offset();
            is_exact &= !has_inexact_number(rest.get(..length)?);
            reader.at += length;
            value
        };
        map.insert(key, value);
        match reader.peek()? {
            b',' => reader.at += 1,
            b'}' => {
                reader.at += 1;
                return reader.ends().then_some((map, is_exact));
            }
            _ => return None,
        }
    }
}

struct Reader<'a> {
    json: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a [u8] {
        self.json.as_bytes().get(self.at..).unwrap_or_default()
    }

    /// The first byte that is not white space, which is passed.
    fn peek(&mut self) -> Option<u8> {
        loop {
            match self.rest().first()? {
                b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
                byte => return Some(*byte),
            }
        }
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn ends(&mut self) -> bool {
        self.peek().is_none()
    }

    /// The string whose opening quote was passed.
    fn string(&mut self) -> Option<String> {
        let run = self.run()?;
        if self.rest().first()? == &b'"' {
            self.at += 1;
            return Some(run.to_owned());
        }
        let mut text = String::with_capacity(2 * run.len());
        text.push_str(run);
        loop {
            match self.rest().first()? {
                b'"' => {
                    self.at += 1;
                    return Some(text);
                }
                b'\\' => text.push(self.escape()?),
                _ => return None,
            }
            let run = self.run()?;
            if text.len() > LONG && text.len() + run.len() > text.capacity() {
                // Escapes are longer than what they stand for.
                let rest = self.json.len() - self.at + run.len();
                text.reserve_exact(run.len().max(rest - rest / 32));
            }
            text.push_str(run);
        }
    }

    /// The text up to a quote, a backslash or a control character.
    fn run(&mut self) -> Option<&'a str> {
        let length = plain_run(self.rest());
        let run = self.json.get(self.at..self.at + length)?;
        self.at += length;
        Some(run)
    }

    /// A whole number that surely fits into 64 bits. Nothing is passed if the
    /// value is something else.
    fn small_number(&mut self) -> Option<i64> {
        let rest = self.rest();
        let digits = rest.strip_prefix(b"-").unwrap_or(rest);
        let count = digits.iter().position(|byte| !byte.is_ascii_digit())?;
        let ends = matches!(digits.get(count)?, b',' | b'}' | b' ' | b'\n' | b'\r');
        let is_zero = digits.first() == Some(&b'0');
        if !ends || is_zero || !(1..=EXACT_DIGITS).contains(&count) {
            return None;
        }
        let length = rest.len() - digits.len() + count;
        let number = self.json.get(self.at..self.at + length)?;
        self.at += length;
        number.parse().ok()
    }

    fn escape(&mut self) -> Option<char> {
        let escaped = *self.rest().get(1)?;
        let plain = match escaped {
            b'n' => '\n',
            b't' => '\t',
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'u' => return self.unicode(),
            _ => return None,
        };
        self.at += 2;
        Some(plain)
    }

    /// `\u` with four digits, or a pair of them.
    fn unicode(&mut self) -> Option<char> {
        let first = hex_unit(self.rest(), 2)?;
        self.at += 6;
        if !(0xD800..0xE000).contains(&first) {
            return char::from_u32(first);
        }
        let rest = self.rest();
        if first >= 0xDC00 || rest.first() != Some(&b'\\') || rest.get(1) != Some(&b'u') {
            return None;
        }
        let second = hex_unit(rest, 2)?.checked_sub(0xDC00)?;
        self.at += 6;
        char::from_u32(0x10000 + ((first - 0xD800) << 10) + second)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn slow(json: &str) -> Option<Map<String, Value>> {
        serde_json::from_str(json).ok()
    }

    #[test]
    fn what_it_reads_is_what_a_full_parser_reads() {
        for json in [
            "{}",
            " { } ",
            r#"{"a": "x", "b": [1, {"c": null}], "a": "y"}"#,
            r#"{"a":"\n\t\"\\\/\r\b\f\u00e9\ud83d\ude00 tail"}"#,
            r#"{"n": 1.5e3 , "t":true}"#,
            r#"{"a":12,"b":-7 ,"c":0,"d":-0,"e":999999999999999,"f":1}"#,
        ] {
            assert_eq!(read(json).map(|(map, _)| map), slow(json), "{json}");
        }
    }

    #[test]
    fn what_is_out_of_the_ordinary_is_left_alone() {
        for json in [
            "",
            "[]",
            "{\"a\":1",
            "{\"a\":\"b\nc\"}",
            r#"{"a":"\ud800"}"#,
            r#"{"a":"\ud800\u0041"}"#,
            r#"{"a":"\x"}"#,
            r#"{"a":1,}"#,
            r#"{"a":01}"#,
            r#"{"a":1-2}"#,
            r#"{"a":-}"#,
            r#"{"a":1} x"#,
            r"{a:1}",
        ] {
            assert_eq!(read(json), None, "{json}");
        }
    }

    proptest! {
        #[test]
        fn any_text_reads_as_a_full_parser_reads_it(
            key in ".{0,8}", value in "(?s).{0,80}", number in any::<f64>(), broken in "[{}\\[\\]\",:\\\\ua-f0-9 \n]{0,24}"
        ) {
            let json = serde_json::json!({key: value, "n": number, "l": [value]}).to_string();
            prop_assert_eq!(read(&json).map(|(map, _)| map), slow(&json));
            if let Some((map, _)) = read(&broken) {
                prop_assert_eq!(Some(map), slow(&broken));
            }
        }
    }
}
