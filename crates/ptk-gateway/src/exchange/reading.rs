//! A reply that is streaming in: which parts are sent at once, which have to
//! wait, and which are invalid.

mod reclassify;

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use ptk_llm::{Delta, FinishReason, Passthrough, Request, RunawayGuard, Usage};
use ptk_model::{Native, ReplyEvent, ReplyReader};
use ptk_protocol::{
    Arguments, Event, ParsedCall, Piece, Problem, ProblemCode, Reply, Span, SpanKind, Status,
};
use serde_json::Value;

use self::reclassify::Drafted;
use super::plan::Plan;
use super::values::Values;
use super::visible::Visible;
use crate::chat_request::Contract;
use crate::response::{Note, PassthroughEnd, ResponseEvent, new_id};

/// The most bytes that are parsed between two checks of the time.
const MAX_PIECE: usize = 4 * 1024;

/// The events sent to the client so far, over all requests made for one answer.
pub(super) struct ResponseStream<'t> {
    pub(super) tell: &'t mut (dyn FnMut(ResponseEvent<'_>) + Send),
    pub(super) contract: &'t Contract,
    /// Whether calls are sent while they stream in.
    pub(super) is_live: bool,
    /// The calls that were sent.
    pub(super) calls: Vec<(String, Arguments)>,
    pub(super) has_text: bool,
    /// Whether anything was sent.
    pub(super) has_begun: bool,
    /// Content that is sent with the next event. By itself it does not start
    /// the response, so that another model can still be asked.
    pub(super) passthrough: Vec<Passthrough>,
    pub(super) notes: Vec<Note>,
}

impl ResponseStream<'_> {
    fn say(&mut self, event: ResponseEvent<'_>) {
        self.has_begun = true;
        self.flush_passthrough();
        (self.tell)(event);
    }

    /// Adds content that only the API of client and server has a field for.
    fn passthrough(&mut self, passthrough: Passthrough) {
        self.passthrough.push(passthrough);
        if self.has_begun {
            self.flush_passthrough();
        }
    }

    /// Sends content that waited for an event.
    pub(super) fn flush_passthrough(&mut self) {
        for passthrough in self.passthrough.drain(..) {
            (self.tell)(ResponseEvent::Passthrough(&passthrough));
        }
    }

    pub(super) fn text(&mut self, text: &str) {
        if !text.is_empty() {
            self.has_text = true;
            self.say(ResponseEvent::Text(text));
        }
    }

    /// Sends a whole call.
    pub(super) fn call(&mut self, call: ReadyCall) {
        let ReadyCall {
            id,
            name,
            json,
            args,
        } = call;
        self.say(ResponseEvent::Call {
            id: &id,
            name: &name,
        });
        self.say(ResponseEvent::Arguments(&json));
        self.say(ResponseEvent::CallEnd(&args));
        self.calls.push((name, args));
    }

    /// Whether a call of this tool may be made now.
    fn takes(&self, name: &str) -> bool {
        let contract = self.contract;
        contract.offer.tools.contains(name)
            && contract.allows(name)
            && (!contract.one_call || self.calls.is_empty())
    }
}

/// A call that can be sent.
pub(super) struct ReadyCall {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) json: String,
    pub(super) args: Arguments,
}

impl ReadyCall {
    fn new(native: Option<Native<'_>>, name: String, json: String, args: Arguments) -> Self {
        Self {
            id: call_id(native),
            name,
            json,
            args,
        }
    }
}

/// A call that is streaming in.
struct OpenCall {
    /// The id of the call, if it is sent while it streams in.
    id: Option<String>,
    values: Values,
    /// The arguments, as far as they are certain.
    json: String,
}

/// A reply that is streaming in.
pub(super) struct Reading<'r, 't> {
    reader: ReplyReader<'r>,
    /// How long parsing has taken so far.
    spent: Duration,
    is_exhausted: bool,
    usage: Option<Usage>,
    passthrough: PassthroughEnd,
    state: State<'r, 't>,
}

