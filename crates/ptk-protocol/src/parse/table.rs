//! The marks of a set of dialects and what they mean: built once for each set,
//! whatever the tools are.

use std::collections::HashMap;
use std::sync::Arc;

use super::forged::{self, Forgery};
use super::frames::Frames;
use super::line::{LABEL, Line};
use super::marks::{Needles, Tree};
use super::message_marks::{SILENT, USER_MESSAGES};
use super::reasoning_marks::REASONING;
use crate::dialects::{Claim, Dialect, Pattern, TriggerPosition};

/// What a mark may mean.
#[expect(
    clippy::struct_excessive_bools,
    reason = "a mark may mean several things at once"
)]
#[derive(Debug, Clone, Default)]
pub(super) struct Meaning {
    pub(super) candidates: Vec<Candidate>,
    pub(super) reasoning: Option<usize>,
    /// The mark closes reasoning.
    pub(super) reasoning_end: bool,
    /// The mark opens or closes a message to the user.
    pub(super) message: Option<MessageMark>,
    pub(super) closer: bool,
    /// The mark stands behind several calls of some dialect.
    pub(super) section_end: bool,
    /// The mark is markup without a meaning of its own.
    pub(super) silent: Option<TriggerPosition>,
    pub(super) fence: Option<u8>,
    pub(super) label: bool,
    /// The mark begins text that the model must not write.
    pub(super) forgery: Option<Forgery>,
}

/// A mark of a message to the user, of the family of this index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageMark {
    /// It opens the message.
    Open(usize, TriggerPosition),
    /// It closes the messages of one family or several.
    Close,
}

/// The meaning of a mark that has none.
pub(super) static NOTHING: Meaning = Meaning {
    candidates: Vec::new(),
    reasoning: None,
    reasoning_end: false,
    message: None,
    closer: false,
    section_end: false,
    silent: None,
    fence: None,
    label: false,
    forgery: None,
};

/// A dialect, and which of its triggers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) dialect: usize,
    pub(super) trigger: usize,
}

/// A dialect that may begin at a mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) choice: Choice,
    pub(super) place: TriggerPosition,
    pub(super) claim: Claim,
    /// The mark as the dialect writes it; marks are found in any case.
    pub(super) mark: Arc<str>,
}

impl Candidate {
    /// Whether the mark is no more than the beginning of a value, as it stands in
    /// data, too.
    pub(super) fn is_data(&self) -> bool {
        let inner = self.mark.strip_prefix('[').unwrap_or(&self.mark);
        matches!(inner.trim_start().bytes().next(), None | Some(b'{'))
    }
}

/// The dialects that are still to be tried at a mark. The next one has a field
/// of its own, as mostly it is the only one.
#[derive(Debug, Clone, Default)]
pub(super) struct Candidates {
    next: Option<Choice>,
    rest: std::vec::IntoIter<Choice>,
}

impl Candidates {
    pub(super) fn is_empty(&self) -> bool {
        self.next.is_none()
    }
}

impl Iterator for Candidates {
    type Item = Choice;

    fn next(&mut self) -> Option<Choice> {
        std::mem::replace(&mut self.next, self.rest.next())
    }
}

impl FromIterator<Choice> for Candidates {
    fn from_iter<I: IntoIterator<Item = Choice>>(choices: I) -> Self {
        let mut choices = choices.into_iter();
        let next = choices.next();
        let rest: Vec<Choice> = choices.collect();
        Self {
            next,
            rest: rest.into_iter(),
        }
    }
}

/// The text at hand, and whether no more will come.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch<'a> {
    pub(super) all: &'a str,
    pub(super) end: bool,
}

/// What is known of the line where a search begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct LineAt<'m> {
    pub(super) line: &'m Line,
    /// Whether turns of other roles are looked for.
    pub(super) turns: bool,
}

impl LineAt<'_> {
    /// Whether what follows `text` starts a line, a label aside.
    pub(super) fn is_blank_behind(self, text: &str) -> bool {
        let mut line = *self.line;
        line.pass(text);
        line.is_blank()
    }
}

/// The result of a search for marks.
#[derive(Debug)]
pub(super) enum Next<'g> {
    /// There is no mark.
    None,
    /// The text ends within what may become a mark that starts here.
    Partial(usize),
    /// A mark.
    Mark(Hit<'g>),
}

/// A mark in the text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hit<'g> {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) meaning: &'g Meaning,
    /// Dialects whose calls begin with a tool's name.
    pub(super) named: &'g [Candidate],
}

