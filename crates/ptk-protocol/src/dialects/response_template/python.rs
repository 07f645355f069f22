//! Regular expressions of Python, in the notation of `regex-syntax`. Whatever
//! one pass over the text cannot match is refused.

use regex_syntax::hir::Hir;
use regex_syntax::{ParserBuilder, is_meta_character};

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
                '{' => self.is_quantified = self.repetition(),
                '}' => self.literal(c),
                '+' if was_quantified => return Err(self.not_linear("the possessive quantifier")),
                '*' | '+' | '?' => {
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

    /// Takes a character that stands for itself.
    fn literal(&mut self, c: char) {
        if is_meta_character(c) {
            self.out.push('\\');
        }
        self.out.push(c);
        self.at += 1;
    }

    /// Takes a brace: with a repetition, as in `a{2,3}` or `a{,3}`, or alone.
    /// Returns whether it is a repetition.
    fn repetition(&mut self) -> bool {
        let rest = self.chars.get(self.at + 1..).unwrap_or_default();
        let inner = rest.split(|c| *c == '}').next().unwrap_or_default();
        let text: String = inner.iter().collect();
        let (least, most) = text.split_once(',').unwrap_or((&text, &text));
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let is_closed = inner.len() < rest.len() && !inner.is_empty();
        if !is_closed || !is_number(least) || !is_number(most) {
            self.literal('{');
            return false;
        }
        let least = if least.is_empty() { "0" } else { least };
        self.out.push_str(&format!("{{{least},{most}}}"));
        self.at += inner.len() + 2;
        true
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
            // `regex-syntax` reads `p` and `P` as classes, Python does not.
            Some('g' | 'G' | 'k' | 'K' | 'm' | 'M' | 'R' | 'X' | 'L' | 'N' | 'h' | 'p' | 'P') => {
                "the escape"
            }
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
            if c == ']' && !is_first {
                self.keep();
                return Ok(());
            }
            let from = self.class_item(c)?;
            let to = self.peek(1).filter(|to| *to != ']');
            if let (Some('-'), Some(to)) = (self.peek(0), to) {
                self.keep();
                let to = self.class_item(to)?;
                if from == ClassItem::Set || to == ClassItem::Set {
                    let reason = "a range of characters ends with a class, such as \\d";
                    return Err(TemplateFault::BadPattern(reason.to_owned()));
                }
            }
            is_first = false;
        }
        // The parser reports the class that never ends.
        Ok(())
    }

    /// One character of a class, or an escape.
    fn class_item(&mut self, c: char) -> Result<ClassItem, TemplateFault> {
        if c != '\\' {
            self.literal(c);
            return Ok(ClassItem::Character);
        }
        let is_set = self
            .peek(1)
            .is_some_and(|c| matches!(c, 'd' | 'D' | 's' | 'S' | 'w' | 'W'));
        // More digits of an escape may follow, which are not characters.
        let digits = match self.peek(1) {
            Some('x') => 2,
            Some('u') => 4,
            Some('U') => 8,
            _ => 0,
        };
        self.escape(true)?;
        for _ in 0..digits {
            self.keep();
        }
        Ok(if is_set {
            ClassItem::Set
        } else {
            ClassItem::Character
        })
    }
}

/// What stands in a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClassItem {
    Character,
    /// A class itself, such as `\d`.
    Set,
}