/// A reply that was parsed to its end.
pub(super) struct ParsedReply {
    /// The text of the model, word for word, with invalid native calls.
    pub(super) words: String,
    pub(super) finish: Option<FinishReason>,
    pub(super) usage: Option<Usage>,
    pub(super) passthrough: PassthroughEnd,
    /// Whether the server ran a tool of its own.
    pub(super) ran_server_tool: bool,
    /// Parts that cannot be sent as they are.
    pub(super) faults: Vec<Fault>,
    /// Calls after a fault, which wait for its correction.
    pub(super) later: Vec<ReadyCall>,
    /// Text that was held back.
    pub(super) held: Option<String>,
    /// The name of a call that was sent, and broke off.
    pub(super) cut: Option<String>,
    pub(super) stopped_at: Option<String>,
    /// The part of the text that was not sent.
    pub(super) unused: String,
    /// Whether something had to be repaired.
    pub(super) is_repaired: bool,
}

/// A part of a reply that cannot be sent.
pub(super) struct Fault {
    /// The name of the tool that was called.
    pub(super) name: Option<String>,
    pub(super) problems: Vec<Problem>,
    /// The call itself, where it could be parsed and has only wrong arguments.
    pub(super) call: Option<ReadyCall>,
    /// Whether the client allows such a call at all.
    pub(super) is_allowed: bool,
}

struct State<'r, 't> {
    stream: &'r mut ResponseStream<'t>,
    plan: &'r Plan,
    visible: Visible,
    /// Whether text is not sent, because other text was sent before.
    is_mute: bool,
    /// The text of the model.
    raw: String,
    /// The call that is streaming in.
    open: Option<OpenCall>,
    pieces: Vec<Piece>,
    /// The spans of calls that were sent or dropped.
    told: Vec<Span>,
    faults: Vec<Fault>,
    later: Vec<ReadyCall>,
    cut: Option<String>,
    is_repaired: bool,
    /// The position up to which the text was handled.
    passed: usize,
    /// Content of the server's own, with its position in the text.
    waiting: VecDeque<(usize, Passthrough)>,
    /// How many tools of its own the server ran.
    ran_server_tool: usize,
    /// How many calls were sent before this reply.
    before: usize,
    /// How many calls are in the text, and how many are native.
    written: usize,
    native: usize,
    /// Whether the reply ended at the token limit.
    is_limited: bool,
    drafted: Option<Drafted>,
}

impl<'r, 't> Reading<'r, 't> {
    pub(super) fn new(
        plan: &'r Plan,
        stream: &'r mut ResponseStream<'t>,
        stops: &[String],
        is_second: bool,
    ) -> Self {
        stream.passthrough.clear();
        let is_held = stream.contract.needs_call() || plan.keeps_format;
        let is_mute = is_second && stream.has_text;
        let mut reader = plan.prompt.reader();
        // The server of a model that calls natively has its own limits.
        if !plan.prompt.is_native {
            let Request {
                max_tokens,
                context_window,
                ..
            } = plan.request;
            reader = reader.with_guard(RunawayGuard::new(max_tokens, context_window));
        }
        Self {
            reader,
            spent: Duration::ZERO,
            is_exhausted: false,
            usage: None,
            passthrough: PassthroughEnd::default(),
            state: State {
                passed: 0,
                waiting: VecDeque::new(),
                ran_server_tool: 0,
                before: stream.calls.len(),
                written: 0,
                native: 0,
                is_limited: false,
                drafted: None,
                stream,
                plan,
                visible: Visible::new(stops, is_held),
                is_mute,
                raw: String::new(),
                open: None,
                pieces: Vec::new(),
                told: Vec::new(),
                faults: Vec::new(),
                later: Vec::new(),
                cut: None,
                is_repaired: false,
            },
        }
    }

