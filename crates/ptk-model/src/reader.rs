//! Reads a reply while it comes in: the calls in its text and its native calls,
//! and notices where it has to end.

use std::fmt;

use ptk_llm::{Delta, FinishReason, MAX_REPLY, RunawayGuard};
use ptk_protocol::{Event, Parser};

use crate::native::{Native, NativeCalls};
use crate::{Reading, ToolPrompt};

/// A part of a reply that became known.
#[derive(Debug)]
pub enum ReplyEvent<'e> {
    /// From the text.
    Text(Event<'e>),
    /// From a native call, which has no text of its own.
    Native(Native<'e>, Event<'e>),
    /// Reasoning that the server separates from the text.
    Reasoning(&'e str),
}

/// Reads one reply, piece by piece. However it is cut, the events come to the
/// same. [`ToolPrompt::reader`] makes one.
pub struct ReplyReader<'p, R = Parser> {
    prompt: &'p ToolPrompt,
    text: R,
    native: NativeCalls,
    guard: Option<RunawayGuard>,
    /// Why the reply has ended.
    finish: Option<FinishReason>,
    /// Whether it was ended here, and not by its server.
    is_over: bool,
    /// The bytes of the reply.
    size: usize,
}

impl<R> fmt::Debug for ReplyReader<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplyReader")
            .field("finish", &self.finish)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}

impl<'p, R: Reading> ReplyReader<'p, R> {
    /// Reads a reply to this prompt; its text is parsed by `text`.
    pub fn new(prompt: &'p ToolPrompt, text: R) -> Self {
        Self {
            prompt,
            text,
            native: NativeCalls::default(),
            guard: None,
            finish: None,
            is_over: false,
            size: 0,
        }
    }

    /// Ends replies that would never end.
    #[must_use]
    pub fn with_guard(mut self, guard: RunawayGuard) -> Self {
        self.guard = Some(guard);
        self
    }

    /// Reads the next piece.
    pub fn take(&mut self, delta: &Delta, sink: &mut dyn FnMut(ReplyEvent<'_>)) {
        match delta {
            Delta::Text(text) => {
                self.text
                    .push(text, &mut |event| sink(ReplyEvent::Text(event)));
                // Native calls may still follow what a model makes up.
                if !self.prompt.is_native && self.text.is_over() {
                    self.end_here(FinishReason::Stop);
                }
                self.count(text);
            }
            Delta::Reasoning(text) => {
                self.text.expect_text();
                self.count(text);
                sink(ReplyEvent::Reasoning(text));
            }
            Delta::CallStart { index, id, name } => {
                self.size += name.len() + id.as_ref().map_or(0, String::len);
                self.native.start(*index, id.clone(), name.clone());
            }
            Delta::Arguments { index, json } => {
                self.size += json.len();
                self.native.arguments(*index, json);
                self.tell_native(false, sink);
            }
            Delta::CallEnd { index } => {
                self.native.end(*index);
                self.tell_native(false, sink);
            }
            Delta::Finish(reason) => {
                self.finish.get_or_insert_with(|| reason.clone());
            }
            Delta::State(_) | Delta::Usage(_) | Delta::Passthrough(_) => {}
        }
    }

    /// Counts text, and ends a reply that would never end.
    fn count(&mut self, text: &str) {
        self.size += text.len();
        if let Some(reason) = self.guard.as_mut().and_then(|guard| guard.push(text)) {
            self.end_here(reason);
        }
    }

    /// Ends the reply, whatever its server still sends.
    pub fn end_here(&mut self, reason: FinishReason) {
        self.is_over = true;
        self.finish.get_or_insert(reason);
    }

    /// Counts bytes that are not read here.
    pub fn add_size(&mut self, bytes: usize) {
        self.size += bytes;
    }

    /// Whether the reply was ended here, so that the stream can be closed: it
    /// goes on with what a model must not write, or would never end.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether the reply is longer than any that a model would write.
    pub fn is_too_long(&self) -> bool {
        self.size > MAX_REPLY
    }

    /// Why the reply has ended, if it has.
    pub fn finish_reason(&self) -> Option<&FinishReason> {
        self.finish.as_ref()
    }

    /// Reads the end of the reply.
    pub fn finish(&mut self, sink: &mut dyn FnMut(ReplyEvent<'_>)) {
        self.text.finish(&mut |event| sink(ReplyEvent::Text(event)));
        self.tell_native(true, sink);
    }

    fn tell_native(&mut self, is_over: bool, sink: &mut dyn FnMut(ReplyEvent<'_>)) {
        if self.native.is_empty() {
            return;
        }
        let Some(grammar) = self.prompt.native() else {
            return;
        };
        let breaks_off = matches!(
            self.finish,
            None | Some(FinishReason::Length | FinishReason::ContentFilter)
        );
        let mut tell = |native: Native<'_>, event: Event<'_>| {
            sink(ReplyEvent::Native(native, event));
        };
        self.native
            .tell(grammar, is_over, is_over && breaks_off, &mut tell);
    }
}

impl ToolPrompt {
    /// A reader for the next reply.
    #[must_use]
    pub fn reader(&self) -> ReplyReader<'_> {
        ReplyReader::new(self, Parser::new(&self.grammar))
    }
}
