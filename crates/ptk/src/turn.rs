//! The state of the running turn. It follows from the log, entry by entry, so a
//! resumed turn has the same state.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use ptk_events::{CallId, Correlation, RequestId};
use ptk_llm::FinishReason;
use ptk_protocol::{Arguments, ErrorCode, ExecutionError, ProblemCode};
use ptk_store::{
    CallEnded, EntryKind, HelperReplied, HelperTask, LoggedCall, LoggedProblem, ReplyOutcome,
    ReplyParsed, Usage,
};
use serde_json::Value;

use crate::loops::{Loops, is_redundant};
use crate::{CallRecord, RunLimit};

/// The key in the data of a note after which the model has to answer.
pub(crate) const ANSWER_NOW: &str = "answer_now";
/// The key in the data of a note after which this reply is not an answer.
pub(crate) const ANSWER_AGAIN: &str = "answer_again";
/// The key beside it: the file that the answer is about and that was not read.
pub(crate) const UNREAD: &str = "unread";
/// The key beside it if the answer does not fit its schema.
pub(crate) const UNFIT: &str = "unfit";

/// The state of the running turn.
#[derive(Debug, Clone, Default)]
pub(crate) struct Turn {
    pub(crate) id: Option<RequestId>,
    /// The cause of the turn, if there is one.
    pub(crate) parent: Option<String>,
    /// How often the model was asked.
    pub(crate) iterations: u32,
    /// How many calls were run before the last reply.
    pub(crate) made_before_reply: u32,
    /// How many replies in a row could not be used.
    pub(crate) unusable: u32,
    /// The error in the last of them.
    pub(crate) fault: Option<ExecutionError>,
    /// The calls that ended, in that order.
    pub(crate) records: Vec<CallRecord>,
    /// The usage of its replies.
    pub(crate) usage: Usage,
    /// The usage by model name, `None` for the session's model.
    pub(crate) usage_by: BTreeMap<Option<String>, Usage>,
    /// The model that was asked last, where it is not the session's.
    asked: Option<String>,
    /// The usage of helper models, by their names.
    pub(crate) helpers: BTreeMap<String, Usage>,
    /// Whether the files were chosen already.
    pub(crate) has_chosen: bool,
    /// Calls whose results were shortened, or could not be.
    pub(crate) shortened: HashSet<CallId>,
    pub(crate) loops: Loops,
    /// Why the model has to answer without tools, if it has to.
    pub(crate) must_answer: Option<String>,
    /// How many replies in a row were unusable when it was asked to answer.
    pub(crate) unusable_then: u32,
    /// Whether the last reply made up a tool's result and nothing else.
    pub(crate) has_made_up: bool,
    /// The last answer that was sent back, and all files that were not read for
    /// one.
    pub(crate) answers_again: Option<u64>,
    pub(crate) told_unread: Vec<String>,
    /// How many answers did not fit their schema.
    pub(crate) unfit: u32,
    /// Answers that ran into the limit of a reply, and the last one.
    pub(crate) answers: Vec<String>,
    pub(crate) finish: Option<FinishReason>,
    /// The limit that was reached.
    pub(crate) limit: Option<RunLimit>,
    begun: HashSet<CallId>,
    /// How many calls were refused, because their results were known.
    redundant: u32,
    arguments: HashMap<CallId, Arguments>,
}

impl Turn {
    /// How many calls were run. One that was refused as redundant was not.
    pub(crate) fn made(&self) -> u32 {
        let begun = u32::try_from(self.begun.len()).unwrap_or(u32::MAX);
        begun.saturating_sub(self.redundant)
    }

    /// Whether this call was run.
    pub(crate) fn has_begun(&self, call: &CallId) -> bool {
        self.begun.contains(call)
    }

    /// The correlation of the entries of the turn.
    pub(crate) fn correlation(&self) -> Correlation {
        Correlation {
            request_id: self.id,
            parent_id: self.parent.clone(),
            ..Correlation::default()
        }
    }

