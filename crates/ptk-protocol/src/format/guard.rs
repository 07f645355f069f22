//! The forgery guard: marks of the protocol inside tool output are defused
//! before they enter a prompt, in a way that can be undone.
//!
//! A `~` behind the first character breaks a mark: `<PTK_CALL>` becomes
//! `<~PTK_CALL>`, and `PTK_RESULT` at the start of a line `P~TK_RESULT`. Text
//! that already looks so gains one more `~`, and restoring takes exactly one
//! away, so every text comes back as it was.
//!
//! Only marks are broken. A form without marks (bare JSON, `f(…)`, `<f>`, a
//! name above JSON) looks like an ordinary file; calls copied from such a file
//! are found by [`Copies`](crate::parse::Copies).

mod find;
mod mark;
mod marks;

use std::borrow::Cow;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::Arguments;
use crate::dialects::Registry;
use find::{Finder, FoundMark};
use mark::{overlap, rest};

pub use mark::{Mark, MarkPosition};

/// Why marks cannot be guarded against together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GuardError {
    /// A mark is too short, or itself holds a `~` or a line break.
    #[error("the mark {mark:?} needs two characters, neither `~` nor a line break among them")]
    Unusable {
        /// The mark.
        mark: String,
    },
    /// Breaking one mark would hide another.
    #[error("the marks {first:?} and {second:?} overlap; drop one of them")]
    Overlap {
        /// The mark that holds the beginning of the other.
        first: String,
        /// The mark whose beginning is inside the first.
        second: String,
    },
}

/// Defuses marks and restores them.
///
/// ```
/// use ptk_protocol::format::guard::Guard;
///
/// let guard = Guard::standard();
/// let file = "To call a tool write <PTK_CALL>.";
/// assert_eq!(guard.neutralise(file), "To call a tool write <~PTK_CALL>.");
/// assert_eq!(guard.restore(&guard.neutralise(file)), file);
/// ```
#[derive(Debug, Clone)]
pub struct Guard {
    finder: Finder,
}

impl Guard {
    /// The marks of all built-in dialects, of reasoning and of transcripts.
    #[must_use]
    pub fn standard_marks() -> Vec<Mark> {
        Self::marks_of(&Registry::builtin())
    }

    /// The marks of these dialects, of reasoning and of transcripts. Forms
    /// without marks, and marks without a letter, are not among them.
    #[must_use]
    pub fn marks_of(registry: &Registry) -> Vec<Mark> {
        marks::of(registry)
    }

    /// Creates the guard for these dialects, for a registry to which some were
    /// added.
    ///
    /// # Errors
    ///
    /// If two marks overlap, so that breaking one would hide the other.
    pub fn for_registry(registry: &Registry) -> Result<Self, GuardError> {
        Self::new(Self::marks_of(registry))
    }

