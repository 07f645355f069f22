//! Running the calls of a reply: those that only read in parallel, the others
//! one after the other, each logged before it acts and after it ended.

use std::sync::Arc;

use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use ptk_events::{CallScope, Channel, REDACTED, Requested};
use ptk_protocol::schema::example;
use ptk_protocol::{Arguments, ErrorCode, ErrorType, ProblemCode, ToolCall, ToolResult};
use ptk_store::{
    Call, CallAllowed, CallBegan, CallCut, CallEnded, CallHeld, CallState, LoggedProblem,
};
use ptk_tools::{CallOutcome, CallRequest, Class, ResultLimit, Tool};
use serde_json::Value;
use tokio::sync::mpsc::unbounded_channel;

use crate::ask::too_many_iterations;
use crate::consent::{self, Doubt, Notary, Occasion, Word};
use crate::engine::TurnConfig;
use crate::find_tools::{self, FindTools};
use crate::hooks::{CallAction, CallInfo};
use crate::loop_breaker::cannot_answer;
use crate::result_share::no_room;
use crate::session::millis;
use crate::turn::is_fault;
use crate::{CallPolicy, RunError, Session, Step, log};

/// A call that is to run.
struct Planned {
    call: Call,
    args: Arguments,
    doubt: Option<Doubt>,
}

/// What is to be done about a call.
enum CallDecision {
    /// It runs with these arguments; if there is a doubt, only if a person
    /// agrees.
    Run(Arguments, Option<Doubt>),
    /// It does not, and this is its result.
    Answer(ToolResult),
}

impl Session {
    /// Runs the calls of a reply that have not ended yet.
    pub(crate) async fn call(&mut self, config: &TurnConfig, reply: u64) -> Result<Step, RunError> {
        let options = &config.options;
        // A model that calls tools when it was asked for an answer gets no
        // further turn.
        if let Some(why) = &self.log.turn.must_answer {
            return Err(cannot_answer(why));
        }
        if self.log.turn.made_before_reply >= options.max_tool_calls {
            let most = options.max_tool_calls;
            let message = format!("Max tool calls reached ({most})");
            return Err(RunError::failed(ErrorCode::MaxToolCallsReached, message));
        }
        if self.log.turn.iterations >= options.max_iterations {
            return Err(too_many_iterations(config));
        }
        let calls = self.log.transcript.calls_of(reply).to_vec();
        let mut left = options.max_tool_calls - self.log.turn.made_before_reply;
        let mut group = Vec::new();
        let share = self.result_share(config, reply);
        for (number, call) in (1..).zip(calls) {
            let has_begun = self.log.turn.has_begun(&call.id);
            if matches!(call.state, CallState::Ended { .. }) {
                left -= u32::from(has_begun).min(left);
                continue;
            }
            let is_ignored = number > 1 && options.calls == CallPolicy::FirstOnly;
            let way = if is_ignored {
                CallDecision::Answer(ignored())
            } else if left == 0 {
                CallDecision::Answer(one_too_many(options.max_tool_calls))
            } else if number > share.calls {
                CallDecision::Answer(no_room())
            } else if self.log.has_read(reply) && call.arguments.to_json().contains(REDACTED) {
                CallDecision::Answer(incomplete())
            } else {
                self.way(config, &call)?
            };
            match way {
                CallDecision::Answer(result) => self.answer(&call, result).await?,
                CallDecision::Run(args, doubt) => {
                    left -= 1;
                    let is_alone = self.engine.changes(&call.name);
                    if is_alone {
                        self.run_group(std::mem::take(&mut group), &share.limit)
                            .await?;
                    }
                    // Before those behind it that are answered at once.
                    self.request(&call, &args);
                    group.push(Planned { call, args, doubt });
                    if is_alone {
                        self.run_group(std::mem::take(&mut group), &share.limit)
                            .await?;
                    }
                }
            }
        }
        self.run_group(group, &share.limit).await?;
        let ended = self.log.transcript.calls_of(reply).iter();
        Ok(Step::Called(ended.map(|call| call.id.clone()).collect()))
    }

