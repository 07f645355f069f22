//! Asking the model: when it may be, with what, and until there is a reply.

use std::time::Duration;

use futures_util::StreamExt as _;
use ptk_events::{EventKind, MessagePart};
use ptk_llm::{
    Assembly, Completion, Delta, FinishReason, Form, LlmError, LlmErrorKind, Message, Request,
    ToolChoice,
};
use ptk_protocol::{ErrorCode, Event, Reply};
use ptk_store::{Content, Failure, ModelReplied, NativeCall, ReplyParsed, RequestBegan, Usage};
use tokio::time::{Instant, sleep};
use tracing::Instrument as _;

use crate::engine::{Engine, Terms};
use crate::hooks::{IterationAction, IterationInfo};
use crate::session::{Iteration, millis};
use crate::stop::Stop;
use crate::{ReplyKind, RunError, Session, Step, Streamed, read, render, spans};

/// What is asked for the last time (C10).
const FINAL: &str = "You have used up what you may use of tools. Do not call any more of them. Answer now, with what you know, and say what is missing.";
/// How long to wait before a request is sent again for the first time; then
/// twice as long each time.
const WAIT: Duration = Duration::from_millis(500);
/// Nobody waits longer for a server that wants to be left alone.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

impl Session {
    /// Asks the model. `again` if it was asked, and nobody knows its reply.
    pub(crate) async fn ask(&mut self, terms: &Terms, again: bool) -> Result<Step, RunError> {
        let turn = &self.log.turn;
        let iteration = if again {
            turn.iterations
        } else {
            turn.iterations + 1
        };
        if iteration > terms.options.max_iterations {
            return Err(too_many_iterations(terms));
        }
        self.endure(terms)?;
        self.heed_loops().await?;
        if iteration == 1 {
            self.choose_files(terms).await?;
        }
        self.shorten_results(terms).await?;
        let is_final = iteration == terms.options.max_iterations
            || self.log.turn.made() >= terms.options.max_tool_calls;
        let start = Instant::now();
        let (completion, reply) = self.converse(terms, iteration, is_final).await?;
        if completion.finish == FinishReason::ContentFilter && completion.calls.is_empty() {
            let (provider, model) = (&self.engine.provider, terms.options.model.as_deref());
            let model = model.or_else(|| provider.model());
            return Err(LlmError::new(provider.name(), model, LlmErrorKind::Filtered).into());
        }
        let said = said(completion, start.elapsed());
        let mut reply = read::settled(reply, terms, &said);
        self.log.copies.mark(&mut reply, &said.text);
        let parsed = read::parsed(&reply, &said);
        let step = self.iteration(&said, &parsed);
        let entries = vec![self.log.entry(said), self.log.entry(parsed)];
        self.log.append(entries).await?;
        self.told(step)
    }

    /// Reads a reply that was written down before anybody could read it.
    pub(crate) async fn parse(&mut self, terms: &Terms, reply: u64) -> Result<Step, RunError> {
        let mut items = self.log.transcript.items().iter();
        let said = items.find_map(|item| match &item.content {
            Content::Reply(said) if item.seq == reply => Some(said.reply.clone()),
            _ => None,
        });
        let said = said.unwrap_or_default();
        let mut reply = read::whole(&*self.engine.parser, terms, &said);
        self.log.copies.mark(&mut reply, &said.text);
        let parsed = read::parsed(&reply, &said);
        let step = self.iteration(&said, &parsed);
        let entry = self.log.entry(parsed);
        self.log.append(vec![entry]).await?;
        self.told(step)
    }

    fn iteration(&self, said: &ModelReplied, parsed: &ReplyParsed) -> Iteration {
        Iteration {
            iteration: self.log.turn.iterations,
            kind: ReplyKind::from(parsed.outcome),
            content: parsed.text.trim().to_owned(),
            tool_calls: parsed
                .calls
                .iter()
                .map(ptk_store::LoggedCall::to_call)
                .collect(),
            raw: said.text.clone(),
        }
    }

