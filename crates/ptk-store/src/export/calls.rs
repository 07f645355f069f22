//! The calls of a reply in Markdown, each where the model made it.

use ptk_events::CallId;
use ptk_protocol::ToolResult;

use super::form::{Thoughts, fenced, one_line, remark, result};
use crate::{CallBegan, CallCut, CallEnded, LoggedCall, RanByHand};

/// The calls of a reply, in the order in which the model made them.
#[derive(Debug, Default)]
pub(super) struct Calls(Vec<Shown>);

/// A call, with everything that is shown of it.
#[derive(Debug)]
struct Shown {
    id: CallId,
    tool: String,
    /// The arguments as JSON, where they are known.
    arguments: Option<String>,
    reasoning: Option<String>,
    /// What was wrong with the call, or repaired.
    problems: Vec<String>,
    /// How the call was cut off, if it was.
    cut: String,
    state: State,
}

#[derive(Debug, PartialEq)]
enum State {
    Waiting,
    Held,
    Begun,
    /// The call has ended, with this result as Markdown.
    Ended(String),
}

impl State {
    fn ended(of: &ToolResult) -> Self {
        Self::Ended(if of.success {
            result(of)
        } else {
            remark("Failed", &of.error)
        })
    }
}

impl Calls {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn have_ended(&self) -> bool {
        let has_ended = |call: &Shown| matches!(call.state, State::Ended(_));
        self.0.iter().all(has_ended)
    }

    /// Adds calls that the model made.
    pub(super) fn found(&mut self, calls: Vec<LoggedCall>) {
        self.0.extend(calls.into_iter().map(|call| Shown {
            arguments: Some(call.arguments.to_json()),
            reasoning: call.reasoning,
            problems: call.problems.into_iter().map(|it| it.message).collect(),
            ..Shown::new(call.id, call.name)
        }));
    }

    pub(super) fn began(&mut self, id: &CallId, began: &CallBegan) {
        self.change(id, &began.tool, |call| {
            // As it runs: the user may have changed the arguments.
            call.arguments = Some(began.arguments.to_json());
            call.state = State::Begun;
        });
    }

    pub(super) fn held(&mut self, id: &CallId) {
        self.known(id, State::Held);
    }

    pub(super) fn allowed(&mut self, id: &CallId) {
        self.known(id, State::Begun);
    }

    pub(super) fn cut(&mut self, id: &CallId, cut: &CallCut) {
        let text = remark("Cut off", &cut.result.error);
        self.change(id, &cut.tool, |call| call.cut.push_str(&text));
    }

    pub(super) fn ended(&mut self, id: &CallId, ended: &CallEnded) {
        let state = State::ended(&ended.result);
        self.change(id, &ended.tool, |call| call.state = state);
    }

    pub(super) fn ran_by_hand(&mut self, id: &CallId, ran: &RanByHand) {
        let state = State::ended(&ran.result);
        self.change(id, &format!("{}, run by hand", ran.tool), |call| {
            call.arguments = Some(ran.arguments.to_json());
            call.state = state;
        });
    }

    /// Takes all calls out and returns them as Markdown.
    pub(super) fn take(&mut self, thoughts: Thoughts) -> String {
        self.0.drain(..).map(|call| call.text(thoughts)).collect()
    }

    fn known(&mut self, id: &CallId, state: State) {
        if let Some(call) = self.0.iter_mut().find(|call| call.id == *id) {
            call.state = state;
        }
    }

    /// Changes the call of this id, and adds it if no reply has it.
    fn change(&mut self, id: &CallId, tool: &str, change: impl FnOnce(&mut Shown)) {
        if let Some(call) = self.0.iter_mut().find(|call| call.id == *id) {
            return change(call);
        }
        let mut call = Shown::new(id.clone(), tool.to_owned());
        change(&mut call);
        self.0.push(call);
    }
}

impl Shown {
    fn new(id: CallId, tool: String) -> Self {
        Self {
            id,
            tool,
            arguments: None,
            reasoning: None,
            problems: Vec::new(),
            cut: String::new(),
            state: State::Waiting,
        }
    }

    fn text(self, thoughts: Thoughts) -> String {
        let mut text = format!("\n### {}\n", one_line(&self.tool));
        let reasoning = self.reasoning.filter(|_| thoughts == Thoughts::Shown);
        if let Some(reasoning) = reasoning {
            text.push_str(&remark("Why", &reasoning));
        }
        if let Some(arguments) = self.arguments {
            text.push_str(&fenced("json", &arguments));
        }
        text.push_str(&self.cut);
        text.push_str(&match self.state {
            State::Ended(ended) => ended,
            State::Begun => remark(
                "Unknown",
                "this call has no end; it may or may not have happened",
            ),
            State::Held => remark("Not run", "this call was not approved"),
            State::Waiting if self.problems.is_empty() => {
                remark("Not run", "this call has not begun")
            }
            State::Waiting => remark("Not run", &self.problems.join("\n")),
        });
        text
    }
}
