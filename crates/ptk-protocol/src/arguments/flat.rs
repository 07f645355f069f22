//! Reads the JSON of arguments whose values are mostly strings, long ones
//! included, faster than a parser that knows no text beforehand.

use std::iter::Peekable;
use std::vec::IntoIter;

use serde_json::{Map, Value};

use super::{EXACT_DIGITS, has_inexact_number};
use crate::json::decode::{Decoded, Decoding, StringStop, plain_run};

/// From this length on, a string reserves room for the rest of the input at
/// once, instead of growing step by step.
const LONG: usize = 1 << 12;

/// Reads the object, and whether its numbers are exact. `None` where anything
/// is out of the ordinary: a parser that can say what is wrong takes over then.
///
/// `json` stands at `offset` of a text some strings of which are `decoded`.
pub(super) fn read(
    json: &str,
    offset: usize,
    decoded: Vec<Decoded>,
) -> Option<(Map<String, Value>, bool)> {
    let mut reader = FlatReader {
        json,
        at: 0,
        offset,
        decoded: decoded.into_iter().peekable(),
    };
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
            let known = reader.known();
            Value::String(known.or_else(|| reader.string())?)
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

struct FlatReader<'a> {
    json: &'a str,
    at: usize,
    offset: usize,
    decoded: Peekable<IntoIter<Decoded>>,
}

impl<'a> FlatReader<'a> {
    fn rest(&self) -> &'a [u8] {
        self.json.as_bytes().get(self.at..).unwrap_or_default()
    }

    /// Skips white space and returns the byte behind it.
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

    /// Reads the string whose opening quote was passed.
    fn string(&mut self) -> Option<String> {
        let run = plain_run(self.rest());
        let start = self.at;
        if self.rest().get(run)? == &b'"' {
            self.at += run + 1;
            return self.json.get(start..start + run).map(str::to_owned);
        }
        let mut string = Decoding::new(start, 2 * run);
        loop {
            match string.read(self.json) {
                StringStop::Full(needed) => {
                    let length = string.text.len();
                    // Escapes are longer than what they stand for.
                    let rest = self.json.len() - string.at;
                    let more = if length > LONG {
                        rest - rest / 32
                    } else {
                        length
                    };
                    string.text.reserve_exact(more.max(needed));
                }
                StringStop::Quote => {
                    self.at = string.at + 1;
                    return Some(string.text);
                }
                StringStop::Cut | StringStop::Fault => return None,
            }
        }
    }

    /// Takes the string whose opening quote was passed, if it is decoded
    /// already.
    fn known(&mut self) -> Option<String> {
        let at = self.offset + self.at;
        while self
            .decoded
            .next_if(|string| string.range.start < at)
            .is_some()
        {}
        let string = self.decoded.next_if(|string| string.range.start == at)?;
        self.at += string.range.len() + 1;
        Some(string.text)
    }

    /// Reads a whole number that surely fits into 64 bits. Nothing is consumed
    /// if the value is something else.
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
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fast(json: &str) -> Option<(Map<String, Value>, bool)> {
        read(json, 0, Vec::new())
    }

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
            assert_eq!(fast(json).map(|(map, _)| map), slow(json), "{json}");
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
            assert_eq!(fast(json), None, "{json}");
        }
    }

    proptest! {
        #[test]
        fn any_text_reads_as_a_full_parser_reads_it(
            key in ".{0,8}", value in "(?s).{0,80}", number in any::<f64>(), broken in "[{}\\[\\]\",:\\\\ua-f0-9 \n]{0,24}"
        ) {
            let json = serde_json::json!({key: value, "n": number, "l": [value]}).to_string();
            prop_assert_eq!(fast(&json).map(|(map, _)| map), slow(&json));
            if let Some((map, _)) = fast(&broken) {
                prop_assert_eq!(Some(map), slow(&broken));
            }
        }
    }
}