    /// The guard with the standard marks.
    #[must_use]
    pub fn standard() -> &'static Self {
        static STANDARD: LazyLock<Guard> =
            LazyLock::new(|| Guard::new(Guard::standard_marks()).unwrap_or_else(|_| Guard::none()));
        &STANDARD
    }

    /// Creates a guard against the given marks.
    ///
    /// # Errors
    ///
    /// If a mark is unusable or two overlap, so that breaking one would hide
    /// the other.
    pub fn new(marks: impl IntoIterator<Item = Mark>) -> Result<Self, GuardError> {
        let marks: Vec<Mark> = marks.into_iter().collect();
        for mark in &marks {
            if rest(&mark.text).is_empty() || mark.text.contains(['~', '\n', '\r']) {
                let mark = mark.text.clone();
                return Err(GuardError::Unusable { mark });
            }
        }
        if let Some((first, second, _)) = overlap(&marks) {
            let text = |index: usize| marks.get(index).map(|mark| mark.text.clone());
            return Err(GuardError::Overlap {
                first: text(first).unwrap_or_default(),
                second: text(second).unwrap_or_default(),
            });
        }
        Ok(Self {
            finder: Finder::new(marks),
        })
    }

    /// Creates a guard that lets everything through.
    #[must_use]
    pub const fn none() -> Self {
        Self {
            finder: Finder::nothing(),
        }
    }

    /// The text with every mark broken.
    #[must_use]
    pub fn neutralise<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let places = self.places(text, |found| found.tildes > 0 || found.means_something);
        edit(text, &places, |out| out.push('~'), 0)
    }

    /// Restores the text as it was before [`neutralise`](Self::neutralise).
    /// Broken marks are restored wherever they stand: a model may quote them
    /// mid-line.
    #[must_use]
    pub fn restore<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let places = self.places(text, |found| found.tildes > 0);
        edit(text, &places, |_| {}, 1)
    }

    /// Breaks the marks in every string and key of a value.
    pub fn neutralise_value(&self, value: &mut Value) {
        change(value, &|text| owned(self.neutralise(text)));
    }

    /// Restores every string and key of a value.
    pub fn restore_value(&self, value: &mut Value) {
        change(value, &|text| owned(self.restore(text)));
    }

    /// Restores the arguments of a call before they are used.
    #[must_use]
    pub fn restore_arguments(&self, args: Arguments) -> Arguments {
        args.map_strings(&|text| owned(self.restore(text)))
    }

    /// The offsets behind the first characters of the marks that `choose` takes.
    fn places(&self, text: &str, choose: impl Fn(&FoundMark) -> bool) -> Vec<usize> {
        let mut places = Vec::new();
        self.finder.each(text, |found| {
            if choose(found) {
                places.push(found.behind_first);
            }
        });
        places.sort_unstable();
        places.dedup();
        places
    }
}

impl Default for Guard {
    fn default() -> Self {
        Self::standard().clone()
    }
}

/// Copies a text, inserting and leaving out at the given offsets.
fn edit<'t>(
    text: &'t str,
    places: &[usize],
    insert: impl Fn(&mut String),
    skip: usize,
) -> Cow<'t, str> {
    if places.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + places.len());
    let mut from = 0;
    for &place in places {
        out.push_str(text.get(from..place).unwrap_or_default());
        insert(&mut out);
        from = place + skip;
    }
    out.push_str(text.get(from..).unwrap_or_default());
    Cow::Owned(out)
}

fn owned(text: Cow<'_, str>) -> Option<String> {
    match text {
        Cow::Borrowed(_) => None,
        Cow::Owned(text) => Some(text),
    }
}

