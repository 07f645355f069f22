//! Writes calls in the notation of [`super::key_values`].

use super::key_value_literals::{MAX_NAME, STRINGS};
use super::key_values::{CALL, KeyValueMarks};
use crate::ToolCall;

impl KeyValueMarks {
    /// Writes a call.
    pub(crate) fn write(&self, call: &ToolCall) -> String {
        let node = call.args.to_json();
        let mut body = String::new();
        let mut json = JsonTokens { text: &node, at: 0 };
        self.write_value(&mut json, &mut body);
        format!("{}{CALL}{}{body}{}", self.open, call.name, self.close)
    }

    /// Writes the JSON value that comes next.
    fn write_value(&self, json: &mut JsonTokens<'_>, out: &mut String) {
        match json.next() {
            Token::Text(text) => out.push_str(&self.string(&text)),
            Token::Mark('{') => {
                out.push('{');
                loop {
                    match json.next() {
                        Token::Text(key) if is_plain_key(&key) => out.push_str(&key),
                        Token::Text(key) => out.push_str(&self.string(&key)),
                        Token::Mark(',') => {
                            out.push(',');
                            continue;
                        }
                        _ => break,
                    }
                    json.next();
                    out.push(':');
                    self.write_value(json, out);
                }
                out.push('}');
            }
            Token::Mark('[') => {
                out.push('[');
                loop {
                    let before = json.at;
                    match json.next() {
                        Token::Mark(',') => out.push(','),
                        Token::Mark(']') | Token::End => break,
                        _ => {
                            json.at = before;
                            self.write_value(json, out);
                        }
                    }
                }
                out.push(']');
            }
            Token::Word(word) => out.push_str(word),
            Token::Mark(_) | Token::End => {}
        }
    }

    /// A string between its marks, or in JSON's form where it holds them.
    fn string(&self, text: &str) -> String {
        if STRINGS.iter().any(|mark| text.contains(mark)) {
            crate::json::quote(text)
        } else {
            format!("{0}{text}{0}", self.string)
        }
    }
}

fn is_plain_key(key: &str) -> bool {
    !key.is_empty()
        && key.len() < MAX_NAME
        && key
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

/// The tokens of valid JSON.
struct JsonTokens<'a> {
    text: &'a str,
    at: usize,
}

enum Token<'a> {
    Text(String),
    Word(&'a str),
    Mark(char),
    End,
}

impl<'a> JsonTokens<'a> {
    fn next(&mut self) -> Token<'a> {
        let rest = self.text.get(self.at..).unwrap_or("").trim_start();
        self.at = self.text.len() - rest.len();
        match rest.chars().next() {
            None => Token::End,
            Some('"') => {
                let mut strings = serde_json::Deserializer::from_str(rest).into_iter::<String>();
                let text = strings.next().and_then(Result::ok).unwrap_or_default();
                self.at += strings.byte_offset().max(1);
                Token::Text(text)
            }
            Some(mark @ ('{' | '}' | '[' | ']' | ',' | ':')) => {
                self.at += 1;
                Token::Mark(mark)
            }
            Some(_) => {
                let length = rest
                    .find(|c: char| c.is_whitespace() || matches!(c, ',' | '}' | ']'))
                    .unwrap_or(rest.len());
                self.at += length;
                Token::Word(rest.get(..length).unwrap_or(""))
            }
        }
    }
}