impl<'g> Hit<'g> {
    /// The dialects that may begin here.
    pub(super) fn candidates(&self) -> impl Iterator<Item = &'g Candidate> + use<'g> {
        self.meaning.candidates.iter().chain(self.named)
    }
}

/// Dialects whose calls begin with a tool's name between these.
#[derive(Debug)]
pub(super) struct ToolNameTrigger {
    pub(super) before: String,
    pub(super) after: String,
    pub(super) candidates: Vec<Candidate>,
}

/// The marks of a set of dialects.
#[derive(Debug)]
pub(crate) struct Table {
    pub(super) dialects: Vec<Arc<dyn Dialect>>,
    pub(super) tree: Tree,
    pub(super) meanings: Vec<Meaning>,
    pub(super) named: Vec<ToolNameTrigger>,
    /// All closing marks.
    pub(super) closers: Vec<String>,
    /// The bytes at which a search stops.
    pub(super) stops: Stops,
    /// The bytes at which a search stops if turns of other roles are looked for
    /// too, which are words at the start of a line.
    pub(super) stops_with_turns: Stops,
    /// The parts before the first `_` of the words that begin results. They are
    /// found by that byte, which is rare where line breaks are not.
    pub(super) stems: Vec<String>,
    /// For each family with messages to the user, the dialects whose calls are
    /// quoted in them.
    pub(super) quoted_in_messages: Vec<Vec<usize>>,
    /// The marks around reasoning and messages.
    pub(super) frames: Frames,
    /// The words before the bracket that ends some marks, such as `functools[`.
    /// They are found by that bracket.
    pub(super) tails: Vec<String>,
    /// The words at the start of a line that `<` makes a mark: `to=user`.
    pub(super) addresses: Vec<String>,
}

/// The bytes at which a search for marks stops.
#[derive(Debug)]
pub(super) struct Stops {
    /// First bytes of marks, and the line break if marks are looked for at the
    /// start of a line.
    pub(super) needles: Needles,
    /// Whether the line break is among the needles.
    pub(super) lines: bool,
    /// First bytes of the marks that are looked for at the start of a line:
    /// those that count nowhere else and begin with a letter.
    pub(super) line_starts: Vec<bool>,
}

impl Stops {
    fn new(mut needles: Vec<u8>, lines: bool, starts: &[u8]) -> Self {
        if lines {
            needles.push(b'\n');
        }
        let mut line_starts = vec![false; 256];
        for start in starts {
            for byte in [*start, start.to_ascii_uppercase()] {
                if let Some(starts) = line_starts.get_mut(usize::from(byte)) {
                    *starts = true;
                }
            }
        }
        Self {
            needles: Needles::new(needles),
            lines,
            line_starts,
        }
    }
}

impl Table {
    /// Builds the table of these dialects, which are tried in this order.
    pub(crate) fn new(dialects: Vec<Arc<dyn Dialect>>) -> Self {
        let mut marks = MarkMeanings::default();
        let mut named: Vec<ToolNameTrigger> = Vec::new();
        for (index, dialect) in dialects.iter().enumerate() {
            for (trigger, found) in dialect.triggers().into_iter().enumerate() {
                let (place, claim) = (found.place, found.claim);
                let candidate = |mark: &str| Candidate {
                    choice: Choice {
                        dialect: index,
                        trigger,
                    },
                    place,
                    claim,
                    mark: Arc::from(mark),
                };
                match found.pattern {
                    Pattern::Mark(mark) => {
                        let candidate = candidate(&mark);
                        marks.meaning(&mark).candidates.push(candidate);
                    }
                    Pattern::ToolName { before, after } => {
                        let same = named
                            .iter_mut()
                            .find(|named| named.before == before && named.after == after);
                        match same {
                            Some(named) => named.candidates.push(candidate("")),
                            None => named.push(ToolNameTrigger {
                                before,
                                after,
                                candidates: vec![candidate("")],
                            }),
                        }
                    }
                }
            }
            for closer in dialect.closers() {
                marks.meaning(&closer).closer = true;
            }
            for end in dialect.section_ends() {
                let meaning = marks.meaning(&end);
                meaning.closer = true;
                meaning.section_end = true;
            }
            for silent in dialect.silent() {
                if let Pattern::Mark(mark) = silent.pattern {
                    marks.meaning(&mark).silent = Some(silent.place);
                }
            }
        }
        for (index, row) in REASONING.iter().enumerate() {
            marks.meaning(row.open).reasoning = Some(index);
            for close in row.close {
                marks.meaning(close).reasoning_end = true;
            }
        }
        for mark in SILENT {
            marks.meaning(mark).silent = Some(TriggerPosition::Anywhere);
        }
        let mut quoted_in_messages = add_messages(&mut marks, &dialects);
        let frames = add_frames(&mut marks, &dialects, &mut quoted_in_messages);
        marks.meaning("`").fence = Some(b'`');
        marks.meaning("~~~").fence = Some(b'~');
        marks.meaning(LABEL).label = true;
        // Where no calls are read, there are no results to make up.
        for (mark, forgery) in forged::MARKS.iter().filter(|_| !dialects.is_empty()) {
            marks.meaning(mark).forgery = Some(*forgery);
        }
        for writer in dialects.iter().filter_map(|dialect| dialect.writer()) {
            for word in [writer.result_word(), writer.error_word()] {
                marks.meaning(&word).forgery = Some(Forgery::Word);
            }
        }
        marks.inherit();
        for meaning in &mut marks.meanings {
            meaning.candidates.sort_by_key(|candidate| candidate.claim);
        }
        Self {
            quoted_in_messages,
            frames,
            ..Self::with(dialects, marks, named)
        }
    }

