//! Asking the model: when, with which request, and until there is a reply.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use ptk_events::{CompactionWay, EventKind, MessagePart};
use ptk_llm::{
    Assembly, Completion, Delta, LlmError, LlmErrorKind, Message, Prices, Request, ResponseFormat,
    RunawayGuard, ToolChoice,
};
use ptk_model::{ReplyCollector, ReplyConstraint, ReplyEvent, ReplyReader};
use ptk_protocol::{ErrorCode, Event, Reply};
use ptk_store::{Content, ModelReplied, NativeCall, ReplyBroken, ReplyParsed, RequestBegan, Usage};
use tokio::time::Instant;
use tracing::Instrument as _;

use crate::engine::{Engine, TurnConfig};
use crate::hooks::{IterationAction, IterationInfo};
use crate::recover::Effort;
use crate::render::Renderer;
use crate::session::{Iteration, millis};
use crate::stop::Stop;
use crate::{
    ReplyKind, RunError, RunLimit, RunOptions, Session, Step, Streamed, final_request, read, spans,
};

impl Session {
    /// Asks the model. `again` if it was asked before and no reply was logged.
    pub(crate) async fn ask(&mut self, config: &TurnConfig, again: bool) -> Result<Step, RunError> {
        let turn = &self.log.turn;
        let iteration = if again {
            turn.iterations
        } else {
            turn.iterations + 1
        };
        if iteration > config.options.max_iterations {
            return Err(too_many_iterations(config));
        }
        self.check_retry_limit(config)?;
        let must_answer = self.heed_loops().await?;
        if iteration == 1 {
            self.tell_of_gap();
            self.choose_files(config).await?;
        }
        self.shorten_results(config).await?;
        let is_final = must_answer || self.is_at_limit(config, iteration);
        let start = Instant::now();
        let (config, completion, mut reply) = self.converse(iteration, is_final).await?;
        let said = said(completion, start.elapsed(), config.candidate.model().prices);
        self.log.copies.mark(&mut reply, &said.text);
        let parsed = read::parsed(&reply, &said);
        let step = self.iteration(&said, &parsed);
        let entries = vec![self.log.entry(said), self.log.entry(parsed)];
        self.log.append(entries).await?;
        self.told(step)
    }

    /// Whether this is the last request that the limits allow. Publishes a note
    /// if that would cut the model short.
    fn is_at_limit(&mut self, config: &TurnConfig, iteration: u32) -> bool {
        let RunOptions {
            max_iterations,
            max_tool_calls,
            ..
        } = config.options;
        let (reached, limit) = if self.log.turn.made() >= max_tool_calls {
            let limit = format!("The limit of {max_tool_calls} calls is reached");
            (RunLimit::ToolCalls(max_tool_calls), limit)
        } else if iteration == max_iterations {
            let limit = format!("This is the last of {max_iterations} requests");
            (RunLimit::Iterations(max_iterations), limit)
        } else {
            return false;
        };
        if iteration > 1 && !config.prompt.tools.is_empty() {
            self.log.turn.limit = Some(reached);
            let message = format!("{limit}: the model is asked to answer without tools.");
            self.publish(EventKind::Note { message });
        }
        true
    }

    /// Publishes that the conversation is longer than the part that was loaded.
    fn tell_of_gap(&self) {
        if !self.log.transcript.is_whole() {
            self.publish(EventKind::Compacted {
                way: CompactionWay::Dropped,
                messages: None,
            });
        }
    }