    /// Decides whether a call runs, and with which arguments.
    fn way(&self, config: &TurnConfig, call: &Call) -> Result<CallDecision, RunError> {
        let faults: Vec<&LoggedProblem> = call.problems.iter().filter(|p| is_fault(p)).collect();
        let is_copy =
            |problem: &&LoggedProblem| problem.code == ProblemCode::CopiedFromResult.as_str();
        let mut others = faults.iter().filter(|fault| !is_copy(fault)).peekable();
        if others.peek().is_some() {
            // Models know parameters by other names, and so may the tool: then
            // it is checked again under the right ones.
            let is_known = others.all(|fault| is_of_schema(fault)) && self.engine.adapts(call);
            if !is_known {
                return Ok(CallDecision::Answer(unfit(config, call, &faults)));
            }
        }
        let doubt = match call.state {
            _ if faults.iter().any(is_copy) => Some(Doubt::Copied),
            CallState::Uncertain { .. } if self.engine.changes(&call.name) => {
                Some(Doubt::MayHaveRun)
            }
            _ => None,
        };
        let args = self.engine.formatter.restore(call.arguments.clone());
        let info = CallInfo {
            id: &call.id,
            tool: &call.name,
            arguments: &args,
            reasoning: call.reasoning.as_deref(),
        };
        let args = match self.hooks.call(&info) {
            CallAction::Run => args,
            CallAction::RunWith(args) => args,
            CallAction::Answer(result) => return Ok(CallDecision::Answer(result)),
            CallAction::Stop(reason) => return Err(RunError::Stopped(reason)),
        };
        match doubt {
            Some(doubt) if !self.engine.tools.has_person() => {
                Ok(CallDecision::Answer(doubt.refusal(call)))
            }
            doubt => Ok(CallDecision::Run(args, doubt)),
        }
    }

    /// Gives a call its result without running it. Subscribers see the call
    /// nevertheless.
    async fn answer(&mut self, call: &Call, result: ToolResult) -> Result<(), RunError> {
        self.request(call, &call.arguments);
        let arguments = arguments_of(&call.arguments);
        let open = self.scope(call).start(&call.name, arguments);
        open.end(result.clone());
        let ended = CallEnded {
            tool: call.name.clone(),
            duration_ms: 0,
            result,
            state: None,
        };
        let entry = self.log.entry(ended).about(call.id.clone());
        self.log.append(vec![entry]).await
    }

    /// Publishes that the model requested a call, and why.
    fn request(&self, call: &Call, args: &Arguments) {
        if self.engine.tools.bus().subscriber_count() == 0 {
            return;
        }
        let repairs = call.problems.iter().filter(|problem| !is_fault(problem));
        self.scope(call).requested(Requested {
            tool: call.name.clone(),
            arguments: arguments_of(args),
            reasoning: call.reasoning.clone().filter(|why| !why.is_empty()),
            repairs: repairs.map(|problem| problem.message.clone()).collect(),
        });
    }

    /// The scope that publishes events of a call, on the channel of its tool.
    fn scope(&self, call: &Call) -> CallScope {
        let registry = self.engine.tools.registry();
        let channel = match registry.get(&call.name).map(|tool| tool.class()) {
            Some(Class::Background) => Channel::Background,
            Some(Class::Realtime) | None => Channel::Realtime,
        };
        let correlation = self.log.turn.correlation().with_call(call.id.clone());
        self.engine.tools.bus().call(correlation, channel)
    }

    /// Runs calls in parallel. Each has a deadline of its own.
    async fn run_group(
        &mut self,
        group: Vec<Planned>,
        limit: &ResultLimit,
    ) -> Result<(), RunError> {
        if group.is_empty() {
            return Ok(());
        }
        self.stop.check()?;
        let config = self.config()?;
        let search = FindTools::of(&config, limit);
        let began = group.iter().map(|planned| {
            let began = CallBegan {
                tool: planned.call.name.clone(),
                arguments: planned.args.clone(),
            };
            self.log.entry(began).about(planned.call.id.clone())
        });
        let began = began.collect();
        self.log.append(began).await?;
        let (engine, stop) = (self.engine.clone(), self.stop.clone());
        let token = stop.token();
        let of = self.log.turn.correlation();
        let conversation = self.conversation().clone();
        let prompt = self.log.prompt();
        let (tell, mut words) = unbounded_channel();
        let mut running: FuturesUnordered<_> = group
            .into_iter()
            .map(|Planned { call, args, doubt }| {
                let refusal = doubt.map(|doubt| doubt.refusal(&call));
                let (id, name) = (call.id, call.name);
                let call = ToolCall::new(&name, args).with_id(id.as_str());
                let mut request = CallRequest::new(call)
                    .in_conversation(&conversation)
                    .with_limit(limit.clone())
                    .cancelled_by(&token);
                if let Some(search) = search.as_ref().filter(|_| config.prompt.is_search(&name)) {
                    request = request.run_by(Arc::clone(search) as Arc<dyn Tool>);
                }
                if let Some(id) = of.request_id {
                    request = request.in_request(id);
                }
                if let Some(parent) = &of.parent_id {
                    request = request.caused_by(parent.as_str());
                }
                if let Some(prompt) = &prompt {
                    request = request.prompted_by(Arc::clone(prompt));
                }
                // What only reads is run again anyway, and what may have
                // happened stays in doubt while the user is asked about it.
                if engine.changes(&name) && doubt != Some(Doubt::MayHaveRun) {
                    request = request.witnessed(Notary::new(&tell, id, name));
                }
                if let Some(doubt) = doubt {
                    request = request.doubted(doubt.warning());
                }
                let running = engine.tools.execute(request);
                running.map(|outcome| consent::settled(outcome, refusal))
            })
            .collect();
        let mut stopped = None;
        while !running.is_empty() {
            tokio::select! {
                Some(outcome) = running.next() => {
                    let is_late = matches!(stopped, Some(RunError::TimedOut(_)));
                    if is_late && !outcome.result.success {
                        self.cut_call(outcome).await?;
                    } else {
                        self.ended_call(outcome).await?;
                    }
                }
                Some(word) = words.recv() => self.write_word(word).await?,
                // Calls that are stopped have a result, too, which says how far
                // they came.
                error = stop.stopped(), if stopped.is_none() => {
                    token.cancel();
                    stopped = Some(error);
                }
            }
        }
        stopped.map_or(Ok(()), Err)
    }

