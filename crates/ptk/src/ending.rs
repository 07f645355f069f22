//! Drives a turn from the first step to its end, and reports how it ended.

use std::collections::BTreeMap;

use ptk_events::{Channel, Event, EventKind, RunMetadata, ShownCode};
use ptk_protocol::Message;
use ptk_store::{Failure, Next, TurnEnded, TurnOutcome, Usage};
use tracing::{Instrument as _, Span};

use crate::hooks::ErrorAction;
use crate::session::millis;
use crate::{Execution, RunError, Session, Step, render, spans};

impl Session {
    /// Runs step by step, until the turn is over.
    pub(crate) async fn drive(&mut self) -> Execution {
        let of = self.log.turn.correlation();
        let span = match &self.config {
            Some(config) => {
                let provider = config.candidate.provider().name();
                spans::run(
                    &self.log.session,
                    &of,
                    provider,
                    config.approach.model.as_deref(),
                )
            }
            None => Span::none(),
        };
        let steps = async {
            let mut iteration = Span::none();
            loop {
                if let Next::Ask { again } = self.log.transcript.next() {
                    let number = self.log.turn.iterations + u32::from(!again);
                    iteration = spans::iteration(number, &of);
                }
                match self.advance().instrument(iteration.clone()).await {
                    Ok(Step::Ended(answer)) => return Ok(answer),
                    Ok(_) => {}
                    Err(error) => return Err(error),
                }
            }
        };
        let ended = steps.instrument(span.clone()).await;
        spans::run_ended(&span, self.log.turn.usage, ended.as_ref().err());
        let duration = self.since.elapsed();
        let error = match ended {
            Ok(answer) => {
                span.in_scope(|| tracing::info!(?duration, "turn completed"));
                self.publish(EventKind::ReceiveMessage {
                    message: answer.clone(),
                    metadata: RunMetadata {
                        iterations: self.log.turn.iterations,
                        tool_calls: self.log.turn.made(),
                        snippets: ShownCode::of(&answer),
                    },
                });
                return self.ended(Ok(answer));
            }
            Err(error) => error,
        };
        span.in_scope(|| tracing::warn!(?duration, %error, "turn failed"));
        self.publish(EventKind::Error {
            tool: None,
            message: error.to_string(),
            error_type: None,
        });
        let outcome = self.heard(error);
        let written = self.give_up(&outcome).await;
        self.ended(written.and(outcome))
    }

    /// Publishes an event of the turn.
    pub(crate) fn publish(&self, kind: EventKind) {
        let correlation = self.log.turn.correlation();
        let event = Event::new(correlation, Channel::Realtime, kind);
        self.engine.tools.bus().publish(event);
    }

    /// Passes an error to the hook, which may replace it with an answer.
    fn heard(&self, error: RunError) -> Result<String, RunError> {
        match self.hooks.error(&error) {
            ErrorAction::Answer(answer) => Ok(answer),
            ErrorAction::Fail => Err(error),
        }
    }

    /// The execution of a turn that could not begin.
    pub(crate) fn failed_to_start(&self, error: RunError) -> Execution {
        let outcome = self.heard(error);
        Execution {
            iterations: 0,
            tool_calls: Vec::new(),
            total_tool_calls: 0,
            usage: Usage::default(),
            usage_by_model: BTreeMap::new(),
            finish: None,
            ..self.ended(outcome)
        }
    }

    /// Logs how a turn without an answer of the model's ended. One that ran out
    /// of time stays open, so that it can be resumed with more of it, and so
    /// does one that was cancelled, if the options say so.
    async fn give_up(&mut self, outcome: &Result<String, RunError>) -> Result<(), RunError> {
        let turn = &self.log.turn;
        let stays_open = self.config.as_ref().is_some_and(|it| it.options.stay_open);
        let mut entries = Vec::new();
        let mut ended = match outcome {
            Ok(answer) => {
                entries.push(self.log.entry(Message::assistant(answer)));
                TurnEnded::new(TurnOutcome::Answered)
            }
            Err(RunError::Store(_) | RunError::Interleaved(_) | RunError::TimedOut(_)) => {
                return Ok(());
            }
            Err(RunError::Cancelled) if stays_open => return Ok(()),
            Err(error @ (RunError::Cancelled | RunError::Stopped(_))) => TurnEnded {
                message: Some(error.to_string()),
                ..TurnEnded::new(TurnOutcome::Cancelled)
            },
            Err(error) => {
                let failure = Failure {
                    code: error.code().map(|_| error.name().to_owned()),
                    ..Failure::new(error.to_string())
                };
                entries.push(self.log.entry(failure.clone()));
                TurnEnded {
                    code: failure.code,
                    message: Some(failure.message),
                    ..TurnEnded::new(TurnOutcome::Failed)
                }
            }
        };
        ended.iterations = turn.iterations;
        ended.calls = turn.made();
        ended.duration_ms = millis(self.since.elapsed());
        entries.push(self.log.entry(ended));
        self.log.append(entries).await
    }

    pub(crate) fn ended(&self, outcome: Result<String, RunError>) -> Execution {
        let (content, error) = match outcome {
            Ok(content) => (content, None),
            Err(error) => (String::new(), Some(error)),
        };
        let turn = &self.log.turn;
        let mut usage_by_model = turn.helpers.clone();
        for (model, took) in &turn.usage_by {
            let model = model.clone().unwrap_or_else(|| self.engine.name_of(0));
            usage_by_model.entry(model).or_default().add(*took);
        }
        let mut usage = Usage::default();
        for took in usage_by_model.values() {
            usage.add(*took);
        }
        let system = self.config.as_ref().map_or("", |config| &config.system);
        Execution {
            success: error.is_none(),
            content,
            error,
            iterations: turn.iterations,
            messages: render::conversation(
                &*self.engine.formatter,
                system,
                &self.log.transcript,
                &self.shown,
            ),
            tool_calls: turn.records.clone(),
            total_tool_calls: turn.made(),
            duration: self.since.elapsed(),
            usage,
            usage_by_model,
            finish: turn.finish.clone(),
            limit: turn.limit,
            session: self.log.session.clone(),
            is_open: self.log.transcript.next() != Next::Prompt,
        }
    }
}
