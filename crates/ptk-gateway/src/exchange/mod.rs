//! Produces one answer: a model is asked, its reply is parsed while it streams,
//! and violations of the contract are corrected by one further request.
//!
//! | Module | Purpose |
//! |---|---|
//! | `plan` | what the model is sent |
//! | `reading` | which parts of a reply are passed on at once, held, or invalid |
//! | `values` | arguments by their schema while they stream |
//! | `visible` | text for the client |
//! | `hosted` | answers with tools that the gateway runs itself |
//! | `search` | answers with searches for tools, which the gateway runs |
//! | `format` | answers that have to be JSON |
//! | `shown` | token counts of what the model would be sent |

mod format;
mod hosted;
mod plan;
mod reading;
mod search;
mod shown;
mod values;
mod visible;

use std::sync::Arc;

use futures_util::StreamExt as _;
use ptk_llm::{FinishReason, LlmError, LlmErrorKind, Request, Usage};
use ptk_model::{Approach, Attempts, Candidate, Estimate, Remedy, TokenCounter as _};
use ptk_protocol::{Problem, explain};

use self::plan::Plan;
use self::reading::{Fault, ParsedReply, Reading, ReadyCall, ResponseStream};
use crate::capture::Case;
use crate::chat_request::{ChatRequest, Choice, Format};
use crate::failure::Failure;
use crate::gateway::Inner;
use crate::response::{End, Note, ResponseEvent};
use crate::route::Route;
use crate::workers;

/// How often a request is sent again to the same model: clients do that
/// themselves.
const RETRIES: u32 = 0;
/// The most bytes of a reply that are parsed on a serving thread.
const MAX_AT_ONCE: usize = 64 * 1024;

/// One answer to one request.
#[derive(Clone, Copy)]
pub(crate) struct Exchange<'e> {
    pub(crate) gateway: &'e Inner,
    pub(crate) chat: &'e ChatRequest,
    pub(crate) route: &'e Route,
    /// Whether calls are sent while they stream in.
    pub(crate) is_live: bool,
}

/// Why a model gave no answer.
enum Stopped {
    /// The model or its server failed.
    Model(LlmError),
    /// The model cannot be sent this request.
    Unfit(Failure),
    /// The reply of the model was not usable.
    Answer(Failure),
}

impl From<LlmError> for Stopped {
    fn from(error: LlmError) -> Self {
        Self::Model(error)
    }
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Self {
        Self::Answer(failure)
    }
}

impl From<Stopped> for Failure {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Model(error) => error.into(),
            Stopped::Unfit(failure) | Stopped::Answer(failure) => failure,
        }
    }
}

