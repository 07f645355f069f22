//! Writes a grammar as llguidance reads it: Lark with its extensions.
//!
//! llguidance splits a text into lexemes, each as long as possible, before it
//! applies rules. So what may follow each other must not be divided in another
//! way than the rules mean it: words with the beginning of a call are one
//! lexeme, and arguments are divided as JSON is, into strings, numbers, words
//! and signs.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::Arc;

use super::reply::{MAX_CALLS, common_prefix, heads};
use super::shape::{CallShape, FreeText, Several, TextForm};
use super::text::blank;
use super::{Class, Gbnf, MAX_SIZE, Part};

/// Characters that are lexemes of their own in JSON.
const SIGNS: &str = "{}[],: \n";

impl Gbnf {
    /// Writes the grammar as llguidance reads it, in its variant of Lark. It
    /// allows the same texts.
    ///
    /// `None` if the dialect's calls cannot be divided into lexemes: where one
    /// of the texts around the arguments begins as another one that may stand
    /// there, or if it takes more than [`MAX_SIZE`].
    ///
    /// ```
    /// use ptk_protocol::ToolSpec;
    /// use ptk_protocol::gbnf::Gbnf;
    /// use serde_json::json;
    ///
    /// let tool = ToolSpec::new("wait", "Wait for so many seconds", json!({
    ///     "type": "object",
    ///     "properties": {"seconds": {"type": "integer", "minimum": 0, "maximum": 59}},
    ///     "required": ["seconds"],
    /// }));
    /// let lark = Gbnf::of_arguments(&tool).lark().unwrap();
    /// assert!(lark.starts_with("%llguidance {}\n\nstart: "), "{lark}");
    /// assert!(lark.contains("WAIT-SECONDS: /[0-9]/ | /[1-5]/ /[0-9]/"), "{lark}");
    /// ```
    #[must_use]
    pub fn lark(&self) -> Option<String> {
        let mut writer = LarkWriter::new(self);
        let shape = &self.shape;
        let start = match (&shape.opening, &shape.answer) {
            (Some(opening), Some(answer)) => {
                let opening = writer.pattern(opening);
                let answer = writer.pattern(answer);
                let answer = writer.named("TEXT", format!("{opening} {answer}"));
                match &shape.lead {
                    Some(lead) => {
                        let (head, calls) = writer.calls()?;
                        if !self.is_kept_out(lead, head) {
                            return None;
                        }
                        let lead = writer.pattern(lead);
                        let head = format!("{opening} {lead} {}", quoted(head));
                        let head = writer.named("HEAD", head);
                        format!("{answer} | {head} {calls}")
                    }
                    None => answer,
                }
            }
            _ if shape.calls.is_empty() => writer.syntax(&Part::Rule(0)),
            _ => {
                let (head, calls) = writer.calls()?;
                format!("{} {calls}", quoted(head))
            }
        };
        writer.finish(&start)
    }

    /// Whether words end where this text begins, because it begins with a mark
    /// that they cannot have.
    fn is_kept_out(&self, words: &Part, text: &str) -> bool {
        let Part::Rule(index) = words else {
            return false;
        };
        let text = text.to_ascii_lowercase();
        let described = self.shape.texts.get(index);
        described.is_some_and(|words| words.without.iter().any(|mark| text.starts_with(mark)))
    }
}

/// A lexeme, or another part of a sequence.
enum Piece {
    /// A part of a number or a word; those next to each other are one lexeme.
    Scalar(String),
    Other(String),
}

/// What is still to be defined.
enum Waiting {
    Rule(usize),
    Terminal(usize),
}

struct LarkWriter<'g> {
    grammar: &'g Gbnf,
    /// Whether each rule is a number or a word of JSON, or a part of one.
    are_scalar: Vec<bool>,
    names: HashSet<String>,
    rules: HashMap<usize, String>,
    terminals: HashMap<usize, String>,
    /// Terminals by their definitions, so that each is defined once.
    defined: HashMap<String, String>,
    /// Terminals for all texts that have one of these marks.
    marked: Vec<(Arc<[String]>, String)>,
    waiting: Vec<Waiting>,
    lines: String,
}