    /// Parses the next piece, unless parsing took longer than this in all.
    pub(super) fn take(&mut self, delta: Delta, time: Duration) {
        let start = Instant::now();
        match delta {
            // A reply is parsed the same however it is cut.
            Delta::Text(text) if text.len() > MAX_PIECE => {
                let mut rest = text.as_str();
                while !rest.is_empty() && self.spent + start.elapsed() <= time {
                    let mut end = MAX_PIECE.min(rest.len());
                    while !rest.is_char_boundary(end) {
                        end -= 1;
                    }
                    let (piece, behind) = rest.split_at(end);
                    self.take_one(Delta::Text(piece.to_owned()));
                    rest = behind;
                }
            }
            delta => self.take_one(delta),
        }
        self.spent += start.elapsed();
        self.is_exhausted = self.spent > time;
    }

    /// Whether parsing took too long.
    pub(super) fn is_exhausted(&self) -> bool {
        self.is_exhausted
    }

    fn take_one(&mut self, delta: Delta) {
        let state = &mut self.state;
        if let Delta::Text(text) = &delta {
            state.raw.push_str(text);
        }
        self.reader
            .take(&delta, &mut |event| state.reply_event(event));
        match delta {
            Delta::Usage(usage) => self.usage = Some(usage),
            Delta::Passthrough(Passthrough::Usage(usage)) => self.passthrough.usage = Some(usage),
            Delta::Passthrough(Passthrough::Reason(reason)) => self.passthrough.reason = reason,
            Delta::Passthrough(passthrough) => {
                self.reader.add_size(weight(&passthrough));
                state.passthrough(passthrough);
            }
            _ => {}
        }
    }

    /// Whether the stream can be closed: the reply reached a stop sequence,
    /// went on with what a model must not write, or never ends.
    pub(super) fn is_stopped(&self) -> bool {
        self.state.visible.stopped_at().is_some() || self.reader.is_over()
    }

    pub(super) fn is_too_long(&self) -> bool {
        self.reader.is_too_long()
    }

    pub(super) fn has_finished(&self) -> bool {
        self.reader.finish_reason().is_some()
    }

    /// Ends the reply.
    pub(super) fn end(mut self) -> ParsedReply {
        if self.is_stopped() {
            self.reader.end_here(FinishReason::Stop);
        }
        let mut finish = self.reader.finish_reason().cloned();
        if finish == Some(FinishReason::Repetition) {
            finish = Some(FinishReason::Length);
            let note = Note::new("repetition", "The reply repeated itself, and was ended");
            self.state.stream.notes.push(note);
        }
        let state = &mut self.state;
        state.is_limited = finish == Some(FinishReason::Length);
        self.reader.finish(&mut |event| state.reply_event(event));
        let mut state = self.state;
        state.owns_until(usize::MAX);
        let held = state.end_text();
        ParsedReply {
            ran_server_tool: state.ran_server_tool > 0,
            unused: state.unused(),
            words: state.raw,
            finish,
            usage: self.usage,
            passthrough: self.passthrough,
            stopped_at: state.visible.stopped_at().map(str::to_owned),
            faults: state.faults,
            later: state.later,
            held,
            cut: state.cut,
            is_repaired: state.is_repaired,
        }
    }
}

impl State<'_, '_> {
    fn reply_event(&mut self, event: ReplyEvent<'_>) {
        match event {
            ReplyEvent::Text(event) => self.event(None, event),
            ReplyEvent::Native(native, event) => self.event(Some(native), event),
            ReplyEvent::Reasoning(text) => self.stream.say(ResponseEvent::Reasoning(text)),
        }
    }