    /// Parses a reply that was logged before it was parsed.
    pub(crate) async fn parse(
        &mut self,
        config: &TurnConfig,
        reply: u64,
    ) -> Result<Step, RunError> {
        let mut items = self.log.transcript.items().iter();
        let said = items.find_map(|item| match &item.content {
            Content::Reply(said) if item.seq == reply => Some(said.reply.clone()),
            _ => None,
        });
        let said = said.unwrap_or_default();
        let mut reply = read::whole(&*self.engine.parser, config, &said);
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
            tool_calls: parsed.calls.clone(),
            raw: said.text.clone(),
        }
    }

    /// Reports a reply to the hook and the bus.
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
        match self.hooks.iteration(&info) {
            IterationAction::Continue => Ok(Step::Replied(step)),
            IterationAction::Stop(reason) => Err(RunError::Stopped(reason)),
        }
    }

    /// Passes streamed text on to the hook and the bus.
    pub(crate) fn tell_streamed(&self, streamed: &Streamed<'_>) {
        self.hooks.streamed(streamed);
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

    /// Sends the request, again or to another model if that may help, until
    /// there is a reply. Also returns the configuration that the reply was made
    /// under.
    async fn converse(
        &mut self,
        iteration: u32,
        is_final: bool,
    ) -> Result<(Arc<TurnConfig>, Completion, Reply), RunError> {
        let mut effort = Effort::new(self.config()?.options.provider_retries);
        loop {
            let config = self.learned().await?;
            let mut budget = config.budget;
            budget.available = effort.available.unwrap_or(budget.available);
            let fitting = self.fitting(&config, budget).await;
            let messages = match (fitting, effort.refused.take()) {
                (Err(RunError::Failed(does_not_fit)), refused) => {
                    // The server's own error is more specific.
                    let error = refused.unwrap_or(RunError::Failed(does_not_fit));
                    self.outgrow(&config, &mut effort, error).await?;
                    continue;
                }
                (fitting, _) => fitting?,
            };
            let shown = messages.len();
            let question = self.log.prompt().filter(|_| is_final);
            let question = question.map(|question| config.question(&question));
            let messages = match question {
                Some(question) => {
                    let turn = &self.log.turn;
                    let is_retry = turn.unusable > turn.unusable_then;
                    let transcript = &self.log.transcript;
                    let renderer = Renderer::with_results(&config, &self.cut_results);
                    final_request::messages(&renderer, messages, transcript, &question, is_retry)
                }
                None => messages,
            };
            let mut request = request(&config, messages, is_final);
            if !is_final {
                request.format = self.engine.format(&config, self.log.turn.unusable);
            }
            effort.constraint = request.format.constraint();
            effort.images = request.messages.iter().map(|it| it.images().len()).sum();
            let entry = self.log.entry(self.began(&config, iteration, shown));
            self.log.append(vec![entry]).await?;
            let provider = &**config.candidate.provider();
            let span = spans::request(provider, &request, &self.log.turn.correlation());
            let tell = |streamed: &Streamed<'_>| self.tell_streamed(streamed);
            let mut heard = Assembly::new();
            let start = Instant::now();
            let listening = listen(
                &self.engine,
                &config,
                &request,
                &self.stop,
                &tell,
                &mut heard,
            );
            let read = listening.instrument(span.clone()).await;
            let heard = heard.so_far();
            let error = match read {
                Ok(reply) => {
                    spans::replied(&span, &heard);
                    if !self.watch(&config, &heard, &reply).await? {
                        return Ok((config, heard, reply));
                    }
                    continue;
                }
                Err(error) => error,
            };
            spans::unanswered(&span, &error);
            let said = said(heard, start.elapsed(), config.candidate.model().prices);
            self.write_broken(said, &error).await?;
            match error {
                RunError::Llm(error) => self.recover(&config, &mut effort, error).await?,
                error => return Err(error),
            }
        }
    }

    /// The configuration, after the server was asked once what its model can
    /// do.
    pub(crate) async fn learned(&mut self) -> Result<Arc<TurnConfig>, RunError> {
        let config = self.config()?;
        if !self.engine.learn(&config, &self.stop).await? {
            return Ok(config);
        }
        self.change(config.options.clone(), config.rank)?;
        self.config()
    }

    /// A request that is about to be sent, for the log.
    fn began(&self, config: &TurnConfig, iteration: u32, shown: usize) -> RequestBegan {
        let info = self.log.transcript.info();
        let other = |mine: Option<&str>, known: &Option<String>| {
            let mine = mine.filter(|mine| known.as_deref() != Some(mine));
            mine.map(str::to_owned)
        };
        RequestBegan {
            iteration,
            provider: other(Some(config.candidate.provider().name()), &info.provider),
            messages: Some(shown as u64),
            model: other(config.approach.model.as_deref(), &info.model),
        }
    }

    /// Logs what the user may have seen of a reply that broke off.
    async fn write_broken(&mut self, said: ModelReplied, error: &RunError) -> Result<(), RunError> {
        if said.text.is_empty() && said.reasoning.is_empty() && said.calls.is_empty() {
            return Ok(());
        }
        let broken = ReplyBroken {
            text: said.text,
            reasoning: said.reasoning,
            calls: said.calls,
            reason: error.to_string(),
            usage: said.usage,
            duration_ms: said.duration_ms,
        };
        let entry = self.log.entry(broken);
        self.log.append(vec![entry]).await
    }
}

pub(crate) fn too_many_iterations(config: &TurnConfig) -> RunError {
    let most = config.options.max_iterations;
    RunError::failed(
        ErrorCode::MaxIterationsReached,
        format!("Max iterations reached ({most})"),
    )
}

