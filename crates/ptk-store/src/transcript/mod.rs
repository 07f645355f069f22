//! The state of a conversation, folded from its log: what was said, which
//! calls ended, and where to go on.

mod item;
mod resume;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::SystemTime;

use ptk_events::{CallId, Correlation, RequestId};
use ptk_protocol::{Message, ToolCall, ToolResult};

pub use item::{Call, CallState, Content, Item, ModelReply};
pub use resume::{Window, resume};

use crate::kind::{
    CallBegan, CallEnded, Compacted, HelperReplied, HelperTask, LoggedCall, ModelReplied,
    ReplyOutcome, ReplyParsed,
};
use crate::{Entry, EntryKind, NewEntry, SessionInfo};

/// The state of a conversation.
///
/// ```
/// use ptk_events::{Correlation, RequestId};
/// use ptk_protocol::Message;
/// use ptk_store::{MemoryStore, NewEntry, Next, SessionId, Store, Stretch, Transcript, TurnBegan};
///
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// let store = MemoryStore::new();
/// let session = SessionId::new();
/// let turn = Correlation::of_request(RequestId::new());
/// store.append(&session, vec![
///     NewEntry::new(TurnBegan::default()).of(&turn),
///     NewEntry::new(Message::user("Hello")).of(&turn),
/// ]).await?;
///
/// let log = store.read(&session, Stretch::after(0, 100)).await?;
/// let transcript: Transcript = log.iter().collect();
/// assert_eq!(transcript.items().len(), 1);
/// assert!(matches!(transcript.next(), Next::Ask { .. }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Transcript {
    info: SessionInfo,
    /// The items, by rising numbers.
    items: Vec<Item>,
    turn: Option<Turn>,
    /// The number of the reply that is being worked on.
    reply: Option<u64>,
    /// Calls without an end, with the number of the reply they stand in.
    open: HashMap<CallId, u64>,
    /// The contents of files that another model chose.
    given: Vec<String>,
    last: u64,
    is_whole: bool,
    passed_over: u64,
}

/// The position of an entry in the log, and what it belongs to.
struct Place<'a> {
    seq: u64,
    ts: SystemTime,
    correlation: &'a Correlation,
}

/// The turn that has not ended.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Turn {
    request: Option<RequestId>,
    iterations: u32,
    step: Step,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    ToAsk,
    Asked,
    Replied(u64),
    Parsed(u64, ReplyOutcome),
}

/// What comes next in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Next {
    /// No turn is open: a prompt is needed.
    Prompt,
    /// The model has to be asked.
    Ask {
        /// Whether a request began whose reply never came. Asking again does no
        /// harm, but may be paid for twice.
        again: bool,
    },
    /// A reply has arrived and has to be parsed.
    Parse {
        /// The number of its entry.
        reply: u64,
    },
    /// Calls of a reply have no end: those that [wait](CallState::Waiting) can
    /// be run, those that are [uncertain](CallState::Uncertain) may have
    /// happened. The others are done and must not be run again.
    Calls {
        /// The number of the reply's entry.
        reply: u64,
    },
    /// The reply cannot be used, and the model does not know it yet.
    Reject {
        /// The number of its entry.
        reply: u64,
    },
    /// The answer is complete; only the end of the turn is missing.
    End {
        /// The number of its entry.
        reply: u64,
    },
}

impl Transcript {
    /// Creates an empty conversation.
    #[must_use]
    pub fn new() -> Self {
        Self {
            is_whole: true,
            ..Self::default()
        }
    }

    /// The workspace, model and other settings of the session.
    #[must_use]
    pub fn info(&self) -> &SessionInfo {
        &self.info
    }

    /// The items, in order, since the conversation began or was cleared.
    #[must_use]
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// The contents of the files that another model chose.
    pub fn given(&self) -> impl Iterator<Item = &str> {
        self.given.iter().map(String::as_str)
    }

    /// The number of the last entry that was folded in.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Whether it holds everything that the model could be shown. It does not
    /// if it was [resumed](resume) from a part of a long log.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// How many entries were skipped, as only a newer program understands them.
    #[must_use]
    pub fn passed_over(&self) -> u64 {
        self.passed_over
    }

