//! Regular expressions of Python, in the notation of `regex-syntax`. Whatever
//! one pass over the text cannot match is refused.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::Hir;

use super::error::TemplateFault;

/// The longest pattern.
const MAX_PATTERN: usize = 1024;
/// How deep groups may be nested.
const MAX_NESTING: u32 = 32;

/// Parses a pattern as Python does with `DOTALL`.
pub(super) fn parse(pattern: &str) -> Result<Hir, TemplateFault> {
    if pattern.len() > MAX_PATTERN {
        return Err(TemplateFault::TooLong {
            length: pattern.len(),
            most: MAX_PATTERN,
        });
    }
    let translated = Translator::new(pattern).translate()?;
    let parsed = ParserBuilder::new()
        .dot_matches_new_line(true)
        .nest_limit(MAX_NESTING)
        .build()
        .parse(&translated);
    parsed.map_err(|error| {
        TemplateFault::BadPattern(match error {
            regex_syntax::Error::Parse(error) => error.kind().to_string(),
            regex_syntax::Error::Translate(error) => error.kind().to_string(),
            other => other.to_string(),
        })
    })
}

/// Rewrites a pattern character by character.
struct Translator {
    chars: Vec<char>,
    at: usize,
    out: String,
    /// Whether a quantifier was just read.
    is_quantified: bool,
}

impl Translator {
    fn new(pattern: &str) -> Self {
        Self {
            chars: pattern.chars().collect(),
            at: 0,
            out: String::with_capacity(pattern.len() + 8),
            is_quantified: false,
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn starts_with(&self, text: &str) -> bool {
        let mut chars = text.chars().enumerate();
        chars.all(|(ahead, c)| self.peek(ahead) == Some(c))
    }

    fn not_linear(&self, what: &'static str) -> TemplateFault {
        TemplateFault::NotLinear {
            what,
            at: self.at + 1,
        }
    }

    fn translate(mut self) -> Result<String, TemplateFault> {
        while let Some(c) = self.peek(0) {
            let was_quantified = std::mem::take(&mut self.is_quantified);
            match c {
                '\\' => self.escape(false)?,
                '[' => self.class()?,
                '(' if self.peek(1) == Some('?') => self.group()?,
                '{' if !self.is_repetition() => {
                    self.out.push_str("\\{");
                    self.at += 1;
                }
                '+' if was_quantified => return Err(self.not_linear("the possessive quantifier")),
                '*' | '+' | '?' | '}' => {
                    self.is_quantified = !was_quantified;
                    self.keep();
                }
                _ => self.keep(),
            }
        }
        Ok(self.out)
    }

    fn keep(&mut self) {
        self.out.extend(self.peek(0));
        self.at += 1;
    }

    /// Whether the brace here begins a repetition, as in `a{2,3}`.
    fn is_repetition(&self) -> bool {
        let rest = self.chars.get(self.at + 1..).unwrap_or_default();
        let end = rest.iter().position(|c| *c == '}').unwrap_or(0);
        let inner = rest.get(..end).unwrap_or_default();
        let starts = inner.first().is_some_and(char::is_ascii_digit);
        starts && inner.iter().all(|c| c.is_ascii_digit() || *c == ',')
    }

    fn escape(&mut self, in_class: bool) -> Result<(), TemplateFault> {
        let what = match self.peek(1) {
            Some('b') if in_class => {
                self.out.push_str("\\x08");
                self.at += 2;
                return Ok(());
            }
            // Word boundaries in `regex-syntax`, plain characters in Python.
            Some(c @ ('<' | '>')) => {
                self.out.push(c);
                self.at += 2;
                return Ok(());
            }
            Some('Z') => {
                self.out.push_str("\\z");
                self.at += 2;
                return Ok(());
            }
            Some('1'..='9') => "the back-reference",
            Some('b' | 'B') => "the word boundary",
            Some('g' | 'G' | 'k' | 'K' | 'm' | 'M' | 'R' | 'X' | 'L' | 'N' | 'h') => "the escape",
            _ => {
                self.keep();
                self.keep();
                return Ok(());
            }
        };
        Err(self.not_linear(what))
    }

    fn group(&mut self) -> Result<(), TemplateFault> {
        const REFUSED: [(&str, &str); 12] = [
            ("(?=", "the look-ahead"),
            ("(?!", "the look-ahead"),
            ("(?<=", "the look-behind"),
            ("(?<!", "the look-behind"),
            ("(?>", "the atomic group"),
            ("(?(", "the condition"),
            ("(?|", "the branch reset"),
            ("(?P=", "the back-reference"),
            ("(?P>", "the recursion"),
            ("(?R", "the recursion"),
            ("(?&", "the recursion"),
            ("(?0", "the recursion"),
        ];
        let refused = REFUSED.iter().find(|(start, _)| self.starts_with(start));
        if let Some((_, what)) = refused {
            return Err(self.not_linear(what));
        }
        if self.starts_with("(?#") {
            while self.peek(0).is_some_and(|c| c != ')') {
                self.at += 1;
            }
            self.at += 1;
            return Ok(());
        }
        self.keep();
        self.keep();
        Ok(())
    }

    /// A class of characters. Python knows no classes inside classes, and no
    /// operators on them.
    fn class(&mut self) -> Result<(), TemplateFault> {
        self.keep();
        if self.peek(0) == Some('^') {
            self.keep();
        }
        let mut is_first = true;
        while let Some(c) = self.peek(0) {
            match c {
                ']' if !is_first => {
                    self.keep();
                    return Ok(());
                }
                '\\' => self.escape(true)?,
                ']' | '[' | '&' | '~' => {
                    self.out.push('\\');
                    self.keep();
                }
                _ => self.keep(),
            }
            is_first = false;
        }
        // The parser reports the class that never ends.
        Ok(())
    }
}
