//! The parser itself: finds marks, decides whether they are quoted, passes what
//! follows to a dialect's reader, and emits the results.

mod constructs;
mod fences;
mod forging;
mod prose;
mod reasoning;
mod telling;
mod unopened;

use std::ops::Range;

use super::dropped::Dropped;
use super::event::{Event, Reclassified};
use super::forged::Forgery;
use super::grammar::{Drafts, Grammar, Opening};
use super::hold::{Hold, Item};
use super::line::Line;
use super::reader::{Findings, Reader};
use super::reasoning_marks::OPENED_BY_PROMPT;
use super::settle::Settler;
use super::table::Candidates;
use super::trace::{Decision, Note, Trace};
use unopened::Drafted;

type Sink<'s> = dyn FnMut(Event<'_>) + 's;

/// Parses a reply while it arrives.
///
/// ```
/// use ptk_protocol::{Event, Grammar, Parser, Reply};
///
/// let grammar = Grammar::builder().build()?;
/// let mut parser = Parser::new(&grammar);
/// let mut reply = Reply::default();
/// for chunk in ["Let me see. <PTK_", "CALL>{\"tool\":\"list_", "files\",\"args\":{}}</PTK_CALL>"] {
///     for event in parser.push(chunk) {
///         reply.absorb(event);
///     }
/// }
/// for event in parser.finish() {
///     reply.absorb(event);
/// }
/// assert_eq!(reply.text, "Let me see. ");
/// assert_eq!(reply.calls[0].call.name, "list_files");
/// # Ok::<(), ptk_protocol::GrammarError>(())
/// ```
pub struct Parser {
    grammar: Grammar,
    buffer: String,
    machine: Machine,
    /// The reply so far, as long as the machine expects the end of its
    /// reasoning: if none comes, all of it is read again, as an answer.
    thought: String,
    notes: Vec<Note>,
}

impl Parser {
    /// Creates a parser for one reply.
    #[must_use]
    pub fn new(grammar: &Grammar) -> Self {
        Self {
            grammar: grammar.clone(),
            buffer: String::new(),
            machine: Machine::new(grammar),
            thought: String::new(),
            notes: Vec::new(),
        }
    }

    /// Makes the parser record the reasons of its decisions, for
    /// [`Parser::notes`].
    #[must_use]
    pub fn explained(mut self) -> Self {
        self.machine.trace = Some(Box::default());
        self
    }

