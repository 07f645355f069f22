//! Collects the events of a reply: its text, and all its calls, native and in
//! the text, once each.

use ptk_llm::{Completion, Delta, FinishReason, NativeCall, repetition};
use ptk_protocol::{
    Arguments, Event, ParsedCall, Problem, ProblemCode, Reply, Span, Status, ToolCall,
};

use crate::native::Native;
use crate::{ReplyEvent, ReplyParser, ReplyReader, ToolPrompt};

/// The name of the form of native calls.
const NATIVE: &str = "native";

/// The correction of a reply that went on repeating itself.
const REPEATED: &str = "Your reply repeated itself without end, so it was stopped. Call a tool, or answer in a few words";

/// Collects a reply from its [events](ReplyEvent).
#[derive(Debug, Default)]
pub struct ReplyCollector {
    reply: Reply,
    native: Vec<NativeReply>,
}

/// What was parsed of a native call.
#[derive(Debug)]
struct NativeReply {
    index: usize,
    id: Option<String>,
    name: String,
    call: Option<ParsedCall>,
    problems: Vec<Problem>,
}

impl ReplyCollector {
    /// Adds an event.
    pub fn absorb(&mut self, event: ReplyEvent<'_>) {
        match event {
            ReplyEvent::Text(event) => self.reply.absorb(event),
            ReplyEvent::Native(native, event) => self.absorb_native(native, event),
            // It is no part of the text that the reply accounts for.
            ReplyEvent::Reasoning(_) => {}
        }
    }

    fn absorb_native(&mut self, native: Native<'_>, event: Event<'_>) {
        if self.native.last().is_none_or(|it| it.index != native.index) {
            self.native.push(NativeReply {
                index: native.index,
                id: native.id.map(str::to_owned),
                name: native.name.to_owned(),
                call: None,
                problems: Vec::new(),
            });
        }
        let Some(current) = self.native.last_mut() else {
            return;
        };
        match event {
            Event::CallEnd { call, .. } => current.call = Some(*call),
            Event::Problem(problem) => current.problems.push(problem),
            _ => {}
        }
    }

    /// The whole reply, whose text is this and which ended for this reason.
    #[must_use]
    pub fn finish(self, text: &str, finish: Option<&FinishReason>) -> Reply {
        let mut reply = self.reply;
        if finish == Some(&FinishReason::Length) {
            reply.cut_by_limit();
        }
        if finish == Some(&FinishReason::Repetition) {
            let start = repetition(text).unwrap_or(text.len());
            let span = Span::new(start, text.len());
            reply
                .problems
                .push(Problem::new(ProblemCode::Repetition, REPEATED, span));
        }
        let end = Span::new(text.len(), text.len());
        let native = self.native.into_iter().map(|native| native.call_at(end));
        let native: Vec<ParsedCall> = native.collect();
        // Some models also write their native calls into the text.
        reply.calls.retain(|written| {
            let is_same = |call: &ParsedCall| {
                call.call.name == written.call.name && call.call.args == written.call.args
            };
            !native.iter().any(is_same)
        });
        reply.calls.extend(native);
        reply
    }
}

impl NativeReply {
    /// The call, which stands behind the text. There is one for each native
    /// call, because its server wants a result for each.
    fn call_at(self, span: Span) -> ParsedCall {
        let mut call = self.call.unwrap_or_else(|| ParsedCall {
            call: ToolCall::new(&self.name, Arguments::new()),
            status: Status::Complete,
            problems: Vec::new(),
            open_ended: false,
            dialect: String::new(),
            span,
        });
        call.problems.extend(self.problems);
        for problem in &mut call.problems {
            problem.span = span;
        }
        ParsedCall {
            call: ToolCall {
                id: self.id,
                ..call.call
            },
            dialect: NATIVE.to_owned(),
            span,
            ..call
        }
    }
}

impl ToolPrompt {
    /// Reads a whole reply, by this parser.
    #[must_use]
    pub fn read(&self, parser: &dyn ReplyParser, completion: &Completion) -> Reply {
        let mut reader = ReplyReader::new(self, parser.begin(&self.grammar));
        let mut reply = ReplyCollector::default();
        for delta in pieces(completion) {
            reader.take(&delta, &mut |event| reply.absorb(event));
        }
        reader.finish(&mut |event| reply.absorb(event));
        reply.finish(&completion.text, Some(&completion.finish))
    }
}

/// The pieces that a reply could have come in.
fn pieces(completion: &Completion) -> impl Iterator<Item = Delta> {
    let text = Delta::Text(completion.text.clone());
    let calls = completion.calls.iter().enumerate();
    let calls = calls.flat_map(|(index, call)| {
        let NativeCall {
            id,
            name,
            arguments,
        } = call.clone();
        [
            Delta::CallStart { index, id, name },
            Delta::Arguments {
                index,
                json: arguments,
            },
        ]
    });
    let finish = Delta::Finish(completion.finish.clone());
    std::iter::once(text).chain(calls).chain([finish])
}
