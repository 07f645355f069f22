//! The simple commands of a shell text, as words without their quotes. Knows
//! as much of the shell's grammar as it takes to tell commands from text.

/// A part of a shell text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Simple {
    /// A command and its arguments.
    Command(Vec<String>),
    /// A text that is itself run: a substitution, or what a shell is fed.
    Nested(String),
}

/// Whether a word names a program that runs what it is given.
pub(super) fn is_shell(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    matches!(name, "sh" | "bash" | "dash" | "zsh" | "ksh")
}

/// The parts, in about the order in which they stand.
pub(super) fn split(text: &str) -> Vec<Simple> {
    let mut lexer = Lexer {
        rest: text,
        ..Lexer::default()
    };
    while lexer.step() {}
    lexer.end_command();
    lexer.parts
}

#[derive(Default)]
struct Lexer<'a> {
    rest: &'a str,
    word: Option<String>,
    words: Vec<String>,
    parts: Vec<Simple>,
    /// The ends of here-documents that begin on the next line.
    pending: Vec<Pending>,
}

struct Pending {
    end: String,
    /// Whether tabs before the end mark do not count.
    is_indented: bool,
    is_run: bool,
}

impl<'a> Lexer<'a> {
    fn eat(&mut self, prefix: &str) -> bool {
        let rest = self.rest.strip_prefix(prefix);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = self.rest.get(c.len_utf8()..).unwrap_or_default();
        Some(c)
    }

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    fn end_word(&mut self) {
        self.words.extend(self.word.take());
    }

    fn end_command(&mut self) {
        self.end_word();
        if !self.words.is_empty() {
            self.parts
                .push(Simple::Command(std::mem::take(&mut self.words)));
        }
    }

    /// Up to `end`, which is passed over; all of the rest where there is none.
    fn until(&mut self, end: &str) -> &'a str {
        let (inner, rest) = self.rest.split_once(end).unwrap_or((self.rest, ""));
        self.rest = rest;
        inner
    }

    /// Up to the parenthesis that closes the one before.
    fn parenthesised(&mut self) -> &'a str {
        let mut depth = 1_usize;
        let end = self.rest.char_indices().find(|(_, c)| {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            depth == 0
        });
        let all = self.rest;
        let at = end.map_or(all.len(), |(at, _)| at);
        self.rest = all.get(at + 1..).unwrap_or_default();
        all.get(..at).unwrap_or_default()
    }

    /// A substitution at this place, if there is one.
    fn substitution(&mut self) -> bool {
        let inner = if self.eat("$((") {
            self.until("))");
            return true;
        } else if self.eat("$(") || self.eat("<(") || self.eat(">(") {
            self.parenthesised()
        } else if self.eat("`") {
            self.until("`")
        } else {
            return false;
        };
        self.word.get_or_insert_default();
        self.parts.push(Simple::Nested(inner.to_owned()));
        true
    }

    fn step(&mut self) -> bool {
        if self.substitution() {
            return true;
        }
        if self.eat("<<<") {
            self.end_word();
            return true;
        }
        if self.eat("<<") {
            self.here_document();
            return true;
        }
        let Some(c) = self.next() else { return false };
        match c {
            '\\' => match self.next() {
                Some('\n') | None => {}
                Some(c) => self.push(c),
            },
            '\'' => {
                let quoted = self.until("'");
                self.word.get_or_insert_default().push_str(quoted);
            }
            '"' => self.quoted(),
            '#' if self.word.is_none() => {
                let at = self.rest.find('\n').unwrap_or(self.rest.len());
                self.rest = self.rest.get(at..).unwrap_or_default();
            }
            '\n' => {
                self.end_command();
                self.here_bodies();
            }
            ';' | '&' | '|' | '(' | ')' => self.end_command(),
            c if c.is_whitespace() => self.end_word(),
            c => self.push(c),
        }
        true
    }

    fn quoted(&mut self) {
        self.word.get_or_insert_default();
        loop {
            if self.substitution() {
                continue;
            }
            match self.next() {
                Some('"') | None => return,
                Some('\\') => match self.next() {
                    Some('\n') | None => {}
                    Some(c @ ('$' | '`' | '"' | '\\')) => self.push(c),
                    Some(c) => {
                        self.push('\\');
                        self.push(c);
                    }
                },
                Some(c) => self.push(c),
            }
        }
    }

    fn here_document(&mut self) {
        self.end_word();
        let is_indented = self.eat("-");
        self.rest = self.rest.trim_start_matches([' ', '\t']);
        let stop = |c: char| c.is_whitespace() || ";&|()<>".contains(c);
        let at = self.rest.find(stop).unwrap_or(self.rest.len());
        let (end, rest) = self.rest.split_at(at);
        self.rest = rest;
        let end: String = end.chars().filter(|c| !"'\"\\".contains(*c)).collect();
        let is_run = self.words.iter().any(|word| is_shell(word));
        if !end.is_empty() {
            self.pending.push(Pending {
                end,
                is_indented,
                is_run,
            });
        }
    }

    fn here_bodies(&mut self) {
        for pending in std::mem::take(&mut self.pending) {
            let mut body = String::new();
            while !self.rest.is_empty() {
                let line = self.until("\n");
                let mark = if pending.is_indented {
                    line.trim_start_matches('\t')
                } else {
                    line
                };
                if mark == pending.end {
                    break;
                }
                body.push_str(line);
                body.push('\n');
            }
            if pending.is_run {
                self.parts.push(Simple::Nested(body));
            }
        }
    }
}