impl<'g> LarkWriter<'g> {
    fn new(grammar: &'g Gbnf) -> Self {
        let mut are_scalar = vec![false; grammar.rules.len()];
        loop {
            let mut is_new = false;
            for (index, rule) in grammar.rules.iter().enumerate() {
                if is_scalar(&rule.part, &are_scalar)
                    && let Some(known) = are_scalar.get_mut(index)
                    && !*known
                {
                    *known = true;
                    is_new = true;
                }
            }
            if !is_new {
                break;
            }
        }
        Self {
            grammar,
            are_scalar,
            names: HashSet::from(["start".to_owned()]),
            rules: HashMap::new(),
            terminals: HashMap::new(),
            defined: HashMap::new(),
            marked: Vec::new(),
            waiting: Vec::new(),
            lines: String::new(),
        }
    }

    /// Defines what is still to be defined, and returns the whole text.
    fn finish(mut self, start: &str) -> Option<String> {
        while let Some(next) = self.waiting.pop() {
            let (name, definition) = match next {
                Waiting::Rule(index) => {
                    let part = &self.grammar.rules.get(index)?.part;
                    (self.rules.get(&index)?.clone(), self.syntax(part))
                }
                Waiting::Terminal(index) => {
                    let name = self.terminals.get(&index)?.clone();
                    let definition = match self.grammar.shape.texts.get(&index) {
                        Some(text) => self.free_text(text),
                        None => self.pattern(&self.grammar.rules.get(index)?.part),
                    };
                    (name, definition)
                }
            };
            self.define(&name, unbraced(&definition));
            if self.lines.len() > MAX_SIZE {
                return None;
            }
        }
        Some(format!(
            "%llguidance {{}}\n\nstart: {start}\n{}",
            self.lines
        ))
    }