    /// The reasons why the reply was read as it was, once it has ended, in the
    /// order of the reply. Empty unless the parser was
    /// [`explained`](Self::explained); the notes are handed over once.
    ///
    /// ```
    /// use ptk_protocol::{Grammar, Parser};
    ///
    /// let grammar = Grammar::builder().build()?;
    /// let mut parser = Parser::new(&grammar).explained();
    /// parser.push("> <PTK_CALL>{}</PTK_CALL>");
    /// parser.finish();
    /// let notes = parser.notes();
    /// assert_eq!(
    ///     notes[0].decision.to_string(),
    ///     "quoted, so not called: a quotation, as its line starts with `>`",
    /// );
    /// # Ok::<(), ptk_protocol::GrammarError>(())
    /// ```
    pub fn notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }

    /// Whether the reply has ended, whatever is still to come: the model has
    /// begun to write a tool's result or a turn that is not its own. What
    /// follows only makes that [problem](crate::ProblemCode::ForgedResult)
    /// longer, so the stream can be closed.
    ///
    /// ```
    /// use ptk_protocol::{Grammar, Parser};
    ///
    /// let mut parser = Parser::new(&Grammar::builder().build()?);
    /// parser.push("<PTK_CALL>{\"tool\":\"now\",\"args\":{}}</PTK_CALL>\n");
    /// assert!(!parser.is_over());
    /// parser.push("PTK_RESULT: \"noon\"");
    /// assert!(parser.is_over());
    /// # Ok::<(), ptk_protocol::GrammarError>(())
    /// ```
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(self.machine.state, EngineState::Forged(_))
    }

    /// Tells the parser that the model's server separates reasoning from the
    /// text, so that the text does not begin with it. Has no effect once the text
    /// has begun.
    pub fn expect_text(&mut self) {
        let has_begun = self.machine.base > 0 || !self.buffer.is_empty();
        if !has_begun && self.machine.expects_end {
            self.machine.expects_end = false;
            self.machine.state = EngineState::Prose;
        }
    }

    /// Parses the next chunk and returns the events that became known by it.
    pub fn push(&mut self, chunk: &str) -> Vec<Event<'static>> {
        let mut events = Vec::new();
        self.push_to(chunk, &mut |event| events.push(event.into_owned()));
        events
    }

    /// Ends the reply and returns the remaining events.
    pub fn finish(&mut self) -> Vec<Event<'static>> {
        let mut events = Vec::new();
        self.finish_to(&mut |event| events.push(event.into_owned()));
        events
    }

    /// Like [`Parser::push`], without copying the events.
    pub fn push_to(&mut self, chunk: &str, sink: &mut Sink<'_>) {
        if self.machine.expects_end {
            self.thought.push_str(chunk);
        }
        if self.buffer.is_empty() {
            let used = self.machine.run(&self.grammar, chunk, false, sink);
            self.buffer.push_str(chunk.get(used..).unwrap_or(""));
        } else {
            self.make_room(chunk.len());
            self.buffer.push_str(chunk);
            let used = self.machine.run(&self.grammar, &self.buffer, false, sink);
            self.buffer.drain(..used);
        }
        if !self.machine.expects_end && !self.thought.is_empty() {
            self.thought = String::new();
        }
    }

    /// Makes room for a chunk. A long buffer grows in small steps, so that it
    /// takes little more memory than the call that is coming in.
    fn make_room(&mut self, chunk: usize) {
        let needed = self.buffer.len() + chunk;
        if needed > self.buffer.capacity() && needed > LONG_BUFFER {
            self.buffer.reserve_exact(chunk + needed / 128);
        }
    }

    /// Like [`Parser::finish`], without copying the events.
    pub fn finish_to(&mut self, sink: &mut Sink<'_>) {
        let buffer = std::mem::take(&mut self.buffer);
        self.machine.run(&self.grammar, &buffer, true, sink);
        let thought = std::mem::take(&mut self.thought);
        if self.machine.expects_end {
            self.read_again(&thought, sink);
        }
        let trace = self.machine.trace.take();
        self.machine = Machine::new(&self.grammar);
        if let Some(trace) = trace {
            self.notes = trace.into_notes();
            self.machine.trace = Some(Box::default());
        }
    }

    /// Reads the whole reply as an answer. It was read as reasoning so far,
    /// which never ended.
    fn read_again(&mut self, reply: &str, sink: &mut Sink<'_>) {
        let is_explained = self.machine.trace.is_some();
        self.machine = Machine::reading_text();
        if is_explained {
            let mut trace = Box::<Trace>::default();
            trace.note(0..0, Decision::NoThought);
            self.machine.trace = Some(trace);
        }
        sink(Event::Reclassified(Reclassified::Text));
        self.machine.run(&self.grammar, reply, true, sink);
    }
}

/// From this length on the buffer grows in small steps.
const LONG_BUFFER: usize = 1 << 20;

/// The state of the machine. Offsets are those of the reply, not of the buffer.
enum EngineState {
    Prose,
    Reasoning {
        tag: usize,
        fenced: bool,
    },
    /// In a fence that is a quotation.
    Fence(Fence),
    /// In a fence that holds nothing but calls so far.
    FenceOfCalls(Fence),
    /// A reader is reading a construct.
    Reading(Box<OpenConstruct>),
    /// A construct stands inside what may be a quotation; what follows decides.
    Quoted(Box<QuotedConstruct>),
    /// A mark around several calls stands inside what may be a quotation.
    QuotedMark(Box<QuotedMark>),
    /// Behind the end of the reply, where the model goes on in other roles.
    Forged(Forgery),
}