    fn with(
        dialects: Vec<Arc<dyn Dialect>>,
        marks: MarkMeanings,
        named: Vec<ToolNameTrigger>,
    ) -> Self {
        let mut needles = Vec::new();
        let mut starts = Vec::new();
        let mut turns = Vec::new();
        let mut stems = Vec::new();
        let mut tails = Vec::new();
        let mut addresses = Vec::new();
        let mut lines = named.iter().any(|named| named.before.is_empty());
        for (mark, meaning) in marks.texts.iter().zip(&marks.meanings) {
            let Some(first) = mark.bytes().next() else {
                continue;
            };
            let is_word = meaning.is_for_line_starts() && first.is_ascii_alphabetic();
            let is_behind_prose =
                |candidate: &Candidate| candidate.place == TriggerPosition::BehindProse;
            if is_word && meaning.candidates.iter().any(is_behind_prose) {
                tails.extend(mark.strip_suffix(['[', '{']).map(str::to_owned));
            }
            if is_word && let Some((address, _)) = mark.split_once('<') {
                needles.push(b'<');
                addresses.push(address.to_owned());
                continue;
            }
            match (meaning.forgery, mark.split_once('_')) {
                _ if !is_word => needles.extend([first, first.to_ascii_uppercase()]),
                (Some(Forgery::Word), Some((stem, _))) => {
                    needles.push(b'_');
                    stems.push(stem.to_owned());
                }
                (Some(Forgery::Turn | Forgery::Observation), _) if !meaning.label => {
                    turns.push(first);
                }
                _ => {
                    lines |= !meaning.label;
                    starts.push(first);
                }
            }
        }
        stems.sort();
        stems.dedup();
        tails.sort();
        tails.dedup();
        needles.extend(named.iter().filter_map(|named| named.before.bytes().next()));
        turns.extend(&starts);
        let closers = marks.texts.iter().zip(&marks.meanings);
        let closers = closers.filter(|(_, meaning)| meaning.closer);
        let closers = closers.map(|(mark, _)| mark.clone()).collect();
        Self {
            dialects,
            tree: Tree::new(&marks.texts),
            meanings: marks.meanings,
            named,
            closers,
            stops_with_turns: Stops::new(needles.clone(), true, &turns),
            stops: Stops::new(needles, lines, &starts),
            stems,
            quoted_in_messages: Vec::new(),
            frames: Frames::default(),
            tails,
            addresses,
        }
    }
}

/// Adds the marks of messages to the user, and returns for each family which of
/// the dialects are quoted in them.
fn add_messages(marks: &mut MarkMeanings, dialects: &[Arc<dyn Dialect>]) -> Vec<Vec<usize>> {
    for (family, message) in USER_MESSAGES.iter().enumerate() {
        add_message(marks, family, message.open.iter(), message.close.iter());
        for open in message.open_line {
            let place = TriggerPosition::LineStart;
            marks.meaning(open).message = Some(MessageMark::Open(family, place));
        }
    }
    let quoted = |names: &[&str]| {
        let all = dialects.iter().enumerate();
        let quoted = all.filter(|(_, dialect)| names.contains(&dialect.name()));
        quoted.map(|(index, _)| index).collect()
    };
    USER_MESSAGES
        .iter()
        .map(|message| quoted(message.quotes))
        .collect()
}

