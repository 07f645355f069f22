//! The parser of a model's replies; replaceable.

use std::fmt::Debug;

use ptk_protocol::{Event, Grammar, Parser};

/// Reads the replies of a model.
///
/// ```
/// use ptk_protocol::{Event, Grammar, Span};
/// use ptk_model::{Reading, ReplyParser};
///
/// /// Takes everything for prose.
/// #[derive(Debug)]
/// struct Prose;
///
/// struct Words(usize);
///
/// impl ReplyParser for Prose {
///     fn begin(&self, _grammar: &Grammar) -> Box<dyn Reading> {
///         Box::new(Words(0))
///     }
/// }
///
/// impl Reading for Words {
///     fn push(&mut self, chunk: &str, sink: &mut dyn FnMut(Event<'_>)) {
///         let span = Span::new(self.0, self.0 + chunk.len());
///         self.0 = span.end;
///         sink(Event::Text { text: chunk.into(), span });
///     }
///
///     fn finish(&mut self, _sink: &mut dyn FnMut(Event<'_>)) {}
/// }
/// ```
pub trait ReplyParser: Send + Sync + Debug {
    /// Begins to read a reply. The grammar has the tools that the model was
    /// offered and the dialects that are to be read.
    fn begin(&self, grammar: &Grammar) -> Box<dyn Reading>;
}

/// A reply that is being read.
pub trait Reading: Send {
    /// Parses the next piece, and reports the events that it completes.
    fn push(&mut self, chunk: &str, sink: &mut dyn FnMut(Event<'_>));

    /// Notes that the server separates reasoning from the text, so that the text
    /// does not begin with it.
    fn expect_text(&mut self) {}

    /// Whether the reply has ended, whatever is still to come, so that the
    /// stream can be closed.
    fn is_over(&self) -> bool {
        false
    }

    /// Parses the end of the reply, and reports the remaining events.
    fn finish(&mut self, sink: &mut dyn FnMut(Event<'_>));
}

/// PTK's own parser.
#[derive(Debug, Clone, Copy, Default)]
pub struct PtkParser;

impl ReplyParser for PtkParser {
    fn begin(&self, grammar: &Grammar) -> Box<dyn Reading> {
        Box::new(Parser::new(grammar))
    }
}

impl Reading for Parser {
    fn push(&mut self, chunk: &str, sink: &mut dyn FnMut(Event<'_>)) {
        self.push_to(chunk, &mut |event| sink(event));
    }

    fn expect_text(&mut self) {
        Parser::expect_text(self);
    }

    fn is_over(&self) -> bool {
        self.is_over()
    }

    fn finish(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        self.finish_to(&mut |event| sink(event));
    }
}

impl Reading for Box<dyn Reading> {
    fn push(&mut self, chunk: &str, sink: &mut dyn FnMut(Event<'_>)) {
        (**self).push(chunk, sink);
    }

    fn expect_text(&mut self) {
        (**self).expect_text();
    }

    fn is_over(&self) -> bool {
        (**self).is_over()
    }

    fn finish(&mut self, sink: &mut dyn FnMut(Event<'_>)) {
        (**self).finish(sink);
    }
}