    /// Tells the hook of a reply.
    fn told(&self, step: Iteration) -> Result<Step, RunError> {
        let info = IterationInfo {
            iteration: step.iteration,
            kind: step.kind,
            content: &step.content,
            tool_calls_so_far: self.log.turn.made(),
        };
        self.publish(EventKind::Iteration {
            iteration: step.iteration,
            call_type: step.kind.as_str().to_owned(),
        });
        match self.engine.hooks.iteration(&info) {
            IterationAction::Continue => Ok(Step::Replied(step)),
            IterationAction::Stop(reason) => Err(RunError::Stopped(reason)),
        }
    }

    /// Tells the hook, and whoever watches, what comes in.
    fn tell_streamed(&self, streamed: &Streamed<'_>) {
        self.engine.hooks.streamed(streamed);
        if self.engine.tools.bus().subscriber_count() == 0 {
            return;
        }
        let (part, chunk) = match *streamed {
            Streamed::Text(text) => (MessagePart::Text, text),
            Streamed::Reasoning(text) => (MessagePart::Reasoning, text),
            Streamed::Call { .. } | Streamed::Restarted => return,
        };
        let chunk = chunk.to_owned();
        self.publish(EventKind::MessageChunk { part, chunk });
    }

    /// Sends the request, again if that may help, until there is a reply.
    async fn converse(
        &mut self,
        terms: &Terms,
        iteration: u32,
        is_final: bool,
    ) -> Result<(Completion, Reply), RunError> {
        let mut tries = 0;
        let mut budget = terms.budget;
        let mut refused: Option<RunError> = None;
        loop {
            let fitting = self.fitting(terms, budget).await;
            let messages = match (fitting, refused.take()) {
                // What the server said tells more.
                (Err(RunError::Failed(_)), Some(error)) => return Err(error),
                (fitting, _) => fitting?,
            };
            let shown = messages.len();
            let request = request(&self.engine, terms, messages, is_final);
            let provider = self.engine.provider.name();
            let is_other = self.log.transcript.info().provider.as_deref() != Some(provider);
            let began = RequestBegan {
                iteration,
                provider: is_other.then(|| provider.to_owned()),
                messages: Some(shown as u64),
                model: terms.options.model.clone(),
            };
            let entry = self.log.entry(began);
            self.log.append(vec![entry]).await?;
            let span = spans::request(
                &*self.engine.provider,
                &request,
                &self.log.turn.correlation(),
            );
            let tell = |streamed: &Streamed<'_>| self.tell_streamed(streamed);
            let heard = listen(&self.engine, terms, &request, &self.stop, &tell);
            let heard = heard.instrument(span.clone()).await;
            match &heard {
                Ok((completion, _)) => spans::replied(&span, completion),
                Err(error) => spans::unanswered(&span, error),
            }
            let error = match heard {
                Err(RunError::Llm(error)) => error,
                heard => return heard,
            };
            if error.kind == LlmErrorKind::TooLong {
                let cost = self.used(terms);
                if cost < budget.available {
                    // The window is smaller than was thought. Instructions and
                    // tools cannot be made any shorter.
                    budget.available = terms.base() + (cost - terms.base()) * 7 / 10;
                    refused = Some(error.into());
                    continue;
                }
            }
            let wait = WAIT.saturating_mul(2_u32.saturating_pow(tries));
            let wait = error.retry_after.unwrap_or(wait.min(LONGEST_WAIT));
            if !error.is_retryable()
                || tries >= terms.options.provider_retries
                || wait > LONGEST_WAIT
            {
                return Err(error.into());
            }
            tries += 1;
            tracing::warn!(%error, ?wait, "the model is asked again");
            let failure = self
                .log
                .entry(Failure::new(error.to_string()).with_code(ErrorCode::LlmCallFailed));
            self.log.append(vec![failure]).await?;
            let reason = error.to_string();
            self.tell_streamed(&Streamed::Restarted);
            self.publish(EventKind::MessageRestarted { reason });
            self.stop.unless(sleep(wait)).await?;
        }
    }
}

