//! The forgery guard: marks of the protocol inside tool output are defused
//! before they enter a prompt, in a way that can be undone.
//!
//! A `~` behind the first character breaks a mark: `<PTK_CALL>` becomes
//! `<~PTK_CALL>`, and `PTK_RESULT` at the start of a line `P~TK_RESULT`. Text
//! that already looks so gains one more `~`, and restoring takes exactly one
//! away, so every text comes back as it was.

use std::borrow::Cow;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use serde_json::{Map, Value};

use crate::Arguments;

/// Where a mark means something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// Wherever it stands, in any case.
    Anywhere,
    /// At the start of a line, in any case.
    LineStart,
    /// At the start of a line, in exactly this case. For words that ordinary
    /// files use too: `user:` is a key of many a YAML file.
    LineStartExact,
}

/// A text that the protocol gives a meaning.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Mark {
    text: String,
    place: Place,
}

impl Mark {
    /// A mark, such as `<PTK_CALL` (the end of a tag need not be named).
    pub fn new(text: impl Into<String>, place: Place) -> Self {
        let text = text.into();
        Self { text, place }
    }
}

/// Why marks cannot be guarded against together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GuardError {
    /// A mark that is too short, or that itself holds a `~` or a line break.
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
        /// The other.
        second: String,
    },
    /// The marks could not be compiled.
    #[error("the marks cannot be compiled: {0}")]
    Compile(String),
}

/// Tags of PTK's own dialects and of reasoning; opening and closing.
const TAGS: &[&str] = &[
    "PTK_CALL",
    "PTK_BATCH",
    "PTK_BLOCK",
    "TOOL_CALL",
    "TOOL_CALLS",
    "tool",
    "think",
    "thinking",
    "reasoning",
    "analysis",
];

const LINES: &[&str] = &[
    "PTK_RESULT",
    "PTK_ERROR",
    "TOOL_RESULT",
    "TOOL_ERROR",
    "TOOL:",
];

const ROLES: &[&str] = &["USER:", "ASSISTANT:", "SYSTEM:"];

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
    marks: Vec<Mark>,
    /// Finds what follows the first character of each mark.
    rests: Option<AhoCorasick>,
}

impl Guard {
    /// The marks of PTK's own dialects, of reasoning and of transcripts.
    #[must_use]
    pub fn standard_marks() -> Vec<Mark> {
        let tags = TAGS
            .iter()
            .flat_map(|tag| [format!("<{tag}"), format!("</{tag}")]);
        // The misspellings that the parser reads as the mark they stand for.
        let spelt = ["PTK_CALL", "PTK_BATCH", "TOOL_CALL"]
            .iter()
            .flat_map(|tag| {
                let dashed = tag.replace('_', "-");
                let joined = tag.replace('_', "");
                let spaced = tag.replace('_', " ");
                [
                    format!("[{tag}"),
                    format!("[/{tag}"),
                    format!("<|{tag}"),
                    format!("< {tag}"),
                    format!("<{dashed}"),
                    format!("<{joined}"),
                    format!("<{spaced}"),
                ]
            });
        let spelt = spelt.chain(["[THINK]".to_owned(), "[/THINK]".to_owned()]);
        let tags = tags.chain(spelt).map(|tag| Mark::new(tag, Place::Anywhere));
        let lines = LINES.iter().map(|line| Mark::new(*line, Place::LineStart));
        let roles = ROLES
            .iter()
            .map(|role| Mark::new(*role, Place::LineStartExact));
        tags.chain(lines).chain(roles).collect()
    }