    /// Applies the next entry of the log.
    pub(crate) fn absorb(&mut self, correlation: &Correlation, kind: &EntryKind) {
        match kind {
            EntryKind::TurnBegan(_) => {
                *self = Self {
                    id: correlation.request_id,
                    parent: correlation.parent_id.clone(),
                    ..Self::default()
                };
            }
            EntryKind::RequestBegan(request) => {
                self.iterations = request.iteration;
                let other = request.model.as_ref().or(request.provider.as_ref());
                self.asked = other.cloned();
            }
            EntryKind::ModelReplied(reply) => {
                self.made_before_reply = self.made();
                self.took(reply.usage);
                self.finish = reply.finish_reason.as_deref().map(FinishReason::from);
            }
            EntryKind::ReplyBroken(broken) => self.took(broken.usage),
            EntryKind::ReplyParsed(parsed) => self.parsed(parsed),
            EntryKind::CallBegan(began) => {
                if let Some(id) = &correlation.call_id {
                    self.begun.insert(id.clone());
                    self.arguments.insert(id.clone(), began.arguments.clone());
                }
            }
            EntryKind::CallEnded(ended) => self.ended(correlation, ended),
            EntryKind::HelperReplied(helped) => self.helped(correlation, helped),
            EntryKind::Note(note) => {
                if let Some(data) = &note.data {
                    self.loops.told(data);
                    if let Some(why) = data.get(ANSWER_NOW).and_then(Value::as_str) {
                        self.must_answer = Some(why.to_owned());
                        self.unusable_then = self.unusable;
                    }
                    if let Some(reply) = data.get(ANSWER_AGAIN).and_then(Value::as_u64) {
                        self.answers_again = Some(reply);
                        self.answers.clear();
                        let path = data.get(UNREAD).and_then(Value::as_str);
                        self.told_unread.extend(path.map(str::to_owned));
                        self.unfit += u32::from(data.get(UNFIT).is_some());
                    }
                }
            }
            _ => {}
        }
    }

    /// Adds the usage of the model that was asked last.
    fn took(&mut self, usage: Option<Usage>) {
        let usage = usage.unwrap_or_default();
        self.usage.add(usage);
        let model = self.usage_by.entry(self.asked.clone());
        model.or_default().add(usage);
    }

    fn helped(&mut self, correlation: &Correlation, helped: &HelperReplied) {
        let name = helped.model.as_ref().unwrap_or(&helped.provider);
        let usage = self.helpers.entry(name.clone()).or_default();
        usage.add(helped.usage.unwrap_or_default());
        self.has_chosen |= helped.task == HelperTask::ChooseFiles;
        self.shortened.extend(correlation.call_id.clone());
    }

    fn parsed(&mut self, parsed: &ReplyParsed) {
        for call in &parsed.calls {
            let args = call.arguments.clone();
            self.arguments.insert(call.id.clone(), args);
        }
        let is_forged =
            |problem: &LoggedProblem| problem.code == ProblemCode::ForgedResult.as_str();
        self.has_made_up = parsed.outcome == ReplyOutcome::Malformed
            && parsed.calls.is_empty()
            && parsed.problems.iter().any(is_forged);
        match parsed.outcome {
            ReplyOutcome::Text => {
                self.unusable = 0;
                self.answers.push(parsed.text.clone());
            }
            ReplyOutcome::Calls => {
                let faults: Option<Vec<ExecutionError>> = parsed.calls.iter().map(fault).collect();
                match faults {
                    Some(faults) => self.count(faults.into_iter().next()),
                    None => self.unusable = 0,
                }
            }
            ReplyOutcome::Malformed => {
                let calls = parsed.calls.iter().flat_map(|call| &call.problems);
                let mut faults = parsed.problems.iter().chain(calls);
                let fault = faults.find(|problem| is_fault(problem));
                let message = fault.map_or("The reply was empty", |fault| &fault.message);
                self.count(Some(ExecutionError::new(ErrorCode::ParseError, message)));
            }
        }
    }

    fn count(&mut self, fault: Option<ExecutionError>) {
        self.unusable += 1;
        self.fault = fault;
    }

    fn ended(&mut self, correlation: &Correlation, ended: &CallEnded) {
        let Some(id) = &correlation.call_id else {
            return;
        };
        let arguments = self.arguments.remove(id).unwrap_or_default();
        self.loops.ended(&ended.tool, &arguments, &ended.result);
        if is_redundant(&ended.result) && self.has_begun(id) {
            self.redundant += 1;
        }
        self.records.push(CallRecord {
            id: id.clone(),
            tool: ended.tool.clone(),
            arguments,
            result: ended.result.clone(),
            duration: Duration::from_millis(ended.duration_ms),
        });
    }
}

/// What keeps a call from running, if anything does.
fn fault(call: &LoggedCall) -> Option<ExecutionError> {
    let fault = call.problems.iter().find(|problem| is_fault(problem))?;
    let code = if fault.code == ProblemCode::UnknownTool.as_str() {
        ErrorCode::ToolNotFound
    } else {
        ErrorCode::InvalidToolCall
    };
    Some(ExecutionError::new(code, &fault.message))
}

/// Whether a problem of a logged call keeps it from running.
pub(crate) fn is_fault(problem: &LoggedProblem) -> bool {
    let known = ProblemCode::ALL
        .iter()
        .find(|code| code.as_str() == problem.code);
    known.is_none_or(|code| code.severity().is_fault())
}