#[derive(Debug, Clone, Copy)]
struct Fence {
    byte: u8,
    length: usize,
}

struct OpenConstruct {
    start: usize,
    dialect: usize,
    candidates: Candidates,
    reader: Box<dyn Reader>,
    settler: Settler,
    findings: Findings,
    /// Whether a call or a problem was found.
    tells: bool,
    /// Items that are not emitted yet, as the construct may turn out to be
    /// quoted.
    deferred: Option<Vec<Item>>,
    stops: Vec<String>,
    back: Back,
}

impl OpenConstruct {
    /// Whether the construct stands in prose that may not quote it.
    fn is_in_prose(&self) -> bool {
        matches!(
            self.back,
            Back::Prose {
                quotation: Quotation::None,
                ..
            }
        )
    }
}

/// The state to return to behind a construct.
#[derive(Debug, Clone, Copy)]
enum Back {
    Prose {
        quotation: Quotation,
        /// Whether the construct began at a mark that counts anywhere.
        marked: bool,
    },
    Reasoning {
        tag: usize,
    },
    Fence(Fence),
}

/// What may quote a construct in prose.
#[derive(Debug, Clone, Copy)]
enum Quotation {
    None,
    Ticks(usize),
    Mark(char),
    /// The list or the object that the text before it may have begun.
    Data,
}

struct QuotedConstruct {
    range: Range<usize>,
    items: Vec<Item>,
    quotation: Quotation,
    search: usize,
}

struct QuotedMark {
    range: Range<usize>,
    quotation: Quotation,
    search: usize,
}

/// The text at hand.
struct Text<'a> {
    all: &'a str,
    base: usize,
    end: bool,
}

impl<'a> Text<'a> {
    fn from(&self, at: usize) -> &'a str {
        self.all.get(at.saturating_sub(self.base)..).unwrap_or("")
    }

    fn slice(&self, range: &Range<usize>) -> &'a str {
        let start = range.start.saturating_sub(self.base);
        let end = range.end.saturating_sub(self.base);
        self.all.get(start..end).unwrap_or("")
    }

    fn len(&self) -> usize {
        self.base + self.all.len()
    }
}

struct Machine {
    base: usize,
    /// Everything before this was emitted or is held back.
    told: usize,
    /// Everything before this was examined.
    seen: usize,
    state: EngineState,
    line: Line,
    /// Where the prose at hand started, behind a call or a mark.
    prose_start: usize,
    dropped: Dropped,
    hold: Option<Hold>,
    calls: usize,
    wasted_bytes: usize,
    /// How many marks around several calls are open.
    sections: usize,
    /// Whether nothing but white space was seen since a call or the mark of a
    /// section.
    behind_call: bool,
    /// The dialect of the last construct.
    last: Option<usize>,
    /// The family whose message to the user is open.
    message: Option<usize>,
    /// The marks and calls of the reply so far, as long as it may still turn out
    /// to be reasoning that the prompt had opened.
    drafted: Option<Drafted>,
    /// Whether it has, and how many calls were in it.
    unopened: Option<usize>,
    /// Whether the reply is expected to begin with reasoning, whose end has not
    /// come.
    expects_end: bool,
    /// Whether any words were emitted.
    has_said: bool,
    /// The reasons of decisions, if they were requested.
    trace: Option<Box<Trace>>,
}

impl Machine {
    fn new(grammar: &Grammar) -> Self {
        let opening = match grammar.opening() {
            // Calls in the reasoning are delivered, and cannot be read again.
            Opening::Likely if grammar.drafts() == Drafts::Run => Opening::Text,
            opening => opening,
        };
        if opening == Opening::Text {
            return Self::reading_text();
        }
        Self {
            state: EngineState::Reasoning {
                tag: OPENED_BY_PROMPT,
                fenced: false,
            },
            drafted: None,
            expects_end: opening == Opening::Likely,
            ..Self::reading_text()
        }
    }