    /// Handles an event of the parser. `native` is the native call it is about.
    fn event(&mut self, native: Option<Native<'_>>, event: Event<'_>) {
        if let Event::Problem(problem) = &event
            && matches!(
                problem.code,
                ProblemCode::ForgedResult | ProblemCode::ForgedTurn
            )
        {
            // A forged result is not part of its text.
            self.raw.truncate(problem.span.start);
            self.pieces.retain(|piece| piece.start < problem.span.start);
        }
        match event {
            // A native call has no text of its own.
            Event::Text { .. } | Event::Reasoning { .. } | Event::Piece(_) if native.is_some() => {}
            Event::Text { text, span } => self.text_at(&text, span),
            Event::Reasoning { text, .. } => {
                self.stream.say(ResponseEvent::Reasoning(&text));
            }
            Event::Reclassified(what) => self.reclassify(&what),
            Event::Piece(piece) => self.pieces.push(piece),
            Event::CallStart { name, .. } => self.begin(native, &name),
            Event::ArgumentsDelta { json, .. } => self.arguments(&json),
            Event::CallEnd { call, .. } => self.end(native, *call),
            // After a call it is only left out.
            Event::Problem(problem)
                if problem.code == ProblemCode::ForgedResult && self.written + self.native > 0 =>
            {
                self.stream.notes.push(Note::from(&problem));
            }
            Event::Problem(problem) if problem.is_fault() => {
                self.visible.aside();
                self.faults.push(Fault {
                    name: None,
                    problems: vec![problem],
                    call: None,
                    is_allowed: true,
                });
            }
            Event::Problem(problem) => {
                self.is_repaired = true;
                self.stream.notes.push(Note::from(&problem));
            }
        }
    }

    /// Adds content of the server's own. Between parts of the text, it waits
    /// for the text before it.
    fn passthrough(&mut self, passthrough: Passthrough) {
        if let Passthrough::Fields { .. } = passthrough {
            return self.stream.passthrough(passthrough);
        }
        if let Passthrough::Part(part) = &passthrough {
            let kind = part.get("type").and_then(Value::as_str);
            let is_tool = |kind: &str| kind.ends_with("_call") || kind.ends_with("tool_use");
            self.ran_server_tool += usize::from(kind.is_some_and(is_tool));
        }
        self.waiting.push_back((self.raw.len(), passthrough));
        self.owns_until(self.passed);
    }

    /// Sends content that waited for the text up to this position.
    fn owns_until(&mut self, passed: usize) {
        self.passed = self.passed.max(passed);
        while self.waiting.front().is_some_and(|(at, _)| *at <= passed) {
            let Some((_, passthrough)) = self.waiting.pop_front() else {
                return;
            };
            let stream = &mut *self.stream;
            if !self.is_mute {
                self.visible.settle(&mut |text| stream.text(text));
            }
            stream.passthrough(passthrough);
        }
    }

    /// Handles text at this position of the reply.
    fn text_at(&mut self, text: &str, span: Span) {
        let mut rest = text;
        let mut at = span.start;
        self.owns_until(at);
        while let Some((border, _)) = self.waiting.front().filter(|(it, _)| *it < span.end) {
            let border = *border;
            // Text is as it stands in the reply, except for rare repairs.
            if let Some((before, behind)) = rest.split_at_checked(border - at) {
                self.text(before);
                rest = behind;
                at = border;
            }
            self.owns_until(border);
        }
        self.text(rest);
        self.owns_until(span.end);
    }

    fn text(&mut self, text: &str) {
        if self.is_mute {
            return;
        }
        let stream = &mut *self.stream;
        self.visible.push(text, &mut |text| stream.text(text));
    }

    fn end_text(&mut self) -> Option<String> {
        let stream = &mut *self.stream;
        self.visible.end(&mut |text| stream.text(text))
    }

    /// Sends the text that was held back before a call.
    fn release(&mut self) {
        let stream = &mut *self.stream;
        self.visible.call(&mut |text| stream.text(text));
    }

    fn begin(&mut self, native: Option<Native<'_>>, name: &str) {
        self.visible.aside();
        let (calls, others) = match native {
            Some(_) => (&mut self.native, self.written),
            None => (&mut self.written, self.native),
        };
        *calls += 1;
        let stream = &*self.stream;
        // Some models also write their native calls into the text.
        let goes_out = stream.is_live
            && native.is_none_or(|native| native.is_sure)
            && others == 0
            && self.faults.is_empty()
            && !self.plan.holds_calls
            && !stream.contract.offer.is_strict(name)
            && stream.takes(name);
        let values = Values::new(&stream.contract.offer.tools, name);
        if goes_out {
            self.release();
        }
        let id = goes_out.then(|| call_id(native));
        if let Some(id) = &id {
            self.stream.say(ResponseEvent::Call { id, name });
        }
        self.open = Some(OpenCall {
            id,
            values,
            json: String::new(),
        });
    }

