//! A reply while it comes in: what of it goes out at once, what has to wait,
//! and what is wrong with it.

use ptk::llm::{Delta, FinishReason, MAX_REPLY, Usage};
use ptk::protocol::{
    Arguments, Event, ParsedCall, Parser, Piece, Problem, ProblemCode, Reply, Span, SpanKind,
    Status,
};
use serde_json::Value;

use super::native::{DIALECT, NativeCalls};
use super::plan::Plan;
use super::visible::Visible;
use crate::ask::Contract;
use crate::said::{Note, Said, new_id};

/// What a client was told so far, over all that was asked for its answer.
pub(super) struct Telling<'t> {
    pub(super) tell: &'t mut (dyn FnMut(Said<'_>) + Send),
    pub(super) contract: &'t Contract,
    /// Whether calls go out while they come in.
    pub(super) is_live: bool,
    /// The calls that went out.
    pub(super) calls: Vec<(String, Arguments)>,
    pub(super) has_text: bool,
    /// Whether anything went out.
    pub(super) has_begun: bool,
    pub(super) notes: Vec<Note>,
}

impl Telling<'_> {
    fn say(&mut self, said: Said<'_>) {
        self.has_begun = true;
        (self.tell)(said);
    }

    pub(super) fn text(&mut self, text: &str) {
        if !text.is_empty() {
            self.has_text = true;
            self.say(Said::Text(text));
        }
    }

    /// Tells a call as a whole.
    pub(super) fn call(&mut self, id: &str, name: &str, args: Arguments) {
        self.say(Said::Call { id, name });
        self.say(Said::Arguments(&args.to_json()));
        self.say(Said::CallEnd(&args));
        self.calls.push((name.to_owned(), args));
    }

    /// Whether a call of this tool may be made now.
    fn takes(&self, name: &str) -> bool {
        let contract = self.contract;
        contract.offer.tools.contains(name)
            && contract.allows(name)
            && !(contract.one_call && !self.calls.is_empty())
    }
}

/// A reply while it comes in.
pub(super) struct Reading<'r, 't> {
    plan: &'r Plan,
    parser: Parser,
    native: NativeCalls,
    size: usize,
    finish: Option<FinishReason>,
    usage: Option<Usage>,
    state: State<'r, 't>,
}

/// What became of a reply.
pub(super) struct Pass {
    /// What the model said, word for word; native calls are among it.
    pub(super) words: String,
    pub(super) finish: Option<FinishReason>,
    pub(super) usage: Option<Usage>,
    /// What cannot go out as it is.
    pub(super) faults: Vec<Fault>,
    /// Calls behind a fault, which wait for it to be mended.
    pub(super) later: Vec<(String, String, Arguments)>,
    /// Words that were kept back.
    pub(super) held: Option<String>,
    /// A call that went out, and broke off.
    pub(super) cut: Option<String>,
    pub(super) stopped_at: Option<String>,
    /// What of the words is in no answer.
    pub(super) unused: String,
    /// Whether something had to be repaired.
    pub(super) is_repaired: bool,
}

/// Something that cannot go out.
pub(super) struct Fault {
    /// The tool that was meant.
    pub(super) name: Option<String>,
    pub(super) problems: Vec<Problem>,
    /// The call itself, where it could be read and has only wrong arguments.
    pub(super) call: Option<(String, Arguments)>,
    /// Whether the client allows such a call at all.
    pub(super) is_allowed: bool,
}

struct State<'r, 't> {
    telling: &'r mut Telling<'t>,
    plan: &'r Plan,
    visible: Visible,
    /// Words are not told: others were told before.
    is_mute: bool,
    /// What the model said in words.
    raw: String,
    /// The call that is open: its id if it goes out.
    open: Option<String>,
    pieces: Vec<Piece>,
    /// Where the calls stand that went out.
    told: Vec<Span>,
    faults: Vec<Fault>,
    later: Vec<(String, String, Arguments)>,
    cut: Option<String>,
    is_repaired: bool,
    /// What came of the arguments of a call that waits.
    fragments: String,
    /// How many calls went out before this reply.
    before: usize,
    /// How many calls there are in its words, and how many beside them.
    written: usize,
    native: usize,
    /// Whether it ended at the limit of tokens.
    is_limited: bool,
}