    fn define(&mut self, name: &str, definition: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.lines, "{name}: {definition}");
    }

    /// A name that is not taken yet.
    fn free_name(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        let mut number = self.names.len();
        // Rules and terminals differ by case alone.
        while !self.names.insert(name.to_ascii_lowercase()) {
            name = format!("{wanted}-{number}");
            number += 1;
        }
        name
    }

    fn rule(&mut self, index: usize) -> String {
        if let Some(name) = self.rules.get(&index) {
            return name.clone();
        }
        let name = self.name_of(index).to_ascii_lowercase();
        let name = self.free_name(&name);
        self.rules.insert(index, name.clone());
        self.waiting.push(Waiting::Rule(index));
        name
    }

    fn terminal(&mut self, index: usize) -> String {
        if let Some(name) = self.terminals.get(&index) {
            return name.clone();
        }
        let name = self.name_of(index).to_ascii_uppercase();
        let name = self.free_name(&name);
        self.terminals.insert(index, name.clone());
        self.waiting.push(Waiting::Terminal(index));
        name
    }

    fn name_of(&self, index: usize) -> String {
        let rule = self.grammar.rules.get(index);
        rule.map(|rule| rule.name.clone()).unwrap_or_default()
    }

    /// A terminal with this definition.
    fn named(&mut self, name: &str, definition: String) -> String {
        if let Some(known) = self.defined.get(&definition) {
            return known.clone();
        }
        let name = self.free_name(name);
        self.define(&name, unbraced(&definition));
        self.defined.insert(definition, name.clone());
        name
    }

    /// The text before the name of the first call, and all calls behind it.
    /// `None` if they cannot be divided into lexemes.
    fn calls(&mut self) -> Option<(&'g str, String)> {
        let grammar = self.grammar;
        let (calls, several) = (&grammar.shape.calls, &grammar.shape.several);
        let (head, names) = divided(&heads(calls))?;
        let after = calls.first()?.frame.after.as_str();
        let most = MAX_CALLS - 1;
        if let Several::List(links) = several {
            let links: Vec<&str> = links.iter().map(String::as_str).collect();
            let (link, next_names) = divided(&links)?;
            // What all that may follow begins with is a lexeme of its own.
            let (end, close) = after.split_at_checked(shared(link, after))?;
            let link = link.strip_prefix(end)?;
            let reasons = calls.iter().filter_map(|call| call.frame.reason.as_deref());
            let mut behind: Vec<&str> = reasons.collect();
            behind.sort_unstable();
            behind.dedup();
            let ends = [link, close].into_iter().filter(|end| !end.is_empty());
            let ends: Vec<&str> = ends.collect();
            if end.is_empty() {
                behind.extend(&ends);
            } else {
                behind.push(end);
            }
            if link.is_empty() || !are_prefix_free(behind) || !are_prefix_free(ends) {
                return None;
            }
            let first = self.choice(calls, &names, |_| end);
            let next = self.choice(calls, &next_names, |_| end);
            let mut list = format!("{first} ( {} {next} ){{0,{most}}}", quoted(link));
            if !close.is_empty() {
                list.push(' ');
                list.push_str(&quoted(close));
            }
            return Some((head, list));
        }
        let link = match several {
            Several::Each(join) => Some(format!("{join}{head}")),
            Several::None | Several::List(_) => None,
        };
        let are_apart = calls.iter().all(|CallShape { frame, .. }| {
            let after = Some(frame.after.as_str()).filter(|after| !after.is_empty());
            let behind = [frame.reason.as_deref(), after.or(link.as_deref())];
            are_prefix_free(behind.into_iter().flatten().collect())
        });
        if !are_apart {
            return None;
        }
        let call = self.choice(calls, &names, |call| &call.frame.after);
        let calls = match link {
            Some(link) => format!("{call} ( {} {call} ){{0,{most}}}", quoted(&link)),
            None => call,
        };
        Some((head, calls))
    }

    /// A rule for a call of any tool, from its name on, with the text behind
    /// it.
    fn choice<'c>(
        &mut self,
        calls: &'c [CallShape],
        names: &[&str],
        behind: impl Fn(&'c CallShape) -> &'c str,
    ) -> String {
        let choices = calls.iter().zip(names).map(|(call, name)| {
            let mut choice = format!("{} {}", quoted(name), self.syntax(&call.args));
            let reason = self.framed(&call.reason);
            for more in [reason, quoted(behind(call))] {
                if more != EMPTY {
                    choice.push(' ');
                    choice.push_str(&more);
                }
            }
            choice
        });
        let choices: Vec<String> = choices.collect();
        let name = self.free_name("call");
        self.define(&name, &choices.join(" | "));
        name
    }

    /// A part of the text around arguments, whose literals are not JSON.
    fn framed(&mut self, part: &Part) -> String {
        match part {
            Part::Literal(text) => quoted(text),
            Part::Sequence(parts) => {
                let parts = parts.iter().map(|part| self.framed(part));
                parts.collect::<Vec<_>>().join(" ")
            }
            Part::Repeat { part, least, most } => {
                format!("( {} ){}", self.framed(part), count(*least, *most))
            }
            part => self.syntax(part),
        }
    }

    /// A part of arguments, divided into lexemes.
    fn syntax(&mut self, part: &Part) -> String {
        match part {
            Part::Rule(index) if self.are_scalar.get(*index) == Some(&true) => {
                self.terminal(*index)
            }
            Part::Rule(index) => self.rule(*index),
            Part::Class(class) => regex(class),
            Part::Choice(_) if is_scalar(part, &self.are_scalar) => {
                let pattern = self.pattern(part);
                self.lexeme(pattern)
            }
            Part::Choice(parts) => {
                let parts = parts.iter().map(|part| self.syntax(part));
                format!("( {} )", parts.collect::<Vec<_>>().join(" | "))
            }
            Part::Literal(_) => self.sequence(std::slice::from_ref(part)),
            Part::Sequence(parts) => self.sequence(parts),
            Part::Repeat { part, least, most } => {
                format!("( {} ){}", self.syntax(part), count(*least, *most))
            }
        }
    }

    /// Parts of arguments that follow each other.
    fn sequence(&mut self, parts: &[Part]) -> String {
        let mut pieces = Vec::new();
        // The beginning of a string whose end is in a later part.
        let mut open: Option<Vec<String>> = None;
        for part in parts {
            match (part, &mut open) {
                (Part::Literal(text), _) => self.literal(text, &mut open, &mut pieces),
                (part, Some(string)) => {
                    let pattern = self.pattern(part);
                    string.push(pattern);
                }
                (part, None) if is_scalar(part, &self.are_scalar) => {
                    pieces.push(Piece::Scalar(self.pattern(part)));
                }
                (part, None) => pieces.push(Piece::Other(self.syntax(part))),
            }
        }
        let mut lexemes = Vec::new();
        let mut scalar: Vec<String> = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Scalar(pattern) => scalar.push(pattern),
                Piece::Other(other) => {
                    self.close(&mut scalar, &mut lexemes);
                    lexemes.push(other);
                }
            }
        }
        self.close(&mut scalar, &mut lexemes);
        if lexemes.is_empty() {
            return EMPTY.to_owned();
        }
        lexemes.join(" ")
    }

    /// Ends a lexeme that consists of these parts.
    fn close(&mut self, parts: &mut Vec<String>, lexemes: &mut Vec<String>) {
        if !parts.is_empty() {
            lexemes.push(self.lexeme(parts.join(" ")));
            parts.clear();
        }
    }

    /// A literal of JSON, divided into lexemes.
    fn literal(&mut self, text: &str, open: &mut Option<Vec<String>>, pieces: &mut Vec<Piece>) {
        let mut rest = text;
        if let Some(string) = open {
            let Some(end) = string_end(rest) else {
                string.push(quoted(rest));
                return;
            };
            let (behind, others) = rest.split_at(end);
            string.push(quoted(behind));
            let string = std::mem::take(string).join(" ");
            pieces.push(Piece::Other(self.lexeme(string)));
            *open = None;
            rest = others;
        }
        while let Some(first) = rest.chars().next() {
            let end = match first {
                '"' => string_end(rest.get(1..).unwrap_or_default()).map(|end| end + 1),
                first if SIGNS.contains(first) => Some(1),
                _ => {
                    let end = rest.find(|c| c == '"' || SIGNS.contains(c));
                    Some(end.unwrap_or(rest.len()))
                }
            };
            let Some((lexeme, others)) = end.and_then(|end| rest.split_at_checked(end)) else {
                *open = Some(vec![quoted(rest)]);
                return;
            };
            let is_scalar = first != '"' && !SIGNS.contains(first);
            pieces.push(if is_scalar {
                Piece::Scalar(quoted(lexeme))
            } else {
                Piece::Other(quoted(lexeme))
            });
            rest = others;
        }
    }

    /// A lexeme with this pattern, under a name unless it is a literal or has
    /// one already.
    fn lexeme(&mut self, pattern: String) -> String {
        let is_literal = string_end(pattern.get(1..).unwrap_or_default())
            .is_some_and(|end| pattern.starts_with('"') && end + 1 == pattern.len());
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if is_literal || pattern.chars().all(is_name) {
            return pattern;
        }
        self.named("LEXEME", pattern)
    }

    /// A part that is one lexeme, or inside one.
    fn pattern(&mut self, part: &Part) -> String {
        match part {
            Part::Literal(text) => quoted(text),
            Part::Class(class) => regex(class),
            Part::Rule(index) => self.terminal(*index),
            Part::Sequence(parts) => {
                let parts = parts.iter().map(|part| self.pattern(part));
                parts.collect::<Vec<_>>().join(" ")
            }
            Part::Choice(parts) => {
                let parts = parts.iter().map(|part| self.pattern(part));
                format!("( {} )", parts.collect::<Vec<_>>().join(" | "))
            }
            Part::Repeat { part, least, most } => {
                let inner = self.pattern(part);
                match &**part {
                    Part::Class(_) | Part::Rule(_) => format!("{inner}{}", count(*least, *most)),
                    _ => format!("( {inner} ){}", count(*least, *most)),
                }
            }
        }
    }

    /// Free text as a terminal.
    fn free_text(&mut self, text: &FreeText) -> String {
        let all = match text.form {
            TextForm::Any => "/(?s:.*)/".to_owned(),
            TextForm::Lines => r"/((?s:.*)\n)?/".to_owned(),
            TextForm::NotBlank => {
                let first = regex(&Class::none_of(blank()));
                format!("{}(?s:.*)/", first.trim_end_matches('/'))
            }
        };
        if text.without.is_empty() {
            return all;
        }
        let known = self.marked.iter().find(|(marks, _)| *marks == text.without);
        let marked = if let Some((_, name)) = known {
            name.clone()
        } else {
            let marks = text.without.iter().map(|mark| in_any_case(mark));
            let marks = marks.collect::<Vec<_>>().join("|");
            let name = self.named("MARKED", format!("/(?s:.*)({marks})(?s:.*)/"));
            self.marked.push((Arc::clone(&text.without), name.clone()));
            name
        };
        format!("{all} & ~{marked}")
    }
}

