//! Finds marks, whole and broken, in one pass over the text.

use super::mark::{Mark, MarkPosition, is_name, rest};

/// The label of the model's own messages in a transcript.
const LABEL: &str = "ASSISTANT:";

/// Finds marks: wherever the first character of one stands, behind each `~`,
/// and at the start of each line.
#[derive(Debug, Clone)]
pub(super) struct Finder {
    pub(super) marks: Vec<Mark>,
    /// The marks by the byte that follows their first character, lower case.
    by_second: Vec<Vec<usize>>,
    /// The bytes at which something may be found.
    stops: Vec<bool>,
}

/// A mark that was found.
pub(super) struct FoundMark {
    /// The offset behind its first character.
    pub(super) behind_first: usize,
    /// How many `~` stand there.
    pub(super) tildes: usize,
    /// Whether the mark, unbroken, would mean something here.
    pub(super) means_something: bool,
}

impl Finder {
    pub(super) const fn nothing() -> Self {
        Self {
            marks: Vec::new(),
            by_second: Vec::new(),
            stops: Vec::new(),
        }
    }

    pub(super) fn new(marks: Vec<Mark>) -> Self {
        let mut by_second = vec![Vec::new(); 256];
        let mut stops = vec![false; 256];
        for byte in [b'~', b'\n', b'\r'] {
            set(&mut stops, byte);
        }
        for (index, mark) in marks.iter().enumerate() {
            let second = rest(&mark.text).bytes().next().unwrap_or_default();
            if let Some(same) = by_second.get_mut(usize::from(second.to_ascii_lowercase())) {
                same.push(index);
            }
            let first = mark.text.bytes().next().unwrap_or_default();
            if mark.place == MarkPosition::Anywhere {
                set(&mut stops, first.to_ascii_lowercase());
                set(&mut stops, first.to_ascii_uppercase());
            }
        }
        Self {
            marks,
            by_second,
            stops,
        }
    }

    /// Calls `look` with every mark in the text, in order.
    pub(super) fn each(&self, text: &str, mut look: impl FnMut(&FoundMark)) {
        if self.marks.is_empty() {
            return;
        }
        self.at_line(text, 0, &mut look);
        let bytes = text.as_bytes();
        let stops = |byte: &u8| self.stops.get(usize::from(*byte)) == Some(&true);
        let mut at = 0;
        while let Some(found) = bytes.get(at..).and_then(|rest| rest.iter().position(stops)) {
            at += found;
            match bytes.get(at) {
                Some(b'~') => {
                    let behind = bytes.get(at..).unwrap_or_default();
                    let tildes = behind.iter().take_while(|byte| **byte == b'~').count();
                    self.broken(text, at, tildes, &mut look);
                    at += tildes;
                    continue;
                }
                Some(b'\n' | b'\r') => self.at_line(text, at + 1, &mut look),
                _ => self.at_first(text, at, &mut look),
            }
            at += 1;
        }
    }

    /// Finds a mark that counts at the start of the line at `from`.
    fn at_line(&self, text: &str, from: usize, look: &mut impl FnMut(&FoundMark)) {
        let lead = line_start(text.get(from..).unwrap_or_default());
        self.at_start(text, lead, look);
        // What follows a label that models copy still starts the line.
        if let Some((label, behind)) = lead.split_at_checked(LABEL.len())
            && label.eq_ignore_ascii_case(LABEL)
        {
            self.at_start(text, line_start(behind), look);
        }
    }

    /// Finds a mark at the start of `lead`, the end of the text, where a line
    /// starts.
    fn at_start(&self, text: &str, lead: &str, look: &mut impl FnMut(&FoundMark)) {
        let Some(first) = lead.chars().next() else {
            return;
        };
        let behind_first = text.len() - lead.len() + first.len_utf8();
        for (mark, behind) in self.marks_at(text, first, behind_first) {
            let means_something = match mark.place {
                MarkPosition::Anywhere => continue,
                MarkPosition::LineStart | MarkPosition::LineStartExact => true,
                MarkPosition::LineStartBeforeCall => may_be_called(behind),
            };
            look(&FoundMark {
                behind_first,
                tildes: 0,
                means_something,
            });
        }
    }

    /// Finds a mark that counts anywhere and begins at `at`.
    fn at_first(&self, text: &str, at: usize, look: &mut impl FnMut(&FoundMark)) {
        let Some(first) = text.get(at..).and_then(|rest| rest.chars().next()) else {
            return;
        };
        let behind_first = at + first.len_utf8();
        let mut marks = self.marks_at(text, first, behind_first);
        if marks.any(|(mark, _)| mark.place == MarkPosition::Anywhere) {
            look(&FoundMark {
                behind_first,
                tildes: 0,
                means_something: true,
            });
        }
    }

    /// Finds a mark that is broken by the `~` at `at`. It is one wherever it
    /// stands, so that it can be restored wherever a model quotes it.
    fn broken(&self, text: &str, at: usize, tildes: usize, look: &mut impl FnMut(&FoundMark)) {
        let before = text.get(..at).unwrap_or_default();
        let Some(first) = before.chars().next_back() else {
            return;
        };
        if self.marks_at(text, first, at + tildes).next().is_some() {
            look(&FoundMark {
                behind_first: at,
                tildes,
                means_something: true,
            });
        }
    }

    /// The marks that begin with `first` and go on at `at`, and what follows
    /// them.
    fn marks_at<'f>(
        &'f self,
        text: &'f str,
        first: char,
        at: usize,
    ) -> impl Iterator<Item = (&'f Mark, &'f str)> {
        let text = text.get(at..).unwrap_or_default();
        let second = text.bytes().next().map(|byte| byte.to_ascii_lowercase());
        let marks = second.and_then(|second| self.by_second.get(usize::from(second)));
        let marks = marks.map(Vec::as_slice).unwrap_or_default().iter();
        marks.filter_map(move |mark| {
            let mark = self.marks.get(*mark)?;
            let wanted = rest(&mark.text);
            let (written, behind) = text.split_at_checked(wanted.len())?;
            let starts_so = mark.text.chars().next()?;
            let same = if mark.place == MarkPosition::LineStartExact {
                starts_so == first && written == wanted
            } else {
                starts_so.eq_ignore_ascii_case(&first) && written.eq_ignore_ascii_case(wanted)
            };
            (same && mark.ends_before(behind)).then_some((mark, behind))
        })
    }
}

/// The line without the characters that may precede a mark at its start.
fn line_start(line: &str) -> &str {
    line.trim_start_matches([' ', '\t', '\u{feff}'])
}

fn set(bytes: &mut [bool], byte: u8) {
    if let Some(is_set) = bytes.get_mut(usize::from(byte)) {
        *is_set = true;
    }
}

/// Whether JSON, a fence, or a name and a brace stand behind a word and its
/// colon.
fn may_be_called(behind: &str) -> bool {
    let body = behind.trim_start_matches(':').trim_start();
    let body = body.trim_start_matches(|c| is_name(c) || c == '.');
    body.starts_with(['{', '[', '`'])
}
