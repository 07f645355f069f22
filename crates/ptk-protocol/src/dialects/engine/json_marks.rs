//! The marks of families that write JSON, and the text between a mark and the
//! JSON behind it.

use std::sync::OnceLock;

use aho_corasick::AhoCorasick;

use super::super::{Claim, Trigger};
use super::call_object::Called;
use crate::parse::{Input, MarkAt, floor, mark_at};

#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a column of the table of families"
)]
/// The marks of a family. The first of each list is the correct one, the others
/// are what models write instead.
#[derive(Debug)]
pub(crate) struct JsonMarks {
    pub(crate) open: Vec<String>,
    pub(crate) close: Vec<String>,
    /// See [`Self::finder`].
    pub(crate) finder: OnceLock<Option<AhoCorasick>>,
    pub(crate) longest: usize,
    /// What stands between the opening mark and the arguments.
    pub(crate) head: Head,
    /// Whether a fence between the marks belongs to the form.
    pub(crate) fenced: bool,
    /// Whether a call is written `{"f": {…}}`.
    pub(crate) by_key: bool,
    /// Whether several calls may follow each other with a semicolon between.
    pub(crate) joined: bool,
    /// How many of the opening marks are correct; the others are misspelt.
    pub(crate) right: usize,
    /// How many bytes at the end of an opening mark belong to the JSON.
    pub(crate) overlap: usize,
    /// Whether the closing mark may be left out.
    pub(crate) may_stay_open: bool,
}

/// The text between an opening mark and the JSON.
#[derive(Debug, Clone, Default)]
pub(crate) enum Head {
    /// There is no head.
    #[default]
    None,
    /// A head that this function parses.
    Read(fn(&str) -> HeadAt),
    /// The tool's name, up to one of these marks, or up to the JSON where there
    /// are none.
    Name(Vec<String>),
}

/// The result of parsing a head.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum HeadAt {
    /// The JSON follows behind this many bytes. It is the arguments of the
    /// call, if the call is known by now.
    Finding(Option<Called>, usize),
    /// The arguments of this call follow behind this many bytes, if its tool is
    /// declared; otherwise the text belongs to another dialect.
    IfDeclared(Called, usize),
    /// More text is needed to decide.
    More,
    /// The reply ends before the head can be parsed.
    Cut,
    /// The head is missing although one was meant, or the mark is only
    /// mentioned.
    None,
    /// The text belongs to another dialect.
    Other,
}

/// The longest head; a name and its marks fit.
pub(super) const MAX_HEAD: usize = 512;

/// The message about a reply that ends within a tool's name.
pub(crate) const CUT_IN_NAME: &str =
    "The reply ends within the name of a tool; make the call again";

/// The characters that may follow a tool's name at the start of a line: a line
/// break, also one that is written out, or a tag.
pub(crate) const BEHIND_NAME: &str = "\n\r<\\";

/// Whether the text can be a tool's name.
pub(crate) fn is_tool_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(is_name_character)
}

/// Whether a tool's name may have this character.
pub(crate) fn is_name_character(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/' | '$')
}

impl Head {
    pub(super) fn read(&self, text: &str, end: bool) -> HeadAt {
        let window = text.get(..floor(text, MAX_HEAD)).unwrap_or("");
        let found = match self {
            Self::None => return HeadAt::Finding(None, 0),
            Self::Read(read) => read(window),
            Self::Name(ends) if ends.is_empty() => name_before_json(window),
            Self::Name(ends) => name_head(window, ends),
        };
        match found {
            HeadAt::More if text.len() >= MAX_HEAD => HeadAt::None,
            HeadAt::More if end => HeadAt::Cut,
            found => found,
        }
    }
}

/// Parses a name up to one of the marks.
pub(crate) fn name_head<S: AsRef<str>>(text: &str, ends: &[S]) -> HeadAt {
    let rest = text.trim_start();
    let Some((name, behind)) = leading_name(rest) else {
        return HeadAt::More;
    };
    let mark = behind.trim_start();
    match mark_at(mark, ends) {
        _ if name.is_empty() => HeadAt::None,
        MarkAt::Finding { length, .. } => {
            let length = text.len() - mark.len() + length;
            HeadAt::Finding(Some(Called::new(name)), length)
        }
        MarkAt::Partial => HeadAt::More,
        MarkAt::None => HeadAt::None,
    }
}