    fn arguments(&mut self, json: &str) {
        let Some(open) = &mut self.open else {
            return;
        };
        let known = open.json.len();
        open.values.push(json, &mut open.json);
        let sure = open.json.get(known..).unwrap_or_default();
        if open.id.is_some() && !sure.is_empty() {
            self.stream.say(ResponseEvent::Arguments(sure));
        }
    }

    fn end(&mut self, native: Option<Native<'_>>, mut call: ParsedCall) {
        self.is_repaired |= !call.problems.is_empty() || call.status == Status::Repaired;
        if self.is_limited && call.open_ended {
            call.status = Status::Truncated;
        }
        let Some(mut open) = self.open.take() else {
            return;
        };
        let name = std::mem::take(&mut call.call.name);
        let mut args = std::mem::take(&mut call.call.args);
        if call.status == Status::Truncated {
            let rest = open.values.rest();
            if open.id.is_some() && !rest.is_empty() {
                self.stream.say(ResponseEvent::Arguments(&rest));
            }
            open.json.push_str(&rest);
        } else if open.values.has_changed() {
            args = Arguments::from_json(&open.json).unwrap_or(args);
        }
        if open.id.is_none() {
            return self.judge(native, name, &args, open.json, call);
        }
        if call.status == Status::Truncated {
            self.stream.say(ResponseEvent::CallCut(&args));
            self.cut = Some(name.clone());
        } else {
            self.stream.say(ResponseEvent::CallEnd(&args));
            let notes = call.problems.iter().filter(|it| it.is_fault());
            self.stream.notes.extend(notes.map(Note::from));
        }
        if native.is_none() {
            self.told.push(call.span);
        }
        self.stream.calls.push((name, args));
    }

    /// Judges a call that was not sent while it streamed in.
    fn judge(
        &mut self,
        native: Option<Native<'_>>,
        name: String,
        args: &Arguments,
        mut json: String,
        mut call: ParsedCall,
    ) {
        self.mark_copy(native, &mut call);
        let restored = self.plan.restored(args.clone());
        if restored != *args {
            json = restored.to_json();
        }
        let args = restored;
        if self.is_double(native, &name, &args) {
            self.told.push(call.span);
            return;
        }
        let mut problems: Vec<Problem> = call.faults().cloned().collect();
        let contract = self.stream.contract;
        let is_known = contract.offer.tools.contains(&name);
        let is_allowed = contract.allows(&name) || !is_known;
        if contract.one_call && is_allowed && is_known && !self.stream.calls.is_empty() {
            self.stream.notes.push(Note {
                raw: format!("{name}({json})"),
                ..Note::new(
                    "extra_tool_call",
                    "The model made another call, and one at most was asked for; it was left out",
                )
            });
            self.told.push(call.span);
            return;
        }
        if !is_allowed {
            let message = format!("{name} may not be called now");
            problems.push(Problem::new(ProblemCode::UnknownTool, message, call.span));
        }
        let is_cut = call.status == Status::Truncated;
        if problems.is_empty() && !is_cut {
            if native.is_none() {
                self.told.push(call.span);
            }
            let ready = ReadyCall::new(native, name, json, args);
            if self.faults.is_empty() {
                self.release();
                self.stream.call(ready);
            } else {
                self.later.push(ready);
            }
            return;
        }
        if is_cut && self.is_limited && self.stream.takes(&name) {
            return self.break_off(native, name, &json, args);
        }
        if native.is_some() {
            let raw = format!(
                "{{\"name\": {}, \"arguments\": {json}}}",
                Value::from(name.as_str())
            );
            self.raw.push_str(&raw);
        }
        let is_sure = native.is_none_or(|native| native.is_sure);
        let is_usable = is_sure && !is_cut && is_known && is_allowed && !is_copy(&problems);
        self.faults.push(Fault {
            name: Some(name.clone()),
            call: is_usable.then(|| ReadyCall::new(native, name, json, args)),
            problems,
            is_allowed,
        });
    }