    fn reading_text() -> Self {
        Self {
            base: 0,
            told: 0,
            seen: 0,
            state: EngineState::Prose,
            line: Line::default(),
            prose_start: 0,
            dropped: Dropped::default(),
            hold: None,
            calls: 0,
            wasted_bytes: 0,
            sections: 0,
            behind_call: false,
            last: None,
            message: None,
            drafted: Some(Drafted::default()),
            unopened: None,
            expects_end: false,
            has_said: false,
            trace: None,
        }
    }

    /// Parses as far as the text allows; the bytes returned are not needed
    /// again.
    fn run(&mut self, grammar: &Grammar, text: &str, end: bool, sink: &mut Sink<'_>) -> usize {
        let text = Text {
            all: text,
            base: self.base,
            end,
        };
        let mut work = Work {
            machine: self,
            grammar,
            text: &text,
            sink,
        };
        while work.step() {}
        if end && !work.machine.expects_end {
            work.settle_end();
            work.discard_forgery();
        }
        let mut keep = self.told;
        if let Some(hold) = &self.hold {
            keep = keep.min(hold.start);
        }
        match &self.state {
            EngineState::Reading(reading) => keep = keep.min(reading.start),
            EngineState::Quoted(quoted) => keep = keep.min(quoted.range.start),
            EngineState::QuotedMark(quoted) => keep = keep.min(quoted.range.start),
            _ => {}
        }
        let used = keep - self.base;
        self.dropped.push(text.slice(&(self.base..keep)));
        self.base = keep;
        used
    }
}

/// One run of the machine over the text at hand.
struct Work<'a, 's, 'm> {
    machine: &'m mut Machine,
    grammar: &'a Grammar,
    text: &'a Text<'a>,
    sink: &'m mut Sink<'s>,
}

impl Work<'_, '_, '_> {
    /// Makes one step; `false` if more text is needed first.
    pub(super) fn step(&mut self) -> bool {
        match std::mem::replace(&mut self.machine.state, EngineState::Prose) {
            EngineState::Prose => self.prose(),
            EngineState::Reasoning { tag, fenced } => self.reasoning(tag, fenced),
            EngineState::Fence(fence) => self.fence(fence),
            EngineState::FenceOfCalls(fence) => self.fence_of_calls(fence),
            EngineState::Reading(reading) => self.reading(reading),
            EngineState::Quoted(quoted) => self.quoted(*quoted),
            EngineState::QuotedMark(quoted) => self.quoted_mark(*quoted),
            EngineState::Forged(forgery) => {
                self.machine.seen = self.text.len();
                self.wait(EngineState::Forged(forgery))
            }
        }
    }

    /// Records a decision, if that was requested.
    pub(super) fn note(&mut self, range: Range<usize>, decide: impl FnOnce(&Self) -> Decision) {
        if self.machine.trace.is_some() {
            let decision = decide(self);
            if let Some(trace) = &mut self.machine.trace {
                trace.note(range, decision);
            }
        }
    }

    /// The name of a dialect, for a note.
    pub(super) fn name_of(&self, dialect: usize) -> String {
        let dialect = self.grammar.dialect(dialect);
        dialect.map_or("", |dialect| dialect.name()).to_owned()
    }

    pub(super) fn wait(&mut self, state: EngineState) -> bool {
        self.machine.state = state;
        false
    }

    pub(super) fn go(&mut self, state: EngineState) -> bool {
        self.machine.state = state;
        true
    }
}

/// A run of backticks or tildes is counted up to this; what follows counts as a
/// run of its own.
const MAX_RUN: usize = 64;

/// How many times `byte` stands at the start of `text`.
fn run_length(text: &str, byte: u8) -> usize {
    text.bytes()
        .take(MAX_RUN)
        .take_while(|found| *found == byte)
        .count()
}

/// Whether a run may go on behind the text at hand.
fn is_run_open(text: &Text<'_>, end: usize, run: usize) -> bool {
    run < MAX_RUN && end == text.len() && !text.end
}