/// Parses a name right before an object.
fn name_before_json(text: &str) -> HeadAt {
    match leading_name(text.trim_start()) {
        None => HeadAt::More,
        Some(("", _)) => HeadAt::None,
        Some((name, behind)) => {
            let object = behind.trim_start();
            match object.chars().next() {
                None => HeadAt::More,
                Some('{') => HeadAt::Finding(Some(Called::new(name)), text.len() - object.len()),
                Some(_) => HeadAt::None,
            }
        }
    }
}

/// The tool's name at the start of the text, and what follows; `None` if the
/// text ends within it.
pub(crate) fn leading_name(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !is_name_character(c))?;
    text.split_at_checked(end)
}

/// Whether a reply ends within the name of a declared tool.
pub(crate) fn ends_in_name(text: &str, input: &Input<'_>) -> bool {
    let before = text.trim_end_matches(is_name_character);
    let word = text.get(before.len()..).unwrap_or("");
    // A namespace may stand before the name.
    let name = word.rsplit(['.', ':']).next().unwrap_or(word);
    !name.is_empty() && input.begins_name(name)
}

impl JsonMarks {
    pub(crate) fn new(open: Vec<String>, close: Vec<String>) -> Self {
        let all = close.iter().chain(&open);
        Self {
            right: open.len(),
            finder: OnceLock::new(),
            longest: all.map(String::len).max().unwrap_or(0),
            open,
            head: Head::None,
            fenced: false,
            by_key: false,
            joined: false,
            overlap: 0,
            may_stay_open: close.is_empty(),
            close,
        }
    }

    /// Creates a family with these very marks, without any misspelling.
    pub(crate) fn exact(open: &[&str], close: &[&str]) -> Self {
        let owned = |marks: &[&str]| marks.iter().map(|mark| (*mark).to_owned()).collect();
        Self::new(owned(open), owned(close))
    }

    /// Finds closing marks (by their index) and opening marks (behind those).
    /// It is large, and only for what is broken: most families never need it.
    pub(super) fn finder(&self) -> Option<&AhoCorasick> {
        let build = || {
            let all: Vec<&String> = self.close.iter().chain(&self.open).collect();
            let built = AhoCorasick::builder()
                .ascii_case_insensitive(true)
                .match_kind(aho_corasick::MatchKind::LeftmostLongest)
                .build(&all);
            built.ok()
        };
        self.finder.get_or_init(build).as_ref()
    }

    /// Whether one of the opening marks stands in the text.
    pub(super) fn opens_in(&self, text: &str) -> bool {
        let Some(finder) = self.finder() else {
            return false;
        };
        let mut marks = finder.find_iter(text);
        marks.any(|found| found.pattern().as_usize() >= self.close.len())
    }

    /// The triggers at which the calls of the family begin.
    pub(crate) fn triggers(&self, trigger: fn(&str) -> Trigger) -> Vec<Trigger> {
        self.open
            .iter()
            .enumerate()
            .map(|(index, open)| {
                let claim = if index < self.right {
                    Claim::Own
                } else {
                    Claim::Misspelt
                };
                trigger(open).claimed(claim)
            })
            .collect()
    }

    /// Sets the head between the opening mark and the arguments.
    pub(crate) fn headed(mut self, head: Head) -> Self {
        self.head = head;
        self
    }

    /// Creates the marks of a tag, with the misspellings that models produce.
    pub(crate) fn tag(tag: &str) -> Self {
        let spaced = tag.replace('_', " ");
        let dashed = tag.replace('_', "-");
        let joined = tag.replace('_', "");
        let mut open = vec![format!("<{tag}>")];
        let mut close = vec![format!("</{tag}>")];
        for name in [tag, &spaced, &dashed, &joined] {
            for form in [
                format!("<{name}>"),
                format!("<{name} >"),
                format!("< {name}>"),
                format!("<|{name}|>"),
                format!("[{name}]"),
            ] {
                if !open.contains(&form) {
                    open.push(form);
                }
            }
            for form in [
                format!("</{name}>"),
                format!("</{name} >"),
                format!("</ {name}>"),
                format!("< /{name}>"),
                format!("<\\/{name}>"),
                format!("<|/{name}|>"),
                format!("[/{name}]"),
            ] {
                if !close.contains(&form) {
                    close.push(form);
                }
            }
        }
        let right = 1;
        Self {
            right,
            ..Self::new(open, close)
        }
    }
}