    /// The turn that has not ended, by the id of its request.
    #[must_use]
    pub fn open_turn(&self) -> Option<RequestId> {
        self.turn.and_then(|turn| turn.request)
    }

    /// How often the model was asked in the turn that has not ended.
    #[must_use]
    pub fn iterations(&self) -> u32 {
        self.turn.map_or(0, |turn| turn.iterations)
    }

    /// What the loop has to do next.
    #[must_use]
    pub fn next(&self) -> Next {
        let Some(turn) = self.turn else {
            return Next::Prompt;
        };
        match turn.step {
            Step::ToAsk => Next::Ask { again: false },
            Step::Asked => Next::Ask { again: true },
            Step::Replied(reply) => Next::Parse { reply },
            Step::Parsed(reply, ReplyOutcome::Text) => Next::End { reply },
            Step::Parsed(reply, ReplyOutcome::Malformed) => Next::Reject { reply },
            Step::Parsed(reply, ReplyOutcome::Calls) => {
                if self.open.values().any(|of| *of == reply) {
                    Next::Calls { reply }
                } else {
                    Next::Ask { again: false }
                }
            }
        }
    }

    /// The calls of the reply with this number, in the order in which the
    /// model wrote them.
    #[must_use]
    pub fn calls_of(&self, reply: u64) -> &[Call] {
        match self.item(reply).map(|item| &item.content) {
            Some(Content::Reply(reply)) => &reply.calls,
            _ => &[],
        }
    }

    /// Every call that began and has no end: it may or may not have happened.
    pub fn uncertain(&self) -> impl Iterator<Item = &Call> {
        let replies = self.items.iter().filter_map(|item| match &item.content {
            Content::Reply(reply) => Some(reply),
            _ => None,
        });
        replies
            .flat_map(|reply| &reply.calls)
            .filter(|call| matches!(call.state, CallState::Uncertain { .. }))
    }

    /// The conversation as the model is shown it: each result in the words of
    /// `written`, in call order. A call without an end gets a result that says
    /// so, because models and providers want one for each.
    pub fn messages(&self, written: impl Fn(&ToolResult) -> String) -> Vec<Message> {
        self.messages_of(|call| written(&call.result()))
    }

    /// Like [`messages`](Self::messages), but `written` gets the whole call.
    pub fn messages_of(&self, written: impl Fn(&Call) -> String) -> Vec<Message> {
        let mut messages = Vec::new();
        for item in &self.items {
            item.messages(&written, &mut messages);
        }
        messages
    }

    /// Folds in the next entry.
    pub fn absorb(&mut self, entry: &Entry) {
        let at = Place {
            seq: entry.seq,
            ts: entry.ts,
            correlation: &entry.correlation,
        };
        self.fold(&at, entry.kind());
    }

    /// Folds in the next entry as it was given to the store, under the number
    /// that it got there. Secrets that the store took out are still in it.
    pub fn absorb_new(&mut self, seq: u64, entry: NewEntry) {
        let at = Place {
            seq,
            ts: entry.ts,
            correlation: &entry.correlation,
        };
        self.fold(&at, Arc::unwrap_or_clone(entry.kind));
    }

