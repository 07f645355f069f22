//! The parser's decisions: why each piece of a reply was taken for what it is,
//! recorded for developers who debug a model.

use std::fmt;
use std::ops::Range;

use crate::Span;

/// The most notes that are kept of one reply. A person reads a few dozen; the
/// limit is there for replies that are nothing but marks.
const MAX_NOTES: usize = 1 << 16;

/// One decision of the parser, and where in the reply it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The stretch that it is about.
    pub span: Span,
    /// The decision.
    pub decision: Decision,
}

/// What the parser decided about a stretch of the reply, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decision {
    /// A mark was found; these dialects may begin there and are tried in this
    /// order.
    Tried {
        /// The mark as it stands in the reply.
        mark: String,
        /// The names of the dialects.
        dialects: Vec<String>,
    },
    /// A mark was found, but so many bytes were wasted before that nothing more
    /// is tried.
    GivenUp {
        /// The mark as it stands in the reply.
        mark: String,
    },
    /// A dialect examined the mark and refused.
    Refused {
        /// The dialect's name.
        dialect: String,
        /// The reason of the refusal.
        refusal: Refusal,
    },
    /// Every dialect refused: the mark is part of what surrounds it.
    NoCall,
    /// A dialect read a construct, which ends where the span does.
    Read {
        /// The dialect's name.
        dialect: String,
    },
    /// A dialect recognized what it examined, and that it is not a call: JSON
    /// that only looks like one.
    Passed {
        /// The dialect's name.
        dialect: String,
    },
    /// The mark stands around calls and has no meaning by itself.
    Section {
        /// The name of the dialect that recognized it.
        dialect: String,
    },
    /// A closing mark ends a section of calls.
    SectionEnd,
    /// A closing mark closes nothing.
    Stray,
    /// A message to the user begins; the family's own calls in it are quoted.
    Message,
    /// Reasoning ends that the prompt had opened: it began with the reply.
    Thought,
    /// Reasoning that was expected did not end, so it is the answer.
    NoThought,
    /// Markup without a meaning, such as the header of a message.
    Silent,
    /// A closing mark in the middle of a sentence is part of the sentence.
    InSentence,
    /// The mark is quoted, and so part of the prose.
    Quoted(Quote),
    /// A fence at the end of the reply holds nothing but calls: they count.
    FenceCalls,
    /// Reasoning begins.
    Reasoning,
    /// Reasoning ends.
    ReasoningEnd,
    /// The reasoning holds a draft that is not a whole call of a declared tool.
    NoDraft,
    /// A call was drafted in the reasoning, and it counts.
    Rescued,
    /// A call was drafted in the reasoning, and it does not count.
    Draft(Kept),
    /// The model goes on as a tool or in another role: the reply ends here.
    Forged,
    /// The limit of notes was reached.
    Full,
}

/// Why a dialect refused what it examined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The text does not have the dialect's form.
    OtherForm,
    /// The text names no declared tool.
    UndeclaredTool,
    /// No tool's name stands where it belongs.
    NoName,
    /// No JSON stands behind the mark.
    NoJson,
    /// No call stands behind the mark.
    NoCallBehind,
    /// Another opening mark stands before the closing one.
    OpensAgain,
    /// No closing mark stands near.
    NeverCloses,
    /// The text between the marks is part of a sentence about them.
    AboutMarks,
    /// An argument is not a literal.
    NoLiteral,
    /// Words stand behind the call on its line.
    WordsBehind,
    /// The reply ends before the dialect can decide.
    CutOff,
}

/// What quotes a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Quote {
    /// Backticks on the same line.
    InlineCode,
    /// Quotation marks right around it.
    QuotationMarks,
    /// A line that starts with `>`.
    BlockQuote,
    /// A fence, which is a quotation by the parser's policy.
    Fence,
    /// A fence that holds something else than calls of declared tools.
    MixedFence,
    /// A fence that does not end the reply.
    EarlyFence,
    /// A fence in the reasoning.
    FenceInReasoning,
    /// A list or an object that the text before it begins.
    Data,
}