pub(crate) fn too_many_iterations(terms: &Terms) -> RunError {
    let most = terms.options.max_iterations;
    RunError::failed(
        ErrorCode::MaxIterationsReached,
        format!("Max iterations reached ({most})"),
    )
}

/// A request with these messages.
pub(crate) fn request(
    engine: &Engine,
    terms: &Terms,
    mut messages: Vec<Message>,
    is_final: bool,
) -> Request {
    let options = &terms.options;
    if is_final && !terms.tools.is_empty() {
        messages.push(Message::user(FINAL));
    }
    let form = engine.provider.capabilities(options.model.as_deref()).form;
    let mut system = (!terms.system.is_empty()).then(|| terms.system.to_string());
    let messages = if form == Form::Prompt {
        let system = system.take().unwrap_or_default();
        vec![render::prompt(&*engine.formatter, &system, &messages)]
    } else if terms.is_native {
        messages
    } else {
        render::merged(messages)
    };
    Request {
        model: options.model.clone(),
        system,
        messages,
        tools: if terms.is_native {
            terms.tools.clone()
        } else {
            ptk_protocol::Toolset::default()
        },
        tool_choice: if is_final {
            ToolChoice::None
        } else {
            ToolChoice::Auto
        },
        sampling: options.sampling,
        max_tokens: options.max_tokens,
        ..Request::default()
    }
}

/// Listens to a reply, and reads it while it comes in. One that is cut off is
/// no reply.
pub(crate) async fn listen(
    engine: &Engine,
    terms: &Terms,
    request: &Request,
    stop: &Stop,
    tell: &(dyn Fn(&Streamed<'_>) + Send + Sync),
) -> Result<(Completion, Reply), RunError> {
    let mut assembly = Assembly::new();
    let mut reply = Reply::default();
    let mut reading = engine.parser.begin(&terms.grammar);
    let mut deltas = engine.provider.stream(request);
    let mut sink = |event: Event<'_>| {
        match &event {
            Event::Text { text, .. } => tell(&Streamed::Text(text)),
            Event::Reasoning { text, .. } => tell(&Streamed::Reasoning(text)),
            Event::CallStart { name, .. } => tell(&Streamed::Call { tool: name }),
            _ => {}
        }
        reply.absorb(event);
    };
    while let Some(delta) = stop.unless(deltas.next()).await? {
        let delta = delta?;
        match &delta {
            Delta::Text(text) => reading.push(text, &mut sink),
            Delta::Reasoning(text) => tell(&Streamed::Reasoning(text)),
            Delta::CallStart { name, .. } => tell(&Streamed::Call { tool: name }),
            _ => {}
        }
        assembly.absorb(&delta);
        if assembly.is_too_long() {
            let kind = LlmErrorKind::TooMuch;
            return Err(LlmError::of(&*engine.provider, request, kind).into());
        }
    }
    reading.finish(&mut sink);
    let cut = || LlmError::of(&*engine.provider, request, LlmErrorKind::Cut);
    Ok((assembly.finish().ok_or_else(cut)?, reply))
}

/// A reply, for the log.
pub(crate) fn said(completion: Completion, took: Duration) -> ModelReplied {
    ModelReplied {
        text: completion.text,
        reasoning: completion.reasoning,
        calls: completion
            .calls
            .into_iter()
            .map(|call| NativeCall {
                id: call.id,
                name: call.name,
                arguments: call.arguments,
            })
            .collect(),
        finish_reason: Some(completion.finish.to_string()),
        usage: completion.usage.map(|usage| Usage {
            input_tokens: usage.input_tokens,
            cached_tokens: usage.cached_tokens,
            output_tokens: usage.output_tokens,
            reasoning_tokens: usage.reasoning_tokens,
            ..Usage::default()
        }),
        state: completion.state,
        duration_ms: millis(took),
    }
}