    fn fold(&mut self, entry: &Place<'_>, kind: EntryKind) {
        self.last = entry.seq;
        match kind {
            EntryKind::SessionCreated(info) => self.info.change(&info),
            EntryKind::SessionChanged(info) => self.info.change(&info.0),
            EntryKind::TurnBegan(_) => {
                self.leave_reply();
                self.turn = Some(Turn {
                    request: entry.correlation.request_id,
                    iterations: 0,
                    step: Step::ToAsk,
                });
            }
            EntryKind::TurnEnded(ended) => {
                if ended.has_refused_images() {
                    self.refuse_images();
                }
                self.turn = None;
                self.leave_reply();
            }
            EntryKind::Message(message) => {
                self.push(entry, Content::Message(message.to_message()));
                // In a turn, the user may write while tools run.
                if self.turn.is_none() {
                    self.leave_reply();
                }
            }
            EntryKind::RequestBegan(request) => {
                if let Some(turn) = &mut self.turn {
                    turn.iterations = request.iteration.max(turn.iterations.saturating_add(1));
                    turn.step = Step::Asked;
                }
            }
            EntryKind::ModelReplied(reply) => self.replied(entry, reply),
            EntryKind::ReplyParsed(parsed) => self.parsed(parsed),
            EntryKind::CallBegan(call) => self.call_began(entry, call),
            EntryKind::CallHeld(_) => self.call_held(entry),
            EntryKind::CallAllowed(_) => self.call_allowed(entry),
            EntryKind::CallEnded(call) => self.call_ended(entry, call),
            EntryKind::ReplyRejected(rejected) => {
                self.push(entry, Content::Rejected(rejected.text));
                self.leave_reply();
                self.step(Step::ToAsk);
            }
            EntryKind::Compacted(compacted) => {
                let through = compacted.through.min(entry.seq);
                self.items.retain(|item| item.seq > through);
                self.open.retain(|_, reply| *reply > through);
                self.reply = self.reply.filter(|reply| *reply > through);
                let Compacted { text, images, .. } = compacted;
                let mut summary = Item::new(entry, Content::Summary { text, images });
                summary.seq = through;
                self.items.insert(0, summary);
            }
            EntryKind::Cleared(_) => {
                self.items.clear();
                self.given.clear();
                self.open.clear();
                self.turn = None;
                self.reply = None;
                self.is_whole = true;
            }
            EntryKind::HelperReplied(helped) => self.helped(entry, helped),
            EntryKind::RanByHand(ran) if !ran.told.is_empty() => {
                self.push(entry, Content::RanByHand(ran.told));
            }
            EntryKind::Failure(_)
            | EntryKind::SessionForked(_)
            | EntryKind::SessionImported(_)
            | EntryKind::Note(_)
            | EntryKind::ValueSet(_)
            | EntryKind::RanByHand(_)
            | EntryKind::HelperAsked(_)
            | EntryKind::ReplyBroken(_)
            | EntryKind::CallCut(_) => {}
            EntryKind::Unknown(_) => self.passed_over += 1,
        }
    }

    /// Marks the items of a turn whose images were refused, unless a model has
    /// taken them before.
    fn refuse_images(&mut self) {
        let Some(request) = self.turn.and_then(|turn| turn.request) else {
            return;
        };
        let of_turn = |item: &Item| item.request_id == Some(request);
        let is_reply = |item: &Item| matches!(item.content, Content::Reply(_));
        let mut items = self.items.iter();
        if items.any(|item| of_turn(item) && is_reply(item)) {
            return;
        }
        for item in self.items.iter_mut().filter(|item| of_turn(item)) {
            item.is_refused = true;
        }
    }

    fn push(&mut self, entry: &Place<'_>, content: Content) {
        self.items.push(Item::new(entry, content));
    }

    fn step(&mut self, step: Step) {
        if let Some(turn) = &mut self.turn {
            turn.step = step;
        }
    }

    fn item(&self, seq: u64) -> Option<&Item> {
        let at = self.items.binary_search_by_key(&seq, |item| item.seq);
        at.ok().and_then(|at| self.items.get(at))
    }

    fn replied(&mut self, entry: &Place<'_>, reply: ModelReplied) {
        self.push(entry, Content::Reply(Box::new(ModelReply::new(reply))));
        self.reply = Some(entry.seq);
        self.step(Step::Replied(entry.seq));
    }

    /// Ends work on the reply. A call that began may still end; one that did
    /// not begin never will.
    fn leave_reply(&mut self) {
        if let Some(reply) = self.reply.take() {
            let began: HashSet<CallId> = self
                .calls_of(reply)
                .iter()
                .filter(|call| matches!(call.state, CallState::Uncertain { .. }))
                .map(|call| call.id.clone())
                .collect();
            self.open
                .retain(|id, of| *of != reply || began.contains(id));
        }
    }