impl<'r, 't> Reading<'r, 't> {
    pub(super) fn new(
        plan: &'r Plan,
        telling: &'r mut Telling<'t>,
        stops: &[String],
        is_second: bool,
    ) -> Self {
        let is_held = telling.contract.needs_call() || plan.keeps_format;
        let is_mute = is_second && telling.has_text;
        Self {
            plan,
            parser: Parser::new(&plan.grammar),
            native: NativeCalls::default(),
            size: 0,
            finish: None,
            usage: None,
            state: State {
                fragments: String::new(),
                before: telling.calls.len(),
                written: 0,
                native: 0,
                is_limited: false,
                telling,
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

    /// Takes in the next piece.
    pub(super) fn take(&mut self, delta: Delta) {
        let state = &mut self.state;
        match delta {
            Delta::Text(text) => {
                self.size += text.len();
                state.raw.push_str(&text);
                self.parser
                    .push_to(&text, &mut |event| state.event(None, event));
            }
            Delta::Reasoning(text) => {
                self.size += text.len();
                state.telling.say(Said::Reasoning(&text));
            }
            Delta::CallStart { index, id, name } => self.native.start(index, id, name),
            Delta::Arguments { index, json } => {
                self.size += json.len();
                self.native.arguments(index, &json);
                self.tell_native(false);
            }
            Delta::CallEnd { index } => {
                self.native.end(index);
                self.tell_native(false);
            }
            Delta::State(_) => {}
            Delta::Usage(usage) => self.usage = Some(usage),
            Delta::Finish(reason) => self.finish = Some(reason),
        }
    }

    /// Whether there is nothing to wait for: it said what it was to stop at.
    pub(super) fn is_stopped(&self) -> bool {
        self.state.visible.stopped_at().is_some()
    }

    pub(super) fn is_too_long(&self) -> bool {
        self.size > MAX_REPLY
    }

    pub(super) fn has_finished(&self) -> bool {
        self.finish.is_some()
    }

    fn tell_native(&mut self, is_over: bool) {
        let Some(grammar) = self.plan_native() else {
            return;
        };
        let breaks_off = is_over
            && matches!(
                self.finish,
                None | Some(FinishReason::Length | FinishReason::ContentFilter)
            );
        let state = &mut self.state;
        self.native
            .tell(&grammar, is_over, breaks_off, &mut |id, event| {
                state.event(Some(id.unwrap_or_default()), event);
            });
    }

    fn plan_native(&self) -> Option<ptk::protocol::Grammar> {
        let offer = &self.state.telling.contract.offer;
        offer
            .native(DIALECT)
            .filter(|_| !self.native.is_empty())
            .cloned()
    }

    /// The reply is over.
    pub(super) fn end(mut self) -> Pass {
        let state = &mut self.state;
        state.is_limited = self.finish == Some(FinishReason::Length);
        self.parser.finish_to(&mut |event| state.event(None, event));
        self.tell_native(true);
        let mut state = self.state;
        let held = state.end_text();
        Pass {
            unused: state.unused(),
            words: state.raw,
            finish: self.finish,
            usage: self.usage,
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
    /// What the parser found. `native` is the id of a native call.
    fn event(&mut self, native: Option<&str>, event: Event<'_>) {
        match event {
            // A native call has no words of its own.
            Event::Text { .. } | Event::Reasoning { .. } | Event::Piece(_) if native.is_some() => {}
            Event::Text { text, .. } => self.text(&text),
            Event::Reasoning { text, .. } => self.telling.say(Said::Reasoning(&text)),
            Event::Piece(piece) => self.pieces.push(piece),
            Event::CallStart { name, .. } => self.begin(native, &name),
            Event::ArgumentsDelta { json, .. } if self.open.is_none() => {
                self.fragments.push_str(&json);
            }
            Event::ArgumentsDelta { json, .. } => {
                if !json.is_empty() {
                    self.telling.say(Said::Arguments(&json));
                }
            }
            Event::CallEnd { call, .. } => self.end(native, *call),
            Event::Problem(problem) if problem.is_fault() => self.faults.push(Fault {
                name: None,
                problems: vec![problem],
                call: None,
                is_allowed: true,
            }),
            Event::Problem(problem) => {
                self.is_repaired = true;
                self.telling.notes.push(Note::from(&problem));
            }
        }
    }

    fn text(&mut self, text: &str) {
        if self.is_mute {
            return;
        }
        let telling = &mut *self.telling;
        self.visible.push(text, &mut |text| telling.text(text));
    }

    fn end_text(&mut self) -> Option<String> {
        let telling = &mut *self.telling;
        self.visible.end(&mut |text| telling.text(text))
    }

    /// What was said before a call goes out before it.
    fn release(&mut self) {
        let telling = &mut *self.telling;
        self.visible.call(&mut |text| telling.text(text));
    }

    fn begin(&mut self, native: Option<&str>, name: &str) {
        self.fragments.clear();
        let (calls, others) = match native {
            Some(_) => (&mut self.native, self.written),
            None => (&mut self.written, self.native),
        };
        *calls += 1;
        let telling = &mut *self.telling;
        // Some models write down what they also call.
        let goes_out = telling.is_live
            && others == 0
            && self.faults.is_empty()
            && !self.plan.holds_calls
            && !telling.contract.offer.is_strict(name)
            && telling.takes(name);
        if !goes_out {
            return;
        }
        self.release();
        let id = call_id(native);
        self.telling.say(Said::Call { id: &id, name });
        self.open = Some(id);
    }

    fn end(&mut self, native: Option<&str>, mut call: ParsedCall) {
        self.is_repaired |= !call.problems.is_empty() || call.status == Status::Repaired;
        if self.is_limited && call.open_ended {
            call.status = Status::Truncated;
        }
        let name = std::mem::take(&mut call.call.name);
        if self.open.take().is_some() {
            let args = call.call.args;
            if call.status == Status::Truncated {
                self.telling.say(Said::CallCut(&args));
                self.cut = Some(name.clone());
            } else {
                self.telling.say(Said::CallEnd(&args));
                let notes = call.problems.iter().filter(|it| it.is_fault());
                self.telling.notes.extend(notes.map(Note::from));
            }
            if native.is_none() {
                self.told.push(call.span);
            }
            self.telling.calls.push((name, args));
            return;
        }
        self.judge(native, name, call);
    }

    /// A call that did not go out while it came in.
    fn judge(&mut self, native: Option<&str>, name: String, mut call: ParsedCall) {
        self.mark_copy(native, &mut call);
        let args = self.plan.restored(std::mem::take(&mut call.call.args));
        if self.is_double(native, &name, &args) {
            self.told.push(call.span);
            return;
        }
        let mut problems: Vec<Problem> = call.faults().cloned().collect();
        let contract = self.telling.contract;
        let is_allowed = contract.allows(&name) || !contract.offer.tools.contains(&name);
        if contract.one_call && is_allowed && !self.telling.calls.is_empty() {
            self.telling.notes.push(Note {
                raw: format!("{name}({})", args.to_json()),
                ..Note::new(
                    "extra_tool_call",
                    "The model made another call, and one at most was asked for; it was left out",
                )
            });
            self.told.push(call.span);
            return;
        }
        if !is_allowed && problems.is_empty() {
            let message = format!("{name} may not be called now");
            problems.push(Problem::new(ProblemCode::UnknownTool, message, call.span));
        }
        if problems.is_empty() && call.status != Status::Truncated {
            if native.is_none() {
                self.told.push(call.span);
            }
            let id = call_id(native);
            if self.faults.is_empty() {
                self.release();
                self.telling.call(&id, &name, args);
            } else {
                self.later.push((id, name, args));
            }
            return;
        }
        if call.status == Status::Truncated && self.is_limited && self.telling.takes(&name) {
            return self.break_off(native, &name, &args);
        }
        let is_readable = call.status != Status::Truncated && contract.offer.tools.contains(&name);
        if native.is_some() {
            let raw = format!(
                "{{\"name\": {}, \"arguments\": {}}}",
                Value::from(name.as_str()),
                args.to_json()
            );
            self.raw.push_str(&raw);
        }
        self.faults.push(Fault {
            call: (is_readable && is_allowed && !is_copy(&problems)).then(|| (name.clone(), args)),
            name: Some(name),
            problems,
            is_allowed,
        });
    }

    /// A call that the limit of tokens cut off goes out as far as it came.
    fn break_off(&mut self, native: Option<&str>, name: &str, args: &Arguments) {
        self.release();
        let fragments = std::mem::take(&mut self.fragments);
        let id = call_id(native);
        self.telling.say(Said::Call { id: &id, name });
        self.telling.say(Said::Arguments(&fragments));
        self.telling.say(Said::CallCut(args));
        self.telling.calls.push((name.to_owned(), args.clone()));
        self.cut = Some(name.to_owned());
    }

    /// Whether this very call went out already, before this reply or from the
    /// other side of it: beside its words, or in them.
    fn is_double(&self, native: Option<&str>, name: &str, args: &Arguments) -> bool {
        let others = if native.is_some() {
            self.written
        } else {
            self.native
        };
        let calls = &self.telling.calls;
        let earlier = if others > 0 { calls.len() } else { self.before };
        let is_it = |call: &(String, Arguments)| call.0 == name && call.1 == *args;
        calls.iter().take(earlier).any(is_it)
    }

    fn mark_copy(&self, native: Option<&str>, call: &mut ParsedCall) {
        if let (None, Some(copies)) = (native, &self.plan.copies) {
            let mut reply = Reply {
                calls: vec![call.clone()],
                ..Reply::default()
            };
            copies.mark(&mut reply, &self.raw);
            if let Some(marked) = reply.calls.pop() {
                call.problems = marked.problems;
            }
        }
    }

    /// What of the words went out neither as words nor as a call.
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

fn call_id(native: Option<&str>) -> String {
    match native.filter(|id| !id.is_empty()) {
        Some(id) => id.to_owned(),
        None => new_id("call_"),
    }
}