/// A request with these messages.
pub(crate) fn request(config: &TurnConfig, messages: Vec<Message>, is_final: bool) -> Request {
    // A model that is to answer is not taught again how to call tools. One that
    // calls them natively keeps its prompt, which is cached.
    let is_rewritten = is_final && final_request::is_rewritten(config);
    let system = if is_rewritten {
        &config.plain_system
    } else {
        &config.system
    };
    let mut request = config
        .prompt
        .request(&config.approach, system.to_string(), messages);
    if is_rewritten {
        request.examples = Arc::default();
    }
    if is_final {
        request.tool_choice = ToolChoice::None;
    }
    request.sampling = config.sampling;
    request.max_tokens = config.max_tokens;
    // No other request begins like one that was rewritten.
    request.prompt_cache = config.candidate.model().prompt_cache && !is_rewritten;
    request
}

/// Receives a reply, and parses it while it comes in. One that is cut off or
/// withheld is an error; what came of it is in `heard` nevertheless.
pub(crate) async fn listen(
    engine: &Engine,
    config: &TurnConfig,
    request: &Request,
    stop: &Stop,
    tell: &(dyn Fn(&Streamed<'_>) + Send + Sync),
    heard: &mut Assembly,
) -> Result<Reply, RunError> {
    let reply_constraint = match request.format {
        ResponseFormat::Text => None,
        _ => engine.reply_constraint(config),
    };
    let grammar = reply_constraint
        .and_then(ReplyConstraint::grammar)
        .unwrap_or(&config.prompt.grammar);
    let guard = RunawayGuard::new(config.max_tokens, config.approach.context_window);
    let text = engine.parser.begin(grammar);
    let mut reader = ReplyReader::new(&config.prompt, text).with_guard(guard);
    let mut reply = ReplyCollector::default();
    let mut sink = |event: ReplyEvent<'_>| {
        match &event {
            ReplyEvent::Text(Event::Text { text, .. }) => tell(&Streamed::Text(text)),
            ReplyEvent::Text(Event::Reasoning { text, .. }) => tell(&Streamed::Reasoning(text)),
            ReplyEvent::Reasoning(text) => tell(&Streamed::Reasoning(text)),
            ReplyEvent::Text(Event::CallStart { name, .. }) => {
                tell(&Streamed::Call { tool: name });
            }
            _ => {}
        }
        reply.absorb(event);
    };
    let provider = &**config.candidate.provider();
    let deltas = provider.stream(request);
    let mut deltas = match reply_constraint {
        Some(reply_constraint) => reply_constraint.worded(deltas, &*config.prompt.formatter),
        None => deltas,
    };
    while let Some(delta) = stop.unless(deltas.next()).await? {
        let delta = delta?;
        // A native call is parsed once its arguments come.
        if let Delta::CallStart { name, .. } = &delta {
            tell(&Streamed::Call { tool: name });
        }
        reader.take(&delta, &mut sink);
        heard.absorb(&delta);
        if reader.is_over() {
            // Dropped, the stream ends the request.
            let reason = reader.finish_reason().cloned();
            heard.absorb(&Delta::Finish(reason.unwrap_or_default()));
            break;
        }
        if reader.is_too_long() {
            let kind = LlmErrorKind::TooMuch;
            return Err(LlmError::of(provider, request, kind).into());
        }
    }
    reader.finish(&mut sink);
    let failed = |kind| Err(LlmError::of(provider, request, kind).into());
    if !heard.is_finished() {
        return failed(LlmErrorKind::Cut);
    }
    if heard.is_withheld() {
        return failed(LlmErrorKind::Filtered);
    }
    Ok(reply.finish(heard.text(), reader.finish_reason()))
}

/// A reply as an entry of the log.
pub(crate) fn said(completion: Completion, took: Duration, prices: Option<Prices>) -> ModelReplied {
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
        usage: counted(completion.usage, prices),
        state: completion.state,
        duration_ms: millis(took),
    }
}

/// The usage of a reply and its costs, for the log.
pub(crate) fn counted(usage: Option<ptk_llm::Usage>, prices: Option<Prices>) -> Option<Usage> {
    let usage = usage?;
    Some(Usage {
        input_tokens: usage.input_tokens,
        cached_tokens: usage.cached_tokens,
        cache_write_tokens: usage.cache_write_tokens,
        output_tokens: usage.output_tokens,
        reasoning_tokens: usage.reasoning_tokens,
        cost_micros: prices.map_or(0, |prices| prices.cost_micros(&usage)),
    })
}