    fn reply_mut(&mut self, seq: u64) -> Option<&mut ModelReply> {
        let at = self
            .items
            .binary_search_by_key(&seq, |item| item.seq)
            .ok()?;
        match &mut self.items.get_mut(at)?.content {
            Content::Reply(reply) => Some(reply),
            _ => None,
        }
    }

    fn parsed(&mut self, parsed: ReplyParsed) {
        let outcome = parsed.outcome;
        let Some(seq) = self.reply else { return };
        let Some(reply) = self.reply_mut(seq) else {
            return;
        };
        let mut waiting = Vec::new();
        reply.prose = Some(parsed.text);
        reply.outcome = Some(outcome);
        reply.told = parsed.told;
        for call in parsed.calls {
            if reply.calls.iter().all(|known| known.id != call.id) {
                waiting.push(call.id.clone());
                reply.calls.push(Call::from(call));
            }
        }
        if outcome == ReplyOutcome::Calls {
            self.open.extend(waiting.into_iter().map(|id| (id, seq)));
        }
        self.step(Step::Parsed(seq, outcome));
    }

    fn call_mut(&mut self, reply: u64, id: &CallId) -> Option<&mut Call> {
        let calls = &mut self.reply_mut(reply)?.calls;
        calls.iter_mut().find(|call| call.id == *id)
    }

    fn call_began(&mut self, entry: &Place<'_>, began: CallBegan) {
        let Some(id) = &entry.correlation.call_id else {
            return;
        };
        // A call that no model asked for gets an empty reply.
        let reply = self.reply.unwrap_or_else(|| {
            self.replied(entry, ModelReplied::default());
            entry.seq
        });
        if self.call_mut(reply, id).is_none()
            && let Some(reply) = self.reply_mut(reply)
        {
            let call = ToolCall::new(began.tool, began.arguments);
            reply.calls.push(LoggedCall::new(id.clone(), call).into());
        }
        let Some(call) = self.call_mut(reply, id) else {
            return;
        };
        if !matches!(call.state, CallState::Ended { .. }) {
            call.state = CallState::Uncertain { since: entry.ts };
            self.open.insert(id.clone(), reply);
        }
        self.step(Step::Parsed(reply, ReplyOutcome::Calls));
    }

    /// A call that began waits for the user's approval, and has not happened.
    fn call_held(&mut self, entry: &Place<'_>) {
        if let Some(call) = self.open_call(entry) {
            call.state = CallState::Waiting;
        }
    }

    /// A call that was held is about to act.
    fn call_allowed(&mut self, entry: &Place<'_>) {
        if let Some(call) = self.open_call(entry) {
            call.state = CallState::Uncertain { since: entry.ts };
        }
    }

    /// The call that an entry is about, if it has no end.
    fn open_call(&mut self, entry: &Place<'_>) -> Option<&mut Call> {
        let id = entry.correlation.call_id.as_ref()?;
        let reply = *self.open.get(id)?;
        self.call_mut(reply, id)
    }

    /// Keeps the files and the shortened result that a helper model returned.
    fn helped(&mut self, entry: &Place<'_>, helped: HelperReplied) {
        let contents = helped.files.into_iter().filter_map(|file| file.content);
        self.given.extend(contents);
        let is_short = helped.task == HelperTask::Shorten && helped.error.is_none();
        let (Some(id), Some(reply)) = (&entry.correlation.call_id, self.reply) else {
            return;
        };
        if let Some(call) = self.call_mut(reply, id).filter(|_| is_short) {
            call.shortened = Some(helped.text);
        }
    }

    fn call_ended(&mut self, entry: &Place<'_>, ended: CallEnded) {
        let Some(id) = &entry.correlation.call_id else {
            return;
        };
        let reply = self.open.remove(id).or(self.reply);
        if let Some(call) = reply.and_then(|reply| self.call_mut(reply, id)) {
            call.state = CallState::Ended {
                result: ended.result,
                state: ended.state,
            };
        }
    }
}

impl<'a> FromIterator<&'a Entry> for Transcript {
    fn from_iter<T: IntoIterator<Item = &'a Entry>>(entries: T) -> Self {
        let mut transcript = Self::new();
        for entry in entries {
            transcript.absorb(entry);
        }
        transcript
    }
}
