//! Native calls, parsed like those in text: so they are repaired, checked and
//! streamed in the same way.

use std::collections::{BTreeMap, HashSet};

use ptk_protocol::{Event, Grammar, Parser, Toolset};
use serde_json::Value;

/// The dialect as which they are parsed.
const DIALECT: &str = "hermes";

/// The grammar that parses native calls of these tools; `None` if it cannot be
/// built.
pub(crate) fn grammar(tools: &Toolset) -> Option<Grammar> {
    let grammar = Grammar::builder().tools(tools.clone());
    grammar.dialect(DIALECT).alone().build().ok()
}

/// The native calls of a reply. They are passed on one after the other, in the
/// order in which the model made them.
#[derive(Default)]
pub(crate) struct NativeCalls {
    /// The calls that were not passed on to their end.
    calls: BTreeMap<usize, PartialCall>,
    /// The index of the call that is being passed on.
    current: Option<usize>,
    /// The calls that were passed on. What still comes of them does not count.
    ended: HashSet<usize>,
}

/// The native call that an event belongs to.
#[derive(Debug, Clone, Copy)]
pub struct Native<'n> {
    /// The index of the call in the reply.
    pub index: usize,
    /// The server's id for the call.
    pub id: Option<&'n str>,
    /// The name of the tool, as the server gave it.
    pub name: &'n str,
    /// Whether its arguments begin with a brace, or have not begun.
    pub is_sure: bool,
}

/// A native call that is streaming in.
#[derive(Default)]
struct PartialCall {
    id: Option<String>,
    name: String,
    /// Arguments that have arrived and are not parsed yet.
    waiting: String,
    reading: Option<Parser>,
    depth: Depth,
    has_ended: bool,
}

impl NativeCalls {
    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    pub(crate) fn start(&mut self, index: usize, id: Option<String>, name: String) {
        let Some(call) = self.call(index) else { return };
        call.id = id.or(call.id.take());
        call.name = name;
    }

    pub(crate) fn arguments(&mut self, index: usize, json: &str) {
        let Some(call) = self.call(index) else { return };
        call.depth.parsed(json);
        call.waiting.push_str(json);
    }

    pub(crate) fn end(&mut self, index: usize) {
        let Some(call) = self.call(index) else { return };
        call.has_ended = true;
    }

    fn call(&mut self, index: usize) -> Option<&mut PartialCall> {
        if self.ended.contains(&index) {
            return None;
        }
        Some(self.calls.entry(index).or_default())
    }

    /// Passes on the events that are known by now. `is_over` if nothing else
    /// comes; a reply that broke off does not end its last call.
    pub(crate) fn tell(
        &mut self,
        grammar: &Grammar,
        is_over: bool,
        breaks_off: bool,
        sink: &mut dyn FnMut(Native<'_>, Event<'_>),
    ) {
        while let Some(first) = self.calls.first_key_value().map(|(index, _)| *index) {
            let index = *self.current.get_or_insert(first);
            let is_last = self.calls.len() == 1;
            let Some(call) = self.calls.get_mut(&index) else {
                return;
            };
            let (id, name) = (call.id.clone(), call.name.clone());
            let about = Native {
                index,
                id: id.as_deref(),
                name: name.trim(),
                is_sure: matches!(call.depth.first, None | Some(b'{')),
            };
            let mut sink = |event: Event<'_>| sink(about, event);
            if !call.waiting.is_empty() {
                let json = std::mem::take(&mut call.waiting);
                call.reading(grammar, &mut sink).push_to(&json, &mut sink);
            }
            // The reason why a reply ends says whether its last call broke off.
            let is_whole = if is_last {
                call.has_ended && call.depth.is_closed()
            } else {
                call.has_ended || call.depth.is_closed()
            };
            if !is_whole && !is_over {
                return;
            }
            call.finish(grammar, breaks_off && is_last, &mut sink);
            self.calls.remove(&index);
            self.ended.insert(index);
            self.current = None;
        }
    }
}

impl PartialCall {
    /// The parser of the call, which has parsed its name.
    fn reading(&mut self, grammar: &Grammar, sink: &mut dyn FnMut(Event<'_>)) -> &mut Parser {
        let name = self.name.trim();
        self.reading.get_or_insert_with(|| {
            let mut parser = Parser::new(grammar);
            let opening = format!(
                "<tool_call>\n{{\"name\": {}, \"arguments\": ",
                Value::from(name)
            );
            parser.push_to(&opening, sink);
            parser
        })
    }

    /// Ends the call. Arguments that do not close are not closed here: half a
    /// call never runs, whatever the server says of it.
    fn finish(&mut self, grammar: &Grammar, breaks_off: bool, sink: &mut dyn FnMut(Event<'_>)) {
        let is_without = self.depth.first.is_none() && !breaks_off;
        let is_closed = self.depth.is_closed();
        let parser = self.reading(grammar, sink);
        if is_without {
            parser.push_to("{}", sink);
        }
        if is_closed || is_without {
            parser.push_to("}\n</tool_call>", sink);
        }
        parser.finish_to(sink);
    }
}

/// The nesting depth of a JSON text.
#[derive(Debug, Default)]
struct Depth {
    /// How many brackets are open.
    open: u32,
    in_string: bool,
    is_escaped: bool,
    /// The first byte of the text.
    first: Option<u8>,
}

impl Depth {
    fn parsed(&mut self, text: &str) {
        for byte in text.bytes() {
            if self.is_escaped {
                self.is_escaped = false;
                continue;
            }
            match byte {
                b'\\' if self.in_string => self.is_escaped = true,
                b'"' => self.in_string = !self.in_string,
                b'{' | b'[' if !self.in_string => self.open += 1,
                b'}' | b']' if !self.in_string => self.open = self.open.saturating_sub(1),
                _ => {}
            }
            if self.first.is_none() && !byte.is_ascii_whitespace() {
                self.first = Some(byte);
            }
        }
    }

    fn is_closed(&self) -> bool {
        self.first.is_some() && self.open == 0 && !self.in_string
    }
}