    /// The guard with the standard marks.
    #[must_use]
    pub fn standard() -> &'static Self {
        static STANDARD: LazyLock<Guard> =
            LazyLock::new(|| Guard::new(Guard::standard_marks()).unwrap_or_else(|_| Guard::none()));
        &STANDARD
    }

    /// A guard against the given marks.
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
        for first in &marks {
            for second in marks.iter().filter(|mark| mark.place == Place::Anywhere) {
                if overlaps(first, second) {
                    return Err(GuardError::Overlap {
                        first: first.text.clone(),
                        second: second.text.clone(),
                    });
                }
            }
        }
        let rests = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .build(marks.iter().map(|mark| rest(&mark.text)))
            .map_err(|error| GuardError::Compile(error.to_string()))?;
        Ok(Self {
            marks,
            rests: Some(rests),
        })
    }

    /// A guard that lets everything through.
    #[must_use]
    pub const fn none() -> Self {
        Self {
            marks: Vec::new(),
            rests: None,
        }
    }

    /// The text with every mark broken.
    #[must_use]
    pub fn neutralise<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let places = self.places(text, |found| found.tildes > 0 || found.means_something);
        edit(text, &places, |out| out.push('~'), 0)
    }

    /// The text as it was before [`neutralise`](Self::neutralise). Broken marks
    /// are mended wherever they stand: a model may quote them mid-line.
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
    fn places(&self, text: &str, choose: impl Fn(&Found) -> bool) -> Vec<usize> {
        let mut places: Vec<usize> = self
            .rests
            .iter()
            .flat_map(|rests| rests.find_overlapping_iter(text))
            .filter_map(|hit| {
                let mark = self.marks.get(hit.pattern().as_usize())?;
                let found = look(text, mark, hit.start(), hit.end())?;
                choose(&found).then_some(found.behind_first)
            })
            .collect();
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

struct Found {
    behind_first: usize,
    tildes: usize,
    /// Whether the mark, unbroken, would mean something here.
    means_something: bool,
}

/// Looks whether the mark's first character stands before its rest.
fn look(text: &str, mark: &Mark, start: usize, end: usize) -> Option<Found> {
    let before = text.get(..start)?;
    let without_tildes = before.trim_end_matches('~');
    let first = mark.text.chars().next()?;
    let written = without_tildes.chars().next_back()?;
    let same = match mark.place {
        Place::LineStartExact => written == first && text.get(start..end)? == rest(&mark.text),
        _ => written.eq_ignore_ascii_case(&first),
    };
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let next = text.get(end..)?.chars().next();
    let goes_on = mark.text.ends_with(is_name) && next.is_some_and(is_name);
    if !same || goes_on {
        return None;
    }
    let line = without_tildes.get(..without_tildes.len() - written.len_utf8())?;
    let at_line_start = || {
        let line = line.trim_end_matches([' ', '\t']);
        line.is_empty() || line.ends_with(['\n', '\r'])
    };
    Some(Found {
        behind_first: without_tildes.len(),
        tildes: before.len() - without_tildes.len(),
        means_something: mark.place == Place::Anywhere || at_line_start(),
    })
}

/// A mark without its first character.
fn rest(mark: &str) -> &str {
    let mut chars = mark.chars();
    chars.next();
    chars.as_str()
}

/// Whether an unbroken `second` can begin inside `first`, behind its first
/// character: the `~` put into `second` would then keep `first` from being found.
fn overlaps(first: &Mark, second: &Mark) -> bool {
    let inside = rest(&first.text).to_lowercase();
    let second = second.text.to_lowercase();
    inside.char_indices().any(|(at, _)| {
        let tail = inside.get(at..).unwrap_or_default();
        tail.starts_with(&second) || second.starts_with(tail)
    })
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
        ] {
            assert_eq!(guard.neutralise(text), neutral);
            assert_eq!(guard.restore(neutral), text);
        }
        assert!(!guard.marks.is_empty());
        assert!(matches!(guard.neutralise("plain ~ text"), Cow::Borrowed(_)));
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
        marks.push(Mark::new("[TOOL_CALLS]", Place::Anywhere));
        let guard = Guard::new(marks.clone()).unwrap();
        assert_eq!(guard.neutralise("[TOOL_CALLS] []"), "[~TOOL_CALLS] []");

        marks.push(Mark::new("[<think", Place::Anywhere));
        assert!(matches!(Guard::new(marks), Err(GuardError::Overlap { .. })));
        assert!(Guard::new([Mark::new("<", Place::Anywhere)]).is_err());
    }

    fn texts() -> impl Strategy<Value = String> {
        let mut pieces: Vec<String> = Guard::standard_marks()
            .into_iter()
            .flat_map(|mark| [mark.text.to_lowercase(), mark.text])
            .collect();
        for mark in pieces.clone() {
            let (first, rest) = mark.split_at(1);
            pieces.push(format!("{first}~{rest}"));
            pieces.push(rest.to_owned());
        }
        pieces.extend(["~", "\n", " ", ">", "<", "x", "S", "é", "_", "P", "U"].map(str::to_owned));
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