    /// Logs that the user is asked about a call, or has agreed to it.
    async fn write_word(&mut self, word: Word) -> Result<(), RunError> {
        let Word { call, tool, .. } = word;
        let entry = match word.occasion {
            Occasion::Asked => self.log.entry(CallHeld { tool }),
            Occasion::Agreed => self.log.entry(CallAllowed { tool }),
        };
        self.log.append(vec![entry.about(call)]).await?;
        // If the receiver is gone, the call was stopped.
        let _ = word.written.send(());
        Ok(())
    }

    /// Logs a call that had not ended when the time of the run was up. It stays
    /// open, so that it is decided about when the run is resumed.
    async fn cut_call(&mut self, outcome: CallOutcome) -> Result<(), RunError> {
        let cut = CallCut {
            tool: outcome.tool,
            duration_ms: millis(outcome.duration),
            result: outcome.result,
        };
        let entry = self.log.entry(cut).about(outcome.call_id);
        self.log.append(vec![entry]).await
    }

    async fn ended_call(&mut self, outcome: CallOutcome) -> Result<(), RunError> {
        let config = self.config()?;
        let found = find_tools::state_of(&config, &self.log.found, &outcome);
        let ended = CallEnded {
            state: found.or_else(|| log::state_of(&outcome.files)),
            tool: outcome.tool,
            duration_ms: millis(outcome.duration),
            result: outcome.result,
        };
        let entry = self.log.entry(ended).about(outcome.call_id);
        self.log.append(vec![entry]).await
    }
}

/// Whether a fault is about what the arguments are called or hold.
fn is_of_schema(fault: &LoggedProblem) -> bool {
    let codes = [
        ProblemCode::MissingParameter,
        ProblemCode::UnknownParameter,
        ProblemCode::InvalidType,
        ProblemCode::InvalidValue,
    ];
    codes.iter().any(|code| code.as_str() == fault.code)
}

fn arguments_of(args: &Arguments) -> Value {
    Value::Object(args.as_map().clone())
}

fn ignored() -> ToolResult {
    let message = "This call was not run: only the first call of a reply is";
    ToolResult::failure(ErrorType::ValidationError, message)
        .with_suggestion("Call one tool at a time.")
}

fn one_too_many(most: u32) -> ToolResult {
    let message = format!("This call was not run: no more than {most} calls may be made");
    ToolResult::failure(ErrorType::ValidationError, message)
        .with_suggestion("Answer with what you know.")
}

/// The result of a call that lacks a secret, so that it would be another one
/// than the model made.
fn incomplete() -> ToolResult {
    let message = "This call was not run: the session was interrupted before it ended, and a secret in it was not written down";
    ToolResult::failure(ErrorType::SystemError, message)
        .with_suggestion("Call the tool again with all of it.")
}

/// What is wrong with a call that cannot be run, with an example of a right
/// one.
fn unfit(config: &TurnConfig, call: &Call, faults: &[&LoggedProblem]) -> ToolResult {
    let messages: Vec<&str> = faults.iter().map(|fault| fault.message.as_str()).collect();
    let mut result = ToolResult::failure(ErrorType::ValidationError, messages.join(". "));
    if config.prompt.is_unseen(&call.name) {
        result
            .fields
            .extend(find_tools::definition(config, &call.name));
    }
    // A model that is taught in text is shown a right call in its dialect
    // instead.
    match config.meant(call).filter(|_| config.prompt.is_native) {
        Some(spec) => result.with_suggestion(format!("Example: {}", example::call_text(spec))),
        None => result,
    }
}