/// Why a call that was drafted in reasoning does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kept {
    /// The parser's policy excludes drafts.
    Policy,
    /// Something follows the reasoning: an answer or a call.
    AnswerFollows,
    /// A call precedes the draft.
    CalledBefore,
    /// The model went on thinking behind it and the reasoning never ended.
    ThoughtOn,
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tried { mark, dialects } => {
                write!(f, "mark {mark:?}, tried as {}", dialects.join(", "))
            }
            Self::GivenUp { mark } => write!(
                f,
                "mark {mark:?}, not tried: too much was read in vain before it"
            ),
            Self::Refused { dialect, refusal } => write!(f, "not {dialect}: {refusal}"),
            Self::NoCall => f.write_str("no dialect reads a call here"),
            Self::Read { dialect } => write!(f, "read as {dialect}"),
            Self::Passed { dialect } => write!(f, "looked at as {dialect}: no call"),
            Self::Section { dialect } => write!(f, "mark around calls, as in {dialect}"),
            Self::SectionEnd => f.write_str("end of the mark around calls"),
            Self::Stray => f.write_str("stray mark: it closes nothing"),
            Self::Silent => f.write_str("markup that says nothing by itself"),
            Self::InSentence => f.write_str("mark in the middle of a sentence: part of it"),
            Self::Quoted(quote) => write!(f, "quoted, so not called: {quote}"),
            Self::FenceCalls => f.write_str(
                "fence at the end of the reply with nothing but calls of declared tools: it calls",
            ),
            Self::Reasoning => f.write_str("reasoning begins"),
            Self::ReasoningEnd => f.write_str("reasoning ends"),
            Self::Message => f.write_str("a message to the user begins"),
            Self::Thought => {
                f.write_str("reasoning ends that nothing opened: it began with the reply")
            }
            Self::NoThought => f.write_str("no reasoning ends here: this is the answer"),
            Self::NoDraft => f.write_str(
                "in the reasoning, and no whole call of a declared tool: part of the reasoning",
            ),
            Self::Rescued => {
                f.write_str("drafted in the reasoning, but nothing follows: it is called")
            }
            Self::Draft(kept) => write!(f, "drafted in the reasoning, so not called: {kept}"),
            Self::Forged => f.write_str(
                "a result or a turn that is not the model's to write: the reply ends here",
            ),
            Self::Full => f.write_str("further notes are left out"),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OtherForm => "it is not of this form",
            Self::UndeclaredTool => "it names no declared tool",
            Self::NoName => "no tool's name stands where it belongs",
            Self::NoJson => "no JSON stands behind the mark",
            Self::NoCallBehind => "no call stands behind the mark",
            Self::OpensAgain => "another opening mark stands before the closing one",
            Self::NeverCloses => "no closing mark stands near",
            Self::AboutMarks => "what stands between the marks is part of a sentence",
            Self::NoLiteral => "an argument is not a literal",
            Self::WordsBehind => "words stand behind it on its line",
            Self::CutOff => "the reply ends before it can be told",
        })
    }
}

impl fmt::Display for Quote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InlineCode => "inline code",
            Self::QuotationMarks => "quotation marks stand around it",
            Self::BlockQuote => "a quotation, as its line starts with `>`",
            Self::Fence => "a fence",
            Self::MixedFence => "a fence that holds something else than calls of declared tools",
            Self::EarlyFence => "a fence that does not end the reply",
            Self::FenceInReasoning => "a fence in the reasoning",
            Self::Data => "part of the list or the object around it",
        })
    }
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Policy => "drafts are ignored",
            Self::AnswerFollows => "an answer or a call follows",
            Self::CalledBefore => "a call precedes it",
            Self::ThoughtOn => "the model thought on behind it",
        })
    }
}

/// The notes of one reply while it is read.
#[derive(Debug, Default)]
pub(super) struct Trace {
    notes: Vec<Note>,
}

impl Trace {
    pub(super) fn note(&mut self, range: Range<usize>, decision: Decision) {
        let decision = match self.notes.len() {
            0..MAX_NOTES => decision,
            MAX_NOTES => Decision::Full,
            _ => return,
        };
        let span = Span::new(range.start, range.end);
        self.notes.push(Note { span, decision });
    }

    /// Returns the notes in the order of the reply. What is held back is
    /// decided later than what stands behind it, and how much later depends on
    /// the chunks.
    pub(super) fn into_notes(self) -> Vec<Note> {
        let mut notes = self.notes;
        notes.sort_by_key(|note| note.span.start);
        notes
    }
}