    /// Sends a call that the token limit cut off as far as it came.
    fn break_off(&mut self, native: Option<Native<'_>>, name: String, json: &str, args: Arguments) {
        self.release();
        let id = call_id(native);
        self.stream.say(ResponseEvent::Call {
            id: &id,
            name: &name,
        });
        self.stream.say(ResponseEvent::Arguments(json));
        self.stream.say(ResponseEvent::CallCut(&args));
        self.cut = Some(name.clone());
        self.stream.calls.push((name, args));
    }

    /// Whether the same call was sent already, before this reply or in its
    /// other form, native or in text.
    fn is_double(&self, native: Option<Native<'_>>, name: &str, args: &Arguments) -> bool {
        let others = if native.is_some() {
            self.written
        } else {
            self.native
        };
        let calls = &self.stream.calls;
        let earlier = if others > 0 { calls.len() } else { self.before };
        let is_it = |call: &(String, Arguments)| call.0 == name && call.1 == *args;
        calls.iter().take(earlier).any(is_it)
    }

    fn mark_copy(&self, native: Option<Native<'_>>, call: &mut ParsedCall) {
        if let (None, Some(copies)) = (native, &self.plan.copies) {
            let mut reply = Reply::default();
            reply.calls.push(call.clone());
            copies.mark(&mut reply, &self.raw);
            if let Some(marked) = reply.calls.pop() {
                call.problems = marked.problems;
            }
        }
    }

    /// The part of the text that was sent neither as text nor as a call.
    fn unused(&self) -> String {
        let mut unused = String::new();
        let mut run: Option<(usize, usize, bool)> = None;
        for piece in &self.pieces {
            let is_told = self
                .told
                .iter()
                .any(|span| span.start < piece.end && piece.start < span.end);
            run = match run {
                Some((start, end, told)) if end == piece.start => {
                    Some((start, piece.end, told || is_told))
                }
                Some((start, end, told)) => {
                    if !told {
                        unused.push_str(self.raw.get(start..end).unwrap_or_default());
                    }
                    Some((piece.start, piece.end, is_told))
                }
                None => Some((piece.start, piece.end, is_told)),
            };
        }
        if let Some((start, end, false)) = run {
            unused.push_str(self.raw.get(start..end).unwrap_or_default());
        }
        let marks = |piece: &Piece| piece.kind == SpanKind::Mark;
        if self.pieces.iter().all(marks) {
            return String::new();
        }
        unused
    }
}

fn is_copy(problems: &[Problem]) -> bool {
    problems
        .iter()
        .any(|problem| problem.code == ProblemCode::CopiedFromResult)
}

fn call_id(native: Option<Native<'_>>) -> String {
    match native
        .and_then(|native| native.id)
        .filter(|id| !id.is_empty())
    {
        Some(id) => id.to_owned(),
        None => new_id("call_"),
    }
}

/// The bytes of a piece, as far as they can make it long.
pub(super) fn length(delta: &Delta) -> usize {
    match delta {
        Delta::Text(text) | Delta::Reasoning(text) => text.len(),
        Delta::Arguments { json, .. } => json.len(),
        _ => 0,
    }
}

/// The approximate size of content of the server's own.
fn weight(passthrough: &Passthrough) -> usize {
    fn all<'v>(values: impl IntoIterator<Item = &'v Value>) -> usize {
        values.into_iter().map(one).sum()
    }
    fn one(value: &Value) -> usize {
        8 + match value {
            Value::String(text) => text.len(),
            Value::Array(list) => all(list),
            Value::Object(fields) => all(fields.values()),
            _ => 0,
        }
    }
    match passthrough {
        Passthrough::Fields {
            answer,
            choice,
            message,
        } => [answer, choice, message]
            .into_iter()
            .map(|fields| all(fields.values()))
            .sum(),
        Passthrough::Part(value) | Passthrough::Usage(value) => one(value),
        Passthrough::Sources(list) => all(list),
        Passthrough::Reason(fields) => all(fields.values()),
        Passthrough::Id { kind, id } => kind.len() + id.len(),
        Passthrough::Signature(signature) => signature.len(),
    }
}