fn change(value: &mut Value, with: &impl Fn(&str) -> Option<String>) {
    match value {
        Value::String(text) => {
            if let Some(changed) = with(text) {
                *text = changed;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| change(item, with)),
        Value::Object(map) => {
            if map.keys().any(|key| with(key).is_some()) {
                let old = std::mem::take(map);
                let renamed = old
                    .into_iter()
                    .map(|(key, value)| (with(&key).unwrap_or(key), value));
                *map = renamed.collect::<Map<_, _>>();
            }
            map.values_mut().for_each(|value| change(value, with));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn marks_are_broken_where_they_would_mean_something() {
        let guard = Guard::standard();
        for (text, neutral) in [
            ("<PTK_CALL>{}</PTK_CALL>", "<~PTK_CALL>{}<~/PTK_CALL>"),
            ("<ptk_call>", "<~ptk_call>"),
            ("<tool name=\"x\">", "<~tool name=\"x\">"),
            ("<toolbar>", "<toolbar>"),
            ("<think>", "<~think>"),
            ("PTK_RESULT: 1", "P~TK_RESULT: 1"),
            ("a\n  ptk_error: 1", "a\n  p~tk_error: 1"),
            ("see PTK_RESULT: 1", "see PTK_RESULT: 1"),
            ("see P~TK_RESULT: 1", "see P~~TK_RESULT: 1"),
            ("USER: hi\nuser: root", "U~SER: hi\nuser: root"),
            ("<~PTK_CALL>", "<~~PTK_CALL>"),
            ("é<PTK_CALL>é", "é<~PTK_CALL>é"),
            ("[TOOL_CALLS]f[ARGS]{}", "[~TOOL_CALLS]f[ARGS]{}"),
            ("<function=f>", "<~function=f>"),
            (
                "<|start|>assistant<|channel|>",
                "<~|start|>assistant<~|channel|>",
            ),
            ("<｜tool▁calls▁begin｜>", "<~｜tool▁calls▁begin｜>"),
            ("]<]minimax[>[<invoke name=", "]~<]minimax[>[<~invoke name="),
            ("Action:\n{}\n call:f{", "A~ction:\n{}\n c~all:f{"),
            ("TOOL_NAME: f", "T~OOL_NAME: f"),
            ("assistant: TOOL: f", "assistant: T~OOL: f"),
            ("\u{feff}TOOL: f", "\u{feff}T~OOL: f"),
            ("functools[{}]", "f~unctools[{}]"),
        ] {
            assert_eq!(guard.neutralise(text), neutral);
            assert_eq!(guard.restore(neutral), text);
        }
        assert!(!guard.finder.marks.is_empty());
    }

    #[test]
    fn ordinary_files_stay_as_they_are() {
        let guard = Guard::standard();
        for text in [
            "plain ~ text",
            "#include <functional>\nList<Tool> tools; Array<Function> calls;",
            "<function>f</ function> <toolbar> <param name=\"x\">",
            "Action: s3:GetObject\n  action: push\ncall: the office\nto=ann",
            "import functools\nfunctools.wraps(f)\n[1, 2]\n{\"name\": \"f\"}",
            "[Calling the office](x) <invoked> let x = a<think;",
            "while i < tool && x < ptk {} a <| tool",
        ] {
            assert!(matches!(guard.neutralise(text), Cow::Borrowed(_)), "{text}");
        }
    }

    #[test]
    fn values_and_arguments_are_restored_throughout() {
        let guard = Guard::standard();
        let original = json!({"<think>": [{"a": "<PTK_CALL>"}, 1], "b": null});
        let mut value = original.clone();
        guard.neutralise_value(&mut value);
        assert_eq!(
            value,
            json!({"<~think>": [{"a": "<~PTK_CALL>"}, 1], "b": null})
        );
        guard.restore_value(&mut value);
        assert_eq!(value, original);

        let args = r#"{"old":"<~PTK_CALL>","n":123456789012345678901234567890}"#;
        let args = guard.restore_arguments(Arguments::from_json(args).unwrap());
        assert_eq!(
            args.to_json(),
            r#"{"old":"<PTK_CALL>","n":123456789012345678901234567890}"#
        );
    }

    #[test]
    fn dialects_add_marks_unless_they_overlap() {
        let mut marks = Guard::standard_marks();
        marks.push(Mark::new("{{RUN", MarkPosition::Anywhere).before(" "));
        let guard = Guard::new(marks.clone()).unwrap();
        assert_eq!(guard.neutralise("{{RUN f {{RUNS"), "{~{RUN f {{RUNS");

        marks.push(Mark::new("[<think", MarkPosition::Anywhere));
        assert!(matches!(Guard::new(marks), Err(GuardError::Overlap { .. })));
        assert!(Guard::new([Mark::new("<", MarkPosition::Anywhere)]).is_err());
    }

    fn texts() -> impl Strategy<Value = String> {
        let mut pieces: Vec<String> = Guard::standard_marks()
            .into_iter()
            .flat_map(|mark| [mark.text.to_lowercase(), mark.text])
            .collect();
        for mark in pieces.clone() {
            let first = mark.chars().next().map_or(0, char::len_utf8);
            let (first, rest) = mark.split_at(first);
            pieces.push(format!("{first}~{rest}"));
            pieces.push(rest.to_owned());
        }
        pieces.push("assistant:".to_owned());
        pieces.extend(
            [
                "~", "\n", " ", ">", "<", "x", "S", "é", "_", "P", "U", ":", "=", "[", "]", "{",
            ]
            .map(str::to_owned),
        );
        prop::collection::vec(prop::sample::select(pieces), 0..12).prop_map(|all| all.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn every_text_comes_back_and_no_mark_is_left(text in prop_oneof![texts(), any::<String>()]) {
            let guard = Guard::standard();
            let neutral = guard.neutralise(&text);
            prop_assert_eq!(guard.restore(&neutral), text.as_str());
            let left = guard.places(&neutral, |found| found.tildes == 0 && found.means_something);
            prop_assert_eq!(left, Vec::<usize>::new());
        }
    }
}