impl Exchange<'_> {
    /// Asks until there is an answer, and sends it piece by piece.
    ///
    /// # Errors
    ///
    /// If there is none. What was sent until then is not taken back.
    pub(crate) async fn run(
        &self,
        tell: &mut (dyn FnMut(ResponseEvent<'_>) + Send),
    ) -> Result<End, Failure> {
        let mut stream = ResponseStream {
            tell,
            contract: &self.chat.contract,
            is_live: self.is_live,
            calls: Vec::new(),
            has_text: false,
            has_begun: false,
            passthrough: Vec::new(),
            notes: Vec::new(),
        };
        let models = &self.route.models;
        let mut attempts = Attempts::new(RETRIES);
        let mut last = None;
        let mut next = models.first();
        while let Some((rank, candidate)) = next.and_then(|rank| Some((rank, models.get(rank)?))) {
            let name = self.route.name_for(self.chat);
            candidate.learn(name).await;
            let memory = &*self.gateway.memory;
            let approach = candidate.cached_approach(name, self.gateway.mode, memory);
            let stopped = match self.answer(candidate, &approach, &mut stream).await {
                Ok(end) => return Ok(end),
                Err(stopped) => stopped,
            };
            let remedy = match &stopped {
                Stopped::Model(error) => {
                    let remedy = attempts.remedy(models, rank, &approach, error);
                    if remedy != Remedy::Text {
                        self.gateway.metrics.failed(error.kind);
                    }
                    if stream.has_begun {
                        Remedy::None
                    } else {
                        remedy
                    }
                }
                Stopped::Unfit(_) => attempts.give_up(models, rank),
                Stopped::Answer(_) => Remedy::None,
            };
            next = match (remedy, &stopped) {
                (Remedy::Text, Stopped::Model(error)) => {
                    let name = approach.model.as_deref();
                    candidate.turn_to_text(name, memory, &error.to_string());
                    Some(rank)
                }
                (Remedy::Another(rank), _) => Some(rank),
                _ => None,
            };
            // That a model cannot be sent the request is less useful than the
            // error of another one.
            if last.is_none() || !matches!(stopped, Stopped::Unfit(_)) {
                last = Some(stopped);
            }
        }
        Err(last.map_or_else(Route::no_model, Failure::from))
    }

    /// Asks one model in this way.
    async fn answer(
        &self,
        candidate: &Candidate,
        approach: &Arc<Approach>,
        stream: &mut ResponseStream<'_>,
    ) -> Result<End, Stopped> {
        let plan = self.plan(candidate, approach, stream).await?;
        let first = self
            .listen(candidate, &plan, &plan.request, stream, false)
            .await?;
        self.capture(&plan, &first);
        let mut usage = counted(&plan.request, &first);
        let violation = match self.settle(&plan, first, stream) {
            Ok(mut end) => {
                end.usage = usage;
                return Ok(end);
            }
            Err(violation) => *violation,
        };
        let Some(correction) = &violation.correction else {
            return self
                .fail_or_degrade(violation, stream, usage)
                .map_err(Stopped::from);
        };
        self.gateway.metrics.asked_again();
        let words = if violation.words.trim().is_empty() {
            "(nothing)"
        } else {
            violation.words.as_str()
        };
        let request = plan.again(words, correction);
        let second = match self.listen(candidate, &plan, &request, stream, true).await {
            Ok(second) => second,
            Err(Stopped::Model(error)) => {
                let provider = candidate.provider().name();
                tracing::debug!(%error, provider, "the second request failed");
                return self
                    .fail_or_degrade(violation, stream, usage)
                    .map_err(Stopped::from);
            }
            Err(other) => return Err(other),
        };
        self.capture(&plan, &second);
        add(&mut usage, counted(&request, &second));
        match self.settle(&plan, second, stream) {
            Ok(mut end) => {
                self.gateway.metrics.mended();
                for call in violation.later {
                    stream.call(call);
                }
                if !stream.calls.is_empty() && end.finish == FinishReason::Stop {
                    end.finish = FinishReason::ToolCalls;
                }
                end.usage = usage;
                // It is the usage of the second request alone.
                end.passthrough.usage = None;
                end.notes.push(Note::new(
                    "mended",
                    "The model was asked once more to get a right call",
                ));
                Ok(end)
            }
            // Arguments that can be read are better than ones that cannot.
            Err(still) if violation.is_readable() && !still.is_readable() && !still.is_fatal => {
                self.fail_or_degrade(violation, stream, usage)
                    .map_err(Stopped::from)
            }
            Err(still) => {
                let violation = Violation {
                    later: violation.later.into_iter().chain(still.later).collect(),
                    ..*still
                };
                self.fail_or_degrade(violation, stream, usage)
                    .map_err(Stopped::from)
            }
        }
    }

    /// Plans the request to a model, and sets the notes for the client.
    async fn plan(
        &self,
        candidate: &Candidate,
        approach: &Arc<Approach>,
        stream: &mut ResponseStream<'_>,
    ) -> Result<Plan, Stopped> {
        let plan = Plan::new(self.gateway, self.chat, candidate, approach, !self.is_live);
        let plan = plan.await.map_err(Stopped::Unfit)?;
        stream.notes = match plan.request.verbatim {
            Some(_) => Vec::new(),
            None => self.chat.left_out.clone(),
        };
        Ok(plan)
    }

    /// Sends a request and parses the reply.
    async fn listen(
        &self,
        candidate: &Candidate,
        plan: &Plan,
        request: &Request,
        stream: &mut ResponseStream<'_>,
        is_second: bool,
    ) -> Result<ParsedReply, Stopped> {
        let provider = &**candidate.provider();
        let time = self.gateway.limits.compute;
        let is_complex = self.chat.contract.offer.is_complex();
        let mut reading = Reading::new(plan, stream, &self.chat.stop, is_second);
        let mut deltas = provider.stream(request);
        while let Some(delta) = deltas.next().await {
            let delta = delta?;
            if is_complex || reading::length(&delta) > MAX_AT_ONCE {
                workers::in_place(|| reading.take(delta, time));
            } else {
                reading.take(delta, time);
            }
            if reading.is_exhausted() {
                return Err(Stopped::Answer(Failure::unkept(
                    "reply_too_complex",
                    format!(
                        "To read the model's reply took longer than {} s; offer fewer or simpler tools",
                        time.as_secs_f64()
                    ),
                )));
            }
            if reading.is_stopped() {
                return Ok(reading.end());
            }
            if reading.is_too_long() {
                return Err(LlmError::of(provider, request, LlmErrorKind::TooMuch).into());
            }
        }
        if !reading.has_finished() {
            return Err(LlmError::of(provider, request, LlmErrorKind::Cut).into());
        }
        Ok(reading.end())
    }

    /// Checks a reply: the end of the answer, or the violation.
    fn settle(
        &self,
        plan: &Plan,
        parsed: ParsedReply,
        stream: &mut ResponseStream<'_>,
    ) -> Result<End, Box<Violation>> {
        let finish = parsed.finish.clone().unwrap_or_default();
        let is_limited = finish == FinishReason::Length;
        let contract = &self.chat.contract;
        if !parsed.faults.is_empty() {
            return Err(Box::new(self.faulty(plan, parsed, is_limited)));
        }
        if let Some(name) = &parsed.cut
            && !is_limited
        {
            let message =
                format!("The model's call of {name} breaks off before its arguments close");
            return Err(Box::new(Violation::fatal(
                Failure::unkept("truncated_tool_call", message),
                &parsed,
            )));
        }
        let has_calls = !stream.calls.is_empty() || !parsed.later.is_empty();
        if contract.needs_call() && !has_calls && !parsed.ran_server_tool {
            return Err(Box::new(self.without_call(plan, parsed, is_limited)));
        }
        let mut held = parsed.held.unwrap_or_default();
        if plan.keeps_format && !has_calls {
            let kept = workers::in_place(|| format::kept(&held, &contract.format));
            held = match kept {
                Ok(kept) => kept,
                Err(why) => {
                    let correction =
                        format!("{why} Answer again with one JSON object and nothing else.");
                    let message =
                        format!("The model does not answer in the form that was asked for. {why}");
                    return Err(Box::new(Violation {
                        correction: (!is_limited).then_some(correction),
                        failure: Failure::unkept("response_format_not_followed", message)
                            .with_words(&held),
                        ..Violation::of(parsed.words)
                    }));
                }
            };
        }
        stream.text(&held);
        stream.flush_passthrough();
        Ok(End {
            finish: match finish {
                _ if has_calls && parsed.cut.is_none() => FinishReason::ToolCalls,
                FinishReason::Length | FinishReason::ContentFilter => finish,
                _ => FinishReason::Stop,
            },
            stopped_at: parsed.stopped_at,
            usage: Usage::default(),
            notes: std::mem::take(&mut stream.notes),
            passthrough: parsed.passthrough,
        })
    }

    /// The violation of calls that cannot be sent as they are.
    fn faulty(&self, plan: &Plan, parsed: ParsedReply, is_limited: bool) -> Violation {
        let contract = &self.chat.contract;
        let problems: Vec<Problem> = parsed
            .faults
            .iter()
            .flat_map(|it| it.problems.clone())
            .collect();
        let meant = parsed.faults.iter().find_map(|fault| fault.name.as_deref());
        let forbidden = parsed.faults.iter().any(|fault| !fault.is_allowed);
        let correction = match &contract.choice {
            Choice::None if forbidden => "No tool may be called now. Answer in words.".to_owned(),
            Choice::Tool(name) if forbidden => {
                plan.prompt
                    .formatter
                    .malformed(&problems, Some(name), &contract.offer.tools)
            }
            _ => plan
                .prompt
                .formatter
                .malformed(&problems, meant, &contract.offer.tools),
        };
        let code = match parsed.faults.as_slice() {
            [
                Fault {
                    is_allowed: false, ..
                },
                ..,
            ] => "tool_choice_not_followed",
            [Fault { call: Some(_), .. }, ..] => "invalid_tool_arguments",
            _ => "invalid_tool_call",
        };
        let message = format!(
            "The model's call cannot be passed on. {}",
            explain(&problems)
        );
        Violation {
            // What the limit cut off would be cut off again.
            correction: (!is_limited).then_some(correction),
            failure: Failure::unkept(code, message).with_words(&parsed.words),
            words: parsed.words,
            unused: parsed.unused,
            faults: parsed.faults,
            later: parsed.later,
            finish: parsed.finish.unwrap_or_default(),
            is_fatal: false,
        }
    }

    /// The violation of a text where a call was required.
    fn without_call(&self, plan: &Plan, parsed: ParsedReply, is_limited: bool) -> Violation {
        let contract = &self.chat.contract;
        let (tool, tools) = match &contract.choice {
            Choice::Tool(name) => (name.as_str(), Some(name.as_str())),
            _ => ("a tool", None),
        };
        let message = format!("{tool} has to be called, and the model answers in words");
        let problem = Problem::new(
            ptk_protocol::ProblemCode::Malformed,
            format!("You have to call {tool} now; do not answer in words"),
            ptk_protocol::Span::new(0, 0),
        );
        let correction = plan
            .prompt
            .formatter
            .malformed(&[problem], tools, &contract.offer.tools);
        Violation {
            correction: (!is_limited).then_some(correction),
            failure: Failure::unkept("tool_choice_not_followed", message).with_words(&parsed.words),
            ..Violation::of(parsed.words)
        }
    }

    /// Ends with an error, or sends what is usable, when the correction failed.
    fn fail_or_degrade(
        &self,
        violation: Violation,
        stream: &mut ResponseStream<'_>,
        usage: Usage,
    ) -> Result<End, Failure> {
        self.gateway.metrics.gave_up();
        let contract = &self.chat.contract;
        let is_readable = violation.is_readable();
        let failure = violation.failure;
        if violation.is_fatal {
            return Err(failure);
        }
        let is_bound =
            contract.needs_call() && stream.calls.is_empty() && violation.later.is_empty();
        let is_strict = violation.faults.iter().any(|fault| {
            fault
                .name
                .as_deref()
                .is_some_and(|name| contract.offer.is_strict(name))
        });
        // As long as a wrong argument can be read, the client has to refuse it:
        // any other server would send it, too.
        let is_strict = is_strict && is_readable;
        if is_readable && !is_strict {
            stream.notes.extend(
                violation
                    .faults
                    .iter()
                    .flat_map(|fault| &fault.problems)
                    .map(Note::from),
            );
            for call in violation.faults.into_iter().filter_map(|fault| fault.call) {
                stream.call(call);
            }
            return Ok(Self::ended(
                stream,
                violation.later,
                FinishReason::ToolCalls,
                usage,
            ));
        }
        let may_be_words = contract.choice == Choice::None
            || stream.has_text
            || !stream.calls.is_empty()
            || !violation.later.is_empty()
            || violation.finish == FinishReason::Length;
        if is_bound || is_strict || !may_be_words || contract.format != Format::Text {
            return Err(failure);
        }
        stream.notes.push(Note {
            raw: violation.unused.clone(),
            code: failure.code,
            message: failure.message,
        });
        stream.text(&violation.unused);
        let finish = match violation.finish {
            FinishReason::Length => FinishReason::Length,
            _ if !stream.calls.is_empty() || !violation.later.is_empty() => FinishReason::ToolCalls,
            _ => FinishReason::Stop,
        };
        Ok(Self::ended(stream, violation.later, finish, usage))
    }

    fn ended(
        stream: &mut ResponseStream<'_>,
        later: Vec<ReadyCall>,
        finish: FinishReason,
        usage: Usage,
    ) -> End {
        for call in later {
            stream.call(call);
        }
        End {
            finish,
            stopped_at: None,
            usage,
            notes: std::mem::take(&mut stream.notes),
            ..End::default()
        }
    }

    /// Captures a reply that was repaired or invalid, if that is configured.
    fn capture(&self, plan: &Plan, parsed: &ParsedReply) {
        if parsed.is_repaired || !parsed.faults.is_empty() {
            self.gateway.metrics.repaired();
            self.gateway.capture(|| Case {
                input: &parsed.words,
                tools: &self.chat.contract.offer.tools,
                dialect: if plan.prompt.is_native {
                    None
                } else {
                    self.gateway.teacher.only()
                },
                model: &self.chat.model,
            });
        }
    }
}

/// How a reply violates the contract, and what can still be done.
struct Violation {
    /// The correction for the model, if it may be asked again.
    correction: Option<String>,
    /// The error for the client if nothing helps.
    failure: Failure,
    words: String,
    unused: String,
    faults: Vec<Fault>,
    later: Vec<ReadyCall>,
    finish: FinishReason,
    /// Whether the client was sent something that is not valid.
    is_fatal: bool,
}

impl Violation {
    fn of(words: String) -> Self {
        Self {
            correction: None,
            failure: Failure::unkept("invalid_tool_call", ""),
            words,
            unused: String::new(),
            faults: Vec::new(),
            later: Vec::new(),
            finish: FinishReason::Stop,
            is_fatal: false,
        }
    }

    /// Whether only arguments are wrong, and can be read.
    fn is_readable(&self) -> bool {
        !self.faults.is_empty() && self.faults.iter().all(|fault| fault.call.is_some())
    }

    /// A violation that no further request corrects.
    fn fatal(failure: Failure, parsed: &ParsedReply) -> Self {
        Self {
            failure,
            is_fatal: true,
            ..Self::of(parsed.words.clone())
        }
    }
}

/// The usage of a request: as its server reports it, or an estimate.
fn counted(request: &Request, parsed: &ParsedReply) -> Usage {
    if let Some(usage) = parsed.usage.filter(|usage| *usage != Usage::default()) {
        return usage;
    }
    let shown = request.system.as_deref().into_iter();
    let shown = shown.chain(request.turns().map(ptk_llm::Message::text));
    Usage {
        input_tokens: shown.map(|text| Estimate.count(text)).sum(),
        output_tokens: Estimate.count(&parsed.words),
        ..Usage::default()
    }
}

pub(crate) fn add(usage: &mut Usage, more: Usage) {
    usage.input_tokens += more.input_tokens;
    usage.cached_tokens += more.cached_tokens;
    usage.cache_write_tokens += more.cache_write_tokens;
    usage.output_tokens += more.output_tokens;
    usage.reasoning_tokens += more.reasoning_tokens;
}