/// An empty text.
const EMPTY: &str = "\"\"";

/// Divides texts into what all of them begin with, and the rest of each.
/// `None` if the rest of one begins as that of another.
fn divided<'a>(texts: &[&'a str]) -> Option<(&'a str, Vec<&'a str>)> {
    let common = common_prefix(texts);
    let head = texts.first()?.get(..common)?;
    let rests: Vec<&str> = texts.iter().filter_map(|text| text.get(common..)).collect();
    are_prefix_free(rests.clone()).then_some((head, rests))
}

/// How many bytes two texts share at their start, cut between characters.
fn shared(one: &str, other: &str) -> usize {
    let pairs = one.chars().zip(other.chars());
    let same = pairs.take_while(|(one, other)| one == other);
    same.map(|(c, _)| c.len_utf8()).sum()
}

/// Whether none of the texts is empty or the beginning of another.
fn are_prefix_free(mut texts: Vec<&str>) -> bool {
    texts.sort_unstable();
    let pairs = texts.iter().zip(texts.iter().skip(1));
    let mut begins = pairs.map(|(one, next)| next.starts_with(one));
    !begins.any(|begins| begins) && texts.first().is_none_or(|first| !first.is_empty())
}

/// Whether a part is a number or a word of JSON, or a part of one.
fn is_scalar(part: &Part, known: &[bool]) -> bool {
    let is_inside = |c: char| c != '"' && !SIGNS.contains(c);
    match part {
        Part::Literal(text) => !text.is_empty() && text.chars().all(is_inside),
        Part::Class(class) => {
            let others = SIGNS.chars().chain(['"']);
            !class.ranges.is_empty() && others.into_iter().all(|c| !class.contains(c))
        }
        Part::Rule(index) => known.get(*index) == Some(&true),
        Part::Sequence(parts) | Part::Choice(parts) => {
            !parts.is_empty() && parts.iter().all(|part| is_scalar(part, known))
        }
        Part::Repeat { part, .. } => is_scalar(part, known),
    }
}

