//! Replays a session against today's parser and policies: what would be parsed
//! and allowed otherwise. Nothing is run, no model is asked and nothing is
//! written.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ptk_events::CallId;
use ptk_protocol::{Arguments, Copies, ErrorType, ToolCall, ToolResult};
use ptk_store::{
    CallEnded, EntryKind, LoggedCall, ModelReplied, ReplyOutcome, ReplyParsed, SessionId, Stretch,
};
use ptk_tools::Foreseen;

use crate::engine::{Engine, TurnConfig};
use crate::turn::is_fault;
use crate::{RunError, RunOptions, find_tools, log, read};

/// Entries that are read at once.
const PAGE: usize = 200;

/// The differences between a session and its replay.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Replay {
    /// How many replies were read again.
    pub replies: u64,
    /// How many calls were judged again.
    pub calls: u64,
    /// The differences, in the order of the log.
    pub differences: Vec<Difference>,
}

/// A reply or call that is different today.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The number of the entry in the log.
    pub seq: u64,
    /// The turn, counted from one.
    pub turn: u64,
    /// What differs.
    pub what: Differing,
}

/// What differs in a replay.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Differing {
    /// The parsed reply of the model.
    Reply {
        /// The reply as it was parsed then.
        before: Meaning,
        /// The reply as it is parsed today.
        after: Meaning,
    },
    /// Whether a call runs.
    Call {
        /// The tool's name.
        tool: String,
        /// The arguments of the call.
        arguments: Arguments,
        /// The outcome then.
        before: Fate,
        /// The outcome today.
        after: Fate,
    },
}

/// A parsed reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Meaning {
    /// The kind of reply, for the loop.
    pub outcome: ReplyOutcome,
    /// The prose.
    pub text: String,
    /// The calls, in order.
    pub calls: Vec<ReadCall>,
}

/// A call that was found in a reply.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadCall {
    /// The tool's name.
    pub tool: String,
    /// The arguments of the call.
    pub arguments: Arguments,
    /// The faults that keep it from running.
    pub faults: Vec<String>,
}

/// Whether a call runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It ran, or would run if the user agrees.
    Runs,
    /// It is refused, for this reason.
    Refused(String),
    /// It is not fit to run, for this reason.
    Unfit(String),
}

impl Meaning {
    fn of(parsed: &ReplyParsed) -> Self {
        let calls = parsed.calls.iter().map(|call| ReadCall {
            tool: call.name.clone(),
            arguments: call.arguments.clone(),
            faults: call
                .problems
                .iter()
                .filter(|problem| is_fault(problem))
                .map(|problem| problem.message.clone())
                .collect(),
        });
        Self {
            outcome: parsed.outcome,
            text: parsed.text.clone(),
            calls: calls.collect(),
        }
    }
}

impl Fate {
    /// The fate of a call that was fit to run, from its result. Whether it then
    /// found what it is about does not depend on policies.
    fn of(result: &ToolResult) -> Self {
        match result.error_type {
            Some(ErrorType::PermissionError | ErrorType::SecurityError) => {
                Self::Refused(result.error.clone())
            }
            _ => Self::Runs,
        }
    }

    /// Whether both are of the same kind. The reasons do not matter.
    fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

/// Replays the log of a session; `None` if there is none of that id.
pub(crate) async fn replay(
    engine: &Arc<Engine>,
    session: &SessionId,
    options: RunOptions,
) -> Result<Option<Replay>, RunError> {
    if engine.store.session(session).await?.is_none() {
        return Ok(None);
    }
    let mut replaying = Replaying {
        config: engine.config(options)?,
        engine,
        found: Replay::default(),
        turn: 0,
        said: None,
        copies: Copies::default(),
        calls: HashMap::new(),
        begun: HashSet::new(),
    };
    let mut last = 0;
    loop {
        let page = engine
            .store
            .read(session, Stretch::after(last, PAGE))
            .await?;
        let Some(end) = page.last() else {
            return Ok(Some(replaying.found));
        };
        last = end.seq;
        for entry in &page {
            let call = entry.correlation.call_id.as_ref();
            replaying.entry(entry.seq, call, entry.kind()).await;
        }
    }
}

struct Replaying<'a> {
    engine: &'a Engine,
    config: TurnConfig,
    found: Replay,
    turn: u64,
    /// The reply whose parsed form comes next.
    said: Option<ModelReplied>,
    copies: Copies,
    /// Calls that have not ended.
    calls: HashMap<CallId, LoggedCall>,
    begun: HashSet<CallId>,
}

impl Replaying<'_> {
    async fn entry(&mut self, seq: u64, call: Option<&CallId>, kind: EntryKind) {
        log::remember_entry(&mut self.copies, &kind);
        match kind {
            EntryKind::TurnBegan(_) => self.turn += 1,
            EntryKind::ModelReplied(said) => self.said = Some(said),
            EntryKind::ReplyParsed(parsed) => self.parsed(seq, &parsed),
            EntryKind::CallBegan(began) => {
                if let Some(id) = call {
                    self.begun.insert(id.clone());
                    if let Some(call) = self.calls.get_mut(id) {
                        // As it was run: a hook may have changed it.
                        call.arguments = began.arguments;
                    }
                }
            }
            EntryKind::CallEnded(ended) => {
                if let Some(id) = call {
                    self.ended(seq, id, &ended).await;
                }
            }
            _ => {}
        }
    }

    fn parsed(&mut self, seq: u64, parsed: &ReplyParsed) {
        for call in &parsed.calls {
            self.calls.insert(call.id.clone(), call.clone());
        }
        let Some(said) = self.said.take() else { return };
        self.found.replies += 1;
        let mut reply = read::whole(&*self.engine.parser, &self.config, &said);
        self.copies.mark(&mut reply, &said.text);
        let before = Meaning::of(parsed);
        let after = Meaning::of(&read::parsed(&reply, &said));
        if before != after {
            self.differs(seq, Differing::Reply { before, after });
        }
    }

    async fn ended(&mut self, seq: u64, id: &CallId, ended: &CallEnded) {
        let has_begun = self.begun.remove(id);
        // A call that did not begin was unfit, and its reply was parsed again.
        let Some(call) = self.calls.remove(id).filter(|_| has_begun) else {
            return;
        };
        // No rule is about a search for tools.
        if find_tools::is_search(ended) {
            return;
        }
        self.found.calls += 1;
        let before = Fate::of(&ended.result);
        let foreseen = ToolCall::new(&call.name, call.arguments.clone());
        let after = match self.engine.tools.foresee(foreseen).await {
            Foreseen::Refused(result) => Fate::Refused(result.error),
            Foreseen::Unfit(result) => Fate::Unfit(result.error),
            Foreseen::Fails(result) => Fate::of(&result),
            _ => Fate::Runs,
        };
        if !before.is_like(&after) {
            let what = Differing::Call {
                tool: call.name,
                arguments: call.arguments,
                before,
                after,
            };
            self.differs(seq, what);
        }
    }

    fn differs(&mut self, seq: u64, what: Differing) {
        let turn = self.turn;
        self.found.differences.push(Difference { seq, turn, what });
    }
}
