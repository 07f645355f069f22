//! A mark: where it has a meaning, and which marks get in each other's way.

use std::collections::BTreeSet;

/// The position at which a mark has a meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MarkPosition {
    /// Anywhere, in any case.
    Anywhere,
    /// At the start of a line, in any case.
    LineStart,
    /// At the start of a line, in exactly this case. For words that ordinary
    /// files use too: `user:` is a key of many a YAML file.
    LineStartExact,
    /// At the start of a line, in any case, before what can be a call: JSON, a
    /// fence, or a name and a brace. `Action:` is a key of many a policy.
    LineStartBeforeCall,
}

/// A text that the protocol gives a meaning.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Mark {
    pub(super) text: String,
    pub(super) place: MarkPosition,
    /// The characters one of which has to follow. Where there are none,
    /// anything but more of a name may follow.
    pub(super) next: String,
}

impl Mark {
    /// Creates a mark, such as `<PTK_CALL` (the end of a tag need not be
    /// named).
    pub fn new(text: impl Into<String>, place: MarkPosition) -> Self {
        let text = text.into();
        let next = String::new();
        Self { text, place, next }
    }

    /// Limits the mark to where one of these characters follows: `=` behind
    /// `<function`.
    #[must_use]
    pub fn before(mut self, next: impl Into<String>) -> Self {
        self.next = next.into();
        self
    }

    /// The text of the mark.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the mark ends where this text follows it.
    pub(super) fn ends_before(&self, text: &str) -> bool {
        match text.chars().next() {
            None => true,
            Some(next) if self.next.is_empty() => !(self.text.ends_with(is_name) && is_name(next)),
            Some(next) => self.next.contains(next),
        }
    }
}

/// Whether a name goes on with this character.
pub(super) fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-')
}

/// A mark without its first character.
pub(super) fn rest(mark: &str) -> &str {
    let mut chars = mark.chars();
    chars.next();
    chars.as_str()
}

/// Finds two marks, by their indices, of which the second can begin inside the
/// first at this offset, behind its first character: the `~` put into the
/// second would then keep the first from being found.
pub(super) fn overlap(marks: &[Mark]) -> Option<(usize, usize, usize)> {
    let lowered: Vec<String> = marks.iter().map(|mark| mark.text.to_lowercase()).collect();
    let anywhere: Vec<(usize, &String)> = lowered
        .iter()
        .enumerate()
        .zip(marks)
        .filter(|(_, mark)| mark.place == MarkPosition::Anywhere)
        .map(|(lowered, _)| lowered)
        .collect();
    let firsts: BTreeSet<char> = anywhere
        .iter()
        .filter_map(|(_, text)| text.chars().next())
        .collect();
    lowered.iter().enumerate().find_map(|(first, text)| {
        let tails = text.char_indices().skip(1);
        let tails = tails.filter(|(_, c)| firsts.contains(c));
        let mut tails = tails.filter_map(|(at, _)| Some((at, text.get(at..)?)));
        tails.find_map(|(at, tail)| {
            let begins = |second: &str| tail.starts_with(second) || second.starts_with(tail);
            let (second, _) = anywhere.iter().find(|(_, second)| begins(second))?;
            Some((first, *second, at))
        })
    })
}