/// Where a string of JSON ends, behind its first quote.
fn string_end(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    let mut characters = text.char_indices();
    let end = characters.find(|(_, c)| {
        let ends = *c == '"' && !is_escaped;
        is_escaped = *c == '\\' && !is_escaped;
        ends
    });
    end.map(|(at, _)| at + 1)
}

/// The definition of a choice without brackets.
fn unbraced(definition: &str) -> &str {
    let inner = definition
        .strip_prefix("( ")
        .and_then(|it| it.strip_suffix(" )"));
    // Others may stand before the last bracket.
    inner
        .filter(|it| !it.contains([')', '(']))
        .unwrap_or(definition)
}

/// A literal, in which nothing is invisible.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    for c in serde_json::Value::from(text).to_string().chars() {
        if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}') {
            // Writing to a string cannot fail.
            let _ = write!(quoted, "\\u{:04x}", u32::from(c));
        } else {
            quoted.push(c);
        }
    }
    quoted
}

fn count(least: u32, most: Option<u32>) -> String {
    match (least, most) {
        (0, Some(1)) => "?".to_owned(),
        (0, None) => "*".to_owned(),
        (1, None) => "+".to_owned(),
        (least, None) => format!("{{{least},}}"),
        (least, Some(most)) if least == most => format!("{{{least}}}"),
        (least, Some(most)) => format!("{{{least},{most}}}"),
    }
}

/// A class as a regular expression between slashes.
fn regex(class: &Class) -> String {
    let mut text = String::from(if class.is_negated { "/[^" } else { "/[" });
    for (from, to) in &class.ranges {
        text.push_str(&character(*from));
        if from != to {
            text.push('-');
            text.push_str(&character(*to));
        }
    }
    text.push_str("]/");
    text
}

fn in_any_case(mark: &str) -> String {
    let one = |c: char| match c {
        c if c.is_ascii_lowercase() => format!("[{c}{}]", c.to_ascii_uppercase()),
        c => character(c),
    };
    mark.chars().map(one).collect()
}

/// A character in a regular expression, by its number if it may mean something.
fn character(c: char) -> String {
    match c {
        c if c.is_ascii_alphanumeric() => c.to_string(),
        c => format!("\\x{{{:X}}}", u32::from(c)),
    }
}