/// Adds the frames that dialects bring along. The calls of a dialect are quoted
/// in its own messages.
fn add_frames(
    marks: &mut MarkMeanings,
    dialects: &[Arc<dyn Dialect>],
    quoted_in_messages: &mut Vec<Vec<usize>>,
) -> Frames {
    let frames = Frames::of(dialects);
    for (row, frame) in frames.reasoning() {
        for open in &frame.open {
            marks.meaning(open).reasoning = Some(row);
        }
        for close in &frame.close {
            marks.meaning(close).reasoning_end = true;
        }
    }
    for (family, dialect, frame) in frames.messages() {
        quoted_in_messages.push(vec![dialect]);
        add_message(marks, family, frame.open.iter(), frame.close.iter());
    }
    frames
}

/// Adds the marks of a message that counts wherever it stands.
fn add_message<S: AsRef<str>>(
    marks: &mut MarkMeanings,
    family: usize,
    open: impl Iterator<Item = S>,
    close: impl Iterator<Item = S>,
) {
    for open in open {
        let place = TriggerPosition::Anywhere;
        marks.meaning(open.as_ref()).message = Some(MessageMark::Open(family, place));
    }
    for close in close {
        let meaning = marks.meaning(close.as_ref());
        meaning.message = Some(MessageMark::Close);
        // Where none is open, it is markup without a meaning.
        if !meaning.closer {
            meaning.silent = Some(TriggerPosition::Anywhere);
        }
    }
}

/// Whether a closing tag may belong to any markup: `</function>`.
pub(super) fn is_common_tag(mark: &str) -> bool {
    let name = mark
        .strip_prefix("</")
        .and_then(|rest| rest.strip_suffix('>'));
    name.is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_lowercase()))
}

impl Meaning {
    /// Whether the mark has a meaning at the start of a line only.
    fn is_for_line_starts(&self) -> bool {
        // The marks that dialects bring along count wherever they stand.
        let opens_anywhere = |row: usize| {
            let row = REASONING.get(row);
            row.is_none_or(|row| row.place == TriggerPosition::Anywhere)
        };
        let message = match self.message {
            Some(MessageMark::Open(_, place)) => place == TriggerPosition::Anywhere,
            Some(MessageMark::Close) => true,
            None => false,
        };
        let elsewhere = self.reasoning.is_some_and(opens_anywhere)
            || message
            || self.reasoning_end
            || self.closer
            || self.fence.is_some()
            || self.silent == Some(TriggerPosition::Anywhere);
        let line_start = |candidate: &Candidate| candidate.place != TriggerPosition::Anywhere;
        !elsewhere && self.candidates.iter().all(line_start)
    }
}

/// Marks, in lower case, and what they mean.
#[derive(Default)]
struct MarkMeanings {
    texts: Vec<String>,
    meanings: Vec<Meaning>,
    places: HashMap<String, usize>,
}

impl MarkMeanings {
    fn meaning(&mut self, mark: &str) -> &mut Meaning {
        let mark = mark.to_ascii_lowercase();
        let at = if let Some(at) = self.places.get(&mark) {
            *at
        } else {
            self.places.insert(mark.clone(), self.texts.len());
            self.texts.push(mark);
            self.meanings.push(Meaning::default());
            self.texts.len() - 1
        };
        #[expect(
            clippy::indexing_slicing,
            reason = "the index was found or made just above"
        )]
        &mut self.meanings[at]
    }

    /// Gives each mark the candidates of the marks that it starts with:
    /// `[PTK_CALL]` may be a JSON array that starts with `[`.
    fn inherit(&mut self) {
        let shorter: Vec<Vec<Candidate>> = self
            .texts
            .iter()
            .map(|mark| {
                let starts = mark.char_indices().skip(1).map(|(end, _)| end);
                let starts = starts.filter_map(|end| mark.get(..end));
                starts
                    .filter_map(|start| self.meanings.get(*self.places.get(start)?))
                    .flat_map(|meaning| meaning.candidates.iter().cloned())
                    .collect()
            })
            .collect();
        for (meaning, mut shorter) in self.meanings.iter_mut().zip(shorter) {
            shorter.retain(|candidate| !meaning.candidates.contains(candidate));
            meaning.candidates.extend(shorter);
        }
    }
}
